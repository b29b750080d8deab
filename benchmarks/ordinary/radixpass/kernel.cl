// A pass of a radix sort by four bits: each work-item counts 16 keys, the group adds up, and the keys are ordered.
__kernel void radixpass(__global const uint* keys, __global uint* out, uint shift) {
  __local uint counts[16 * 128], sums[128];
  size_t item = get_local_id(0), base = get_group_id(0) * 2048;
  for (int d = 0; d < 16; d++) counts[d * 128 + item] = 0;
  for (int n = 0; n < 16; n++) counts[(keys[base + item * 16 + n] >> shift & 15) * 128 + item]++;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint total = 0;
  for (int n = 0; n < 16; n++) {
    uint count = counts[item * 16 + n];
    counts[item * 16 + n] = total;
    total += count;
  }
  sums[item] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 1; step < 128; step *= 2) {
    uint left = item >= step ? sums[item - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[item] += left;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  uint before = item ? sums[item - 1] : 0;
  for (int n = 0; n < 16; n++) counts[item * 16 + n] += before;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 0; n < 16; n++) {
    uint key = keys[base + item * 16 + n];
    out[base + counts[(key >> shift & 15) * 128 + item]++] = key;
  }
}
