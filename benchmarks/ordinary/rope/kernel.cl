// Pairs turned by angles that depend on position and column.
__kernel void rope(__global const float2* in, __global float2* out, int half_columns, float base) {
  int column = get_global_id(0), position = get_global_id(1);
  float angle = position * pow(base, -(float)column / half_columns);
  float c = cos(angle), s = sin(angle);
  float2 v = in[position * half_columns + column];
  out[position * half_columns + column] = (float2)(v.x * c - v.y * s, v.x * s + v.y * c);
}
