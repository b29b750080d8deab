// The nearest of some centres, for points whose features lie one behind the other.
__kernel void kmeans(__global const float* points, __global const float* centres, __global int* nearest, int count, int features, int clusters) {
  int p = get_global_id(0);
  if (p >= count) return;
  int best = 0;
  float least = FLT_MAX;
  for (int c = 0; c < clusters; c++) {
    float distance = 0.0f;
    for (int f = 0; f < features; f++) {
      float d = points[f * count + p] - centres[c * features + f];
      distance += d * d;
    }
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  nearest[p] = best;
}
