// Forces between particles that lists of neighbours name: gathers of float4.
__kernel void md(__global const float4* positions, __global const int* neighbours, __global float4* forces, int count, int lists, float cutoff) {
  int i = get_global_id(0);
  float4 mine = positions[i], force = 0.0f;
  for (int k = 0; k < lists; k++) {
    float4 other = positions[neighbours[k * count + i]];
    float dx = mine.x - other.x, dy = mine.y - other.y, dz = mine.z - other.z;
    float square = dx * dx + dy * dy + dz * dz;
    if (square < cutoff) {
      float inverse = 1.0f / square, sixth = inverse * inverse * inverse;
      float f = inverse * sixth * (1.5f * sixth - 2.0f);
      force.x += dx * f;
      force.y += dy * f;
      force.z += dz * f;
    }
  }
  forces[i] = force;
}
