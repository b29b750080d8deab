// One step of elimination: rows below the pivot, columns right of it.
__kernel void gaussian(__global const float* m, __global float* a, int n, int t) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= n - 1 - t || y >= n - t) return;
  a[n * (x + 1 + t) + y + t] -= m[n * (x + 1 + t) + t] * a[n * t + y + t];
}
