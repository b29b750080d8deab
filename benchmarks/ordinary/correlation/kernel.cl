// Mean and deviation of columns, then the columns standardised: two passes over a matrix.
__kernel void correlation(__global float* data, __global float* deviations, int rows, int columns) {
  int column = get_global_id(0);
  if (column >= columns) return;
  float mean = 0.0f, square = 0.0f;
  for (int r = 0; r < rows; r++) mean += data[r * columns + column];
  mean /= rows;
  for (int r = 0; r < rows; r++) {
    float d = data[r * columns + column] - mean;
    square += d * d;
  }
  float deviation = sqrt(square / rows);
  deviation = deviation <= 0.005f ? 1.0f : deviation;
  deviations[column] = deviation;
  for (int r = 0; r < rows; r++) data[r * columns + column] = (data[r * columns + column] - mean) / (sqrt((float)rows) * deviation);
}
