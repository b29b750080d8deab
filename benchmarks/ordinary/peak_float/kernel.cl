// Nothing but multiply-adds of floats, as programs that measure peaks have them.
#define M4(x, y) x = mad(y, a, x); y = mad(x, a, y); x = mad(y, a, x); y = mad(x, a, y);
#define M16(x, y) M4(x, y) M4(x, y) M4(x, y) M4(x, y)
__kernel void peak_float(__global float* out, float a) {
  float4 x = (float4)(a, a + 1, a + 2, a + 3), y = (float4)((float)get_local_id(0) * 1e-3f);
  for (int k = 0; k < 16; k++) { M16(x, y) M16(x, y) }
  float4 s = x + y;
  out[get_global_id(0)] = s.x + s.y + s.z + s.w;
}
