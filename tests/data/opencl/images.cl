constant sampler_t exact = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
kernel void flip(write_only image2d_t out, read_only image2d_t in) {
  int2 p = (int2)(get_global_id(0), get_global_id(1)), size = get_image_dim(in);
  write_imageui(out, p, read_imageui(in, exact, (int2)(size.x - 1 - p.x, p.y)) + (uint4)(0, 1, 2, 3));
}
kernel void rim(global uint *y, read_only image2d_t in) {
  int x = get_global_id(0) - 1;
  y[get_global_id(0)] = read_imageui(in, exact, (int2)(x, 2)).x;
}
