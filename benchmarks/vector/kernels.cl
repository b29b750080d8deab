// The work of the vector kernels beside this file, one kernel of each name.

kernel void matmul(global const float *a, global const float *b, global float *c) {
  const int x = get_global_id(0), y = 8 * get_global_id(1);
  float s[8] = {0};
  for (int k = 0; k < 256; k++) {
    const float w = b[256 * k + x];
    for (int r = 0; r < 8; r++) s[r] = fma(w, a[256 * (y + r) + k], s[r]);
  }
  for (int r = 0; r < 8; r++) c[256 * (y + r) + x] = s[r];
}

kernel void stencil(global const float *in, global float *out) {
  const int x = get_global_id(0), y = get_global_id(1), at = 1088 * (y + 1) + x + 16;
  const float sum = in[at - 1088] + in[at + 1088] + in[at - 1] + in[at + 1];
  out[1024 * y + x] = fma(fma(in[at], -4.0f, sum), 0.2f, in[at]);
}

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void transpose(global const uint *in, global uint *out) {
  local uint tile[16][17];
  const int x = get_local_id(0), y = get_local_id(1), i = 16 * get_group_id(0), j = 16 * get_group_id(1);
  tile[y][x] = in[1024 * (j + y) + i + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[1024 * (i + y) + j + x] = tile[x][y];
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void scan(global const uint *in, global uint *out) {
  local uint sums[256];
  const int x = get_local_id(0);
  uint s = in[get_global_id(0)];
  for (int d = 1; d < 256; d *= 2) {
    sums[x] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= d) s += sums[x - d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = s;
}

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sort(global const uint *in, global uint *out) {
  local uint keys[64];
  const int x = get_local_id(0);
  keys[x] = in[get_global_id(0)];
  for (int size = 2; size <= 64; size *= 2)
    for (int d = size / 2; d; d /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint mine = keys[x], other = keys[x ^ d];
      barrier(CLK_LOCAL_MEM_FENCE);
      keys[x] = ((x & d) == 0) == ((x & size) == 0) ? min(mine, other) : max(mine, other);
    }
  out[get_global_id(0)] = keys[x];
}

uint reversed(uint x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  return rotate(x >> 8 & 0x00ff00ff | (x & 0x00ff00ff) << 8, 16u);
}

kernel void bits(global const uint *in, global uint *out) {
  uint x = in[get_global_id(0)];
  for (int n = 0; n < 4; n++) {
    const uint a = (reversed(x) + popcount(x) * 0x9e3779b1) ^ clz(x);
    x = a ^ rotate(a, 13u);
  }
  out[get_global_id(0)] = x;
}

kernel void dpas(global const char *a, global const char4 *b, global int *c) {
  const int x = get_global_id(0), y = 8 * get_global_id(1);
  int s[8] = {0};
  for (int k = 0; k < 64; k++) {
    const char4 w = b[256 * k + x];
    for (int r = 0; r < 8; r++) {
      const char4 v = *(global const char4 *)(a + 256 * (y + r) + 4 * k);
      s[r] += w.x * v.x + w.y * v.y + w.z * v.z + w.w * v.w;
    }
  }
  for (int r = 0; r < 8; r++) c[256 * (y + r) + x] = s[r];
}

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void reduce(global const float *in, global float *out) {
  local float sums[64];
  const int x = get_local_id(0), group = get_group_id(0);
  float s = 0;
  for (int n = 0; n < 64; n++) s += in[4096 * group + 64 * n + x];
  sums[x] = s;
  for (int d = 32; d; d /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x < d) sums[x] += sums[x + d];
  }
  if (x == 0) out[16 * group] = sums[0];
}

kernel void lookup(global const uint *in, global const float *table, global float *out) {
  out[get_global_id(0)] = table[in[get_global_id(0)]];
}

uint mixed(uint h, uint w) { return rotate(h ^ rotate(w * 0xcc9e2d51, 15u) * 0x1b873593, 13u) * 5 + 0xe6546b64; }

kernel void hash(global const uint4 *in, global uint *out) {
  uint h = 42;
  for (int n = 0; n < 4; n++) {
    const uint4 w = in[4 * get_global_id(0) + n];
    h = mixed(mixed(mixed(mixed(h, w.x), w.y), w.z), w.w);
  }
  h = (h ^ h >> 16) * 0x85ebca6b;
  h = (h ^ h >> 13) * 0xc2b2ae35;
  out[get_global_id(0)] = h ^ h >> 16;
}

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF
kernel void half_polynomial(global const half *in, global half *out) {
  const half x = in[get_global_id(0)];
  half s = x * (half)0.1 + (half)0.5;
  s = s * x + (half)1.0;
  s = s * x + (half)-0.30004882812;
  out[get_global_id(0)] = s * x + (half)0.75;
}

kernel void blur(global const uchar *in, global uchar *out) {
  const int x = get_global_id(0), y = get_global_id(1);
  ushort s = 0;
  for (int j = 0; j < 3; j++)
    for (int i = -1; i < 2; i++) s += in[1088 * (y + j) + x + 16 + i];
  out[1024 * y + x] = (ushort)(s * 28) >> 8;
}

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void histogram(global const uchar *in, global uint *out) {
  local uint counts[16];
  const int x = get_local_id(0), group = get_group_id(0);
  if (x < 16) counts[x] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 0; n < 16; n++) atomic_inc(&counts[in[1024 * group + 64 * n + x] >> 4]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x < 16) atomic_add(&out[x], counts[x]);
}
