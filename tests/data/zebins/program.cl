// Two kernels, a function that is called over the stack, data of every kind, printf, and a kernel that shows the data. Made with
//   ocloc compile -file program.cl -device bmg -options -cl-std=CL3.0 -internal_options -cl-intel-emit-zebin-visa-sections
// by ocloc 26.27 (xe2.bin), and for -device tgllp with --format zebin by Debian 12's (xelp.bin).
constant float table[4] = {1.0f, 2.0f, 4.0f, 8.0f};
global int counter = 3;
global int *where = &counter;
global int total[4];

static __attribute__((noinline)) int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

kernel void saxpy(global float *y, global const float *x, float a, uint n) {
  uint i = get_global_id(0);
  if (i < n) y[i] += a * x[i] * table[i & 3];
}

kernel void steps(global int *y, local int *t) {
  uint i = get_global_id(0);
  t[get_local_id(0)] = y[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = factorial(t[get_local_id(0) ^ 1]);
  if (i < 4) total[i] += y[i];
  if (i == 0) *where += 1;
  if (i == 2) printf("item %d of %d: %d\n", (int)i, (int)get_global_size(0), y[i]);
}

kernel void state(global int *out) {
  out[0] = counter;
  out[1] = total[3];
}
