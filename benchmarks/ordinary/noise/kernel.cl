// Gradient noise of four octaves, with a table of permutations.
float fade(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }

float slope(int hash, float x, float y, float z) {
  int h = hash & 15;
  float u = h < 8 ? x : y, v = h < 4 ? y : h == 12 || h == 14 ? x : z;
  return ((h & 1) == 0 ? u : -u) + ((h & 2) == 0 ? v : -v);
}

float gradient(__constant int* p, float x, float y, float z) {
  int i = (int)floor(x) & 255, j = (int)floor(y) & 255, k = (int)floor(z) & 255;
  x -= floor(x);
  y -= floor(y);
  z -= floor(z);
  float u = fade(x), v = fade(y), w = fade(z);
  int a = p[i] + j, aa = p[a] + k, ab = p[a + 1] + k, b = p[i + 1] + j, ba = p[b] + k, bb = p[b + 1] + k;
  float near = mix(mix(slope(p[aa], x, y, z), slope(p[ba], x - 1, y, z), u),
                   mix(slope(p[ab], x, y - 1, z), slope(p[bb], x - 1, y - 1, z), u), v);
  float far = mix(mix(slope(p[aa + 1], x, y, z - 1), slope(p[ba + 1], x - 1, y, z - 1), u),
                  mix(slope(p[ab + 1], x, y - 1, z - 1), slope(p[bb + 1], x - 1, y - 1, z - 1), u), v);
  return mix(near, far, w);
}

__kernel void noise(__constant int* p, __global float* out, int width, float scale, float z) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0, weight = 0.5f, rate = scale;
  for (int n = 0; n < 4; n++) {
    sum += weight * gradient(p, x * rate, y * rate, z * rate);
    weight *= 0.5f;
    rate *= 2;
  }
  out[y * width + x] = sum;
}
