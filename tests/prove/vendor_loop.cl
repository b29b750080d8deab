// A loop that a compiler of Intel's gets wrong with optimisations, if no other kernel is beside it (equal_pairs.py).

__attribute__((intel_reqd_sub_group_size(8))) kernel void
low_bits(global uint *o, global const ulong *a, int n, int s, ulong far) {
  int x = get_global_id(0), y = get_global_id(1);
  int g = x + get_global_size(0) * (y + get_global_size(1) * get_global_id(2));
  uint w = 5;
  int own = (int)((uint)(g * -3 + s) - (uint)far);
  for (int q = 0; q < 1; q++) {
    ushort start = (ushort)((g & 3) + far), end = (ushort)((g & 3) + far + 40);
    for (ushort k = start; k != end; k++) {
      if ((k & 3) == 2) continue;
      { int i = (int)((uint)own + (uint)k + 0u); if (i >= 0 && i < n) w = w * 3 + (uint)a[i]; }
      { int i = (int)((uint)own + (uint)k + 7u); if ((ulong)i < (ulong)n) w = w * 3 + (uint)a[i]; }
      { int i = (int)((uint)own + (uint)k + 0u); if ((ulong)i < (ulong)n) w = w * 3 + (uint)a[i]; }
    }
    own = (int)((uint)own + (uint)-3);
    o[g] = w;
  }
  o[g] = w;
}
