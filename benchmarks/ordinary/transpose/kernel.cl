// A matrix turned through a tile in local memory.
__kernel void transpose(__global const float* in, __global float* out, int width, int height) {
  __local float tile[16][17];
  int lx = get_local_id(0), ly = get_local_id(1);
  tile[ly][lx] = in[get_global_id(1) * width + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  int x = get_group_id(1) * 16 + lx, y = get_group_id(0) * 16 + ly;
  out[y * height + x] = tile[lx][ly];
}
