kernel void waves(global float *s, global float *c, global const float *x) {
  size_t i = get_global_id(0);
  s[i] = sin(x[i]);
  c[i] = cos(x[i]);
}
kernel void powers(global float *y, global const float *x) {
  size_t i = get_global_id(0);
  y[4 * i] = exp(x[i]);
  y[4 * i + 1] = log(x[i] + 1);
  y[4 * i + 2] = sqrt(x[i]);
  y[4 * i + 3] = pow(x[i], 1.5f);
}
kernel void rounds(global float *y, global const float *x) {
  size_t i = get_global_id(0);
  y[4 * i] = floor(x[i]);
  y[4 * i + 1] = ceil(x[i]);
  y[4 * i + 2] = trunc(x[i]);
  y[4 * i + 3] = fmod(x[i], 0.75f);
}
