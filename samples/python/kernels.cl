typedef struct { float factor; int shift; } Change;
typedef struct Node { global struct Node *next; int value; } Node;
kernel void scale(global float *data, const Change change, const int n) {
  int i = get_global_id(0);
  if (i < n) data[i] = data[i] * change.factor + change.shift;
}
kernel void walk(global Node *first, global int *out) {
  int sum = 0;
  for (global Node *p = first; p; p = p->next) sum += p->value;
  out[get_global_id(0)] = sum;
}
kernel void invert(read_only image2d_t from, write_only image2d_t to) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(to, at, 1.0f - read_imagef(from, at));
}
