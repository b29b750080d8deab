kernel void products(global ulong *y, global const ulong *a, global const ulong *b) {
  size_t i = get_global_id(0);
  y[2 * i] = a[i] * b[i];
  y[2 * i + 1] = mul_hi(a[i], b[i]);
}
kernel void quotients(global long *y, global const long *a, global const long *b) {
  size_t i = get_global_id(0);
  y[3 * i] = a[i] / b[i];
  y[3 * i + 1] = a[i] % b[i];
  y[3 * i + 2] = (a[i] >> 9) + (b[i] << 3);
}
