// Transforms of 512 points in local memory, radix 2, 256 items each; results stay in the order that the last step leaves.
__kernel void fft(__global const float2* in, __global float2* out) {
  __local float2 part[512];
  int lane = get_local_id(0);
  size_t base = get_group_id(0) * (size_t)512;
  part[lane] = in[base + lane];
  part[lane + 256] = in[base + lane + 256];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int distance = 256; distance > 0; distance /= 2) {
    int j = lane & (distance - 1), i = ((lane & ~(distance - 1)) << 1) + j;
    float angle = -3.14159265358979f * j / distance;
    float c = native_cos(angle), s = native_sin(angle);
    float2 a = part[i], b = part[i + distance];
    float2 t = a - b;
    part[i] = a + b;
    part[i + distance] = (float2)(c * t.x - s * t.y, c * t.y + s * t.x);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[base + lane] = part[lane];
  out[base + lane + 256] = part[lane + 256];
}
