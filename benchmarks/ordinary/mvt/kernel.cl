// One item for each row: neighbours read a column of the matrix, as naive matrix-vector products do.
__kernel void mvt(__global const float* a, __global const float* x, __global float* y, int n) {
  int row = get_global_id(0);
  if (row >= n) return;
  float sum = y[row];
  for (int c = 0; c < n; c++) sum += a[row * n + c] * x[c];
  y[row] = sum;
}
