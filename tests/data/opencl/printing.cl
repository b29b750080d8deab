kernel void hello(global int *y) {
  int i = get_global_id(0);
  y[i] = i * i;
  if (i % 8 == 3) printf("item %d: %d, %s %.2f\n", i, y[i], i > 8 ? "late" : "soon", i * 0.25f);
}
kernel void vectors(global int4 *y) {
  if (get_global_id(0) == 1) printf("%v4d|%x\n", y[1], 255);
  y[get_global_id(0)] += 1;
}
