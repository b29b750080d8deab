// Programs in which work-items of one hardware thread race (-DRACE), as only its lock-step orders them, and what mends them. A
// line before each kernel has its launch: work-items and group, along x, y and z. Every group is one hardware thread.
// Three buffers of 4096 dwords, the first with small numbers, the others with zeros.
#ifdef RACE
#define BROKEN(wrong, right) wrong
#else
#define BROKEN(wrong, right) right
#endif
#define NOTHING
#define MISSING_LOCAL BROKEN(NOTHING, barrier(CLK_LOCAL_MEM_FENCE))
#define MISSING_GLOBAL BROKEN(NOTHING, barrier(CLK_GLOBAL_MEM_FENCE))
#define LOCAL_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define KERNEL(name, simd) __attribute__((intel_reqd_sub_group_size(simd))) \
    kernel void name(global uint *a, global uint *b, global uint *c)
#define ITEM uint l = get_local_id(0), g = get_global_id(0), w = get_group_id(0), n = get_local_size(0)

// -- local memory

// 64 8
KERNEL(neighbour, 8) { ITEM; local uint s[8]; s[l] = a[g]; MISSING_LOCAL; b[g] = s[l ^ 1]; }

// 64 16
KERNEL(reversed, 16) { ITEM; local uint s[16]; s[l] = a[g] * 3; MISSING_LOCAL; b[g] = s[15 - l]; }

// 64 32
KERNEL(reduction_without_barriers, 32) {
  ITEM; local uint s[32]; s[l] = a[g]; LOCAL_BARRIER;
  for (uint k = n / 2; k; k /= 2) { if (l < k) s[l] += s[l + k]; MISSING_LOCAL; }
  if (l == 0) b[w] = s[0];
}

// 64 16
KERNEL(reduction_whose_tail_has_none, 16) {
  ITEM; local uint s[16]; s[l] = a[g]; LOCAL_BARRIER;
  for (uint k = 8; k > 2; k /= 2) { if (l < k) s[l] += s[l + k]; LOCAL_BARRIER; }
  for (uint k = 2; k; k /= 2) { if (l < k) s[l] += s[l + k]; MISSING_LOCAL; }
  if (l == 0) b[w] = s[0];
}

// 64 8
KERNEL(last_barrier_before_the_result, 8) {
  ITEM; local uint s[8]; s[l] = a[g]; LOCAL_BARRIER; s[l] += 1; MISSING_LOCAL; b[g] = s[(l + 3) % 8];
}

// 64 32
KERNEL(scan, 32) {
  ITEM; local uint s[32]; s[l] = a[g]; LOCAL_BARRIER;
  for (uint k = 1; k < n; k *= 2) { uint x = l >= k ? s[l - k] : 0; MISSING_LOCAL; s[l] += x; LOCAL_BARRIER; }
  b[g] = s[l];
}

// 64 16
KERNEL(tile_used_again, 16) {
  ITEM; local uint s[16]; uint sum = 0;
  for (uint k = 0; k < 4; k++) { s[l] = a[k * 64 + g]; LOCAL_BARRIER; sum += s[(l + 5) % 16]; MISSING_LOCAL; }
  b[g] = sum;
}

// 64 16
KERNEL(first_item_tells_all, 16) { ITEM; local uint s[1]; if (l == 0) s[0] = a[g]; MISSING_LOCAL; b[g] = s[0]; }

// 64 8
KERNEL(last_item_counts, 8) {
  ITEM; local uint s[8]; s[l] = a[g]; MISSING_LOCAL;
  if (l == 7) { uint sum = 0; for (uint k = 0; k < 8; k++) sum += s[k]; b[w] = sum; }
}

// 64 32
KERNEL(odd_items_write, 32) {
  ITEM; local uint s[32]; s[l] = a[g]; LOCAL_BARRIER;
  if (l & 1) s[l] = g; MISSING_LOCAL; if (!(l & 1)) b[g] = s[l + 1];
}

// 64 16
KERNEL(both_sides_of_a_branch, 16) {
  ITEM; local uint s[32]; s[l] = l; s[l + 16] = 0; LOCAL_BARRIER;
  if (l < 8) s[l] = a[g]; else b[g] = s[BROKEN(l - 8, l)];
}

// 64 16
KERNEL(exchange_sort, 16) {
  ITEM; local uint s[16]; s[l] = a[g]; LOCAL_BARRIER;
  for (uint k = 0; k < 16; k++) {
    uint i = 2 * l + (k & 1);
    if (i + 1 < 16) { uint x = s[i], y = s[i + 1]; if (x > y) { s[i] = y; s[i + 1] = x; } }
    MISSING_LOCAL;
  }
  b[g] = s[l];
}

// -- elements of other sizes

// 64 16
KERNEL(bytes, 16) { ITEM; local uchar s[16]; s[l] = a[g]; MISSING_LOCAL; b[g] = s[(l + 1) % 16]; }

// 64 8
KERNEL(words, 8) { ITEM; local ushort s[8]; s[l] = a[g]; MISSING_LOCAL; b[g] = s[7 - l]; }

// 64 16
KERNEL(quadwords, 16) { ITEM; local ulong s[16]; s[l] = a[g]; MISSING_LOCAL; b[g] = s[l ^ 3]; }

// 64 8
KERNEL(vectors, 8) { ITEM; local uint4 s[8]; s[l] = (uint4)(a[g], l, g, w); MISSING_LOCAL; b[g] = s[(l + 2) % 8].y; }

// -- two and three dimensions

// 16x16 4x4
KERNEL(transposed, 16) {
  local uint s[4][4]; uint x = get_local_id(0), y = get_local_id(1), i = get_global_id(1) * 16 + get_global_id(0);
  s[y][x] = a[i]; MISSING_LOCAL; b[i] = s[x][y];
}

// 16x8 8x4
KERNEL(row_above, 32) {
  local uint s[5][8]; uint x = get_local_id(0), y = get_local_id(1), i = get_global_id(1) * 16 + get_global_id(0);
  s[y + 1][x] = a[i]; if (y == 0) s[0][x] = 0; MISSING_LOCAL; b[i] = s[y][x];
}

// 4x4x4 2x2x2
KERNEL(corners, 8) {
  local uint s[2][2][2]; uint x = get_local_id(0), y = get_local_id(1), z = get_local_id(2);
  uint i = (get_global_id(2) * 4 + get_global_id(1)) * 4 + get_global_id(0);
  s[z][y][x] = a[i]; MISSING_LOCAL; b[i] = s[1 - z][1 - y][1 - x];
}

// -- global memory

// 64 16
KERNEL(neighbour_global, 16) { ITEM; c[g] = a[g]; MISSING_GLOBAL; b[g] = c[w * 16 + (l + 1) % 16]; }

// 64 32
KERNEL(in_place, 32) { ITEM; uint x = c[w * 32 + 31 - l]; MISSING_GLOBAL; c[g] = x + a[g]; }

// 16x16 4x2
KERNEL(tile_global, 8) {
  uint x = get_global_id(0), y = get_global_id(1);
  c[y * 16 + x] = a[y * 16 + x]; MISSING_GLOBAL; b[y * 16 + x] = c[(y ^ 1) * 16 + x];
}

// 64 16
KERNEL(bytes_global, 16) {
  ITEM; global uchar *p = (global uchar *)c; p[g] = a[g]; MISSING_GLOBAL; b[g] = p[w * 16 + 15 - l];
}

// -- several work-items at one place

// 64 16
KERNEL(same_value, 16) { ITEM; b[w * 16 + BROKEN(a[g] % 5, l)] = 7; }

// 64 8
KERNEL(bins, 8) {
  ITEM; local uint s[8]; s[l] = 0; LOCAL_BARRIER;
  BROKEN(s[a[g] % 5]++, atomic_inc(&s[a[g] % 5])); LOCAL_BARRIER; b[g] = s[l];
}

// 64 32
KERNEL(counter_looked_at, 32) {
  ITEM; local uint s[1]; if (l == 0) s[0] = 0; LOCAL_BARRIER; if (a[g] & 1) atomic_inc(&s[0]); MISSING_LOCAL; b[g] = s[0];
}

// -- functions

__attribute__((noinline)) void put(local uint *s, uint i, uint x) { s[i] = x; }
__attribute__((noinline)) uint get(local uint *s, uint i) { return s[i]; }

// 64 16
KERNEL(in_functions, 16) { ITEM; local uint s[16]; put(s, l, a[g]); MISSING_LOCAL; b[g] = get(s, l ^ 5); }

// -- what orders work-items of a sub-group

// 64 16
KERNEL(shuffled, 16) {
  ITEM; local uint s[16]; uint x = a[g], y = 0; s[l] = x; BROKEN(NOTHING, y = intel_sub_group_shuffle(x, l ^ 1)); b[g] = s[l ^ 1] + y;
}

// 64 32
KERNEL(voted, 32) {
  ITEM; local uint s[32]; uint x = a[g]; s[l] = x; if (BROKEN(l < 40, sub_group_any(x > 2))) b[g] = s[l ^ 2];
}
