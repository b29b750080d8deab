// Solutions of the problem of N queens below each pair of first rows, by backtracking with a private stack.
__kernel void queens(__global uint* counts, int size) {
  uint full = (1u << size) - 1, id = get_global_id(0) % (size * size), solutions = 0;
  uint one = 1u << id % size, two = 1u << id / size;
  uint columns[16], left[16], right[16], open[16];
  int depth = 0;
  columns[0] = one | two;
  left[0] = (one << 1 | two) << 1;
  right[0] = (one >> 1 | two) >> 1;
  open[0] = full & ~(columns[0] | left[0] | right[0]);
  if ((one | one << 1 | one >> 1) & two) open[0] = 0;
  while (depth >= 0) {
    uint places = open[depth];
    if (places == 0) {
      depth--;
      continue;
    }
    uint bit = places & -places;
    open[depth] = places ^ bit;
    uint c = columns[depth] | bit, l = (left[depth] | bit) << 1, r = (right[depth] | bit) >> 1;
    if (c == full) {
      solutions++;
      continue;
    }
    depth++;
    columns[depth] = c;
    left[depth] = l;
    right[depth] = r;
    open[depth] = full & ~(c | l | r);
  }
  counts[get_global_id(0)] = solutions;
}
