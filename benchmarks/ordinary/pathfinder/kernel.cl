// Cheapest way through rows of costs: 16 rows at a time in local memory, with a halo that shrinks.
__kernel void pathfinder(__global const int* wall, __global const int* source, __global int* result, int columns, int steps) {
  __local int before[256], after[256];
  int lane = get_local_id(0), inner = 256 - 2 * steps;
  int x = (int)get_group_id(0) * inner + lane - steps;
  bool valid = x >= 0 && x < columns;
  before[lane] = valid ? source[x] : 0x7fffffff;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int row = 0; row < steps; row++) {
    int best = before[lane];
    if (lane > 0) best = min(best, before[lane - 1]);
    if (lane < 255) best = min(best, before[lane + 1]);
    after[lane] = valid ? best + wall[row * columns + x] : 0x7fffffff;
    barrier(CLK_LOCAL_MEM_FENCE);
    before[lane] = after[lane];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (valid && lane >= steps && lane < 256 - steps) result[x] = before[lane];
}
