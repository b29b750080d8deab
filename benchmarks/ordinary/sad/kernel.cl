// Sums of absolute differences of 8 by 8 bytes for the places of a search window.
__kernel void sad(__global const uchar* frame, __global const uchar* reference, __global uint* out, int width, int window) {
  int block_x = get_group_id(0) * 8, block_y = get_group_id(1) * 8;
  int dx = get_local_id(0), dy = get_local_id(1);
  uint sum = 0;
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < 8; x++)
      sum += abs_diff(frame[(block_y + y) * width + block_x + x], reference[(block_y + dy + y) * width + block_x + dx + x]);
  out[((get_group_id(1) * get_num_groups(0) + get_group_id(0)) * window + dy) * window + dx] = sum;
}
