// Blocks of an LZ77 code, one a work-item: each token has a number of literals, a number of copied bytes and a distance.
__kernel void unpack(__global const uchar* packed, __global const uint* starts, __global uchar* out, int size) {
  __global const uchar* from = packed + starts[get_global_id(0)];
  __global uchar* to = out + get_global_id(0) * size;
  int place = 0;
  while (place < size) {
    uint token = *from++, literals = token >> 4, copied = token & 15;
    for (uint n = 0; n < literals; n++) to[place++] = *from++;
    uint distance = *from++;
    for (uint n = 0; n < copied; n++, place++) to[place] = to[place - distance];
  }
}
