// AES-128 in counter mode, with four tables in local memory.
#define ROUND(a, b, c, d, key) \
  (t0[(a) & 255] ^ t1[(b) >> 8 & 255] ^ t2[(c) >> 16 & 255] ^ t3[(d) >> 24] ^ (key))

__kernel void aes(__global const uint* tables, __constant uint* keys, __global uint4* out, uint nonce) {
  __local uint t0[256], t1[256], t2[256], t3[256];
  for (int n = get_local_id(0); n < 256; n += get_local_size(0)) {
    t0[n] = tables[n];
    t1[n] = tables[256 + n];
    t2[n] = tables[512 + n];
    t3[n] = tables[768 + n];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint a = (uint)get_global_id(0) ^ keys[0], b = nonce ^ keys[1], c = keys[2], d = keys[3];
  for (int n = 1; n < 10; n++) {
    uint e = ROUND(a, b, c, d, keys[4 * n]), f = ROUND(b, c, d, a, keys[4 * n + 1]);
    uint g = ROUND(c, d, a, b, keys[4 * n + 2]), h = ROUND(d, a, b, c, keys[4 * n + 3]);
    a = e;
    b = f;
    c = g;
    d = h;
  }
  out[get_global_id(0)] = (uint4)(a, b, c, d);
}
