static int sum(const int *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += p[i];
  return s;
}
kernel void both(global int *y, global const int *x, local int *t) {
  size_t l = get_local_id(0), n = get_local_size(0);
  t[l] = 2 * x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  const int *p = get_group_id(0) & 1 ? (const int *)t : (const int *)(x + get_group_id(0) * n);
  if (l == 0) y[get_group_id(0)] = sum(p, n);
}
kernel void groups(global int *y, global const int *x) {
  int v = x[get_global_id(0)];
  int most = work_group_reduce_max(v), before = work_group_scan_exclusive_add(v);
  y[get_global_id(0)] = 1000 * most + before + work_group_broadcast(v, 3);
}
