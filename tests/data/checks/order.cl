// Programs that order groups or threads by hand, with fences and atomics, and with -DRACE the same with one mistake. A line before each kernel
// has the codes of what is found then; those behind "lsc:" are found only where fences say who sees what they order; those with "turns:" have
// groups or threads that wait for each other.
// Launch: 128 work-items in groups of 32, in sub-groups of 16; three buffers of 1024 dwords, the first with small numbers, the others with zeros.
#ifdef RACE
#define BROKEN(wrong, right) wrong
#else
#define BROKEN(wrong, right) right
#endif
#define GROUPS 4
#define SIZE 32
#define KERNEL(name) __attribute__((intel_reqd_sub_group_size(16), reqd_work_group_size(SIZE, 1, 1))) \
    kernel void name(global uint *a, global uint *b, global uint *c)
#define ITEM uint l = get_local_id(0), g = get_global_id(0), w = get_group_id(0)
#define NOTHING
#define RELEASE memory_order_release
#define ACQUIRE memory_order_acquire
#define RELAXED memory_order_relaxed
#define DEVICE memory_scope_device
#define GROUP memory_scope_work_group
#define FENCE(where, order, scope) atomic_work_item_fence(CLK_##where##_MEM_FENCE, order, scope)
#define MEET barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
typedef volatile global atomic_uint *Shared;
typedef volatile local atomic_uint *Near;
#define LOAD(at, order, scope) atomic_load_explicit(at, order, scope)
#define STORE(at, x, order, scope) atomic_store_explicit(at, x, order, scope)
#define ADD(at, x, order, scope) atomic_fetch_add_explicit(at, x, order, scope)

// -- barriers of the whole grid

// turns: lsc: K003
KERNEL(grid_barrier_release) {
  ITEM; Shared count = (Shared)(c + 512); b[g] = a[g]; MEET;
  if (l == 0) {
    BROKEN(NOTHING, FENCE(GLOBAL, RELEASE, DEVICE)); ADD(count, 1, RELAXED, DEVICE);
    while (LOAD(count, RELAXED, DEVICE) < GROUPS); FENCE(GLOBAL, ACQUIRE, DEVICE);
  }
  MEET; c[g] = b[(g + SIZE) % (GROUPS * SIZE)];
}

// turns: lsc: K003
KERNEL(grid_barrier_acquire) {
  ITEM; Shared count = (Shared)(c + 512); b[g] = a[g]; MEET;
  if (l == 0) {
    FENCE(GLOBAL, RELEASE, DEVICE); ADD(count, 1, RELAXED, DEVICE);
    while (LOAD(count, RELAXED, DEVICE) < GROUPS); BROKEN(NOTHING, FENCE(GLOBAL, ACQUIRE, DEVICE));
  }
  MEET; c[g] = b[(g + SIZE) % (GROUPS * SIZE)];
}

// turns: lsc: K003
KERNEL(grid_barrier_scope) {
  ITEM; Shared count = (Shared)(c + 512); b[g] = a[g]; MEET;
  if (l == 0) {
    FENCE(GLOBAL, RELEASE, BROKEN(GROUP, DEVICE)); ADD(count, 1, RELAXED, DEVICE);
    while (LOAD(count, RELAXED, DEVICE) < GROUPS); FENCE(GLOBAL, ACQUIRE, BROKEN(GROUP, DEVICE));
  }
  MEET; c[g] = b[(g + SIZE) % (GROUPS * SIZE)];
}

// turns: K003
KERNEL(grid_barrier_generation) {
  ITEM; Shared count = (Shared)(c + 512), generation = (Shared)(c + 516); b[g] = a[g]; MEET;
  if (l == 0) {
    if (ADD(count, 1, memory_order_acq_rel, DEVICE) == GROUPS - 1) BROKEN(*(volatile global uint *)generation = 1, STORE(generation, 1, RELEASE, DEVICE));
    else while (!LOAD(generation, ACQUIRE, DEVICE));
  }
  MEET; c[g] = b[(g + SIZE) % (GROUPS * SIZE)];
}

// turns: K003
KERNEL(grid_barrier_plain) {
  ITEM; global volatile uint *plain = c + 512; Shared count = (Shared)(c + 512); b[g] = a[g]; MEET;
  if (l == 0) {
    ADD(count, 1, memory_order_acq_rel, DEVICE);
    while (BROKEN(*plain, LOAD(count, ACQUIRE, DEVICE)) < GROUPS) FENCE(GLOBAL, ACQUIRE, DEVICE);
  }
  MEET; c[g] = b[(g + SIZE) % (GROUPS * SIZE)];
}

// -- locks and tickets

// K003
KERNEL(lock_acquire) {
  ITEM;
  if (l == 0) {
    Shared lock = (Shared)(c + 512); uint free = 0;
    while (!atomic_compare_exchange_strong_explicit(lock, &free, 1, BROKEN(RELAXED, ACQUIRE), RELAXED, DEVICE)) free = 0;
    b[0] += a[g]; STORE(lock, 0, RELEASE, DEVICE);
  }
}

// K003
KERNEL(lock_release) {
  ITEM;
  if (l == 0) {
    Shared lock = (Shared)(c + 512); uint free = 0;
    while (!atomic_compare_exchange_strong_explicit(lock, &free, 1, ACQUIRE, RELAXED, DEVICE)) free = 0;
    b[0] += a[g]; STORE(lock, 0, BROKEN(RELAXED, RELEASE), DEVICE);
  }
}

// lsc: K003
KERNEL(lock_scope) {
  ITEM;
  if (l == 0) {
    Shared lock = (Shared)(c + 512); uint free = 0;
    while (!atomic_compare_exchange_strong_explicit(lock, &free, 1, RELAXED, RELAXED, DEVICE)) free = 0;
    FENCE(GLOBAL, ACQUIRE, BROKEN(GROUP, DEVICE)); b[0] += a[g]; FENCE(GLOBAL, RELEASE, BROKEN(GROUP, DEVICE)); STORE(lock, 0, RELAXED, DEVICE);
  }
}

// K003
KERNEL(lock_left_plainly) {
  ITEM;
  if (l == 0) {
    Shared lock = (Shared)(c + 512); uint free = 0;
    while (!atomic_compare_exchange_strong_explicit(lock, &free, 1, ACQUIRE, RELAXED, DEVICE)) free = 0;
    b[0] += a[g]; FENCE(GLOBAL, RELEASE, DEVICE); BROKEN(*(volatile global uint *)lock = 0, STORE(lock, 0, RELAXED, DEVICE));
  }
}

// K003
KERNEL(ticket_lock) {
  ITEM;
  if (l == 0) {
    Shared next = (Shared)(c + 512), serving = (Shared)(c + 516); uint mine = ADD(next, 1, RELAXED, DEVICE);
    while (LOAD(serving, BROKEN(RELAXED, ACQUIRE), DEVICE) != mine);
    b[0] += a[g]; STORE(serving, mine + 1, RELEASE, DEVICE);
  }
}

// K003
KERNEL(ticket_counter) {
  ITEM;
  if (l == 0) { uint at = BROKEN(c[512]++, ADD((Shared)(c + 512), 1, RELAXED, DEVICE)); b[at % 64 + 64 * w] = a[g]; }
}

// lsc: K003
KERNEL(last_group) {
  ITEM; local uint is_last; b[g] = a[g] * 2; MEET;
  if (l == 0) {
    BROKEN(NOTHING, FENCE(GLOBAL, RELEASE, DEVICE));
    is_last = ADD((Shared)(c + 512), 1, RELAXED, DEVICE) == GROUPS - 1; FENCE(GLOBAL, ACQUIRE, DEVICE);
  }
  MEET; if (is_last) c[l] = b[l] + b[l + SIZE] + b[l + 2 * SIZE] + b[l + 3 * SIZE];
}

// -- scans that look back

// K003
KERNEL(look_back_flags) {
  ITEM; Shared flags = (Shared)(c + 512);
  if (l == 0) {
    uint sum = a[g]; b[w] = sum; STORE(flags + w, 1, RELEASE, DEVICE);
    for (int k = (int)w - 1; k >= 0; k--) {
      uint state;
      while (!(state = LOAD(flags + k, ACQUIRE, DEVICE)));
      if (state == 2) { sum += b[k + 16]; break; }
      sum += b[k];
    }
    b[w + 16] = sum; STORE(flags + w, 2, BROKEN(RELAXED, RELEASE), DEVICE);
  }
}

// K003
KERNEL(look_back_packed) {
  ITEM; Shared states = (Shared)(c + 512);
  if (l == 0) {
    uint sum = a[g]; STORE(states + w, sum << 2 | 1, RELAXED, DEVICE);
    for (int k = (int)w - 1; k >= 0; k--) {
      uint state;
      while (!((state = BROKEN(((volatile global uint *)states)[k], LOAD(states + k, RELAXED, DEVICE))) & 3)) FENCE(GLOBAL, ACQUIRE, DEVICE);
      sum += state >> 2;
      if (state & 2) break;
    }
    STORE(states + w, sum << 2 | 2, RELAXED, DEVICE); b[w] = sum;
  }
}

// K003
KERNEL(chain_of_groups) {
  ITEM; Shared done = (Shared)(c + 512);
  if (l == 0) {
    while (LOAD(done, BROKEN(RELAXED, ACQUIRE), DEVICE) != w);
    b[w + 1] = b[w] + a[g]; STORE(done, w + 1, RELEASE, DEVICE);
  }
}

// -- one makes, others use

// K003
KERNEL(made_once) {
  ITEM; Shared state = (Shared)(c + 512);
  if (l == 0) {
    uint none = 0;
    if (atomic_compare_exchange_strong_explicit(state, &none, 1, RELAXED, RELAXED, DEVICE)) { for (uint k = 0; k < 4; k++) b[k] = a[k] + 1; STORE(state, 2, BROKEN(RELAXED, RELEASE), DEVICE); }
    else while (LOAD(state, ACQUIRE, DEVICE) != 2);
    c[g] = b[w];
  }
}

// K003
KERNEL(ring_of_slots) {
  ITEM; Shared full = (Shared)(c + 512);
  if (l == 0 && w == 0) for (uint k = 0; k < 8; k++) { b[k] = a[k]; BROKEN(NOTHING, FENCE(GLOBAL, RELEASE, DEVICE)); STORE(full + k, 1, RELAXED, DEVICE); }
  if (l == 0 && w == 2) for (uint k = 0; k < 8; k++) { while (!LOAD(full + k, RELAXED, DEVICE)); FENCE(GLOBAL, ACQUIRE, DEVICE); c[k] = b[k]; }
}

// K003
KERNEL(list_of_nodes) {
  ITEM; Shared head = (Shared)(c + 512);
  if (l == 0) {
    uint old = LOAD(head, RELAXED, DEVICE);
    do { b[w + 1] = old; b[w + 17] = a[g]; } while (!atomic_compare_exchange_strong_explicit(head, &old, w + 1, BROKEN(RELAXED, RELEASE), RELAXED, DEVICE));
    if (w == GROUPS - 1) { uint sum = 0; for (uint k = LOAD(head, ACQUIRE, DEVICE); k; k = b[k]) sum += b[k + 16]; c[0] = sum; }
  }
}

// turns: lsc: K003
KERNEL(pairs_of_groups) {
  ITEM; Shared flags = (Shared)(c + 512); b[g] = a[g]; MEET;
  if (l == 0) { STORE(flags + w, 1, RELEASE, DEVICE); while (!LOAD(flags + (w ^ 1), BROKEN(RELAXED, ACQUIRE), DEVICE)); }
  MEET; c[g] = b[g ^ SIZE];
}

// -- threads of a group, through local memory

// turns: K001
KERNEL(local_flag) {
  ITEM; local uint s[SIZE]; local atomic_uint flag; if (l == 0) atomic_init(&flag, 0); MEET;
  if (l == 16) { s[3] = a[g]; BROKEN(NOTHING, FENCE(LOCAL, RELEASE, GROUP)); STORE(&flag, 1, RELAXED, GROUP); }
  if (l == 0) { while (!LOAD(&flag, RELAXED, GROUP)); FENCE(LOCAL, ACQUIRE, GROUP); b[w] = s[3]; }
}

// turns: K001
KERNEL(local_lock) {
  ITEM; local uint sum; local atomic_uint lock; if (l == 0) { sum = 0; atomic_init(&lock, 0); } MEET;
  if (l % 16 == 0) {
    uint free = 0;
    while (!atomic_compare_exchange_strong_explicit(&lock, &free, 1, BROKEN(RELAXED, ACQUIRE), RELAXED, GROUP)) free = 0;
    sum += a[g]; STORE(&lock, 0, BROKEN(RELAXED, RELEASE), GROUP);
  }
  MEET; if (l == 0) b[w] = sum;
}

// turns: K001
KERNEL(local_ticket) {
  ITEM; local uint sum; local atomic_uint next, serving; if (l == 0) { sum = 0; atomic_init(&next, 0); atomic_init(&serving, 0); } MEET;
  if (l % 16 == 0) {
    uint mine = ADD(&next, 1, RELAXED, GROUP);
    while (LOAD(&serving, BROKEN(RELAXED, ACQUIRE), GROUP) != mine);
    sum += a[g]; STORE(&serving, mine + 1, RELEASE, GROUP);
  }
  MEET; if (l == 0) b[w] = sum;
}

// turns: K001
KERNEL(local_barrier) {
  ITEM; local uint s[SIZE]; local atomic_uint count; if (l == 0) atomic_init(&count, 0); MEET;
  s[l] = a[g];
  if (l % 16 == 0) { ADD(&count, 1, BROKEN(RELAXED, RELEASE), GROUP); while (LOAD(&count, BROKEN(RELAXED, ACQUIRE), GROUP) < 2); }
  b[g] = s[l ^ 16];
}

// K001
KERNEL(local_last_thread) {
  ITEM; local uint s[SIZE]; local atomic_uint count; if (l == 0) atomic_init(&count, 0); MEET;
  s[l] = a[g];
  if (l % 16 == 0 && ADD(&count, 1, BROKEN(RELAXED, memory_order_acq_rel), GROUP) == 1) b[w] = s[1] + s[17];
}

// turns: K001
KERNEL(group_scope_of_global_memory) {
  ITEM; Shared flags = (Shared)(c + 512);
  if (l == 16) { b[w] = a[g]; BROKEN(NOTHING, FENCE(GLOBAL, RELEASE, GROUP)); STORE(flags + w, 1, RELAXED, GROUP); }
  if (l == 0) { while (!LOAD(flags + w, RELAXED, GROUP)); FENCE(GLOBAL, ACQUIRE, GROUP); c[w] = b[w]; }
}
