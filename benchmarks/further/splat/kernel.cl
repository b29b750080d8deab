// Points are spread over the four cells around them, by weights of 16 bits, with atomic additions.
__kernel void splat(__global const float2* points, __global uint* grid, int width) {
  float2 p = points[get_global_id(0)], cell = floor(p);
  uint u = (p.x - cell.x) * 256, v = (p.y - cell.y) * 256;
  __global uint* to = grid + (int)cell.y * width + (int)cell.x;
  atomic_add(to, (256 - u) * (256 - v));
  atomic_add(to + 1, u * (256 - v));
  atomic_add(to + width, (256 - u) * v);
  atomic_add(to + width + 1, u * v);
}
