// A median of 3 x 3 pixels of bytes by a network of exchanges, with repeated edges.
#define ORDER(a, b) { uchar low = min(a, b); b = max(a, b); a = low; }
__kernel void median(__global const uchar* image, __global uchar* out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  uchar p[9];
  for (int n = 0; n < 9; n++) {
    int u = clamp(x + n % 3 - 1, 0, width - 1), v = clamp(y + n / 3 - 1, 0, height - 1);
    p[n] = image[v * width + u];
  }
  ORDER(p[1], p[2]) ORDER(p[4], p[5]) ORDER(p[7], p[8]) ORDER(p[0], p[1]) ORDER(p[3], p[4]) ORDER(p[6], p[7])
  ORDER(p[1], p[2]) ORDER(p[4], p[5]) ORDER(p[7], p[8]) ORDER(p[0], p[3]) ORDER(p[5], p[8]) ORDER(p[4], p[7])
  ORDER(p[3], p[6]) ORDER(p[1], p[4]) ORDER(p[2], p[5]) ORDER(p[4], p[7]) ORDER(p[4], p[2]) ORDER(p[6], p[4])
  ORDER(p[4], p[2])
  out[y * width + x] = p[4];
}
