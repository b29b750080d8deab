kernel void bitonic(global uint *x, uint size, uint step) {
  uint i = get_global_id(0), at = 2 * i - (i & (step - 1)), other = at + step;
  bool up = (at & size) == 0;
  uint a = x[at], b = x[other];
  if ((a > b) == up) {
    x[at] = b;
    x[other] = a;
  }
}
kernel void search(global int *where, global const uint *x, global const uint *keys, int n) {
  uint key = keys[get_global_id(0)];
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (x[middle] < key) low = middle + 1;
    else high = middle;
  }
  where[get_global_id(0)] = low;
}
