// Kernels whose compilations are compared (equal_pairs.py). WIDTH is the number of work-items of a thread.
#ifdef WIDTH
#define KERNEL __attribute__((intel_reqd_sub_group_size(WIDTH))) kernel
#else
#define KERNEL kernel
#endif

KERNEL void saxpy(global float *y, global const float *x, float a, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] += a * x[i];
}

KERNEL void limits(global int *y, global const int *x, int low, int high) {
  int i = get_global_id(0);
  y[i] = max(min(x[i], high), low);
}

KERNEL void nested(global int *y, global const int *x, int a) {
  int i = get_global_id(0), v = x[i];
  if (v > a) {
    if (v & 1) v -= a; else v += 3;
  } else if (v == a) {
    v = 0;
  }
  y[i] = v;
}

KERNEL void polynomial(global float *y, global const float *x) {
  int i = get_global_id(0);
  float v = x[i];
  y[i] = fma(fma(fma(v, 0.5f, 0.25f), v, -3.0f), v, 7.0f);
}

KERNEL void saturated(global short *y, global const short *x, global const short *z) {
  int i = get_global_id(0);
  y[i] = add_sat(x[i], z[i]);
}

KERNEL void bits(global uint *y, global const uint *x, uint n) {
  int i = get_global_id(0);
  uint v = x[i];
  y[i] = rotate(v, n) ^ (v >> 3) ^ (v << 5);
}

KERNEL void neighbours(global int *y, global const int *x, int n) {
  int i = get_global_id(0);
  int left = i > 0 ? x[i - 1] : 0, right = i + 1 < n ? x[i + 1] : 0;
  if (i < n) y[i] = left + right - 2 * x[i];
}

KERNEL void sums(global int *y, global const int *x, int n) {
  int i = get_global_id(0), total = 0;
#pragma unroll 1
  for (int k = 0; k < n; k++) total += x[i * 4 + k];
  y[i] = total;
}

KERNEL void reversed(global int *y, global const int *x) {
  local int t[32];
  int i = get_local_id(0);
  t[i] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = t[31 - i];
}

KERNEL void packed(global uchar *y, global const uchar4 *x) {
  int i = get_global_id(0);
  uchar4 v = x[i];
  y[i] = (v.x * 77 + v.y * 150 + v.z * 29) >> 8;
}

KERNEL void counted(global int *bins, global const int *x) {
  int i = get_global_id(0);
  atomic_add(&bins[x[i] & 15], 1);
}

KERNEL void gathered(global float *y, global const float *x, global const int *at, int n) {
  int i = get_global_id(0);
  int k = at[i];
  y[i] = k >= 0 && k < n ? x[k] : -1.0f;
}

typedef struct { int a; short b; uchar c; uchar d; } Row;

KERNEL void rows(global Row *y, int by) {
  int i = get_global_id(0);
  y[i].a += by * y[i].b;
  y[i].c ^= y[i].d;
}

KERNEL void narrowed(global uchar *y, global const int *x) {
  int i = get_global_id(0);
  y[i] = convert_uchar_sat(x[i]);
}

KERNEL void residues(global int *y, global const int *x, global const uint *z) {
  int i = get_global_id(0);
  y[i] = x[i] % 17 + x[i] / 7 + (int)(z[i] / 10 + z[i] % 7);
}
