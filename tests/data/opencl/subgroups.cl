#pragma OPENCL EXTENSION cl_khr_subgroups : enable
kernel __attribute__((intel_reqd_sub_group_size(16))) void sums(global int *all, global int *before, global const int *x) {
  size_t i = get_global_id(0);
  all[i] = sub_group_reduce_add(x[i]);
  before[i] = sub_group_scan_exclusive_add(x[i]);
}
kernel __attribute__((intel_reqd_sub_group_size(16))) void moved(global int *y, global const int *x) {
  size_t i = get_global_id(0);
  y[i] = intel_sub_group_shuffle_xor(x[i], 5) + 100 * (int)sub_group_broadcast(x[i], 3) + 10000 * sub_group_any(x[i] > 60);
}
