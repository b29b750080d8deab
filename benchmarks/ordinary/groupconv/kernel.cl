// A convolution of 3 x 3 in groups of 8 channels, without padding in memory: taps outside of the image are left out.
__kernel void groupconv(__global const float* in, __global const float* weights, __global float* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1), channel = get_global_id(2), first = channel / 8 * 8;
  float sum = 0;
  for (int c = 0; c < 8; c++)
    for (int dy = -1; dy <= 1; dy++) {
      int v = y + dy;
      if (v < 0 || v >= height) continue;
      for (int dx = -1; dx <= 1; dx++) {
        int u = x + dx;
        if (u < 0 || u >= width) continue;
        sum += in[((first + c) * height + v) * width + u] * weights[((channel * 8 + c) * 3 + dy + 1) * 3 + dx + 1];
      }
    }
  out[(channel * height + y) * width + x] = sum;
}
