// Sums along rows of 4 KB, a work-item for each row: the first pass of an integral image.
__kernel void sums(__global const uchar* image, __global uint* out, int width) {
  size_t row = get_global_id(0);
  uint sum = 0;
  for (int x = 0; x < width; x++) {
    sum += image[row * width * 4 + x];
    out[row * width + x] = sum;
  }
}
