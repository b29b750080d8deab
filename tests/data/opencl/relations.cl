kernel void choose(global int *out, global const int *a, global const int *b) {
  size_t i = get_global_id(0);
  out[i] = a[i] > b[i] ? a[i] - b[i] : a[i] == b[i] ? 1000 : -1;
}
kernel void classes(global int *out, global const float *x) {
  size_t i = get_global_id(0);
  out[i] = isnan(x[i]) | isinf(x[i]) << 1 | signbit(x[i]) << 2 | isnormal(x[i]) << 3;
}
kernel void merge(global int4 *out, global const int4 *a, global const int4 *b) {
  size_t i = get_global_id(0);
  int4 m = a[i] < b[i];
  out[i] = select(a[i], b[i], m) + (int4)(any(m) + 2 * all(m));
}
