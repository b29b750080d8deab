// One level of a breadth-first search: rows of neighbours of other lengths, scattered writes.
__kernel void bfs(__global const int* starts, __global const int* edges, __global const uchar* frontier, __global int* cost, int nodes, int level) {
  int node = get_global_id(0);
  if (node >= nodes || !frontier[node]) return;
  for (int e = starts[node]; e < starts[node + 1]; e++) {
    int other = edges[e];
    if (cost[other] < 0) cost[other] = level;
  }
}
