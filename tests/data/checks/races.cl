// Programs with one race each (-DRACE) and what mends them. A line before each kernel has the codes of its findings; those
// behind "lsc:" are found only where fences say who sees what they order; those with "values:" go ways that depend on who wins.
// Launch: 512 work-items in groups of 128; three buffers of 4096 dwords, the first with small numbers, the others with zeros.
#ifdef RACE
#define BROKEN(wrong, right) wrong
#else
#define BROKEN(wrong, right) right
#endif
#define LOCAL_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define GLOBAL_BARRIER barrier(CLK_GLOBAL_MEM_FENCE)
#define NOTHING
#define WITHOUT_LOCAL BROKEN(NOTHING, LOCAL_BARRIER)
#define WITHOUT_GLOBAL BROKEN(NOTHING, GLOBAL_BARRIER)
#define KERNEL(name, simd) __attribute__((intel_reqd_sub_group_size(simd), reqd_work_group_size(N, 1, 1))) \
    kernel void name(global uint *a, global uint *b, global uint *c)
#define DEVICE_FENCE(order) atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, order, memory_scope_device)
#define N 128
#define ITEM uint l = get_local_id(0), g = get_global_id(0), w = get_group_id(0)

// -- local memory, missing barriers

// K001
KERNEL(neighbour_local, S0) { ITEM; local uint s[N]; s[l] = a[g]; WITHOUT_LOCAL; b[g] = s[(l + 37) % N]; }

// K001
KERNEL(reverse_local, S1) { ITEM; local uint s[N]; s[l] = a[g] * 3; WITHOUT_LOCAL; b[g] = s[N - 1 - l]; }

// K001
KERNEL(reduce_tree, S2) {
  ITEM; local uint s[N]; s[l] = a[g]; LOCAL_BARRIER;
  for (uint k = N / 2; k; k /= 2) { if (l < k) s[l] += s[l + k]; WITHOUT_LOCAL; }
  if (l == 0) b[w] = s[0];
}

// K001
KERNEL(reduce_first, S0) {
  ITEM; local uint s[N]; s[l] = a[g]; WITHOUT_LOCAL;
  for (uint k = N / 2; k; k /= 2) { if (l < k) s[l] += s[l + k]; LOCAL_BARRIER; }
  if (l == 0) b[w] = s[0];
}

// K001
KERNEL(scan_steps, S1) {
  ITEM; local uint s[N]; s[l] = a[g]; LOCAL_BARRIER;
  for (uint k = 1; k < N; k *= 2) { uint x = l >= k ? s[l - k] : 0; WITHOUT_LOCAL; s[l] += x; LOCAL_BARRIER; }
  b[g] = s[l];
}

// K001
KERNEL(reuse_between_phases, S2) {
  ITEM; local uint s[N]; s[l] = a[g]; LOCAL_BARRIER; uint x = s[(l + 64) % N];
  WITHOUT_LOCAL; s[l] = x + 1; LOCAL_BARRIER; b[g] = s[(l + 40) % N];
}

// K001
KERNEL(reuse_in_loop, S0) {
  ITEM; local uint s[N]; uint sum = 0;
  for (uint k = 0; k < 4; k++) { s[l] = a[k * 512 + g]; LOCAL_BARRIER; sum += s[(l + 33) % N]; WITHOUT_LOCAL; }
  b[g] = sum;
}

// K001
KERNEL(broadcast_first, S1) { ITEM; local uint s[1]; if (l == 0) s[0] = a[w]; WITHOUT_LOCAL; b[g] = s[0] + l; }

// K001
KERNEL(broadcast_again, S2) {
  ITEM; local uint s[1]; if (l == 0) s[0] = a[w]; LOCAL_BARRIER; uint x = s[0];
  WITHOUT_LOCAL; if (l == 100) s[0] = 5; LOCAL_BARRIER; b[g] = x + s[0];
}

// K001
KERNEL(tile_transpose, S0) {
  ITEM; local uint s[N]; s[l] = a[g]; WITHOUT_LOCAL; b[g] = s[l % 8 * 16 + l / 8];
}

// K001
KERNEL(double_buffer, S1) {
  ITEM; local uint s[2][N]; s[0][l] = a[g]; LOCAL_BARRIER;
  for (uint k = 0; k < 4; k++) {
    BROKEN(s[0][l] = s[0][(l + 50) % N], s[(k + 1) % 2][l] = s[k % 2][(l + 50) % N]); LOCAL_BARRIER;
  }
  b[g] = s[0][l];
}

// K001
KERNEL(producers_and_consumers, S2) { ITEM; local uint s[N]; if (l < 64) s[l] = a[g]; WITHOUT_LOCAL; if (l >= 64) b[g] = s[l - 64]; }

// K001
KERNEL(two_writers, S0) { ITEM; local uint s[64]; if (l < 64) s[l] = 1; WITHOUT_LOCAL; if (l >= 64) s[l - 64] = a[g]; LOCAL_BARRIER; b[g] = s[l % 64]; }

// K001
KERNEL(reset_between_phases, S1) {
  ITEM; local uint s[1]; if (l == 0) s[0] = 0; LOCAL_BARRIER; atomic_inc(s); LOCAL_BARRIER; b[g] = s[0];
  WITHOUT_LOCAL; if (l == 0) s[0] = 0; LOCAL_BARRIER; atomic_add(s, 2); LOCAL_BARRIER; c[g] = s[0];
}

// values: K001
KERNEL(bitonic_sort, S2) {
  ITEM; local uint s[N]; s[l] = a[g] * 77 % 101; LOCAL_BARRIER;
  for (uint k = 2; k <= N; k *= 2)
    for (uint j = k / 2; j; j /= 2) {
      uint o = l ^ j;
      if (o > l && ((l & k) == 0) == (s[l] > s[o])) { uint t = s[l]; s[l] = s[o]; s[o] = t; }
      WITHOUT_LOCAL;
    }
  b[g] = s[l];
}

// K001
KERNEL(matrix_tiles, S0) {
  ITEM; local uint s[N]; uint sum = 0;
  for (uint k = 0; k < 3; k++) {
    s[l] = a[k * N + l]; LOCAL_BARRIER;
    for (uint j = 0; j < N; j += 16) sum += s[j + l % 16] * s[l];
    WITHOUT_LOCAL;
  }
  b[g] = sum;
}

// -- counters and atomics

// K001
KERNEL(counter_local, S1) {
  ITEM; local uint s[1]; if (l == 0) s[0] = 0; LOCAL_BARRIER; BROKEN(s[0]++, atomic_inc(s)); LOCAL_BARRIER; b[g] = s[0];
}

// K001 K003
KERNEL(counter_global, S2) { ITEM; BROKEN(c[0]++, atomic_inc(c)); }

// K001 K003
KERNEL(histogram_global, S0) { ITEM; BROKEN(c[a[g] % 8]++, atomic_inc(c + a[g] % 8)); }

// K001
KERNEL(histogram_local, S1) {
  ITEM; local uint s[8]; if (l < 8) s[l] = 0; LOCAL_BARRIER; BROKEN(s[a[g] % 8]++, atomic_inc(s + a[g] % 8)); LOCAL_BARRIER;
  if (l < 8) b[w * 8 + l] = s[l];
}

// K001
KERNEL(start_of_atomics, S2) { ITEM; local uint s[1]; if (l == 0) s[0] = 0; WITHOUT_LOCAL; atomic_inc(s); LOCAL_BARRIER; b[g] = s[0]; }

// K001
KERNEL(end_of_atomics, S0) { ITEM; local uint s[1]; if (l == 0) s[0] = 0; LOCAL_BARRIER; atomic_inc(s); WITHOUT_LOCAL; b[g] = s[0]; }

// K001 K003
KERNEL(plain_read_of_atomic, S1) { ITEM; atomic_inc(c); b[g] = BROKEN(c[0], atomic_or(c, 0)); }

// K001 K003
KERNEL(look_before_atomic, S2) { ITEM; uint x = a[g]; BROKEN(if (x > c[0]) atomic_max(c, x), atomic_max(c, x)); }

// K001 K002 K003
KERNEL(set_bits, S1) { ITEM; BROKEN(c[g / 128 % 2] |= 1 << l % 32, atomic_or(c + g / 128 % 2, 1 << l % 32)); }

// K001 K003
KERNEL(everybody_says_so, S2) { ITEM; BROKEN(c[1] = 7, if (g == 0) c[1] = 7); b[g] = a[g]; }

// -- global memory

// K001
KERNEL(neighbour_global, S0) { ITEM; b[g] = a[g]; WITHOUT_GLOBAL; c[g] = b[w * N + (l + 37) % N]; }

// K001 K003
KERNEL(stencil_in_place, S1) { ITEM; uint x = a[g] + a[g + 1] + a[g + 2]; BROKEN(a[g] = x, b[g] = x); }

// K003
KERNEL(next_group, S2) { ITEM; uint x = a[(g + N) % 512]; BROKEN(a[g] = x + 1, b[g] = x + 1); }

// K003
KERNEL(same_place_of_all_groups, S0) { ITEM; b[BROKEN(l, g)] = a[g]; }

// K003
KERNEL(result_of_other_group, S1) { ITEM; b[g] = a[g]; GLOBAL_BARRIER; c[g] = b[BROKEN((g + N) % 512, w * N + (l + 5) % N)]; }

// K003
KERNEL(swap_halves, S2) { ITEM; if (g < 256) { uint x = a[g], y = a[g + 256]; a[g] = y; a[g + 256] = x; } BROKEN(if (g >= 256) a[g]++, if (g >= 256) b[g]++); }

// K001 K003
KERNEL(one_too_many, S0) { ITEM; for (uint k = 0; k < BROKEN(3, 2); k++) b[2 * g + k] = a[g] + k; }

// values: K001
KERNEL(odd_even_sort, S1) {
  ITEM; global uint *p = a + w * N;
  for (uint k = 0; k < 6; k++) {
    if (l % 2 == k % 2 && l + 1 < N && p[l] > p[l + 1]) { uint t = p[l]; p[l] = p[l + 1]; p[l + 1] = t; }
    WITHOUT_GLOBAL;
  }
}

// K003
KERNEL(permutation, S2) { ITEM; b[BROKEN(g * 6 % 256, g * 7 % 512)] = g; }

// K001 K003
KERNEL(vectors_overlap, S0) { ITEM; uint4 x = vload4(0, a + 4 * g); BROKEN(vstore4(x + 1, 0, a + 4 * g + 2), vstore4(x + 1, 0, b + 4 * g)); }

// K001 K003
KERNEL(vectors_read_ahead, S1) { ITEM; uint4 x = vload4(0, a + g); uint y = x.x + x.y + x.z + x.w; BROKEN(a[g] = y, c[g] = y); }

// K001 K003
KERNEL(long_over_short, S2) { ITEM; global ulong *p = (global ulong *)b; p[g] = a[g]; if (g >= 64) BROKEN(b[2 * g - 64] = 1, c[2 * g - 64] = 1); }

// K003
KERNEL(fields_of_structures, S0) { ITEM; b[4 * g + g % 4] = 1; BROKEN(b[(4 * g + 512) % 2048 + (g + 0) % 4] = 2, b[(4 * g + 512) % 2048 + (g + 1) % 4] = 2); }

// K003
KERNEL(last_write_wins, S1) { ITEM; if (l < 8) b[BROKEN(l, w * 8 + l)] = w; }

// -- bytes and words

// K001
KERNEL(bytes_within_a_dword, S2) { ITEM; local uchar s[N]; s[l % 32 * 4 + BROKEN(l / 64, l / 32)] = l; LOCAL_BARRIER; b[g] = s[l]; }

// K001
KERNEL(words_within_a_dword, S0) { ITEM; local ushort s[2 * N]; s[l % 64 * 2 + BROKEN(0, l / 64)] = l; LOCAL_BARRIER; b[g] = s[l]; }

// K003
KERNEL(bytes_of_groups, S1) { ITEM; global uchar *p = (global uchar *)b; p[l * 4 + BROKEN(w / 2, w)] = a[g]; }

// K001 K003
KERNEL(dword_over_bytes, S2) { ITEM; global uchar *p = (global uchar *)b; p[g] = a[g]; BROKEN(c[g] = b[(g + 64) % 128], c[g] = a[g]); }

// K001 K003
KERNEL(packed_pixels, S0) { ITEM; global uchar *p = (global uchar *)b; uint k = BROKEN(3 * g - g / 32, 3 * g); p[k] = 1; p[k + 1] = 2; p[k + 2] = 3; }

// -- lanes of one instruction

// K002
KERNEL(lanes_share_local, S1) { ITEM; local uint s[N]; s[l] = 0; LOCAL_BARRIER; BROKEN(s[l / 2 * 2] = l, if (l % 2 == 0) s[l] = l); LOCAL_BARRIER; b[g] = s[l]; }

// K002
KERNEL(lanes_share_global, S2) { ITEM; BROKEN(b[g / 4] = g, if (g % 4 == 0) b[g / 4] = g); }

// K001 K002
KERNEL(all_lanes_to_four, S0) { ITEM; BROKEN(b[w * 4 + l % 4] = l, if (l < 4) b[w * 4 + l] = l); }

// K002
KERNEL(lanes_share_bytes, S1) { ITEM; global uchar *p = (global uchar *)b; BROKEN(p[g / 2] = g, p[g] = g); }

// -- groups that are ordered by atomics and fences

// lsc: K003
KERNEL(flag_without_fence, S2) {
  ITEM; volatile global atomic_uint *flag = (volatile global atomic_uint *)(c + 1024);
  if (w == 0) { b[l] = a[l]; GLOBAL_BARRIER; if (l == 0) { BROKEN(NOTHING, atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device)); atomic_store_explicit(flag, 1, memory_order_relaxed); } }
  else if (atomic_load_explicit(flag, memory_order_relaxed)) { atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, memory_scope_device); c[g] = b[l]; }
}

// K003
KERNEL(flag_without_acquire, S0) {
  ITEM; volatile global atomic_uint *flag = (volatile global atomic_uint *)(c + 1024);
  if (g == 0) { b[0] = a[0]; atomic_store_explicit(flag, 1, memory_order_release, memory_scope_device); }
  else if (w > 0 && atomic_load_explicit(flag, BROKEN(memory_order_relaxed, memory_order_acquire), memory_scope_device)) c[g] = b[0];
}

// values: K001 K003
KERNEL(plain_flag, S1) {
  ITEM;
  if (g == 0) { b[0] = a[0]; DEVICE_FENCE(memory_order_acq_rel); BROKEN(*(volatile global uint *)(c + 1024) = 1, atomic_xchg(c + 1024, 1)); }
  else if (BROKEN(*(volatile global uint *)(c + 1024), atomic_or(c + 1024, 0))) { DEVICE_FENCE(memory_order_acq_rel); c[g] = b[0]; }
}

// lsc: K003
KERNEL(flag_of_group_scope, S2) {
  ITEM; volatile global atomic_uint *flag = (volatile global atomic_uint *)(c + 1024);
  if (g == 0) { b[0] = a[0]; atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, BROKEN(memory_scope_work_group, memory_scope_device)); atomic_store_explicit(flag, 1, memory_order_relaxed, memory_scope_device); }
  else if (w > 0 && atomic_load_explicit(flag, memory_order_relaxed, memory_scope_device)) { atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, memory_scope_device); c[g] = b[0]; }
}

// K003
KERNEL(last_group_sums, S0) {
  ITEM; local uint last[1];
  if (l == 0) {
    b[w] = a[g];
    BROKEN(NOTHING, atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device));
    last[0] = atomic_fetch_add_explicit((volatile global atomic_uint *)(c + 1024), 1, memory_order_relaxed, memory_scope_device) == 3;
    BROKEN(NOTHING, atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, memory_scope_device));
    if (last[0]) c[0] = b[0] + b[1] + b[2] + b[3];
  }
}

// K003
KERNEL(lock_without_fence, S1) {
  ITEM;
  if (l == 0) {
    volatile global atomic_uint *lock = (volatile global atomic_uint *)(c + 1024); uint free = 0;
    while (!atomic_compare_exchange_strong_explicit(lock, &free, 1, BROKEN(memory_order_relaxed, memory_order_acquire), memory_order_relaxed, memory_scope_device)) free = 0;
    b[0] += a[g];
    atomic_store_explicit(lock, 0, BROKEN(memory_order_relaxed, memory_order_release), memory_scope_device);
  }
}

// K003
KERNEL(chained_scan, S2) {
  ITEM;
  if (l == 0) {
    volatile global atomic_uint *ready = (volatile global atomic_uint *)(c + 1024); uint sum = a[g];
    if (w > 0 && atomic_load_explicit(ready + w - 1, BROKEN(memory_order_relaxed, memory_order_acquire), memory_scope_device)) sum += b[w - 1];
    b[w] = sum;
    atomic_store_explicit(ready + w, 1, memory_order_release, memory_scope_device);
  }
}

// -- functions

__attribute__((noinline)) void put(local uint *s, uint l, uint x) { s[l] = x; }
__attribute__((noinline)) uint get(local uint *s, uint l) { return s[l % N]; }
__attribute__((noinline)) void meet(local uint *s) { BROKEN(NOTHING, LOCAL_BARRIER); s += 0; }

// K001
KERNEL(accesses_in_functions, S1) { ITEM; local uint s[N]; put(s, l, a[g]); WITHOUT_LOCAL; b[g] = get(s, l + 70); }

// K001
KERNEL(barrier_in_function, S2) { ITEM; local uint s[N]; s[l] = a[g]; meet(s); b[g] = s[(l + 70) % N]; }
