"""Long sections of independent chains run in another order, which changes no result."""

import random
import re

import numpy as np
import pytest
from support.probe import translated
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

from vsim.engines.llvm import target
from vsim.engines.llvm.passes.interleave import LEAST_LINES, interleave
from vsim.program import Program

needs_wide_vectors = pytest.mark.skipif("x86-64-v4" not in target.possible(), reason="vectors of 512 bits")
KERNEL = kernel_head("OUT=uq SEED=ud AT=uq*16 B=ud*16 LANE=uw*16", "OUT SEED", SimdSize=16)
CHAINS, STEPS, LANES = 6, 60, 16


def kernel():
    """One chain of products behind the other."""
    decls = [f".decl E{n} v_type=G type=ud num_elts={LANES} align=GRF" for n in range(CHAINS)]
    body = [
        "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv",
        "add (M1_NM, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 8:uw",
    ]
    for n in range(CHAINS):
        body.append(f"add (M1, 16) E{n}(0,0)<1> SEED(0,0)<0;1,0> LANE(0,0)<1;1,0>")
        for k in range(STEPS):
            body.append(f"mul (M1, 16) E{n}(0,0)<1> E{n}(0,0)<1;1,0> E{n}(0,0)<1;1,0>")
            body.append(f"add (M1, 16) E{n}(0,0)<1> E{n}(0,0)<1;1,0> {k + n}:ud")
    for n in range(CHAINS):
        body.append("shl (M1, 16) B(0,0)<1> LANE(0,0)<1;1,0> 2:ud")
        body.append(f"add (M1, 16) B(0,0)<1> B(0,0)<1;1,0> {64 * n}:ud")
        body.append("add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>")
        body.append(f"svm_scatter.4.1 (M1, 16) AT.0 E{n}.0")
    return build_text(KERNEL + "\n".join([*decls, *body, "ret (M1, 1)"]) + "\n", "tgllp")


def module(lines):
    """A module of one block."""
    return "\n".join(["define void @group(ptr %p, ptr %q) {", "entry:", *lines, "  ret void", "}", ""])


def chains(count=4, steps=80, kind="mul", operator="i32"):
    """Lines of chains, one behind the other."""
    found = [f"  %c = load <16 x {operator}>, ptr %p, align 4"]
    for n in range(count):
        found.append(f"  %c{n}.0 = {kind} <16 x {operator}> %c, %c")
        for k in range(steps):
            found.append(f"  %c{n}.{k + 1} = {kind} <16 x {operator}> %c{n}.{k}, %c{n}.{k}")
    return found


@needs_wide_vectors
def test_chains_alternate_and_engines_agree():
    """The six chains of a kernel run side by side, with the same results."""
    image = kernel()
    program = Program(image)
    given = program.convert("k", [np.zeros(LANES * CHAINS, "u4"), np.uint32(5)])
    code = translated(program, given, LANES)
    numbers = [int(n) for n in re.findall(r"%v(\d+) = mul <16 x i32>", code)]
    assert numbers != sorted(numbers), "names count up in the old order"
    found = []
    for engine in ENGINES:
        out = np.zeros(LANES * CHAINS, "u4")
        Program(image).launch("k", (LANES,), (LANES,), [out, np.uint32(2654435761)], engine=engine)
        found.append(out.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(8))
def test_orders_are_valid(seed):
    """Each line follows those whose results it uses; accesses keep their order, and all lines are there."""
    rng = random.Random(seed)
    lines, names = [], []
    for n in range(rng.randrange(LEAST_LINES, 4 * LEAST_LINES)):
        near = names[-rng.choice([1, 1, 2, 40]) :] or ["zeroinitializer"]
        x, y = rng.choice(near), rng.choice(near)
        kind = rng.randrange(12)
        if kind == 0:
            lines.append(f"  store <16 x i32> {x}, ptr %p, align 4")
            continue
        if kind == 1:
            lines.append(f"  %v{n} = load <16 x i32>, ptr %q, align 4")
        elif kind == 2:
            lines.append(f"  %v{n} = call <16 x i32> @llvm.umin.v16i32(<16 x i32> {x}, <16 x i32> {y})")
        else:
            lines.append(f"  %v{n} = {rng.choice(['add', 'mul', 'xor'])} <16 x i32> {x}, {y}")
        names.append(f"%v{n}")
    text = interleave(module(lines), 512)
    assert sorted(text.split("\n")) == sorted(module(lines).split("\n"))
    accesses = [line for line in text.split("\n") if line.startswith("  store") or " = load" in line]
    assert accesses == [line for line in lines if line.startswith("  store") or " = load" in line]
    defined = {"%p", "%q"}
    for line in text.split("\n")[2:]:
        result, _, operation = line.rpartition(" = ")
        assert set(re.findall(r"%\w+", operation)) <= defined, line
        defined.add(result.strip())


def test_chains_run_side_by_side():
    """Chains that are longer than the window alternate."""
    new = interleave(module(chains()), 512)
    first = re.findall(r"^  %(c\d)\.\d+ = mul", new, re.MULTILINE)[:8]
    assert set(first) == {"c0", "c1", "c2", "c3"}


@pytest.mark.parametrize(
    "line",
    [
        "  call void @llvm.set.rounding(i32 0)",
        "  %state = call i8 @llvm.coro.suspend(token none, i1 false)",
        "  %old = atomicrmw add ptr %p, i32 1 seq_cst, align 4",
        "  %tick = load volatile i64, ptr %p, align 8",
        "  fence seq_cst",
        "  %d = udiv i32 1, 0",
    ],
)
def test_nothing_passes_an_effect(line):
    """No line moves across an effect."""
    before, after = chains(), [line.replace("%c", "%d") for line in chains(kind="fadd", operator="float")]
    text = interleave(module([*before, line, *after]), 512)
    place = text.split("\n").index(line)
    assert sorted(text.split("\n")[2:place]) == sorted(before)
    assert text.split("\n")[2:place] != before


@pytest.mark.parametrize(
    ("lines", "bits"),
    [(chains(count=1, steps=400), 512), (chains(count=40), 512), (chains(steps=40), 512), (chains(count=8), 128)],
    ids=["one chain", "more values than registers", "short", "vectors of 128 bits"],
)
def test_code_without_profit_is_left_alone(lines, bits):
    """Code that the new order would not help."""
    assert interleave(module(lines), bits) == module(lines)
