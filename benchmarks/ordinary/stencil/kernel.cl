// One step of heat on a grid: five points, groups of two dimensions, a border that stays as it is.
__kernel void stencil(__global const float* old, __global float* now, int width, int height, float rate) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  int i = y * width + x;
  float here = old[i];
  if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
    now[i] = here + rate * (old[i - 1] + old[i + 1] + old[i - width] + old[i + width] - 4.0f * here);
  else
    now[i] = here;
}
