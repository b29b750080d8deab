// The nearest box that a ray meets, in a tree of boxes with a private stack: boxes of node n are below 2n + 1 and 2n + 2.
typedef struct { float4 low, high; } Box;

float enter(Box box, float4 from, float4 rate) {
  float4 a = (box.low - from) * rate, b = (box.high - from) * rate, near = fmin(a, b), far = fmax(a, b);
  float first = fmax(fmax(near.x, near.y), fmax(near.z, 0.0f)), last = fmin(far.x, fmin(far.y, far.z));
  return first <= last ? first : INFINITY;
}

__kernel void boxes(__global const Box* tree, __global const float4* rays, __global float* hits, int inner) {
  float4 from = rays[2 * get_global_id(0)], rate = 1.0f / rays[2 * get_global_id(0) + 1];
  float nearest = 100;
  int stack[24], depth = 1;
  stack[0] = 0;
  while (depth > 0) {
    int node = stack[--depth];
    float t = enter(tree[node], from, rate);
    if (t >= nearest) continue;
    if (node >= inner) {
      nearest = t;
    } else {
      stack[depth++] = 2 * node + 1;
      stack[depth++] = 2 * node + 2;
    }
  }
  hits[get_global_id(0)] = nearest;
}
