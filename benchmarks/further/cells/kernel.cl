// Cellular noise: the distance to the nearest of the points that a hash puts into the cells around.
uint mix32(uint a) {
  a ^= a >> 15;
  a *= 0x2c1b3c6d;
  a ^= a >> 12;
  a *= 0x297a2d39;
  return a ^ a >> 15;
}

__kernel void cells(__global float* out, int width, float scale, uint seed) {
  int px = get_global_id(0), py = get_global_id(1);
  float x = px * scale, y = py * scale, cx = floor(x), cy = floor(y), best = 8;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) {
      float ux = cx + i, uy = cy + j;
      uint h = mix32((uint)(int)ux * 0x9e3779b9 ^ mix32((uint)(int)uy ^ seed));
      float dx = ux + (h & 0xffff) / 65536.0f - x, dy = uy + (h >> 16) / 65536.0f - y;
      best = fmin(best, dx * dx + dy * dy);
    }
  out[py * width + px] = sqrt(best);
}
