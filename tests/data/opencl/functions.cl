static int gcd(int a, int b) {
  while (b) {
    int t = a % b;
    a = b;
    b = t;
  }
  return a;
}
__attribute__((noinline)) int mix(int x, int y) { return (x ^ (y << 3)) + gcd(x & 255, 36); }
__attribute__((noinline)) float2 turn(float2 p, float s, float c) { return (float2)(c * p.x - s * p.y, s * p.x + c * p.y); }
kernel void mixed(global int *y, global const int *x) {
  size_t i = get_global_id(0);
  y[i] = mix(x[i], mix((int)i, x[i]));
}
kernel void turned(global float2 *p, float s, float c) {
  size_t i = get_global_id(0);
  p[i] = i & 1 ? turn(p[i], s, c) : turn(turn(p[i], s, c), s, c);
}
