// A bilateral filter over a window of 7 x 7: neighbours weigh less the farther they are, and the more they differ.
__kernel void bilateral(__global const float* image, __global float* out, int width, int height, float space, float range) {
  int x = get_global_id(0), y = get_global_id(1);
  float centre = image[y * width + x], sum = 0, total = 0;
  for (int dy = -3; dy <= 3; dy++)
    for (int dx = -3; dx <= 3; dx++) {
      int u = clamp(x + dx, 0, width - 1), v = clamp(y + dy, 0, height - 1);
      float value = image[v * width + u], apart = value - centre;
      float weight = exp(-(dx * dx + dy * dy) * space - apart * apart * range);
      sum += weight * value;
      total += weight;
    }
  out[y * width + x] = sum / total;
}
