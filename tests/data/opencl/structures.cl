typedef struct { float3 at; float mass; int id; } Body;
typedef struct { float dt; int count; char flags[4]; } Settings;
kernel void step(global Body *b, Settings s) {
  size_t i = get_global_id(0);
  if ((int)i >= s.count) return;
  b[i].at += s.dt * b[i].mass;
  b[i].id = b[i].id * 2 + s.flags[i & 3];
}
kernel void split(global float *mass, global int *id, global const Body *b) {
  size_t i = get_global_id(0);
  mass[i] = b[i].mass + b[i].at.y;
  id[i] = b[i].id;
}
