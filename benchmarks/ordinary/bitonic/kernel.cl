// One stage of a bitonic sort: pairs of elements whose numbers differ in the bit that the host gives.
__kernel void bitonic(__global uint* keys, uint distance, uint block) {
  uint i = get_global_id(0), other = i ^ distance;
  if (other > i) {
    uint a = keys[i], b = keys[other];
    if ((a > b) == ((i & block) == 0)) {
      keys[i] = b;
      keys[other] = a;
    }
  }
}
