// A multiplicative hash of 64 bits, some rounds of it.
__kernel void hash64(__global const ulong* in, __global ulong* out, int rounds) {
  int i = get_global_id(0);
  ulong h = in[i];
  for (int r = 0; r < rounds; r++) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdUL;
    h ^= h >> 29;
    h *= 0xc4ceb9fe1a85ec53UL;
    h ^= h >> 32;
  }
  out[i] = h;
}
