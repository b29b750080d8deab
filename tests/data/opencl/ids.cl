kernel void where(global uint *y) {
  size_t x = get_global_id(0) - get_global_offset(0), z = get_global_id(2);
  size_t at = (z * get_global_size(1) + get_global_id(1)) * get_global_size(0) + x;
  y[at] = get_local_id(0) + 10 * get_local_id(1) + 100 * get_group_id(0) + 1000 * get_group_id(1) + 10000 * get_group_id(2);
}
kernel void sizes(global uint *y) {
  size_t i = get_global_id(0);
  y[i] = get_local_size(0) + 100 * get_num_groups(0) + 10000 * get_enqueued_local_size(0) + 1000000 * get_work_dim();
}
