kernel void bits(global uint *out, global const uint *x) {
  size_t i = get_global_id(0);
  uint v = x[i];
  out[4 * i] = popcount(v);
  out[4 * i + 1] = clz(v);
  out[4 * i + 2] = rotate(v, 7u);
  out[4 * i + 3] = mul_hi(v, 0x9E3779B9u);
}
kernel void limited(global int *out, global const int *x, global const int *y) {
  size_t i = get_global_id(0);
  out[5 * i] = add_sat(x[i], y[i]);
  out[5 * i + 1] = sub_sat(x[i], y[i]);
  out[5 * i + 2] = hadd(x[i], y[i]);
  out[5 * i + 3] = (int)abs_diff(x[i], y[i]);
  out[5 * i + 4] = mad24(x[i] & 0xFFF, y[i] & 0xFFF, 5);
}
kernel void quotients(global int *out, global const int *x, int d) {
  size_t i = get_global_id(0);
  out[2 * i] = x[i] / d;
  out[2 * i + 1] = x[i] % d;
}
