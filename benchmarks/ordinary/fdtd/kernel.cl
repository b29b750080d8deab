// One step of a field on a staggered grid; the border has its own rule.
__kernel void fdtd(__global const float* ex, __global const float* ey, __global float* hz, __global float* out, int nx, int ny) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i >= nx || j >= ny) return;
  int at = i * ny + j;
  float h = hz[at];
  if (i < nx - 1 && j < ny - 1) h -= 0.7f * (ex[at + 1] - ex[at] + ey[at + ny] - ey[at]);
  out[at] = h;
}
