kernel void escape(global int *y, float step, int limit) {
  float re = get_global_id(0) * step - 2.0f, im = get_global_id(1) * step - 1.0f, a = 0, b = 0;
  int n = 0;
  while (n < limit && a * a + b * b <= 4.0f) {
    float t = a * a - b * b + re;
    b = 2 * a * b + im;
    a = t;
    n++;
  }
  y[get_global_id(1) * get_global_size(0) + get_global_id(0)] = n;
}
kernel void life(global uchar *out, global const uchar *in) {
  int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1), n = 0;
  for (int j = -1; j < 2; j++)
    for (int i = -1; i < 2; i++)
      if (i || j) n += in[(y + j + h) % h * w + (x + i + w) % w];
  out[y * w + x] = n == 3 || (n == 2 && in[y * w + x]);
}
