kernel void scale(global float4 *y, global const float4 *x, float a) {
  size_t i = get_global_id(0);
  y[i] = a * x[i] + (float4)(1, 2, 3, 4);
}
kernel void swizzle(global float4 *y) {
  size_t i = get_global_id(0);
  y[i] = y[i].wzyx + y[i].s0011;
}
kernel void pack(global float *y, global const float3 *x) {
  size_t i = get_global_id(0);
  vstore3(x[i] * 2.0f, i, y);
}
