kernel void sums(global int *part, global const int *x, local int *t) {
  size_t l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  for (size_t n = get_local_size(0) / 2; n; n /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < n) t[l] += t[l + n];
  }
  if (l == 0) part[get_group_id(0)] = t[0];
}
kernel void total(global int *out, global const int *part, int n) {
  int sum = 0, most = part[0];
  for (int i = 0; i < n; i++) {
    sum += part[i];
    most = max(most, part[i]);
  }
  out[0] = sum;
  out[1] = most;
}
