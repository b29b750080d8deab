"""Launches that need other code are other variants of their kernel; launches that share code are one."""

import pytest
from ordinary import KERNELS
from support.programs import build

from vsim.engines.llvm.variant import Variant
from vsim.launch.launch import Launch
from vsim.launch.schedule import parse_schedule
from vsim.profile.counts import Counts
from vsim.program import Program

WORK = KERNELS["gaussian"].work(64)
PROGRAM = Program(build(KERNELS["gaussian"].folder / "tgllp", "tgllp"))


def variant(full=True, row=16, transposed_row=0, local_size=WORK.local_size, schedule=None, **options):
    arguments = PROGRAM.convert("gaussian", WORK.args)
    launch = Launch("gaussian", WORK.global_size, local_size, args=arguments)
    return Variant.of(PROGRAM.bind(launch, schedule, **options), full, row, transposed_row)


def test_launches_that_share_code_are_one_variant():
    assert variant() == variant() and hash(variant()) == hash(variant())


@pytest.mark.parametrize(
    "other",
    [
        {"full": False},
        {"row": 0},
        {"transposed_row": 16},
        {"profile": True},
        {"observers": [Counts()]},
        {"check": "race"},
        {"schedule": parse_schedule("reverse")},
        {"schedule": parse_schedule("round-robin")},
    ],
    ids=str,
)
def test_launches_with_other_code_are_other_variants(other):
    assert variant(**other) != variant()
