kernel void count(global uint *bins, global const uchar *x) {
  local uint own[16];
  size_t l = get_local_id(0);
  if (l < 16) own[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&own[x[get_global_id(0)] & 15]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 16) atomic_add(&bins[l], own[l]);
}
kernel void limits(global int *out, global const uchar *x) {
  int v = x[get_global_id(0)];
  atomic_min(&out[0], v);
  atomic_max(&out[1], v);
  atomic_or(&out[2], 1 << (v & 31));
  atomic_xor(&out[3], v);
}
