// A sparse matrix (CSR) times a dense one of 16 columns: a work-item for each element of the product.
__kernel void spmm(__global const int* starts, __global const int* columns, __global const float* values,
                   __global const float* dense, __global float* out) {
  size_t column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = starts[row]; k < starts[row + 1]; k++) sum += values[k] * dense[columns[k] * 16 + column];
  out[row * 16 + column] = sum;
}
