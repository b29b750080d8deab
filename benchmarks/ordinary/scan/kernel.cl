// Inclusive sums of blocks in local memory.
__kernel void scan(__global const int* in, __global int* out, __global int* totals) {
  __local int part[2][256];
  int lane = get_local_id(0), from = 0;
  part[0][lane] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int distance = 1; distance < 256; distance *= 2) {
    int value = part[from][lane];
    if (lane >= distance) value += part[from][lane - distance];
    from = 1 - from;
    part[from][lane] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = part[from][lane];
  if (lane == 255) totals[get_group_id(0)] = part[from][lane];
}
