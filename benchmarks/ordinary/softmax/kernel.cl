// Softmax of rows: a group for each row, two reductions in local memory, exp.
__kernel void softmax(__global const float* in, __global float* out, int columns) {
  __local float part[256];
  int lane = get_local_id(0), lanes = get_local_size(0);
  __global const float* row = in + (size_t)get_group_id(0) * columns;
  __global float* result = out + (size_t)get_group_id(0) * columns;
  float largest = -INFINITY;
  for (int c = lane; c < columns; c += lanes) largest = fmax(largest, row[c]);
  part[lane] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = lanes / 2; half_way > 0; half_way /= 2) {
    if (lane < half_way) part[lane] = fmax(part[lane], part[lane + half_way]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  largest = part[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (int c = lane; c < columns; c += lanes) sum += exp(row[c] - largest);
  part[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = lanes / 2; half_way > 0; half_way /= 2) {
    if (lane < half_way) part[lane] += part[lane + half_way];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float scale = 1.0f / part[0];
  for (int c = lane; c < columns; c += lanes) result[c] = exp(row[c] - largest) * scale;
}
