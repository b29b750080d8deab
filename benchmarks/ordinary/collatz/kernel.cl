// Lengths of the sequences 3n + 1: loops that end elsewhere in every lane.
__kernel void collatz(__global uint* lengths) {
  uint i = get_global_id(0);
  uint n = i + 1, steps = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    steps++;
  }
  lengths[i] = steps;
}
