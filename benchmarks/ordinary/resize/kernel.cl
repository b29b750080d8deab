// An image at another size, through a sampler that interpolates.
__constant sampler_t linear = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
__kernel void resize(__read_only image2d_t in, __global float4* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  out[y * width + x] = read_imagef(in, linear, (float2)((x + 0.5f) / width, (y + 0.5f) / height));
}
