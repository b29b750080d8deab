// Programs with one defect each (-DWRONG) and what mends them, under all checks. A line before each kernel has the codes of what is found then;
// those with "values:" do more by who wins the race, or by what the compiler makes of lanes that store to one place.
// Launch: 128 work-items in groups of 64, in sub-groups of 16; three buffers of 1024 dwords, the first with small numbers, the others with zeros.
#ifdef WRONG
#define BROKEN(wrong, right) wrong
#else
#define BROKEN(wrong, right) right
#endif
#define N 64
#define KERNEL(name) __attribute__((intel_reqd_sub_group_size(16), reqd_work_group_size(N, 1, 1))) \
    kernel void name(global uint *a, global uint *b, global uint *c)
#define ITEM uint l = get_local_id(0), g = get_global_id(0), w = get_group_id(0)
#define MEET barrier(CLK_LOCAL_MEM_FENCE)
#define NOTHING
struct Fields { uint x; ushort y; uchar z, u; };
struct Parts { uint x, y[3]; uchar z; };

// -- races

// K001
KERNEL(ring_of_stages) {
  ITEM; local uint s[3][N]; uint sum = 0;
  for (uint k = 0; k < 5; k++) {
    s[BROKEN(0, k % 3)][l] = a[g] + k; MEET; sum += s[BROKEN(0, k % 3)][(l + 21) % N];
  }
  b[g] = sum;
}

// values: K001
KERNEL(sums_of_sub_groups) {
  ITEM; local uint s[4]; uint x = sub_group_reduce_add(a[g]);
  if (get_sub_group_local_id() == 0) s[get_sub_group_id()] = x;
  BROKEN(NOTHING, MEET); b[g] = s[0] + s[1] + s[2] + s[3];
}

// K001
KERNEL(histograms_of_sub_groups) {
  ITEM; local uint h[4][8]; if (l < 32) h[l / 8][l % 8] = 0; MEET;
  uint t = get_sub_group_id(), lane = get_sub_group_local_id();
  for (uint k = 0; k < 16; k++) if (lane == k) h[BROKEN(t / 2, t)][a[g] % 8]++;
  MEET; if (l < 8) b[w * 8 + l] = h[0][l] + h[1][l] + h[2][l] + h[3][l];
}

// K001
KERNEL(flags_in_bytes) {
  ITEM; local uchar f[N]; f[l] = 0; MEET; f[BROKEN(l % 16, l)] = 1; MEET; b[g] = f[l];
}

// K003
KERNEL(fields_beside_each_other) {
  ITEM; global struct Fields *p = (global struct Fields *)c;
  if (w == 0) p[l].z = a[g]; else { p[l].y = 1; BROKEN(p[l].z, p[l].u) = 2; }
}

// K001 K002 K003
KERNEL(one_component_too_many) { ITEM; uint4 v = a[g]; BROKEN(vstore4(v + (uint4)(g, g, g, g + 1), 0, b + 3 * g), vstore3(v.xyz, 0, b + 3 * g)); }

// K001
KERNEL(sweep_down) {
  ITEM; local uint s[N]; s[l] = a[g]; MEET;
  for (uint d = 1; d < N; d *= 2) { if (l % (2 * d) == 2 * d - 1) s[l] += s[l - d]; MEET; }
  if (l == 0) s[N - 1] = 0; MEET;
  for (uint d = N / 2; d > 0; d /= 2) {
    if (l % (2 * d) == 2 * d - 1) { uint x = s[l - d]; s[l - d] = s[l]; s[l] += x; } BROKEN(NOTHING, MEET);
  }
  MEET; b[g] = s[l];
}

// K001
KERNEL(bytes_and_the_word) {
  ITEM; local uint s[N]; local uchar *p = (local uchar *)s; s[l] = 0; MEET;
  for (uint k = 0; k < 4; k++) p[k * N + l] = a[g] + k;
  BROKEN(NOTHING, MEET); b[g] = s[(l + 16) % N];
}

// K003
KERNEL(transposition_in_place) {
  ITEM; uint i = g % 8, j = g / 8 % 8, k = 64 + j * 8 + i, m = 64 + i * 8 + j;
  if (BROKEN(w == 0 ? i < j : i > j, i < j && w == 0)) { uint x = c[k]; c[k] = c[m] + 1; c[m] = x; }
}

// K001
KERNEL(queue_in_local_memory) {
  ITEM; local uint q[N], n; q[l] = 0; if (l == 0) n = 0; MEET;
  if (a[g] % 2) q[atomic_inc(&n)] = g;
  BROKEN(NOTHING, MEET); b[g] = q[l % 4] & 1;
}

// K001
KERNEL(next_tile_too_early) {
  ITEM; local uint tile[N]; uint sum = 0;
  for (uint k = 0; k < 3; k++) { tile[l] = a[k * N + l]; MEET; for (uint m = 0; m < 4; m++) sum += tile[(l * 5 + m) % N]; BROKEN(NOTHING, MEET); }
  b[g] = sum;
}

// values: K001 K003
KERNEL(largest_by_hand) { ITEM; uint x = a[g] + g; BROKEN(if (x > c[1]) c[1] = x, atomic_max(c + 1, x)); }

// K001
KERNEL(exchange_loop) { ITEM; local uint n, q[N]; q[l] = 0; if (l == 0) n = 0; MEET; uint old = BROKEN(n, atomic_or(&n, 0)), seen; while ((seen = atomic_cmpxchg(&n, old, old + 1)) != old) old = seen; q[old % N] = g; MEET; b[g] = q[l]; }

// K001
KERNEL(vectors_of_bytes) { ITEM; local uchar s[4 * N]; vstore4((uchar4)(uchar)a[g], 0, s + 4 * l); MEET; if (l < 32) vstore4((uchar4)7, 0, s + 4 * l + BROKEN(62, 0)); if (l >= BROKEN(16, 32)) s[4 * l + 3] = 1; MEET; b[g] = s[4 * l]; }

// values: K001
KERNEL(rows_and_columns) { ITEM; local uint t[8][9]; t[l / 8][l % 8] = a[g]; BROKEN(NOTHING, MEET); uint x = 0; for (uint k = 0; k < 8; k++) x += t[k][l % 8]; MEET; t[l / 8][l % 8] = x; MEET; b[g] = t[l % 8][l / 8]; }

// -- undefined values

// K013
KERNEL(private_array_in_part) {
  ITEM; uint p[8]; for (uint k = 0; k < BROKEN(7, 8); k++) p[(k + a[0]) % 8] = k + a[g]; b[g] = p[(g + a[g]) % 8];
}

// K013
KERNEL(halo_in_part) { ITEM; local uint s[N + 2]; s[l + 1] = a[g]; if (l == 0) { BROKEN(NOTHING, s[0] = 7); s[N + 1] = 7; } MEET; b[g] = s[l] + s[l + 1] + s[l + 2]; }

// K013
KERNEL(selected) { ITEM; local uint s[N]; if (l % 2) s[l] = a[g]; MEET; b[g] = select(s[l], 5u, BROKEN(l % 4 == 2, l % 2 == 0) ? 1u : 0u); }

// K013
KERNEL(shuffled) { ITEM; local uint s[N]; if (l % 2) s[l] = a[g]; MEET; b[g] = intel_sub_group_shuffle(s[l], BROKEN(l % 16, l % 16 | 1)); }

// K013
KERNEL(smallest) { ITEM; local uint s[N]; if (l != 9) s[l] = a[g]; MEET; uint x = s[l]; b[g] = BROKEN(min(x, 3u), l == 9 ? 3u : min(x, 3u)); }

// K013
KERNEL(masked) { ITEM; local uint s[N]; if (l % 2) s[l] = a[g]; MEET; b[g] = s[l] & (BROKEN(c[g] + 1, c[g])); }

// K010
KERNEL(times_of_a_loop) { ITEM; local uint s[N]; if (l < BROKEN(60, 64)) s[l] = a[g]; MEET; uint x = 0; for (uint k = 0; k < s[l] % 16; k++) x += a[g + k]; b[g] = x; }

// K001 K011
KERNEL(where_to) { ITEM; local uint s[N]; if (l < BROKEN(60, 64)) s[l] = l; MEET; b[w * N + s[l] % N] = 1; }

// K012
KERNEL(what_is_added) { ITEM; local uint s[N]; if (l < BROKEN(60, 64)) s[l] = l; MEET; atomic_add(c, s[l]); }

// K012
KERNEL(counter_without_a_start) { ITEM; local uint n; BROKEN(NOTHING, if (l == 0) n = 0; MEET); atomic_inc(&n); MEET; b[g] = n; }

// K013
KERNEL(three_of_four) { ITEM; local uint4 s[N]; s[l].xyz = a[g]; BROKEN(NOTHING, s[l].w = 1); MEET; vstore4(s[(l + 1) % N], g, b); }

// K013
KERNEL(bytes_of_a_dword) {
  ITEM; local uint s[N]; local uchar *p = (local uchar *)(s + l); p[0] = a[g]; p[1] = 1; p[2] = 2; MEET;
  b[g] = s[(l + 5) % N] & BROKEN(0x1ffffff, 0xffffff);
}

// K013
KERNEL(end_of_a_tree) {
  ITEM; local uint s[N]; if (l < BROKEN(61, 64)) s[l] = a[g]; MEET;
  for (uint k = N / 2; k > 0; k /= 2) { if (l < k) s[l] += s[l + k]; MEET; } if (l == 0) b[w] = s[0];
}

// K013
KERNEL(times_zero) { ITEM; local float s[N]; if (l % 4) s[l] = a[g]; MEET; float x = s[l]; ((global float *)b)[g] = BROKEN(x * c[g], l % 4 ? x * c[g] : 0); }

// K013
KERNEL(memory_of_another_group) { ITEM; local uint s[N]; if (BROKEN(w == 0, 1)) s[l] = a[g]; MEET; b[g] = s[N - 1 - l]; }

// K013
KERNEL(lanes_that_are_off) { ITEM; uint x = 0; if (l % 16 < a[3] + 5) { uint y = a[g] * 3; x = intel_sub_group_shuffle(y, BROKEN(12, 3)); } b[g] = x; }

// K013
KERNEL(structure_in_part) {
  ITEM; local struct Parts s[N]; s[l].x = l; s[l].y[a[g] % 3] = 1; BROKEN(NOTHING, s[l].y[(a[g] + 1) % 3] = s[l].y[(a[g] + 2) % 3] = 3);
  s[l].z = 3; MEET; b[g] = s[(l + 1) % N].y[1] + s[l].x + s[l].z;
}

// K013
KERNEL(way_that_sets_nothing) { ITEM; uint p[4]; uint n = a[g] % 4; switch (n) { case 0: p[a[0] % 4] = 1; break; case 1: case 2: case 3: BROKEN(NOTHING, p[a[0] % 4] = 2); } b[g] = p[c[g] + a[0] % 4]; }

// K013
KERNEL(block_reads) { ITEM; local uint s[N]; uint x = intel_sub_group_block_read(a + get_sub_group_id() * 16 + w * N); if (BROKEN(l != 5, 1)) s[l] = x; MEET; b[g] = intel_sub_group_shuffle_down(s[l], s[l], 1u); }

// K013
KERNEL(halves_of_words) { ITEM; local ushort s[2 * N]; s[2 * l] = a[g]; BROKEN(NOTHING, s[2 * l + 1] = 9); MEET; b[g] = ((local uint *)s)[(l + 3) % N]; }

// K013
KERNEL(bits_put_together) { ITEM; local uint s[N]; if (l % 2) s[l] = a[g]; MEET; uint x = s[l]; b[g] = BROKEN((x & 0xff00) | 3, l % 2 ? (x & 0xff00) | 3 : 3); }

// K013
KERNEL(shifted_out) { ITEM; local uchar s[4 * N]; s[4 * l] = s[4 * l + 1] = a[g]; MEET; uint x = ((local uint *)s)[l]; b[g] = BROKEN(x << 8, x << 16); }

// K013
KERNEL(narrowed) { ITEM; local uchar s[4 * N]; s[4 * l] = a[g]; MEET; uint x = ((local uint *)s)[l]; b[g] = BROKEN((uint)(ushort)x, (uint)(uchar)x); }

// K013
KERNEL(components) { ITEM; local uint4 s[N]; s[l].s02 = (uint2)(a[g], 1); MEET; uint4 x = s[(l + 7) % N]; b[g] = BROKEN(x.x + x.y, x.x + x.z); }

// K013
KERNEL(copies_of_structures) { ITEM; local struct Parts s[N], t[N]; s[l].x = l; s[l].y[0] = s[l].y[1] = 4; BROKEN(NOTHING, s[l].y[2] = 5); MEET; t[l] = s[(l + 1) % N]; MEET; b[g] = t[(l + 20) % N].y[2]; }

// K013
KERNEL(converted) { ITEM; local float s[N]; if (l < BROKEN(63, 64)) s[l] = a[g] * 0.5f; MEET; b[g] = convert_uint_sat_rte(s[(l + 9) % N]); }

// K013
KERNEL(counted_bits) { ITEM; local uint s[N]; if (l < BROKEN(63, 64)) s[l] = a[g]; MEET; b[g] = popcount(s[(l + 9) % N]) + clz(s[(l + 9) % N]); }

// K013
KERNEL(long_halves) { ITEM; local ulong s[N]; local uint *p = (local uint *)s; p[2 * l] = a[g]; BROKEN(NOTHING, p[2 * l + 1] = 0); MEET; ulong x = s[(l + 1) % N] * 3; b[g] = x >> 32; }

// K013
KERNEL(last_of_a_loop) { ITEM; uint p[6]; for (uint k = 0; k < 6; k++) { if (k == BROKEN(a[g], 9)) continue; p[k] = k * g; } uint x = 0; for (uint k = 0; k < 6; k++) x += p[(k + a[1]) % 6] ; b[g] = x; }

// K013
KERNEL(sums_of_groups) { ITEM; local uint s[N]; if (l < BROKEN(63, 64)) s[l] = a[g]; MEET; uint x = sub_group_scan_inclusive_add(s[l]); if (l % 16 == 15) b[g / 16] = x; }

// -- divergence

// K021
KERNEL(around_in_a_loop) { ITEM; local uint s[N]; for (uint k = 0; k < BROKEN(a[g] % 2, 1) + 1; k++) { s[l] = k; MEET; } b[g] = s[l]; }

// K021
KERNEL(behind_a_return) { ITEM; local uint s[N]; s[l] = a[g]; if (BROKEN(l % 16 == 3, 0)) return; MEET; b[g] = s[l]; }
