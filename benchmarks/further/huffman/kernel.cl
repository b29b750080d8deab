// Blocks of a prefix code, one a work-item: a table by the next eight bits says symbol and length.
__kernel void huffman(__global const uint* bits, __constant ushort* table, __global uchar* symbols, int words, int count) {
  size_t block = get_global_id(0);
  __global const uint* from = bits + block * words;
  ulong window = from[0] | (ulong)from[1] << 32;
  int next = 2, held = 64;
  for (int n = 0; n < count; n++) {
    ushort entry = table[window & 255];
    int length = entry >> 8;
    symbols[block * count + n] = entry;
    window >>= length;
    held -= length;
    if (held <= 32) {
      window |= (ulong)from[next++] << held;
      held += 32;
    }
  }
}
