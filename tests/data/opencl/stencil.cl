kernel void smooth(global float *out, global const float *in, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) sum += in[clamp(y + j, 0, h - 1) * w + clamp(x + i, 0, w - 1)];
  out[y * w + x] = sum;
}
kernel void laplace(global int *out, global const int *in) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  int w = get_global_size(0), h = get_global_size(1), d = get_global_size(2);
  int at = (z * h + y) * w + x;
  int sum = 0;
  if (x > 0) sum += in[at - 1];
  if (x < w - 1) sum += in[at + 1];
  if (y > 0) sum += in[at - w];
  if (y < h - 1) sum += in[at + w];
  if (z > 0) sum += in[at - w * h];
  if (z < d - 1) sum += in[at + w * h];
  out[at] = sum - 6 * in[at];
}
