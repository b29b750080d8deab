// One step of all shortest paths.
__kernel void floyd(__global int* paths, int n, int k) {
  int x = get_global_id(0), y = get_global_id(1);
  int way = paths[y * n + k] + paths[k * n + x];
  if (way < paths[y * n + x]) paths[y * n + x] = way;
}
