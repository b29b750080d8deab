// A filter of 5 by 5 weights over an image, read through a sampler that clamps.
__constant sampler_t clamped = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void blur(__read_only image2d_t in, __global float4* out, __global const float* weights, int width) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 sum = 0.0f;
  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++) sum += weights[(dy + 2) * 5 + dx + 2] * read_imagef(in, clamped, (int2)(x + dx, y + dy));
  out[y * width + x] = sum;
}
