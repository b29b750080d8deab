// Keys go into a hash table with open addressing, by compare-and-swap; those that find a place are marked.
__kernel void hashinsert(__global const uint* keys, __global uint* table, __global uint* placed, uint mask) {
  uint key = keys[get_global_id(0)], hash = key;
  hash ^= hash >> 16;
  hash *= 0x7feb352d;
  hash ^= hash >> 15;
  hash *= 0x846ca68b;
  hash ^= hash >> 16;
  for (uint n = 0; n <= mask; n++) {
    uint found = atomic_cmpxchg((volatile __global uint*)&table[(hash + n) & mask], 0, key);
    if (found == 0 || found == key) {
      placed[get_global_id(0)] = 1;
      return;
    }
  }
  placed[get_global_id(0)] = 0;
}
