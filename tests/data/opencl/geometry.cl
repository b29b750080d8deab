kernel void products(global float *d, global float4 *c, global const float4 *a, global const float4 *b) {
  size_t i = get_global_id(0);
  d[i] = dot(a[i], b[i]);
  c[i] = cross(a[i], b[i]);
}
kernel void lengths(global float *out, global const float2 *a, global const float2 *b) {
  size_t i = get_global_id(0);
  out[2 * i] = length(a[i]);
  out[2 * i + 1] = distance(a[i], b[i]);
}
