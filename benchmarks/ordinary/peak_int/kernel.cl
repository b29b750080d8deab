// Nothing but multiply-adds of integers.
#define M4(x, y) x = y * x + y; y = x * y + x; x = y * x + y; y = x * y + x;
#define M16(x, y) M4(x, y) M4(x, y) M4(x, y) M4(x, y)
__kernel void peak_int(__global int* out, int a) {
  int4 x = (int4)(a, a + 1, a + 2, a + 3), y = (int4)((int)get_local_id(0));
  for (int k = 0; k < 16; k++) { M16(x, y) M16(x, y) }
  int4 s = x + y;
  out[get_global_id(0)] = s.x + s.y + s.z + s.w;
}
