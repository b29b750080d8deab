typedef struct { int a, b, c; } three;
kernel void fill(global three *z, long off, three a, long n) { int i = get_local_size(0) * get_group_id(0) + get_local_id(0); int step = get_global_size(0); for (; i < n; i += step) z[i + off] = a; }
