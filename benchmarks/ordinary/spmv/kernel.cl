// A sparse matrix (compressed rows) times a vector: a row for each work-item, rows of other lengths, gathers.
__kernel void spmv(__global const int* starts, __global const int* columns, __global const float* values,
                   __global const float* x, __global float* y, int rows) {
  int row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = starts[row]; k < starts[row + 1]; k++) sum += values[k] * x[columns[k]];
  y[row] = sum;
}
