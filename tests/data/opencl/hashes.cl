kernel void crc(global uint *out, global const uchar *x, int n) {
  size_t i = get_global_id(0);
  uint c = ~0u;
  for (int k = 0; k < n; k++) {
    c ^= x[i * n + k];
    for (int b = 0; b < 8; b++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
  }
  out[i] = ~c;
}
kernel void fnv(global ulong *out, global const uchar *x, int n) {
  size_t i = get_global_id(0);
  ulong h = 14695981039346656037ul;
  for (int k = 0; k < n; k++) h = (h ^ x[i * n + k]) * 1099511628211ul;
  out[i] = h;
}
