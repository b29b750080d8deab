// Half a step of Gauss and Seidel in place: cells of one colour from those of the other, with relaxation.
__kernel void redblack(__global float* grid, __global const float* source, int width, int height, int colour, float rate) {
  int y = get_global_id(1), x = 2 * get_global_id(0) + (y + colour & 1);
  if (x == 0 || y == 0 || x >= width - 1 || y >= height - 1) return;
  int n = y * width + x;
  float around = grid[n - 1] + grid[n + 1] + grid[n - width] + grid[n + width];
  grid[n] += rate * (0.25f * (around - source[n]) - grid[n]);
}
