"""Generated programs: instructions out of the table on random operands; the engines must agree bit for bit."""

import itertools
import os

import numpy as np
import pytest
from conftest import build_text, same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visa.isa import FORMS, instruction_set
from visa.isa.record import FLOATS, INTEGERS
from vsim.program import Program
from vsim.semantics import SEMANTICS

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "40"))
LANES = 16
TYPES = {
    "ud": "u4",
    "d": "i4",
    "uw": "u2",
    "w": "i2",
    "ub": "u1",
    "b": "i1",
    "uq": "u8",
    "q": "i8",
    "f": "f4",
    "df": "f8",
    "hf": "f2",
}
COUNT = 3
NAMES = [(t, f"{t.upper()}_{n}") for t in TYPES for n in range(COUNT)]
ODD = ("dp2", "dp3", "dp4", "dph", "line", "plane", "madw", "sad2", "sad2add", "addc", "subb", "add3.o", "srnd", "fcvt")
ALU = [
    f
    for f in FORMS
    if f.category in ("arithmetic", "logic")
    and f.semantics in SEMANTICS
    and f.mnemonic not in ODD
    and "dst" in f.by_name
]
ALU = [f for f in ALU if f.by_name["dst"].kind == "d"]


def declarations():
    return [f".decl {name} v_type=G type={t} num_elts=32 align=GRF" for t, name in NAMES]


@st.composite
def source(draw, types, size):
    """A region for an execution size, or an immediate, of one of the types."""
    t = draw(st.sampled_from(sorted(types)))
    if draw(st.integers(0, 5)) == 0 and t not in ("ub", "b"):
        bits = 8 * np.dtype(TYPES[t]).itemsize
        value = draw(st.integers(0, (1 << bits) - 1) | st.sampled_from([0, 1, (1 << bits) - 1, 1 << (bits - 1)]))
        return t, f"{value:#x}:{t}"
    name = f"{t.upper()}_{draw(st.integers(0, COUNT - 1))}"
    wide = ["(0,0)<2;1,0>", "(0,0)<8;4,2>"] if size > 1 else []
    region = draw(st.sampled_from(["(0,0)<1;1,0>", "(0,0)<0;1,0>", "(0,3)<0;1,0>", *wide]))
    modifier = draw(st.sampled_from(["", "", "", "(-)", "(abs)"])) if t not in ("ub", "b") else ""
    return t, modifier + name + region


@st.composite
def alu(draw):
    """One arithmetic or logic instruction, with and without predicate and mask."""
    desc = draw(st.sampled_from(ALU))
    legal = {t for t in desc.types if t in TYPES}
    floats = bool(legal & FLOATS) and (not legal & INTEGERS or draw(st.booleans()))
    family = ({draw(st.sampled_from(sorted(legal & FLOATS)))} if floats else legal & INTEGERS) or legal
    size = draw(st.sampled_from([1, 8, 16]))
    operands = [draw(source(family, size)) for f in desc.fields if f.kind == "s"]
    if desc.mnemonic in ("and", "or", "xor", "not", "bfn"):
        operands = [(t, text.replace("(-)", "(~)").replace("(abs)", "")) for t, text in operands]
    dst_type = draw(st.sampled_from(sorted(family)))
    mask = draw(st.sampled_from(["M1", "M1_NM", "M3" if size == 8 else "M1"]))
    predicate = draw(st.sampled_from(["", "(P1) ", "(!P2) ", "(P1.any) "]))
    suffix = f".x{draw(st.integers(0, 255)):x}" if desc.mnemonic == "bfn" else ""
    saturate = ".sat" if desc.category == "arithmetic" and draw(st.integers(0, 4)) == 0 else ""
    dst = f"{dst_type.upper()}_{draw(st.integers(0, COUNT - 1))}(0,0)<{draw(st.sampled_from([1, 1, 2]))}>"
    return f"{predicate}{desc.mnemonic}{suffix}{saturate} ({mask}, {size}) {dst} {' '.join(t for _, t in operands)}"


@st.composite
def other(draw):
    """Moves between all types, comparisons, selection, predicates."""
    kind = draw(st.sampled_from(["mov", "cmp", "sel", "min", "max", "setp", "logic", "bits"]))
    number = draw(st.integers(1, 3))
    if kind == "mov":
        _, text = draw(source(set(TYPES), 16))
        dst = draw(st.sampled_from(sorted(TYPES)))
        sat = draw(st.sampled_from(["", ".sat"]))
        return f"mov{sat} (M1, 16) {dst.upper()}_{draw(st.integers(0, COUNT - 1))}(0,0)<1> {text}"
    family = draw(st.sampled_from([{"f"}, {"df"}, {"hf"}, {"d", "w", "ud", "uw"}, {"q", "d"}, {"uq"}]))
    (_, x), (_, y) = draw(source(family, 16)), draw(source(family, 16))
    if kind == "cmp":
        relation = draw(st.sampled_from(["eq", "ne", "gt", "ge", "lt", "le"]))
        return f"cmp.{relation} (M1, 16) P{number} {x} {y}"
    dst = f"{draw(st.sampled_from(sorted(family))).upper()}_0(0,0)<1>"
    if kind == "sel":
        return f"(P{number}) sel (M1, 16) {dst} {x} {y}"
    if kind in ("min", "max"):
        return f"{kind} (M1, 16) {dst} {x} {y}"
    if kind == "setp":
        return f"setp (M1_NM, 16) P{number} {draw(st.integers(0, 65535)):#x}:ud"
    if kind == "logic":
        op = draw(st.sampled_from(["and", "or", "xor"]))
        return f"{op} (M1, 16) P{number} P{draw(st.integers(1, 3))} P{draw(st.integers(1, 3))}"
    return f"mov (M1, 1) UD_0(0,{draw(st.integers(0, 3))})<1> P{number}"


@st.composite
def block(draw, depth=2):
    """Straight code, with divergent branches and loops around parts of it: lines, ("if", ...) and ("loop", ...)."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.integers(0, 9))
        if depth and kind == 0:
            found.append(("if", draw(st.integers(1, 3)), draw(block(depth - 1)), draw(block(depth - 1))))
        elif depth and kind == 1:
            found.append(("loop", f"COUNTER_{depth}", draw(block(depth - 1))))
        else:
            found.append(draw(alu() if kind < 7 else other()))
    return found


def flatten(found, numbers):
    """The lines of a block; ``numbers`` gives labels their names."""
    lines = []
    for item in found:
        if isinstance(item, str):
            lines.append(item)
            continue
        mark = next(numbers)
        if item[0] == "if":
            lines += [f"(P{item[1]}) goto (M1, 16) else_{mark}", *flatten(item[2], numbers), f"goto (M1, 1) end_{mark}", f"else_{mark}:",
                      *flatten(item[3], numbers), f"end_{mark}:"]  # fmt: skip
        else:
            counter = item[1]
            lines += [f"mov (M1, 16) {counter}(0,0)<1> 0:ud", f"loop_{mark}:", *flatten(item[2], numbers),
                      f"add (M1, 16) {counter}(0,0)<1> {counter}(0,0)<1;1,0> 1:ud",
                      f"cmp.lt (M1, 16) P4 {counter}(0,0)<1;1,0> LIMIT(0,0)<1;1,0>", f"(P4) goto (M1, 16) loop_{mark}"]  # fmt: skip
    return lines


def program_text(lines):
    offsets, at = {}, 0
    for t, name in NAMES:
        offsets[name] = at
        at += LANES * np.dtype(TYPES[t]).itemsize
    io = []
    for direction in ("in", "out"):
        for t, name in NAMES:
            size = LANES * np.dtype(TYPES[t]).itemsize
            op = "svm_block_ld" if direction == "in" else "svm_block_st"
            io.append((direction, [f"add (M1_NM, 1) PLACE(0,0)<1> {direction.upper()}(0,0)<0;1,0> {offsets[name]}:ud",
                                   f"{op} ({max(1, size // 16)}) PLACE(0,0)<0;1,0> {name}.0"]))  # fmt: skip
    extra = [".decl IN v_type=G type=uq num_elts=1", ".decl OUT v_type=G type=uq num_elts=1", ".decl PLACE v_type=G type=uq num_elts=1",
             *[f".decl {n} v_type=G type=ud num_elts=16 align=GRF" for n in ("COUNTER_1", "COUNTER_2", "LIMIT")],
             *[f".decl P{n} v_type=P num_elts=16" for n in range(1, 5)], ".input IN offset=64 size=8", ".input OUT offset=72 size=8",
             ".kernel_attr SimdSize=16"]  # fmt: skip
    function = ["or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud", *[x for d, lines_ in io if d == "in" for x in lines_],
            "and (M1, 16) LIMIT(0,0)<1> UD_1(0,0)<1;1,0> 3:ud", "cmp.gt (M1, 16) P1 D_0(0,0)<1;1,0> D_1(0,0)<1;1,0>",
            "cmp.lt (M1, 16) P2 F_0(0,0)<1;1,0> F_1(0,0)<1;1,0>", "setp (M1_NM, 16) P3 0xf0f0:ud", "setp (M1_NM, 16) P4 0:ud", *lines,
            *[x for d, lines_ in io if d == "out" for x in lines_], "ret (M1, 1)"]  # fmt: skip
    return "\n".join([".version 4.1", '.kernel "k"', *declarations(), *extra, *function]) + "\n", at


def initial(seed, size):
    random = np.random.default_rng(seed)
    parts = []
    for t, _ in NAMES:
        dtype = np.dtype(TYPES[t])
        if dtype.kind == "f":
            pool = np.array([0.0, -0.0, 1.0, -1.5, 3.25, 1e-3, 65504.0, np.inf, -np.inf, np.nan, 1e-7], dtype)
            values = np.where(
                random.random(LANES) < 0.5, random.choice(pool, LANES), random.standard_normal(LANES).astype(dtype) * 10
            )
        else:
            info = np.iinfo(dtype)
            values = np.where(random.random(LANES) < 0.3, random.choice(np.array([0, 1, info.min, info.max], dtype), LANES),
                              random.integers(info.min, info.max, LANES, dtype=dtype, endpoint=True))  # fmt: skip
        parts.append(values.astype(dtype).view(np.uint8))
    return np.concatenate(parts)[:size]


def run(text, size, seed, engine):
    data, out = initial(seed, size), np.zeros(size, np.uint8)
    Program(build_text(text, "xehp")).launch("k", 16, 16, [data, out], engine=engine)
    return out


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES <= 100)
@given(block(), st.integers(0, 1 << 32))
def test_engines_agree(found, seed):
    lines = flatten(found, itertools.count())
    text, size = program_text(lines)
    reference, fast = run(text, size, seed, "numpy"), run(text, size, seed, "llvm")
    at = 0
    for t, name in NAMES:
        dtype = np.dtype(TYPES[t])
        part = slice(at, at + LANES * dtype.itemsize)
        at = part.stop
        assert same(reference[part].view(dtype), fast[part].view(dtype)), (
            f"{name}: {reference[part].view(dtype)} {fast[part].view(dtype)}\n" + "\n".join(lines)
        )


def test_the_generator_reaches_most_of_the_table():
    assert len({f.mnemonic for f in ALU}) >= 40
    assert instruction_set().by_mnemonic["add"][0] in ALU


@pytest.mark.parametrize("desc", ALU, ids=lambda f: f.mnemonic)
def test_each_instruction_on_both_engines(desc):
    """Every instruction alone, on special values of each of its types."""
    suffix = ".x6a" if desc.mnemonic == "bfn" else ""
    sources = sum(1 for f in desc.fields if f.kind == "s")
    lines = []
    for t in sorted(desc.types & set(TYPES)):
        names = " ".join(f"{t.upper()}_{k % COUNT}(0,0)<1;1,0>" for k in range(1, sources + 1))
        lines.append(f"{desc.mnemonic}{suffix} (M1, 16) {t.upper()}_0(0,0)<1> {names}")
    text, size = program_text(lines)
    reference, fast = run(text, size, 7, "numpy"), run(text, size, 7, "llvm")
    at = 0
    for t, name in NAMES:
        dtype = np.dtype(TYPES[t])
        part = slice(at, at + LANES * dtype.itemsize)
        at = part.stop
        assert same(reference[part].view(dtype), fast[part].view(dtype)), name
