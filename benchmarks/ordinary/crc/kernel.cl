// Checksums of records with a table in constant memory.
__kernel void crc(__global const uchar* data, __constant uint* table, __global uint* out, int length) {
  size_t record = get_global_id(0);
  uint sum = 0xffffffff;
  for (int k = 0; k < length; k++) sum = table[(sum ^ data[record * length + k]) & 255] ^ (sum >> 8);
  out[record] = ~sum;
}
