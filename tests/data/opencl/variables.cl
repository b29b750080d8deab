global int counter = 5;
global int kept[16];
kernel void keep(global const int *x) {
  size_t i = get_global_id(0);
  kept[i] = x[i] * x[i];
  if (i == 0) counter += 2;
}
kernel void show(global int *y) {
  size_t i = get_global_id(0);
  y[i] = kept[15 - i] + counter;
}
