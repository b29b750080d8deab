kernel void bytes(global uchar *y, global const uchar *x) {
  size_t i = get_global_id(0);
  y[i] = (uchar)(x[i] * 3 + 7) ^ (uchar)(x[i] >> 2);
}
kernel void shorts(global short *y, global const short *x) {
  size_t i = get_global_id(0);
  y[i] = x[i] / (short)3 + x[i] % (short)7 - abs(x[i]);
}
kernel void blend(global uchar4 *y, global const uchar4 *a, global const uchar4 *b, uchar w) {
  size_t i = get_global_id(0);
  y[i] = convert_uchar4((convert_ushort4(a[i]) * (ushort)(255 - w) + convert_ushort4(b[i]) * (ushort)w) / (ushort)255);
}
