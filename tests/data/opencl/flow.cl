kernel void collatz(global int *steps) {
  uint n = get_global_id(0) + 1;
  int count = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    count++;
  }
  steps[get_global_id(0)] = count;
}
kernel void cases(global int *y, global const int *x) {
  size_t i = get_global_id(0);
  int r = 0;
  switch (x[i] & 7) {
  case 0: r = 5; break;
  case 1: r = x[i] * 3;
  case 2: r += 7; break;
  case 5: for (int k = 0; k < x[i]; k++) { if (k == 9) break; if (k & 1) continue; r += k; } break;
  default: r = -x[i];
  }
  y[i] = r;
}
kernel void primes(global uchar *is, int n) {
  int i = get_global_id(0);
  if (i < 2) { is[i] = 0; return; }
  for (int d = 2; d * d <= i; d++)
    if (i % d == 0) { is[i] = 0; return; }
  is[i] = 1;
}
