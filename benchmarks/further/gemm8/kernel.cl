// A product of matrices of bytes with sums of four products at a time, tiles of words in local memory.
int dot4(uint a, uint b, int sum) {
  char4 x = as_char4(a), y = as_char4(b);
  return sum + x.s0 * y.s0 + x.s1 * y.s1 + x.s2 * y.s2 + x.s3 * y.s3;
}

__kernel void gemm8(__global const uint* a, __global const uint* b, __global int* out, int words, int columns) {
  __local uint left[16][17], right[16][17];
  int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1), sum = 0;
  for (int from = 0; from < words; from += 16) {
    left[y][x] = a[row * words + from + x];
    right[y][x] = b[(column - x + y) * words + from + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++) sum = dot4(left[y][k], right[x][k], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[row * columns + column] = sum;
}
