// Counts of byte values: each work-item goes through the bytes with the stride of the grid, groups count in local memory.
__kernel void histogram(__global const uchar* values, __global uint* counts, uint size) {
  __local uint own[256];
  for (uint k = get_local_id(0); k < 256; k += get_local_size(0)) own[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < size; i += get_global_size(0)) atomic_inc(&own[values[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = get_local_id(0); k < 256; k += get_local_size(0)) atomic_add(&counts[k], own[k]);
}
