// 3 by 3 convolution with constants in the code, PolyBench's shape.
__kernel void convolution(__global const float* a, __global float* b, int n, int m) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i < 1 || j < 1 || i >= n - 1 || j >= m - 1) return;
  __global const float* p = a + i * m + j;
  b[i * m + j] = 0.2f * p[-m - 1] - 0.3f * p[-m] + 0.4f * p[-m + 1] + 0.5f * p[-1] + 0.6f * p[0] + 0.7f * p[1] -
                 0.8f * p[m - 1] - 0.9f * p[m] + 0.1f * p[m + 1];
}
