"""Changes of memory, against numpy: any sizes, any changed bytes, and parts that must not overlap."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import CHECKED, seeds

from vsim.cluster import changes
from vsim.cluster.changes import PAGE, changes_between, first_conflict

sizes = st.one_of(st.integers(0, 40), st.integers(PAGE - 9, PAGE + 9), st.integers(3 * PAGE - 3, 5 * PAGE))


def pair(seed, size, density):
    """Memory before and after so many of a thousand bytes got other values."""
    random = np.random.default_rng(seed)
    old = random.integers(0, 256, size + 3, dtype="u1")[3:]  # at an odd address
    new = old.copy()
    new[random.random(size) * 1000 < density] ^= 0x55
    return old, new


@CHECKED
@given(seeds, sizes, st.sampled_from([0, 1, 20, 500, 1000]), st.sampled_from([1, 2, 4096]))
def test_changes_turn_old_memory_into_new(seed, size, density, at_once):
    old, new = pair(seed, size, density)
    room, changes.PAGES_AT_ONCE = changes.PAGES_AT_ONCE, at_once
    try:
        found, target = changes_between(old, new), old.copy()
        found.write_to(target)
    finally:
        changes.PAGES_AT_ONCE = room
    assert (target == new).all()
    assert found.values.size == np.count_nonzero(old != new)


@CHECKED
@given(seeds, sizes, st.sampled_from([0, 1, 20]))
def test_changes_of_two_parts_are_joined(seed, size, density):
    old, first = pair(seed, size, density)
    second = old.copy()
    second[np.random.default_rng(seed + 1).random(size) * 1000 < density] ^= 0x0F
    both = np.flatnonzero((old != first) & (old != second))
    parts = [changes_between(old, m) for m in (first, old, second)]
    assert first_conflict(size, parts) == (int(both[0]) if both.size else None)


def test_changes_are_little_larger_than_the_changed_bytes():
    old, new = pair(1, 64 * PAGE, 1000)
    found = changes_between(old, new)
    assert found.marks.nbytes + found.values.nbytes + found.pages.nbytes < 1.15 * new.nbytes
    new[:] = old
    new[7] ^= 1
    few = changes_between(old, new)
    assert few.marks.nbytes + few.values.nbytes + few.pages.nbytes < PAGE
