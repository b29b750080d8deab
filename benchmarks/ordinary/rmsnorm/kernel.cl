// Rows divided by their root mean square: a sub-group's reduction, then one of the group.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
__kernel void rmsnorm(__global const float* in, __global const float* gain, __global float* out, int columns) {
  __local float part[64];
  int lane = get_local_id(0);
  size_t row = get_group_id(0) * (size_t)columns;
  float sum = 0.0f;
  for (int c = lane; c < columns; c += get_local_size(0)) sum += in[row + c] * in[row + c];
  sum = sub_group_reduce_add(sum);
  if (get_sub_group_local_id() == 0) part[get_sub_group_id()] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = 0.0f;
  for (int k = 0; k < get_num_sub_groups(); k++) sum += part[k];
  float scale = rsqrt(sum / columns + 1e-6f);
  for (int c = lane; c < columns; c += get_local_size(0)) out[row + c] = in[row + c] * scale * gain[c];
}
