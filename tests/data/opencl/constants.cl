constant int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
constant char letters[] = "vISA text";
kernel void look(global int *y, global const int *x) {
  size_t i = get_global_id(0);
  y[i] = squares[x[i] & 7] + letters[i % 9];
}
kernel void filter(global float *y, global const float *x, constant float *weights, int n) {
  int i = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < n; k++) sum += weights[k] * x[i + k];
  y[i] = sum;
}
