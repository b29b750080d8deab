kernel void last(global int *y, global const int *x, int n) {
  int own[16];
  size_t i = get_global_id(0);
  for (int k = 0; k < 16; k++) own[k] = x[i] + k;
  for (int k = 0; k < n; k++) own[(x[i] + k * 5) & 15] += own[(x[i] + k) & 15];
  int sum = 0;
  for (int k = 0; k < 16; k++) sum ^= own[k];
  y[i] = sum;
}
kernel void sorted(global int4 *y) {
  int v[4];
  size_t i = get_global_id(0);
  vstore4(y[i], 0, v);
  for (int a = 0; a < 4; a++)
    for (int b = a + 1; b < 4; b++)
      if (v[b] < v[a]) {
        int t = v[a];
        v[a] = v[b];
        v[b] = t;
      }
  y[i] = vload4(0, v);
}
