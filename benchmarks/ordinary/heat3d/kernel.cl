// 7-point stencil in three dimensions, guarded border.
__kernel void heat3d(__global const float* in, __global float* out, int nx, int ny, int nz, float c0, float c1) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  int at = (z * ny + y) * nx + x;
  out[at] = c1 * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny]) - c0 * in[at];
}
