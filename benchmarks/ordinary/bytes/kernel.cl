// A matrix of bytes times the transpose of another, as a layer of a network has its weights: bytes at strides.
__kernel void bytes(__global const char* a, __global const char* b, __global int* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[y * n + k] * b[x * n + k];
  c[y * n + x] = sum;
}
