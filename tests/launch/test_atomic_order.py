"""Which launches run their groups one after the other, as results of their atomics depend on the order."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head

from vsim.launch.launch import BufferArgument, Launch, ScalarArgument
from vsim.program import Program

VARIABLES = "A=uq B=uq C=uq N=ud ONE=ud*8 AT=uq*8 AT2=uq*8 HALF=ud@qword"
HEAD = kernel_head(VARIABLES + " TABLE=uq*8 P1=P T6=T T7=T", "A B C N", SimdSize=8) + "mov (M1, 8) ONE(0,0)<1> 1:ud\n"
TO_A, TO_B = "mov (M1, 8) AT(0,0)<1> A(0,0)<0;1,0>", "mov (M1, 8) AT2(0,0)<1> B(0,0)<0;1,0>"


def needs(*lines, same=(), platform="tgllp"):
    """Whether a kernel of these lines must run its groups in order; arrays whose letters are in ``same`` are one."""
    program = Program(build_text("\n".join([HEAD, *lines, "ret (M1, 1)\n"]), platform))
    whole = np.zeros(64, "u4")
    arrays = [whole if letter in same else np.zeros(64, "u4") for letter in "ABC"]
    arguments = [*map(BufferArgument, arrays), ScalarArgument(bytes(4))]
    return program.bind(Launch("k", (64,), (8,), args=arguments)).needs_order


def atomic(op, at="AT"):
    return f"svm_atomic.{op} (M1, 8) {at}.0 %null.0 ONE.0 %null.0"


def test_operations_of_one_kind_commute():
    assert not needs(TO_A, atomic("add"), atomic("inc"), atomic("sub"))
    assert not needs(TO_A, atomic("or"), atomic("or.64"))


@pytest.mark.parametrize("other", ["and", "xor", "add", "min", "xchg"])
def test_operations_of_different_kinds_do_not(other):
    assert needs(TO_A, atomic("or"), atomic(other))


def test_sums_of_different_sizes_do_not():
    assert needs(TO_A, atomic("add"), atomic("add.64"))
    assert needs(TO_A, atomic("min"), atomic("minsint"))


def test_pointers_to_different_memory_lead_to_different_elements():
    lines = TO_A, TO_B, atomic("or"), atomic("and", "AT2")
    assert not needs(*lines)
    assert needs(*lines, same="AB")
    assert not needs(*lines, same="BC")


def test_an_address_is_a_sum_of_a_pointer_and_numbers():
    index = "mad (M1, 8) N(0,0)<1> %thread_x(0,0)<0;1,0> 8:uw N(0,0)<0;1,0>".replace("(M1, 8)", "(M1, 1)")
    lines = index, "svm_gather.4.1 (M1, 8) AT.0 ONE.0", "add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> N(0,0)<0;1,0>"
    assert not needs(TO_A, TO_B, *lines, atomic("or"), atomic("and", "AT2"))


def test_addresses_written_as_dwords():
    copy = "mov (M1, 1) AT2(0,0)<1> B(0,0)<0;1,0>"
    halves = "mov (M1, 1) HALF(0,0)<1> B(0,0)<0;1,0>", "mov (M1, 8) AT2(0,0)<1> HALF(0,0)<0;1,0>"
    assert not needs(TO_A, copy, *halves, atomic("or"), atomic("and", "AT2"))


@pytest.mark.parametrize(
    "line",
    [
        "svm_gather.4.1 (M1, 8) AT.0 AT2.0",
        "mov (M1, 8) AT2(0,0)<1> N(0,0)<0;1,0>",
        "(P1) sel (M1, 8) AT2(0,0)<1> A(0,0)<0;1,0> B(0,0)<0;1,0>",
        "(P1) sel (M1, 8) AT2(0,0)<1> B(0,0)<0;1,0> N(0,0)<0;1,0>",
        "(P1) mov (M1, 8) AT2(0,0)<1> A(0,0)<0;1,0>",
        "add (M1, 8) AT2(0,0)<1> A(0,0)<0;1,0> B(0,0)<0;1,0>",
        "xor (M1, 8) AT2(0,0)<1> B(0,0)<0;1,0> N(0,0)<0;1,0>",
    ],
)
def test_addresses_of_which_nothing_is_known(line):
    assert needs(TO_A, TO_B, line, atomic("or"), atomic("and", "AT2"))


def test_surfaces():
    def lines(first, second):
        text = f"movs (M1_NM, 1) T6(0) {first}:ud\nmovs (M1_NM, 1) T7(0) {second}:ud"
        ops = (
            "dword_atomic.or (M1, 8) T6 ONE.0 ONE.0 %null.0 %null.0",
            "dword_atomic.and (M1, 8) T7 ONE.0 ONE.0 %null.0 %null.0",
        )
        return text, *ops

    assert needs(*lines(0, 0)) and not needs(*lines(0, 1)) and needs(*lines(0, 1), same="AB")


def test_code_of_an_ordered_launch_is_not_that_of_another():
    """Plain loads and stores do the atomics of a launch with one worker."""
    lines = (
        TO_A,
        TO_B,
        "svm_atomic.or (M1, 8) AT.0 %null.0 ONE.0 %null.0",
        "svm_atomic.add (M1, 8) AT2.0 %null.0 ONE.0 %null.0",
    )
    program = Program(build_text("\n".join([HEAD, *lines, "ret (M1, 1)\n"])))
    a, b = np.zeros(64, "u4"), np.zeros(64, "u4")
    program.launch("k", 1 << 15, 8, [b, b, a, 0], engine="llvm", threads=4)
    assert b[0] == (1 << 15) + 1
    program.launch("k", 1 << 15, 8, [a, b, a, 0], engine="llvm", threads=4)
    assert (a[0], b[0]) == (1, (1 << 16) + 1)
