kernel void scan(global uint *x, global uint *ends) {
  local uint a[2][64];
  size_t l = get_local_id(0);
  int from = 0;
  a[0][l] = x[get_global_id(0)];
  for (uint n = 1; n < 64; n *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    a[1 - from][l] = a[from][l] + (l >= n ? a[from][l - n] : 0);
    from = 1 - from;
  }
  x[get_global_id(0)] = a[from][l];
  if (l == 63) ends[get_group_id(0)] = a[from][l];
}
kernel void add(global uint *x, global const uint *ends) {
  uint before = 0;
  for (size_t g = 0; g < get_group_id(0); g++) before += ends[g];
  x[get_global_id(0)] += before;
}
