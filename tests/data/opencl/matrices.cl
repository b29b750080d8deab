#define T 8
kernel __attribute__((reqd_work_group_size(T, T, 1))) void multiply(global float *c, global const float *a, global const float *b, int n) {
  local float s[T][T], t[T][T];
  int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += T) {
    s[ly][lx] = a[y * n + k + lx];
    t[ly][lx] = b[(k + ly) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < T; i++) sum += s[ly][i] * t[i][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[y * n + x] = sum;
}
kernel __attribute__((reqd_work_group_size(T, T, 1))) void transpose(global float *out, global const float *in, int n) {
  local float t[T][T + 1];
  int lx = get_local_id(0), ly = get_local_id(1);
  t[ly][lx] = in[get_global_id(1) * n + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(get_group_id(0) * T + ly) * n + get_group_id(1) * T + lx] = t[lx][ly];
}
kernel void apply(global float *y, global const float *m, constant float *x, int n) {
  int row = get_global_id(0);
  float sum = 0;
  for (int i = 0; i < n; i++) sum += m[row * n + i] * x[i];
  y[row] = sum;
}
