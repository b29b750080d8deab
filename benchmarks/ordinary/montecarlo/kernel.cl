// Points in a circle: random numbers in registers, a loop of fixed length.
__kernel void montecarlo(__global uint* hits, uint seed, int points) {
  uint state = seed ^ (get_global_id(0) * 2654435761u + 1u), count = 0;
  for (int k = 0; k < points; k++) {
    state ^= state << 13; state ^= state >> 17; state ^= state << 5;
    float x = (state & 0xffff) * (1.0f / 65536.0f), y = (state >> 16) * (1.0f / 65536.0f);
    count += x * x + y * y < 1.0f;
  }
  hits[get_global_id(0)] = count;
}
