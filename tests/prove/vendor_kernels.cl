// Kernels that a compiler of Intel's gets wrong; with BY_HAND the same is written another way (equal_pairs.py).

kernel void mad_sat_long(global const long *a, global const long *b, global const long *c, global long *o) {
  int i = get_global_id(0);
#ifdef BY_HAND
  long low = a[i] * b[i], high = mul_hi(a[i], b[i]), sum = (long)((ulong)low + (ulong)c[i]);
  high += (c[i] >> 63) + ((ulong)sum < (ulong)low);
  o[i] = high == sum >> 63 ? sum : high < 0 ? LONG_MIN : LONG_MAX;
#else
  o[i] = mad_sat(a[i], b[i], c[i]);
#endif
}

kernel void abs_short(global const short *a, global const short *b, global short *o) {
  int i = get_global_id(0);
#ifdef BY_HAND
  int v = a[i];
  short size = v < 0 ? -v : v;
#else
  short size = abs(a[i]);
#endif
  o[i] = size / (short)((b[i] & 63) + 1);
}

kernel void abs_div(global const int *a, global uint *o) {
  int i = get_global_id(0);
#ifdef BY_HAND
  uint v = a[i];
  o[i] = (v >> 31 ? 0u - v : v) / 7u;
#else
  o[i] = abs(a[i]) / 7u;
#endif
}

__attribute__((intel_reqd_sub_group_size(8))) kernel void block_read(global uint *o, global const uint *x) {
  uint i = get_global_id(0);
#ifdef BY_HAND
  o[i] = x[i] * 3u + get_sub_group_local_id();
#else
  uint first = i - get_sub_group_local_id();
  uint v = intel_sub_group_block_read(x + first) * 3u + get_sub_group_local_id();
  intel_sub_group_block_write(o + first, v);
#endif
}

kernel void two_rounds(global int *o, global const int *x) {
  int l = get_local_id(0), w = get_group_id(0);
#ifdef BY_HAND
  o[w * 65 + l] = x[get_global_id(0)] + w + l;
  if (!l) o[w * 65 + 64] = x[get_global_id(0)] + w + 64;
#else
  for (int k = l; k < 65; k += 64) o[w * 65 + k] = x[get_global_id(0)] + w + k;
#endif
}
