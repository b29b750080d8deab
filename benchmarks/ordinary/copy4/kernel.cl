// A copy of float4, four of them for each item, a group's width apart.
__kernel void copy4(__global const float4* in, __global float4* out) {
  size_t at = get_group_id(0) * get_local_size(0) * 4 + get_local_id(0);
  for (int k = 0; k < 4; k++, at += get_local_size(0)) out[at] = in[at] * 2.0f;
}
