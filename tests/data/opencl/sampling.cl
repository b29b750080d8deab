kernel void sample(global float4 *y, read_only image2d_t in, sampler_t s, float2 scale) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  y[p.y * get_global_size(0) + p.x] = read_imagef(in, s, convert_float2(p) * scale);
}
kernel void sizes(global int *y, read_only image2d_t in) {
  y[0] = get_image_width(in);
  y[1] = get_image_height(in);
}
