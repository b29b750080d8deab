// Lattice Boltzmann with nine directions on a torus: each direction is a stream of its own.
__kernel void lbm(__global const float* in, __global float* out, int width, int height, float relaxation) {
  const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float weight[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
  int x = get_global_id(0), y = get_global_id(1), cells = width * height;
  float f[9], density = 0, ux = 0, uy = 0;
#pragma unroll
  for (int k = 0; k < 9; k++) {
    int sx = (x - dx[k] + width) & (width - 1), sy = (y - dy[k] + height) & (height - 1);
    f[k] = in[k * cells + sy * width + sx];
    density += f[k];
    ux += dx[k] * f[k];
    uy += dy[k] * f[k];
  }
  ux /= density;
  uy /= density;
  float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
  for (int k = 0; k < 9; k++) {
    float along = 3.0f * (dx[k] * ux + dy[k] * uy);
    float rest = weight[k] * density * (1.0f + along + 0.5f * along * along - square);
    out[k * cells + y * width + x] = f[k] + relaxation * (rest - f[k]);
  }
}
