// Sums of sines and cosines over samples, as reconstruction of images from magnetic resonance has them.
__kernel void mriq(__global const float* x, __global const float* y, __global const float* z, __global const float4* samples, __global const float* weights,
                   __global float* re, __global float* im, int count) {
  int v = get_global_id(0);
  float px = x[v], py = y[v], pz = z[v], sum_re = 0.0f, sum_im = 0.0f;
  for (int k = 0; k < count; k++) {
    float4 s = samples[k];
    float angle = 6.2831853071795864769f * (s.x * px + s.y * py + s.z * pz);
    sum_re += weights[k] * native_cos(angle);
    sum_im += weights[k] * native_sin(angle);
  }
  re[v] = sum_re;
  im[v] = sum_im;
}
