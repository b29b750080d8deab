"""Atomic operations on 64 bits from OpenCL C, as ``cl_khr_int64_base_atomics``, ``_extended_atomics`` and C11 have them,
in global and in local memory, on both engines, against whole numbers.
"""

import functools

import numpy as np
import pytest
from support.ocloc import DEVICES, needs_ocloc
from support.strategies import ENGINES, rotated

import vsim
from visakit.compiler.ocloc import compile_source

OPERATIONS = """
  atom_add(a + 0, v); atom_sub(a + 1, v); atom_inc(a + 2); atom_dec(a + 3);
  atom_min(a + 4, v); atom_max(a + 5, v); atom_and(a + 6, v); atom_or(a + 7, v); atom_xor(a + 8, v);
  atom_min(u + 0, (ulong)v); atom_max(u + 1, (ulong)v);
  old[i] = atom_xchg(a + 9, v);
  long seen = a[10], got;
  while ((got = atom_cmpxchg(a + 10, seen, seen + v)) != seen) seen = got;
"""
C11 = """
  atomic_fetch_add(a + 0, v); atomic_fetch_sub(a + 1, v); atomic_fetch_add(a + 2, 1); atomic_fetch_sub(a + 3, 1);
  atomic_fetch_min(a + 4, v); atomic_fetch_max(a + 5, v);
  atomic_fetch_and(a + 6, v); atomic_fetch_or(a + 7, v); atomic_fetch_xor(a + 8, v);
  atomic_fetch_min(u + 0, (ulong)v); atomic_fetch_max(u + 1, (ulong)v);
  old[i] = atomic_exchange(a + 9, v);
  long seen = atomic_load(a + 10);
  while (!atomic_compare_exchange_strong(a + 10, &seen, seen + v));
"""
KERNEL = "kernel void k({a} *a, {u} *u, global const long *x, global long *old) {{ size_t i = get_global_id(0); long v = x[i]; {operations} }}"  # fmt: skip
IN_LOCAL_MEMORY = f"""
kernel void k(global long *out, global ulong *bounds, global const long *x, global long *old) {{
  local long a[11]; local ulong u[2];
  size_t i = get_global_id(0);
  long v = x[i];
  if (i < 11) a[i] = out[i];
  if (i < 2) u[i] = bounds[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  {OPERATIONS}
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < 11) out[i] = a[i];
  if (i < 2) bounds[i] = u[i];
}}"""
SOURCES = {
    "global": (KERNEL.format(a="global long", u="global ulong", operations=OPERATIONS), ""),
    "local": (IN_LOCAL_MEMORY, ""),
    "C11": (KERNEL.format(a="global atomic_long", u="global atomic_ulong", operations=C11), "-cl-std=CL2.0"),
}


def signed(value):
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def expected(a, u, x):
    """Memory behind all operations but the exchange, whose order is free."""
    a, u = [int(v) for v in a], [int(v) for v in u]
    for v in map(int, x):
        a[0], a[1], a[2], a[3] = a[0] + v, a[1] - v, a[2] + 1, a[3] - 1
        a[4], a[5] = min(a[4], v), max(a[5], v)
        a[6], a[7], a[8], a[10] = a[6] & v, a[7] | v, a[8] ^ v, a[10] + v
        u[0], u[1] = min(u[0], v % (1 << 64)), max(u[1], v % (1 << 64))
    return [signed(v) for v in a], u


@functools.cache
def compiled(where, platform):
    """The program of a source, which both engines run."""
    source, options = SOURCES[where]
    return vsim.load(compile_source("k.cl", source.encode(), platform, options, None).zebin)


@needs_ocloc
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("where", "platform"), rotated(SOURCES, DEVICES))
def test_atomics_on_64_bits(where, platform, engine):
    program = compiled(where, platform)
    random = np.random.default_rng(5)
    x, a = (random.integers(-(1 << 63), (1 << 63) - 1, n, "i8") for n in (48, 11))
    a[2], a[3], a[6] = (1 << 63) - 5, 5 - (1 << 63), -1  # They wrap, and some bits are left.
    x |= 5
    u, old, before = random.integers(0, (1 << 64) - 1, 2, "u8"), np.zeros(48, "i8"), a.copy()
    wanted, bounds = expected(a, u, x)
    program.launch("k", 48, 48, [a, u, x, old], engine=engine)
    assert [int(v) for n, v in enumerate(a) if n != 9] == wanted[:9] + wanted[10:]
    assert [int(v) for v in u] == bounds
    assert sorted([*old, a[9]]) == sorted([*x, before[9]])
