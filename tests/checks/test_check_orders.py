"""Races and divergence in other orders of groups and threads: findings of the defects, none of the mended twins.

Here some programs run in one of the orders on one engine, in ``make pairs`` all in all of them. Undefined values, calls and
accesses outside arguments have their orders beside their pairs.
"""

from itertools import product

import numpy as np
import pytest
import test_divergence
import test_race_programs as races
from support.programs import packed_program
from support.strategies import ENGINES, FUZZ, in_turn, some

SCHEDULES = ("reverse", "random:5", "round-robin")
BY_ORDER = {"chained_scan", "flag_of_group_scope", "flag_without_acquire", "flag_without_fence", "lock_without_fence"}
"""Kernels that race only if a work-item finds the flag set, which some orders of threads exclude."""
SLOW = {("lock_without_fence", "round-robin")}
"""Cases in which the lock is taken after thousands of turns."""


def codes(compiler, kind, kernel, engine, schedule):
    a, b, c = (np.arange(4096, dtype=np.uint32) % 5, *(np.zeros(4096, np.uint32) for _ in range(2)))
    program = packed_program(f"races.{compiler}.{kind}")
    options = {"engine": engine, "schedule": schedule, "check": "race", "show_printf": False}
    return sorted({f.code for f in program.launch(kernel, races.ITEMS, races.GROUP, [a, b, c], **options).findings})


@pytest.mark.parametrize(
    ("kernel", "schedule", "compiler", "engine"),
    in_turn(some(races.KERNELS, 2), product(SCHEDULES, races.COMPILERS, ENGINES if FUZZ else ["numpy"])),
)
def test_races(kernel, schedule, compiler, engine):
    if (kernel, schedule) in SLOW:
        schedule = "reverse"
    wanted = [code for code in races.EXPECTED[kernel] if code[0] == "K"]
    if "lsc:" in races.EXPECTED[kernel] and compiler == "old":
        wanted = []
    found = codes(compiler, "race", kernel, engine, schedule)
    assert found == wanted or (kernel in BY_ORDER and not found)
    assert codes(compiler, "mended", kernel, engine, schedule) == []


@pytest.mark.parametrize(
    ("name", "schedule", "engine"), in_turn(test_divergence.PAIRS, product(SCHEDULES[:2], ENGINES))
)
def test_divergence_of_groups_in_other_orders(name, schedule, engine):
    defect, twin = test_divergence.PAIRS[name]
    assert test_divergence.findings(defect, engine, schedule) == test_divergence.findings(defect, "numpy")
    assert test_divergence.findings(twin, engine, schedule) == []


@pytest.mark.parametrize(
    ("kernel", "schedule"), [("reduce_tree", "reverse"), ("counter_local", "random:5"), ("end_of_atomics", "reverse")]
)
def test_with_a_schedule_the_fast_engine_gives_the_same_results_under_checks(kernel, schedule):
    """Without one it does not: several threads of a group run at once, which checks do not have."""
    results = []
    for check in ("", "race"):
        a, b, c = (np.arange(4096, dtype=np.uint32) % 5, *(np.zeros(4096, np.uint32) for _ in range(2)))
        options = {"engine": "llvm", "schedule": schedule, "check": check, "show_printf": False}
        packed_program("races.old.race").launch(kernel, races.ITEMS, races.GROUP, [a, b, c], **options)
        results.append((a.tolist(), b.tolist(), c.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("images", "kernel", "items", "check", "code", "is_said"),
    [
        ("races.old", "reduce_tree", (512, 128), "race", "K001", True),
        ("races.old", "counter_global", (512, 128), "race", "K003", True),
        ("races.old", "lanes_share_local", (512, 128), "race", "K002", False),
        ("items.old.tgllp", "neighbour", (64, 8), "race-items", "K005", False),
    ],
)
def test_a_report_of_threads_that_race_says_that_results_depend_on_their_order(
    images, kernel, items, check, code, is_said
):
    """Lanes of a thread run in the same order whatever watches."""
    a, b, c = (np.arange(4096, dtype=np.uint32) % 5, *(np.zeros(4096, np.uint32) for _ in range(2)))
    options = {"engine": "numpy", "check": check, "show_printf": False}
    result = packed_program(f"{images}.race").launch(kernel, *items, [a, b, c], **options)
    said = [d.code for d in result.diagnostics]
    assert code in said and ("K093" in said) == is_said
