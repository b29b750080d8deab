// The longest match in a window of 64 bytes before each place of a text, as compressors of the LZ77 family look for it.
__kernel void matches(__global const uchar* text, __global uint* found, uint size) {
  uint here = get_global_id(0), best = 0, distance = 0;
  uint longest = min(size - here, 32u);
  for (uint back = 1; back <= min(here, 64u); back++) {
    uint n = 0;
    while (n < longest && text[here + n] == text[here - back + n]) n++;
    if (n > best) {
      best = n;
      distance = back;
      if (n == longest) break;
    }
  }
  found[here] = best << 16 | distance;
}
