// A row of weights of four bits (blocks of 32 with a scale) times a vector: a row for each item, as quantised models have them.
typedef struct { float scale; uchar values[16]; } block;
__kernel void q4(__global const block* weights, __global const float* x, __global float* y, int blocks) {
  int row = get_global_id(0);
  float sum = 0.0f;
  for (int b = 0; b < blocks; b++) {
    __global const block* w = weights + (size_t)row * blocks + b;
    float part = 0.0f;
    for (int k = 0; k < 16; k++) {
      uchar v = w->values[k];
      part += (float)((v & 15) - 8) * x[b * 32 + k] + (float)((v >> 4) - 8) * x[b * 32 + k + 16];
    }
    sum += w->scale * part;
  }
  y[row] = sum;
}
