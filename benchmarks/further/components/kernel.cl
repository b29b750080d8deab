// Connected components of equal pixels in a tile of 16 x 16: union-find in local memory by atomic minimum.
uint root(__local uint* parent, uint place) {
  while (parent[place] != place) place = parent[place];
  return place;
}

void join(__local uint* parent, uint a, uint b) {
  for (;;) {
    a = root(parent, a);
    b = root(parent, b);
    if (a == b) return;
    uint high = max(a, b), low = min(a, b), old = atomic_min(&parent[high], low);
    if (old == high) return;
    a = old;
    b = low;
  }
}

__kernel void components(__global const uchar* image, __global uint* labels, int width) {
  __local uint parent[256];
  __local uchar pixels[256];
  int x = get_local_id(0), y = get_local_id(1), place = y * 16 + x;
  size_t from = get_global_id(1) * width + get_global_id(0);
  parent[place] = place;
  pixels[place] = image[from];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x > 0 && pixels[place - 1] == pixels[place]) join(parent, place, place - 1);
  if (y > 0 && pixels[place - 16] == pixels[place]) join(parent, place, place - 16);
  barrier(CLK_LOCAL_MEM_FENCE);
  labels[from] = root(parent, place);
}
