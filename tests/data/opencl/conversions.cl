kernel void bytes(global char *out, global const float *x) {
  size_t i = get_global_id(0);
  out[i] = convert_char_sat_rte(x[i]);
}
kernel void halves(global half *out, global const float *x) {
  size_t i = get_global_id(0);
  vstore_half(x[i], i, out);
}
kernel void back(global float *out, global const half *x, global const int *n) {
  size_t i = get_global_id(0);
  out[i] = vload_half(i, x) + convert_float(n[i]);
}
kernel void casts(global uint *out, global const float *x) {
  size_t i = get_global_id(0);
  out[i] = as_uint(x[i]) ^ (uint)(ushort)(int)x[i];
}
