// Alignments of pairs of short sequences: 16 by 16 cells each in local memory, in diagonals.
#define T 16
__kernel void nw(__global const int* scores, __global int* cells, int penalty) {
  __local int cell[T + 1][T + 1], score[T][T];
  int lane = get_local_id(0);
  __global int* mine = cells + get_group_id(0) * (T + 1) * (T + 1);
  __global const int* table = scores + get_group_id(0) * T * T;
  if (lane == 0) cell[0][0] = mine[0];
  cell[0][lane + 1] = mine[lane + 1];
  cell[lane + 1][0] = mine[(lane + 1) * (T + 1)];
  for (int r = 0; r < T; r++) score[r][lane] = table[r * T + lane];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 0; d < 2 * T - 1; d++) {
    int y = d - lane + 1, x = lane + 1;
    if (y >= 1 && y <= T)
      cell[y][x] = max(cell[y - 1][x - 1] + score[y - 1][x - 1], max(cell[y][x - 1], cell[y - 1][x]) - penalty);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int r = 0; r < T; r++) mine[(r + 1) * (T + 1) + lane + 1] = cell[r + 1][lane + 1];
}
