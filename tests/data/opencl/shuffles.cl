kernel void mixed(global uint4 *y, global const uint4 *x, uint4 mask) {
  size_t i = get_global_id(0);
  y[i] = shuffle(x[i], mask) + shuffle2(x[i], y[i], (uint4)(0, 4, 3, 7));
}
kernel void loads(global ushort *y, global const ushort *x) {
  size_t i = get_global_id(0);
  ushort8 v = vload8(i, x);
  vstore4(v.even + v.odd, i, y);
}
kernel void words(global uchar4 *y, global const uint *x) {
  size_t i = get_global_id(0);
  y[i] = as_uchar4(x[i]).wzyx;
}
