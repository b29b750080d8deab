// Temperature of a chip: a tile with its border in local memory, two steps between barriers.
#define TILE 16
__kernel void hotspot(__global const float* power, __global const float* in, __global float* out, int columns, int rows, float cap, float rx, float ry,
                      float rz) {
  __local float now[TILE][TILE], next[TILE][TILE];
  int tx = get_local_id(0), ty = get_local_id(1);
  int x = (int)get_group_id(0) * (TILE - 4) + tx - 2, y = (int)get_group_id(1) * (TILE - 4) + ty - 2;
  int cx = clamp(x, 0, columns - 1), cy = clamp(y, 0, rows - 1), at = cy * columns + cx;
  float mine = in[at], heat = power[at];
  now[ty][tx] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 0; step < 2; step++) {
    if (tx > step && tx < TILE - 1 - step && ty > step && ty < TILE - 1 - step) {
      int north = y <= 0 ? ty : ty - 1, south = y >= rows - 1 ? ty : ty + 1;
      int west = x <= 0 ? tx : tx - 1, east = x >= columns - 1 ? tx : tx + 1;
      mine = now[ty][tx];
      next[ty][tx] = mine + cap * (heat + (now[south][tx] + now[north][tx] - 2.0f * mine) * ry +
                                   (now[ty][east] + now[ty][west] - 2.0f * mine) * rx + (80.0f - mine) * rz);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (step == 0) now[ty][tx] = tx > 0 && tx < TILE - 1 && ty > 0 && ty < TILE - 1 ? next[ty][tx] : now[ty][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (tx >= 2 && tx < TILE - 2 && ty >= 2 && ty < TILE - 2 && x < columns && y < rows) out[y * columns + x] = next[ty][tx];
}
