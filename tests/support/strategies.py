"""What tests draw: numbers, regions, operands, instructions, control flow, whole texts and launches.

Every strategy has one place here; the models of expected results are in the tests. ``make fuzz`` draws many more
examples (``FUZZ_EXAMPLES``), and other ones in every run; otherwise each run draws the same few.
"""

import itertools
import math
import os
import re
import zlib
from dataclasses import dataclass, field
from random import Random

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from support import scalar
from support.programs import DATA
from support.scalar import DTYPES, FLOATS, INTEGERS, SHIFTS, SIZES
from visakit.isa import FORMS, instruction_set
from visakit.isa.record import Saturation
from vsim.semantics import SEMANTICS

FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "0"))
ENGINES = ("llvm", "numpy")
LANES = 16
WORD = 0xFFFFFFFF


def effort(examples, share=1.0, shrink=True):
    """Settings of a test that draws some examples, or a share of those of ``make fuzz``."""
    phases = (
        [Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink]
        if shrink
        else [Phase.explicit, Phase.generate]
    )
    return settings(
        max_examples=max(1, int(FUZZ * share)) if FUZZ else examples, deadline=None, derandomize=not FUZZ, phases=phases,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=shrink,
    )  # fmt: skip


def each_engine(devices):
    """Names with a device and an engine: each engine runs a kernel on one of its devices, in ``make fuzz`` on all.

    Native code takes time to make. ``devices`` are those of each name.
    """
    return [
        (name, device, engine)
        for n, (name, own) in enumerate(devices.items())
        for k, engine in enumerate(ENGINES)
        for m, device in enumerate(own)
        if FUZZ or (n + k) % len(own) == m
    ]


def some(cases, one_of):
    """Each ``one_of``-th case, the same in every run; in ``make fuzz`` all."""
    return [*cases][:: 1 if FUZZ else one_of]


def some_of_each(cases, kind, one_of):
    """Each ``one_of``-th case of each kind, at least one, the same in every run; in ``make fuzz`` all."""
    kinds = {}
    for case in cases:
        kinds.setdefault(kind(case), []).append(case)
    share = 1 if FUZZ else one_of
    return [case for n, own in enumerate(kinds.values()) for case in own[n % min(share, len(own)) :: share]]


def rotated(rows, columns):
    """Each row with one column, in turn; in ``make fuzz`` with all."""
    columns = [*columns]
    return [
        (row, column) for n, row in enumerate(rows) for m, column in enumerate(columns) if FUZZ or n % len(columns) == m
    ]


def in_turn(rows, ways):
    """Each row in one of the ways, which are tuples; in ``make fuzz`` and ``make pairs`` in all."""
    return [(row, *way) for row, way in rotated(rows, ways)]


def chosen(texts, name):
    """Draws a text of a program: always the same one for one name, so that examples share native code.

    In ``make fuzz`` any.
    """
    return st.sampled_from(texts) if FUZZ else st.just(texts[zlib.crc32(name.encode()) % len(texts)])


CHECKED = effort(2, 0.1, shrink=False)
"""For the many tests that compare an instruction with its model: the simplest example, and a drawn one."""


# -- numbers of types ------------------------------------------------------------------------------------------

seeds = st.integers(0, 1 << 32)
randoms = st.builds(Random, seeds)
"""For contents in bulk: one drawn number stands for thousands."""
words = st.integers(0, WORD)
RUNNING = st.just(65535) | st.integers(0, 65535)
"""Which of the lanes run, as bits; all in the simplest example."""
SPECIAL_FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    float("inf"),
    float("-inf"),
    float("nan"),
    65504.0,
    65520.0,
    1e-7,
    6e-8,
    3.4e38,
    1e-40,
    2147483647.0,
]
SPECIAL_FLOATS += [-2147483648.5, 255.5, -0.25, 1e300, 4e-324, 1e-310]


def number(random, t):
    """A number of a type: special, small, or any bits."""
    kind = random.randrange(3)
    if t in FLOATS:
        bits = random.getrandbits(8 * SIZES[t]).to_bytes(SIZES[t], "little")
        x = (
            random.choice(SPECIAL_FLOATS)
            if kind == 0
            else random.uniform(-100, 100)
            if kind == 1
            else scalar.decode(np.frombuffer(bits, scalar.DTYPES[t]), t)[0]
        )
        return scalar.narrow(x, t)
    bits, signed = INTEGERS[t]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return (
        random.choice([0, 1, low, high, high - 1, high // 2])
        if kind == 0
        else random.randint(max(low, -9), 40)
        if kind == 1
        else random.randint(low, high)
    )


@st.composite
def numbers(draw, t, count):
    """Elements of a type."""
    random = draw(randoms)
    return [number(random, t) for _ in range(count)]


# -- regions and operands ----------------------------------------------------------------------------------------

REGIONS = {
    "<1;1,0>": lambda i: i,
    "<0;1,0>": lambda i: 0,
    "<2;1,0>": lambda i: 2 * i,
    "<8;4,2>": lambda i: i // 4 * 8 + i % 4 * 2,
    "<4;4,1>": lambda i: i,
}
"""What element of a row of registers lane i of a region is."""
ARITHMETIC_MODIFIERS, BITWISE_MODIFIERS = ("", "", "(-)", "(abs)", "(-abs)"), ("", "", "(~)")


@dataclass(repr=False)
class Source:
    """An operand: its lanes as exact numbers, and how it is written."""

    type: str
    text: str
    elements: list
    index: object
    modifier: str = ""
    declared: bool = True

    def lane(self, i):
        x = self.elements[self.index(i)]
        if self.modifier == "(~)":
            return ~x
        if "abs" in self.modifier:
            x = abs(x)
        return -x if "-" in self.modifier else x


@st.composite
def sources(draw, name, types, size, modifiers=("",), immediates=True):
    """A region of a variable of that name, or an immediate; with its elements."""
    t = draw(st.sampled_from(sorted(types)))
    modifier = (
        draw(st.sampled_from(modifiers))
        if t not in ("ub", "uw", "ud", "uq", "bf") or modifiers == BITWISE_MODIFIERS
        else ""
    )
    if immediates and t not in ("ub", "b", "bf") and draw(st.integers(0, 5)) == 0:
        (x,) = draw(numbers(t, 1))
        bits = int.from_bytes(scalar.encode(x, t), "little")
        return Source(t, f"{bits:#x}:{t}", [x], lambda i: 0, "", False)
    regions = ["<1;1,0>", "<0;1,0>"] + (["<2;1,0>"] if size > 1 else []) + (["<8;4,2>", "<4;4,1>"] if size >= 4 else [])
    region = draw(st.sampled_from(regions))
    # The region of one row has the stride of that row.
    region = {"<8;4,2>": "<2;1,0>", "<4;4,1>": "<1;1,0>"}.get(region, region) if size == 4 else region
    return Source(t, f"{modifier}{name}(0,0){region}", draw(numbers(t, 32)), REGIONS[region], modifier)


PACKED = {"v": ("w", lambda b, i: scalar.wrap((b >> 4 * (i % 8) & 15) - 16 * (b >> 4 * (i % 8) >> 3 & 1), "w")),
          "uv": ("uw", lambda b, i: b >> 4 * (i % 8) & 15), "vf": ("f", lambda b, i: small_float(b >> 8 * (i % 4) & 255))}  # fmt: skip


def small_float(bits):
    """The packed 8-bit float: sign, three exponent bits with bias 3, four fraction bits; no denormals but zero."""
    magnitude = 0.0 if not bits & 0x7F else (1 + (bits & 15) / 16) * 2.0 ** ((bits >> 4 & 7) - 3)
    return -magnitude if bits >> 7 else magnitude


# -- instructions and their operands ---------------------------------------------------------------------------

SIGNED_ONLY, SAME_SIGN = {"asr"}, {"div", "mod", "mulh", "bfe", "asr", "shr", "fbh"}
PLAIN_SOURCES = {*SHIFTS, "div", "mod", "mulh", "avg"}
"""Instructions whose sources are drawn without the modifiers that the table allows."""
MODIFIERS = {"signs": ARITHMETIC_MODIFIERS, "complement": BITWISE_MODIFIERS, "": ("",)}


@dataclass(repr=False)
class Case:
    """One instruction with its surroundings."""

    name: str
    number: int
    size: int
    dst: str
    stride: int
    mask: str
    sources: list
    predicate: tuple
    saturate: bool
    before: list = field(default_factory=list)
    extra: object = None

    @property
    def text(self):
        form, _, rest = self.name.partition(".")
        inverse, mode, bits = self.predicate or (False, "", None)
        head = f"({'!' if inverse else ''}P{self.number}{mode}) " if bits is not None else ""
        rest = f".{rest}" if rest else ""
        dst = f"D{self.number}(0,0)<{self.stride}>"
        return f"{head}{form}{rest}{'.sat' if self.saturate else ''} ({self.mask}, {self.size}) {dst} {' '.join(s.text for s in self.sources)}"

    @property
    def offset(self):
        return 4 * (int(self.mask[1]) - 1)

    def chosen(self, i):
        """The predicate of lane i."""
        if not self.predicate or self.predicate[2] is None:
            return True
        inverse, mode, bits = self.predicate
        each = bool(bits >> self.offset + i & 1)
        return {".any": bits != 0, ".all": bits == 0xFFFF}.get(mode, each) != inverse

    def runs(self, i, running):
        # A thread none of whose lanes run jumps over everything.
        return (running != 0 and "_NM" in self.mask) or bool(running >> (self.offset + i) & 1)

    def declare(self, probe):
        for s in self.sources:
            if s.declared:
                name = s.text.lstrip("(-abs~)").partition("(")[0]
                probe.variable(name, s.type, s.elements)
        probe.variable(f"D{self.number}", self.dst, self.before)
        if self.predicate and self.predicate[2] is not None:
            probe.predicate(f"P{self.number}", self.predicate[2])
        probe.lines.append(self.text)


@st.composite
def surroundings(draw, name, number, dst, operands, size, saturate=False):
    """An instruction with mask, predicate and destination drawn."""
    masks = {16: ["M1"], 8: ["M1", "M3"], 4: ["M1", "M2", "M3", "M4"]}.get(size, ["M1"])
    mask = draw(st.sampled_from(masks)) + draw(st.sampled_from(["", "", "_NM"]))
    predicated = instruction_set().by_mnemonic[name.partition(".")[0]][0].has_predicate and draw(st.booleans())
    predicate = (
        (draw(st.booleans()), draw(st.sampled_from(["", "", ".any", ".all"])), draw(st.integers(0, 65535)))
        if predicated
        else ()
    )
    stride = draw(st.sampled_from([1, 1, 2])) if size > 1 else 1
    return Case(name, number, size, dst, stride, mask, operands, predicate, saturate, draw(numbers(dst, 32)))


def source_types(desc):
    """The types that all sources of an instruction take."""
    names = [f.name for f in desc.fields if f.kind == "s"]
    found = [desc.types_of(name) | desc.beyond.get(name, frozenset()) for name in names]
    return {t for t in frozenset.intersection(*found) if t in SIZES and t != "bf"}


def result_types(desc):
    """The types of its result."""
    return {t for t in desc.types_of("dst") | desc.beyond.get("dst", frozenset()) if t in SIZES and t != "bf"}


def can_saturate(desc, t):
    """Whether an instruction can saturate a result of a type."""
    return desc.saturation is Saturation.ANY or (desc.saturation is Saturation.FLOATS and t in FLOATS)


@st.composite
def lanewise(draw, name, number):
    """An instruction that does the same in each lane."""
    form = instruction_set().by_mnemonic[name][0]
    types, possible = source_types(form), result_types(form)
    floats = sorted(types & set(FLOATS))
    integers = sorted(types & set(INTEGERS))
    if floats and (not integers or draw(st.booleans())):
        family = (
            {draw(st.sampled_from(floats))}
            if name not in ("add", "mul")
            else set(draw(st.sampled_from([("f",), ("hf",), ("df",), ("f", "hf")])))
        )
        results = set(FLOATS) & {"f", "hf"} if family <= {"f", "hf"} else family
    elif name in SAME_SIGN or name in SIGNED_ONLY:
        kinds = sorted({INTEGERS[t][1] for t in integers})
        signed = name in SIGNED_ONLY or draw(st.sampled_from(kinds))
        family = {t for t in integers if INTEGERS[t][1] == signed}
        results = {t for t in possible if t in INTEGERS and INTEGERS[t][1] == signed}
    else:
        # What a signed source beside an unsigned one of 64 bits means is open.
        family = {t for t in integers if not INTEGERS[t][1]} if draw(st.integers(0, 3)) == 0 else set(integers) - {"uq"}
        results = set(INTEGERS)
    results = sorted(results & possible)
    size = draw(st.sampled_from([1, 4, 8, 16]))
    modifiers = ("",) if name in PLAIN_SOURCES else MODIFIERS[form.modifiers]
    count = sum(1 for f in instruction_set().by_mnemonic[name][0].fields if f.kind == "s")
    periodic = name in ("sin", "cos")
    operands = [draw(sources(f"S{number}_{k}", family, size, modifiers, not periodic)) for k in range(count)]
    for s in operands if periodic else ():
        s.elements = [scalar.narrow(math.fmod(x, 30000.0), s.type) if math.isfinite(x) else x for x in s.elements]
    result = draw(st.sampled_from(results))
    saturate = form.category == "arithmetic" and can_saturate(form, result) and draw(st.integers(0, 3)) == 0
    suffix = f".x{draw(st.integers(0, 255)):x}" if name == "bfn" else ""
    return draw(surroundings(name + suffix, number, result, operands, size, saturate))


# -- programs of straight code, branches and loops -----------------------------------------------------------------

TYPES = {t: DTYPES[t] for t in ("ud", "d", "uw", "w", "ub", "b", "uq", "q", "f", "df", "hf")}
COUNT = 3
"""Variables of each type."""
VARIABLES = [(t, f"{t.upper()}_{n}") for t in TYPES for n in range(COUNT)]
ODD = ("lfsr", "invm", "rsqtm", "dp2", "dp3", "dp4", "dph", "line", "plane", "madw", "sad2", "sad2add", "addc", "subb", "add3.o", "srnd", "fcvt",
       "tanh", "sigm")  # fmt: skip
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
    """Declarations of the variables that programs work on."""
    return [f".decl {name} v_type=G type={t} num_elts=32 align=GRF" for t, name in VARIABLES]


@st.composite
def operand_texts(draw, types, size):
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
def alu_lines(draw):
    """One arithmetic or logic instruction, with and without predicate and mask."""
    desc = draw(st.sampled_from(ALU))
    legal = source_types(desc)
    floats = bool(legal & set(FLOATS)) and (not legal & set(INTEGERS) or draw(st.booleans()))
    family = {draw(st.sampled_from(sorted(legal & set(FLOATS))))} if floats else legal & set(INTEGERS)
    size = draw(st.sampled_from([1, 8, 16]))
    operands = [draw(operand_texts(family, size)) for f in desc.fields if f.kind == "s"]
    if desc.modifiers != "signs":
        minus = "(~)" if desc.modifiers else ""
        operands = [(t, text.replace("(-)", minus).replace("(abs)", "")) for t, text in operands]
    dst_type = draw(st.sampled_from(sorted((family if floats else set(INTEGERS)) & result_types(desc))))
    mask = draw(st.sampled_from(["M1", "M1_NM", "M3" if size == 8 else "M1"]))
    predicate = draw(st.sampled_from(["", "(P1) ", "(!P2) ", "(P1.any) "]))
    suffix = f".x{draw(st.integers(0, 255)):x}" if desc.mnemonic == "bfn" else ""
    saturates = desc.category == "arithmetic" and can_saturate(desc, dst_type)
    saturate = ".sat" if saturates and draw(st.integers(0, 4)) == 0 else ""
    dst = f"{dst_type.upper()}_{draw(st.integers(0, COUNT - 1))}(0,0)<{draw(st.sampled_from([1, 1, 2]))}>"
    return f"{predicate}{desc.mnemonic}{suffix}{saturate} ({mask}, {size}) {dst} {' '.join(t for _, t in operands)}"


@st.composite
def other_lines(draw):
    """Moves between all types, comparisons, selection, predicates."""
    kind = draw(st.sampled_from(["mov", "cmp", "sel", "min", "max", "setp", "logic", "bits"]))
    number = draw(st.integers(1, 3))
    if kind == "mov":
        _, text = draw(operand_texts(set(TYPES), 16))
        dst = draw(st.sampled_from(sorted(TYPES)))
        sat = draw(st.sampled_from(["", ".sat"]))
        return f"mov{sat} (M1, 16) {dst.upper()}_{draw(st.integers(0, COUNT - 1))}(0,0)<1> {text}"
    family = draw(st.sampled_from([{"f"}, {"df"}, {"hf"}, {"d", "w", "ud", "uw"}, {"q", "d"}, {"uq"}]))
    (_, x), (_, y) = draw(operand_texts(family, 16)), draw(operand_texts(family, 16))
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
def blocks(draw, depth=2):
    """Straight code, with divergent branches and loops around parts of it: lines, ("if", ...) and ("loop", ...)."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.integers(0, 9))
        if depth and kind == 0:
            found.append(("if", draw(st.integers(1, 3)), draw(blocks(depth - 1)), draw(blocks(depth - 1))))
        elif depth and kind == 1:
            found.append(("loop", f"COUNTER_{depth}", draw(blocks(depth - 1))))
        else:
            found.append(draw(alu_lines() if kind < 7 else other_lines()))
    return found


def lines_of(found, numbers):
    """The lines of a block; ``numbers`` gives labels their names."""
    lines = []
    for item in found:
        if isinstance(item, str):
            lines.append(item)
            continue
        mark = next(numbers)
        if item[0] == "if":
            lines += [f"(P{item[1]}) goto (M1, 16) else_{mark}", *lines_of(item[2], numbers), f"goto (M1, 1) end_{mark}", f"else_{mark}:",
                      *lines_of(item[3], numbers), f"end_{mark}:"]  # fmt: skip
        else:
            counter = item[1]
            lines += [f"mov (M1, 16) {counter}(0,0)<1> 0:ud", f"loop_{mark}:", *lines_of(item[2], numbers),
                      f"add (M1, 16) {counter}(0,0)<1> {counter}(0,0)<1;1,0> 1:ud",
                      f"cmp.lt (M1, 16) P4 {counter}(0,0)<1;1,0> LIMIT(0,0)<1;1,0>", f"(P4) goto (M1, 16) loop_{mark}"]  # fmt: skip
    return lines


PROGRAM_VARIABLES = [
    *(f".decl {n} v_type=G type=ud num_elts=16 align=GRF" for n in ("COUNTER_1", "COUNTER_2", "LIMIT")),
    *(f".decl P{n} v_type=P num_elts=16" for n in range(1, 5)),
]
"""What the lines of a program need besides its variables."""


def program_text(lines):
    """A kernel that loads all variables, runs the lines and stores them; and the bytes of the variables."""
    offsets, at = {}, 0
    for t, name in VARIABLES:
        offsets[name] = at
        at += LANES * np.dtype(TYPES[t]).itemsize
    io = []
    for direction in ("in", "out"):
        for t, name in VARIABLES:
            size = LANES * np.dtype(TYPES[t]).itemsize
            op = "svm_block_ld" if direction == "in" else "svm_block_st"
            io.append((direction, [f"add (M1_NM, 1) PLACE(0,0)<1> {direction.upper()}(0,0)<0;1,0> {offsets[name]}:ud",
                                   f"{op} ({max(1, size // 16)}) PLACE(0,0)<0;1,0> {name}.0"]))  # fmt: skip
    extra = [".decl IN v_type=G type=uq num_elts=1", ".decl OUT v_type=G type=uq num_elts=1", ".decl PLACE v_type=G type=uq num_elts=1",
             *PROGRAM_VARIABLES, ".input IN offset=64 size=8", ".input OUT offset=72 size=8",
             ".kernel_attr SimdSize=16"]  # fmt: skip
    function = ["or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud", *[x for d, lines_ in io if d == "in" for x in lines_],
            "and (M1, 16) LIMIT(0,0)<1> UD_1(0,0)<1;1,0> 3:ud", "cmp.gt (M1, 16) P1 D_0(0,0)<1;1,0> D_1(0,0)<1;1,0>",
            "cmp.lt (M1, 16) P2 F_0(0,0)<1;1,0> F_1(0,0)<1;1,0>", "setp (M1_NM, 16) P3 0xf0f0:ud", "setp (M1_NM, 16) P4 0:ud", *lines,
            *[x for d, lines_ in io if d == "out" for x in lines_], "ret (M1, 1)"]  # fmt: skip
    return "\n".join([".version 4.1", '.kernel "k"', *declarations(), *extra, *function]) + "\n", at


# -- programs that an interpreter of single lanes understands ----------------------------------------------------

FUNCTIONS = 3
"""Subroutines and functions that a program may call."""
OPS = ("add", "and", "mul", "or", "xor")
conditions = st.tuples(st.integers(0, 4), st.integers(0, 3))
"""A condition is a bit position and two: the lane does it if the two bits there are less."""
op = st.tuples(st.just("op"), st.sampled_from(OPS), words)


def flow_statements(depth, calls, top):
    """Lists of statements; ``calls`` are the subroutines and functions that they may call."""
    kinds = [op, op, st.tuples(st.just("early"), conditions)]
    if depth:
        inner = flow_statements(depth - 1, calls, False)
        kinds += [
            st.tuples(st.just("if"), conditions, inner, inner),
            st.tuples(st.just("loop"), st.just(depth), st.integers(0, 8), inner),
        ]
        if top:
            kinds += [
                st.tuples(st.just("switch"), st.integers(0, 4), st.lists(inner, min_size=1, max_size=3)),
                st.tuples(st.just("skip"), inner),
            ]
    if calls:
        kinds.append(st.tuples(st.sampled_from(["call", "fcall", "ifcall", "rec"]), conditions, st.sampled_from(calls)))
    if top:
        blocks = st.lists(
            st.tuples(
                st.lists(op, min_size=1, max_size=2), conditions, st.integers(0, 9), st.none() | st.integers(0, 9)
            ),
            min_size=2,
            max_size=5,
        )
        kinds.append(st.tuples(st.just("tangle"), blocks))
    return st.lists(st.one_of(kinds), min_size=1, max_size=4)


flow_programs = st.tuples(
    flow_statements(2, list(range(FUNCTIONS)), True), st.tuples(*(flow_statements(1, list(range(n + 1, FUNCTIONS)), False) for n in range(FUNCTIONS)))
)  # fmt: skip


# -- texts -------------------------------------------------------------------------------------------------------

GOLDEN = sorted((DATA / "golden").glob("*.visaasm"))
NUMBER = re.compile(r"(?<![\w.%$#])(?:0x[0-9a-f]+|\d+)(?![\w.])")


@st.composite
def edited_texts(draw):
    """A golden text with an instruction changed: other numbers, masks, sizes, names, words left out or twice."""
    lines = draw(st.sampled_from(GOLDEN)).read_text().split("\n")
    places = [
        n
        for n, line in enumerate(lines)
        if line.strip() and not line.startswith((".", "//")) and not line.endswith(":")
    ]
    n = draw(st.sampled_from(places))
    line = lines[n]
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["number", "number", "number", "mask", "word", "twice", "negate", "predicate"]))
        numbers = list(NUMBER.finditer(line))
        words = line.split()
        if kind == "number" and numbers:
            m = draw(st.sampled_from(numbers))
            line = (
                line[: m.start()]
                + str(draw(st.sampled_from([0, 1, 2, 3, 4, 8, 16, 32, 64, 255, 256])))
                + line[m.end() :]
            )
        elif kind == "mask":
            line = re.sub(
                r"\(M\d(?:_NM)?, ", f"(M{draw(st.integers(1, 8))}{draw(st.sampled_from(['', '_NM']))}, ", line, count=1
            )
        elif kind == "word" and len(words) > 1:
            del words[draw(st.integers(0, len(words) - 1))]
            line = " ".join(words)
        elif kind == "twice" and words:
            k = draw(st.integers(0, len(words) - 1))
            line = " ".join([*words[:k], words[k], *words[k:]])
        elif kind == "negate":
            line = re.sub(r" (V\w*\(\d)", r" (-)\1", line, count=1)
        elif kind == "predicate" and not line.startswith("("):
            line = "(P1) " + line
    lines[n : n + 1] = [line, lines[n], line]
    return "\n".join(lines)


@st.composite
def modules(draw):
    """A text of kernels and functions, with declarations, branches, loops and calls."""
    sizes = draw(st.dictionaries(st.sampled_from(["f", "g"]), st.tuples(st.integers(0, 2), st.integers(0, 2))))
    numbers = itertools.count()
    lines = [f".version {draw(st.sampled_from(['4.1', '4.2']))}"]
    for kernel in draw(st.sampled_from([["k"], ["k", "j"]])):
        lines += [f'.kernel "{kernel}"', *declarations(), *PROGRAM_VARIABLES, *lines_of(draw(blocks()), numbers)]
        lines += [f"fcall (M1, 16) {name} {given} {back}" for name, (given, back) in sizes.items()]
        lines += [".kernel_attr SimdSize=16", "ret (M1, 1)"]
    for name, (given, back) in sizes.items():
        extern = draw(st.sampled_from([[], [".kernel_attr Extern"]]))
        attributes = [f".kernel_attr ArgSize={given}", f".kernel_attr RetValSize={back}", *extern]
        lines += [f'.global_function "{name}"', *declarations(), *PROGRAM_VARIABLES, *attributes]
        lines += [*lines_of(draw(blocks()), numbers), "fret (M1, 16)"]
    return "\n".join(lines) + "\n"


# -- launches ----------------------------------------------------------------------------------------------------


@st.composite
def nd_ranges(draw):
    """Global and local sizes of one to three dimensions, which need not divide each other."""
    limits = draw(st.sampled_from([[40], [12, 9], [5, 4, 6]]))
    local = tuple(draw(st.integers(1, limit)) for limit in limits)
    return tuple(draw(st.integers(1, 3 * size)) for size in local), local


schedules = st.sampled_from(["", "reverse", "random:1", "random:2", "round-robin"])


def initial(seed, size):
    """Contents of the variables of a generated program, with the numbers of edges among them."""
    random = np.random.default_rng(seed)
    parts = []
    for t, _ in VARIABLES:
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
