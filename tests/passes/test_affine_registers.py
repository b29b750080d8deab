"""Registers written in several blocks: facts about lanes hold in all blocks that read them, or are not assumed."""

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given
from support.programs import build_text, kernel_head, ze_info_of
from support.strategies import ENGINES, effort, seeds

from vsim.engines.llvm.pipeline import translate
from vsim.engines.llvm.plan import row_of
from vsim.launch.launch import Launch
from vsim.program import Program

LANES = 16
HEAD = (
    kernel_head("X=uw*16 Y=uw*16 IN=uq OUT=uq AT=uq*16 PLACE=ud*16 K=ud N=ud*16 P1=P*16 P2=P*16", "X Y", at=32)
    + """.input IN offset=128 size=8
.input OUT offset=136 size=8
.kernel_attr SimdSize=16
"""
)
INFO = ze_info_of("buffer buffer", "local_id=96", simd_size=16)
REGISTERS = ("A", "B", "C", "D")
WORDS = 1024


def program(lines):
    """A kernel that leaves four registers of each work-item, of which it runs some lines."""
    text = [HEAD, *(f".decl {r} v_type=G type=ud num_elts=16 align=GRF" for r in REGISTERS), *lines]
    text.append("mad (M1, 16) N(0,0)<1> Y(0,0)<1;1,0> 32:uw X(0,0)<1;1,0>")
    for n, r in enumerate(REGISTERS):
        text += [
            f"mad (M1, 16) PLACE(0,0)<1> N(0,0)<1;1,0> 16:uw {4 * n}:uw",
            "add (M1, 16) AT(0,0)<1> PLACE(0,0)<1;1,0> OUT(0,0)<0;1,0>",
            f"svm_scatter.4.1 (M1, 16) AT.0 {r}.0",
        ]
    return Program(build_text("\n".join([*text, "ret (M1, 1)\n"]), info=INFO))


def results(given_program, group):
    """The results of both engines."""
    found = []
    for engine in ENGINES:
        out = np.zeros((8, 32, 4), "u4")
        given_program.launch("k", group, group, [np.arange(WORDS, dtype="u4") * 3, out.reshape(-1)], engine=engine)
        found.append(out)
    return found


def loaded(register, place):
    """Lines that load a register of each lane from a place that is inside."""
    return [
        f"and (M1, 16) PLACE(0,0)<1> {place}(0,0)<1;1,0> {WORDS - 1}:ud",
        "shl (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 2:ud",
        "add (M1, 16) AT(0,0)<1> PLACE(0,0)<1;1,0> IN(0,0)<0;1,0>",
        f"svm_gather.4.1 (M1, 16) AT.0 {register}.0",
    ]


SUMS = [
    "mov (M1, 16) A(0,0)<1> X(0,0)<1;1,0>",
    "mul (M1, 16) B(0,0)<1> Y(0,0)<1;1,0> 32:uw",
    "mov (M1, 16) C(0,0)<1> 0:ud",
    "mov (M1_NM, 1) K(0,0)<1> 0:ud",
    "ROUND:",
    "add (M1, 16) D(0,0)<1> A(0,0)<1;1,0> B(0,0)<1;1,0>",
    "shl (M1, 16) PLACE(0,0)<1> D(0,0)<1;1,0> 2:ud",
    "add (M1, 16) AT(0,0)<1> PLACE(0,0)<1;1,0> IN(0,0)<0;1,0>",
    "svm_gather.4.1 (M1, 16) AT.0 N.0",
    "add (M1, 16) C(0,0)<1> C(0,0)<1;1,0> N(0,0)<1;1,0>",
    "add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 16:ud",
    "add (M1, 16) B(0,0)<1> B(0,0)<1;1,0> 1:ud",
    "add (M1_NM, 1) K(0,0)<1> K(0,0)<0;1,0> 1:ud",
    "cmp.lt (M1_NM, 16) P1 K(0,0)<0;1,0> 5:ud",
    "(P1) goto (M1, 16) ROUND",
]
"""The columns of a row are A, its beginning is B, the same for all lanes of a thread in groups 16 work-items wide."""


@pytest.mark.parametrize(("group", "vectors"), [((16, 4), 1), ((8, 4), 1), ((12, 4), 3)])
def test_loops_keep_the_first_lane_alone(group, vectors):
    """For rows of 16, and for two rows of 8 in a thread; if lanes can be any work-items, they keep all lanes."""
    summed = program(SUMS)
    one, other = results(summed, group)
    assert (one == other).all() and one[..., 2].any()
    dispatch = summed.bind(
        Launch("k", group, group, args=summed.convert("k", [np.zeros(WORDS, "u4"), np.zeros(WORDS, "u4")]))
    )
    text = translate(dispatch, True, row_of(dispatch)).text
    loop = text[text.index("block") :]
    assert len(set(re.findall(r"load <16 x i32>, ptr (%rV\d+)", loop))) == vectors


WRONG = {
    "a load": loaded("A", "A"),
    "other distances": ["add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> X(0,0)<1;1,0>"],
    "a part": ["add (M1, 8) A(0,0)<1> A(0,0)<1;1,0> 1:ud"],
    "words": ["mov (M1_NM, 1) N(0,0)<1> 5:uw", "mov (M1, 8) A(1,0)<1> X(0,0)<1;1,0>"],
    "one lane": ["mov (M1_NM, 1) A(0,3)<1> 5:ud"],
}


@pytest.mark.parametrize("kind", WRONG)
def test_broken_assumptions_are_given_up(kind):
    """The loop begins with the same value in all lanes, which the first emission takes for granted in its first lines."""
    lines = [
        "mov (M1, 16) A(0,0)<1> 7:ud", "mov (M1, 16) B(0,0)<1> 0:ud", "mov (M1, 16) C(0,0)<1> Y(0,0)<1;1,0>",
        "mov (M1_NM, 1) K(0,0)<1> 0:ud", "ROUND:", *loaded("D", "A"),
        "add (M1, 16) B(0,0)<1> B(0,0)<1;1,0> D(0,0)<1;1,0>", "add (M1, 16) C(0,0)<1> C(0,0)<1;1,0> A(0,0)<1;1,0>",
        *WRONG[kind], "add (M1_NM, 1) K(0,0)<1> K(0,0)<0;1,0> 1:ud", "cmp.lt (M1_NM, 16) P1 K(0,0)<0;1,0> 4:ud",
        "(P1) goto (M1, 16) ROUND",
    ]  # fmt: skip
    one, other = results(program(lines), (16, 2))
    assert (one == other).all() and one.any()


def body(random, depth, labels):
    """Lines of any kind, with branches that are the same for all lanes, and others."""
    lines = []
    for _ in range(random.randrange(2, 5)):
        a, b, c = (random.choice(REGISTERS) for _ in range(3))
        kind = random.randrange(11 if depth else 7)
        count = random.choice(("(M1, 16)", "(M1, 16)", "(M1_NM, 16)", "(P2) (M1, 16)", "(M1, 8)", "(M5, 8)"))
        guard, count = count.split(" (")[0] if count.startswith("(P2)") else "", "(" + count.split("(")[-1]
        at = "(1,0)" if "M5" in count else "(0,0)"
        if kind < 3:
            other = random.choice(
                (
                    f"{b}{at}<1;1,0>",
                    f"{random.randrange(40)}:ud",
                    f"X{'(0,8)' if at == '(1,0)' else at}<1;1,0>",
                    f"{b}(0,0)<0;1,0>",
                )
            )
            lines.append(f"{guard} add {count} {a}{at}<1> {c}{at}<1;1,0> {other}".strip())
        elif kind == 3:
            lines.append(f"{guard} shl {count} {a}{at}<1> {b}{at}<1;1,0> {random.randrange(3)}:ud".strip())
        elif kind == 4:
            lines.append(
                f"{guard} mov {count} {a}{at}<1> {random.choice((f'{b}{at}<1;1,0>', f'{random.randrange(9)}:ud'))}".strip()
            )
        elif kind == 5:
            lines += loaded(a, b)
        elif kind == 6:
            lines.append(f"cmp.lt (M1, 16) P2 {a}(0,0)<1;1,0> {b}(0,0)<1;1,0>")
        else:
            lines += branched(random, depth, labels)
    return lines


def branched(random, depth, labels):
    """A loop, or a part that some lanes jump over."""
    n = labels[0] = labels[0] + 1
    inside = body(random, depth - 1, labels)
    r = random.choice(REGISTERS)
    if random.random() < 0.5:
        return [f"cmp.gt (M1, 16) P1 {r}(0,0)<{random.choice(('1;1,0', '0;1,0'))}> {random.randrange(60)}:ud",
                f"(P1) goto (M1, 16) OVER{n}", *inside, f"OVER{n}:"]  # fmt: skip
    return [
        f"and (M1, 16) L{n}(0,0)<1> {r}(0,0)<{random.choice(('1;1,0', '0;1,0'))}> 3:ud", f"ROUND{n}:", *inside,
        f"cmp.gt (M1, 16) P1 L{n}(0,0)<1;1,0> 0:ud", f"add (M1, 16) L{n}(0,0)<1> L{n}(0,0)<1;1,0> -1:d",
        f"(P1) goto (M1, 16) ROUND{n}",
    ]  # fmt: skip


@effort(8)
@given(seeds)
def test_engines_agree_on_registers_of_all_shapes(seed):
    random, labels = Random(seed), [0]
    begin = [
        "mov (M1, 16) A(0,0)<1> X(0,0)<1;1,0>", "mul (M1, 16) B(0,0)<1> Y(0,0)<1;1,0> 5:uw", "mov (M1, 16) C(0,0)<1> 3:ud",
        *loaded("D", "B"), "setp (M1_NM, 16) P2 0x35a7:ud",
    ]  # fmt: skip
    lines = [line for _ in range(3) for line in branched(random, 2, labels)]
    counters = [f".decl L{n} v_type=G type=ud num_elts=16 align=GRF" for n in range(1, labels[0] + 1)]
    one, other = results(program([*counters, *begin, *lines]), random.choice(((16, 2), (8, 4), (4, 8), (32, 2))))
    assert (one == other).all()
