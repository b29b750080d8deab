"""Programs without races by construction: each lane and thread writes its own places, what all write to are sums.

So the engines must agree bit for bit, or both fault with one code. The bodies branch, loop, call and wait.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from support.scalar import DTYPES, SIZES

from fuzz.guarded import guard_workers
from fuzz.images import Images
from fuzz.launches import BFLOAT, Execution, Json, execute, packed
from fuzz.matrices import Matrices
from fuzz.messages import (
    BLOCK_BYTES,
    DATA,
    DATA_BYTES,
    EXTREME_BYTES,
    EXTREMES,
    LANE_BYTES,
    REAL,
    REAL_PARTS,
    SCRATCH_BYTES,
    SHARED_BYTES,
    SUM_BYTES,
    Messages,
)
from fuzz.operations import ELEMENTS, PREDICATES, VARIABLES, Operations
from fuzz.records import place_of
from fuzz.target import Target
from vasm.assembler import assemble_text
from visakit import AssemblyError
from visakit.language.platforms import find

RECORD = 8192
"""Bytes of the variables of a thread, before and after."""
PLATFORMS = ("tgllp", "xehp", "dg2", "pvc", "skl", "bmg", "cri")
ATTEMPTS = 12
"""How often lines that the assembler refuses are left out."""


@dataclass(frozen=True)
class Line:
    """A line of a body. A free one may be left out without harm to the others."""

    text: str
    free: bool = False


def _offsets() -> dict[str, tuple[int, int, str]]:
    """Offset in a record, size in bytes and type of each variable."""
    found, at = {}, 0
    for name, t in [*VARIABLES.items(), *((name, "ud") for name in DATA), *((name, "f") for name in REAL)]:
        size = DATA_BYTES if name in (*DATA, *REAL) else ELEMENTS * SIZES[t]
        found[name] = at, size, t
        at += size
    assert at + 64 <= RECORD
    return found


OFFSETS = _offsets()
PREDICATES_AT = RECORD - 64
INPUTS = ("IN", "OUT", "LANES", "BLOCKS", "SHARED", "SUM", "REALS", "EXTREMES")
"""Buffers, which are the surfaces from T6 on, too."""


class Program:
    """A program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"program {seed}")
        self.platform = self.random.choice(PLATFORMS)
        self.register = find(self.platform).grf_size
        self.simd = self.random.choice((16, 16, 32) if self.register == 64 else (8, 16, 16, 32))
        self.threads, self.groups = self.random.choice((1, 1, 2, 3, 4)), self.random.choice((1, 1, 2, 3))
        self.operations = Operations(self.random, self.platform, self.simd, self.register)
        self.messages = Messages(self.random, self.platform, self.simd)
        self.matrices = Matrices(self.random, self.platform, self.simd, self.register)
        self.images = Images(self.random, self.simd)
        self.with_images = self.random.random() < 0.4
        self.argument_rows, self.result_rows = self.random.choice(((2, 2), (2, 2), (5, 3), (32, 12), (17, 2)))
        """Registers that functions take and give back."""
        self.numbers = itertools.count()
        self.subroutines: list[Line] = []
        self.functions: list[Line] = []
        self.callable: list[tuple[str, str]] = []
        """Kind (subroutine or function) and name of what can be called."""

    # -- lines -------------------------------------------------------------------------------------------------

    def chunks(self) -> list[tuple[str, str, int]]:
        """Mask and size of instructions that together have all lanes of the thread, and the first lane of each."""
        each = min(self.simd, 16)
        return [(f"(M{1 + lane // 4}_NM, {each})", self.place(lane), lane) for lane in range(0, self.simd, each)]

    def place(self, element: int, size: int = 4) -> str:
        """Row and column of an element of so many bytes."""
        return place_of(element, size, self.register)

    def straight(self) -> list[Line]:
        """An instruction, with the instructions that prepare its operands."""
        kind = self.random.random()
        if kind < 0.7:
            given = self.operations.line()
        elif kind < 0.75:
            given = self.matrices.product() if kind < 0.73 or not self.messages.has_pointers else self.matrices.block()
        elif kind < 0.85 and self.with_images:
            given = self.images.line()
        else:
            given = self.messages.line()
        return [Line(text, True) for text in given]

    def condition(self) -> tuple[list[Line], str]:
        """Lines that decide, and the predicate that has the decision; it may be any that is there."""
        predicate = self.random.choice(PREDICATES)
        x = self.operations.direct("d", self.simd)
        relation = self.random.choice(("lt", "gt", "ne", "eq"))
        lines = [
            Line(f"cmp.{relation} (M1, {self.simd}) {predicate} {x} {self.random.choice((0, 1, -5, 1000))}:d", True)
        ]
        return (lines if self.random.random() < 0.6 else []), predicate

    def body(self, depth: int, count: int, calls: bool) -> list[Line]:
        """A list of statements."""
        found: list[Line] = []
        kinds: list[Callable[[int, bool], list[Line]]] = [self.branch, self.loop, self.jump, self.switch, self.tangle]
        for _ in range(count):
            if depth and self.random.random() < 0.25:
                found += self.random.choice(kinds)(depth - 1, calls)
            elif calls and self.callable and self.random.random() < 0.15:
                found += self.call()
            else:
                found += self.straight()
        return found

    def branch(self, depth: int, calls: bool) -> list[Line]:
        """Lanes part, and meet again."""
        lines, predicate = self.condition()
        n = next(self.numbers)
        back = Line(f"goto (M1, {self.random.choice((1, self.simd))}) end_{n}")
        return [*lines, Line(f"({self.random.choice(('', '!'))}{predicate}) goto (M1, {self.simd}) else_{n}"),
                *self.body(depth, self.random.randrange(1, 4), calls), back, Line(f"else_{n}:"),
                *self.body(depth, self.random.randrange(0, 3), calls), Line(f"end_{n}:")]  # fmt: skip

    def loop(self, depth: int, calls: bool) -> list[Line]:
        """Up to four times, as each lane has it."""
        n, s = next(self.numbers), self.simd
        counter = f"COUNTER_{depth}"
        return [Line(f"and (M1, {s}) {counter}(0,0)<1> LIMIT(0,0)<1;1,0> {self.random.choice((0, 1, 3))}:ud"), Line(f"loop_{n}:"),
                *self.body(depth, self.random.randrange(1, 4), calls), Line(f"cmp.gt (M1, {s}) P5 {counter}(0,0)<1;1,0> 0:ud"),
                Line(f"add (M1, {s}) {counter}(0,0)<1> {counter}(0,0)<1;1,0> -1:d"), Line(f"(P5) goto (M1, {s}) loop_{n}")]  # fmt: skip

    def jump(self, depth: int, calls: bool) -> list[Line]:
        """The whole thread jumps, or does not."""
        n = next(self.numbers)
        guard = f"({self.random.choice(('', '!'))}P6) " if self.random.random() < 0.8 else ""
        compare = Line(f"cmp.lt (M1_NM, 1) P6 {self.operations.direct('d', 1)} {self.random.randrange(-9, 9)}:d", True)
        return [
            compare,
            Line(f"{guard}jmp (M1, 1) over_{n}"),
            *self.body(depth, self.random.randrange(1, 3), calls),
            Line(f"over_{n}:"),
        ]

    def switch(self, depth: int, calls: bool) -> list[Line]:
        """One of several places, or the next line."""
        n, count = next(self.numbers), self.random.randrange(1, 4)
        names = [f"case_{n}_{k}" for k in range(count)]
        lines = [Line(f"and (M1_NM, 1) INDEX(0,0)<1> {self.operations.direct('ud', 1)} 3:ud"),
                 Line(f"switchjmp (M1, 1) INDEX(0,0)<0;1,0> ({', '.join(names)})")]  # fmt: skip
        for name in names:
            lines += [Line(f"{name}:"), *self.body(depth, self.random.randrange(0, 3), calls)]
        return lines

    def tangle(self, depth: int, calls: bool) -> list[Line]:
        """Blocks that go to each other, forwards and back, until the fuel is spent."""
        n, s = next(self.numbers), self.simd
        count = self.random.randrange(2, 5)
        fuel = f"FUEL_{depth}"
        lines = [Line(f"mov (M1, {s}) {fuel}(0,0)<1> 5:ud")]
        for k in range(count):
            decide, predicate = self.condition()
            lines += [Line(f"block_{n}_{k}:"), Line(f"cmp.eq (M1, {s}) P5 {fuel}(0,0)<1;1,0> 0:ud"), Line(f"(P5) goto (M1, {s}) out_{n}"),
                      Line(f"add (M1, {s}) {fuel}(0,0)<1> {fuel}(0,0)<1;1,0> -1:d"), *self.body(0, 1, calls), *decide,
                      Line(f"({predicate}) goto (M1, {s}) block_{n}_{self.random.randrange(count)}")]  # fmt: skip
        return [*lines, Line(f"out_{n}:")]

    def call(self) -> list[Line]:
        """A call of a subroutine or function, with all lanes, some of them, or as a scalar."""
        kind, name = self.random.choice(self.callable)
        sizes = [
            (f"(M{1 + first // 4}, {size})")
            for size in (8, 16)
            if size < self.simd
            for first in range(0, self.simd, size)
        ]
        mask = f"(M1, {self.simd})" if self.random.random() < 0.85 else self.random.choice([*sizes, "(M1_NM, 1)"])
        lines, predicate = self.condition()
        guard = (
            f"({self.random.choice(('', '!'))}{predicate}) " if self.random.random() < 0.6 and "_NM" not in mask else ""
        )
        if kind == "subroutine":
            return [*lines, Line(f"{guard}call {mask} {name}", True)]
        size, sizes = min(self.simd, 16), f"{self.argument_rows} {self.result_rows}"
        given = [
            f"mov (M1, {size}) ARG({row},0)<1> {self.operations.direct('ud', size)}"
            for row in self.arguments_looked_at()
        ]
        if kind == "function":
            given.append(f"{guard}fcall {mask} {name} {sizes}")
        else:
            target, taken = self.target(kind, name)
            given += [*taken, f"{guard}ifcall {mask} {target} {sizes}"]
        given.append(f"{guard}mov (M1, {size}) UD_1(0,0)<1> RESULT({self.last_row(self.result_rows)},0)<1;1,0>")
        return [*lines, *(Line(text, True) for text in given)]

    def target(self, kind: str, name: str) -> tuple[str, list[str]]:
        """The operand of an indirect call, and lines in front of it: an address, or one of two in a table."""
        if kind == "indirect":
            return "TARGET(0,0)<0;1,0>", [f"faddr {name} TARGET(0,0)<1>"]
        others = [n for k, n in self.callable if k == "function"]
        lines = [f"faddr {n} TABLE(0,{k})<1>" for k, n in enumerate((name, self.random.choice(others)))]
        lines += [f"and (M1_NM, 1) OFFSETS(0,0)<1> {self.operations.direct('uw', 1)} 4:uw",
                  "addr_add (M1_NM, 1) A0(0)<1> &TABLE OFFSETS(0,0)<0;1,0>"]  # fmt: skip
        if self.random.random() < 0.5:
            return "r[A0(0),0]<0;1,0>:ud", lines
        return "TARGET(0,0)<0;1,0>", [*lines, "mov (M1_NM, 1) TARGET(0,0)<1> r[A0(0),0]<0;1,0>:ud"]

    def last_row(self, rows: int) -> int:
        """The row from which the last value for each lane fits into so many registers."""
        return rows - max(1, min(self.simd, 16) * 4 // self.register)

    def arguments_looked_at(self) -> list[int]:
        """Rows of %arg that callers fill and functions read: the first and the last."""
        return sorted({0, self.last_row(self.argument_rows)})

    # -- the whole ---------------------------------------------------------------------------------------------

    def make_callable(self) -> None:
        """Subroutines and functions, the last of which call none."""
        for n in reversed(range(self.random.choice((0, 0, 1, 2)))):
            body = self.body(1, self.random.randrange(1, 4), True)
            early = [Line(f"(P1) ret (M1, {self.simd})")] if self.random.random() < 0.3 else []
            self.subroutines += [Line(f"sub_{n}:"), *body, *early, *self.straight(), Line(f"ret (M1, {self.simd})")]
            self.callable.append(("subroutine", f"sub_{n}"))
        made: list[tuple[str, str]] = []
        own, self.callable = self.callable, []
        for n in reversed(range(self.random.choice((0, 0, 1, 2)))):
            self.function(f"f{n}")
            self.callable += [("function", f"f{n}"), ("indirect", f"f{n}"), ("table", f"f{n}")]
        made, self.callable = self.callable, own
        self.callable += made

    def function(self, name: str) -> None:
        """A function: it computes with its argument, and with memory that no other thread sees."""
        size = min(self.simd, 16)
        self.messages.has_pointers = False
        lines = self.body(1, self.random.randrange(2, 6), True)
        self.messages.has_pointers = True
        texts = "\n".join(line.text for line in lines)
        head = [f'.global_function "{name}"', *self.declarations(texts), f".kernel_attr SimdSize={self.simd}", ".kernel_attr Extern",
                f".kernel_attr ArgSize={self.argument_rows}", f".kernel_attr RetValSize={self.result_rows}", *self.places(False),
                f"mov (M1, {size}) UD_0(0,0)<1> ARG(0,0)<1;1,0>", f"and (M1, {size}) LIMIT(0,0)<1> ARG({self.arguments_looked_at()[-1]},0)<1;1,0> 3:ud"]  # fmt: skip
        tail = [
            f"mov (M1, {size}) RESULT({self.last_row(self.result_rows)},0)<1> UD_0(0,0)<1;1,0>",
            f"fret (M1, {self.simd})",
        ]
        self.functions += [*map(Line, head), *lines, *map(Line, tail)]

    def declarations(self, texts: str) -> list[str]:
        """Declarations of the names in a body."""
        used = [name for name in VARIABLES if name in texts] + ["UD_0", "UD_1"]
        found = [
            f".decl {name} v_type=G type={VARIABLES[name]} num_elts={ELEMENTS} align=GRF"
            for name in dict.fromkeys(used)
        ]
        found += [f".decl {name} v_type=G type=ud num_elts={DATA_BYTES // 4} align=GRF" for name in DATA]
        found += [
            f".decl {name} v_type=G type=f num_elts={DATA_BYTES // 4} align=GRF" for name in REAL if name in texts
        ]
        found += [
            f".decl {name} v_type=G type={t} num_elts=256 align=GRF"
            for name, t in (("HROWS", "hf"), ("BROWS", "bf"))
            if name in texts
        ]
        found += [
            ".decl SHAPE v_type=G type=ud num_elts=16 align=GRF",
            ".decl SHAPE_AT v_type=G type=uq num_elts=1 alias=<SHAPE, 0>",
        ]
        vectors = (
            "COUNTER_0",
            "COUNTER_1",
            "COUNTER_2",
            "FUEL_0",
            "FUEL_1",
            "FUEL_2",
            "LIMIT",
            "OFF",
            "SLM_OFF",
            "SUM_OFF",
            "ANY",
            "TURNED",
            "LANE",
            "XS",
            "YS",
        )
        found += [f".decl {name} v_type=G type=ud num_elts=32 align=GRF" for name in vectors]
        found += [f".decl {name} v_type=G type=uq num_elts=1" for name in ("PLACE", "BLOCK", *INPUTS)]
        found += [
            f".decl {name} v_type=G type=ud num_elts=1"
            for name in ("OWORD", "BLOCK_OFF", "INDEX", "TID", "BITS", "TARGET")
        ]
        found += [*(f".decl {name} v_type=G type=uq num_elts=32 align=GRF" for name in ("AT", "OFF_Q")), ".decl OFFSETS v_type=G type=uw num_elts=8 align=GRF",
                  ".decl TABLE v_type=G type=ud num_elts=2",
                  ".decl A0 v_type=A num_elts=4", ".decl A8 v_type=A num_elts=8", ".decl P6 v_type=P num_elts=1",
                  *(f".decl {name} v_type=P num_elts={self.simd}" for name in (*PREDICATES, "P5")),
                  *(f".decl T{n} v_type=T num_elts=1" for n in range(6, 17)), ".decl S0 v_type=S num_elts=1",
                  f".decl ARG v_type=G type=ud num_elts={self.argument_rows * self.register // 4} align=GRF alias=<%arg, 0>",
                  f".decl RESULT v_type=G type=ud num_elts={self.result_rows * self.register // 4} align=GRF alias=<%retval, 0>"]  # fmt: skip
        return found

    def places(self, pointers: bool) -> list[str]:
        """Lines that compute the places of lanes and thread."""
        lanes = self.simd * self.threads
        lines = ["and (M1_NM, 1) INDEX(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud", f"mad (M1_NM, 1) TID(0,0)<1> %r0(0,1)<0;1,0> {self.threads}:ud INDEX(0,0)<0;1,0>",
                 f"mul (M1_NM, 1) BLOCK_OFF(0,0)<1> TID(0,0)<0;1,0> {BLOCK_BYTES}:ud", "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv"]  # fmt: skip
        lines += [f"add (M1_NM, {n}) LANE{self.place(n)}<1> LANE(0,0)<1;1,0> {n}:uw" for n in (8, 16) if n < self.simd]
        for mask, place, lane in self.chunks():
            region = f"{place}<1;1,0>"
            lines += [f"mad {mask} OFF{place}<1> TID(0,0)<0;1,0> {self.simd}:ud LANE{region}",
                      f"mul {mask} OFF{place}<1> OFF{region} {LANE_BYTES}:ud",
                      f"mad {mask} SLM_OFF{place}<1> INDEX(0,0)<0;1,0> {self.simd}:ud LANE{region}",
                      f"add {mask} TURNED{place}<1> SLM_OFF{region} {self.simd}:ud",
                      f"mod {mask} TURNED{place}<1> TURNED{region} {lanes}:ud",
                      f"mul {mask} SLM_OFF{place}<1> SLM_OFF{region} {LANE_BYTES}:ud",
                      f"mul {mask} TURNED{place}<1> TURNED{region} {LANE_BYTES}:ud",
                      f"and {mask} SUM_OFF{place}<1> OFF{region} {SUM_BYTES - 4:#x}:ud"]  # fmt: skip
            if pointers:
                wide = self.place(lane, 8)
                lines += [
                    f"mov {mask} OFF_Q{wide}<1> OFF{region}",
                    f"add {mask} AT{wide}<1> OFF{region} LANES(0,0)<0;1,0>",
                ]
        return [*lines, "add (M1_NM, 1) BLOCK(0,0)<1> BLOCKS(0,0)<0;1,0> BLOCK_OFF(0,0)<0;1,0>"] if pointers else lines

    def records(self, texts: str, load: bool) -> list[str]:
        """Lines that load or store the variables of the thread."""
        pointer = "IN" if load else "OUT"
        lines = [f"mul (M1_NM, 1) INDEX(0,0)<1> TID(0,0)<0;1,0> {RECORD}:ud"]
        for name, (at, size, _) in OFFSETS.items():
            if name not in texts and name not in DATA and name not in ("UD_0", "UD_1"):
                continue
            for piece in range(0, size, 128):
                count = min(8, (size - piece) // 16)
                lines += [f"add (M1_NM, 1) OWORD(0,0)<1> INDEX(0,0)<0;1,0> {at + piece}:ud",
                          f"add (M1_NM, 1) PLACE(0,0)<1> {pointer}(0,0)<0;1,0> OWORD(0,0)<0;1,0>",
                          f"svm_block_{'ld' if load else 'st'} ({count}) PLACE(0,0)<0;1,0> {name}.{piece}"]  # fmt: skip
        if load:
            return lines
        for n, name in enumerate(PREDICATES):
            lines += [f"mov (M1_NM, 1) BITS(0,0)<1> {name}", f"add (M1_NM, 1) OWORD(0,0)<1> INDEX(0,0)<0;1,0> {PREDICATES_AT + 16 * n}:ud",
                      "add (M1_NM, 1) PLACE(0,0)<1> OUT(0,0)<0;1,0> OWORD(0,0)<0;1,0>", "svm_block_st (1) PLACE(0,0)<0;1,0> BITS.0"]  # fmt: skip
        return lines

    def lines(self) -> list[Line]:
        """The text as lines."""
        self.make_callable()
        main = []
        for _ in range(self.random.choice((1, 1, 2))):
            main += self.body(2, self.random.randrange(2, 10), True)
            if self.random.random() < 0.3:
                main += [Line(text) for text in self.messages.exchange(self.threads)]
        texts = "\n".join(line.text for line in [*main, *self.subroutines])
        control = self.random.choice(("0x4c0", "0x4c0", "0x4d0", "0x4e0", "0x4f0", "0x80", ""))
        head = [".version 4.1", '.kernel "k"', *self.declarations(texts), *(f".input {name} offset={64 + 8 * n} size=8" for n, name in enumerate(INPUTS)),
                f".kernel_attr SimdSize={self.simd}", f".kernel_attr SpillMemOffset={SCRATCH_BYTES}", f".kernel_attr SLMSize={-(-self.simd * self.threads * LANE_BYTES // 1024)}",
                *([f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {control}:ud"] if control else []), *self.places(True),
                *self.records(texts, True), *(f"and {mask} LIMIT{place}<1> UD_1{place}<1;1,0> 3:ud" for mask, place, _ in self.chunks()),
                *(f"setp (M1_NM, {self.simd}) P{n} {self.random.getrandbits(32):#x}:ud" for n in range(1, 5))]  # fmt: skip
        tail = [*self.records(texts, False), "ret (M1, 1)"]
        return [*map(Line, head), *main, *map(Line, tail), *self.subroutines, *self.functions]


def text_of(lines: list[Line]) -> str:
    """The text."""
    return "\n".join(line.text for line in lines) + "\n"


def accepted(lines: list[Line], platform: str) -> list[Line]:
    """The lines without the free ones that the assembler refuses."""
    for _ in range(ATTEMPTS):
        try:
            assemble_text(text_of(lines), "x", platform, max_errors=200)
            break
        except AssemblyError as error:
            wrong = {d.span.line - 1 for d in error.diagnostics if d.span and d.severity == "error"}
            kept = [line for n, line in enumerate(lines) if n not in wrong or not line.free]
            if len(kept) == len(lines):
                break
            lines = kept
    return lines


def contents(seed: int, records: int) -> bytes:
    """First values of the variables of all threads: special and ordinary numbers of their types."""
    source = np.random.default_rng(seed)
    out = np.zeros((records, RECORD), np.uint8)
    for at, size, t in OFFSETS.values():
        dtype = np.dtype(DTYPES[t])
        count = records * size // dtype.itemsize
        if dtype.kind == "f":
            pool = np.array([0.0, -0.0, 1.0, -1.5, 3.25, 1e-3, 65504.0, np.inf, -np.inf, np.nan, 1e-7], dtype)
            values = np.where(
                source.random(count) < 0.5, source.choice(pool, count), source.standard_normal(count).astype(dtype) * 10
            )
        else:
            info = np.iinfo(dtype)
            pool = np.array([0, 1, info.min, info.max, 7], dtype)
            values = np.where(
                source.random(count) < 0.4,
                source.choice(pool, count),
                source.integers(info.min, info.max, count, dtype, True),
            )
        out[:, at : at + size] = values.astype(dtype).view(np.uint8).reshape(records, size)
    return out.tobytes()


def reals(seed: int, lanes: int) -> bytes:
    """Ordinary and special floats for each lane, of every width."""
    source = np.random.default_rng(seed)
    out = np.zeros((lanes, LANE_BYTES), np.uint8)
    for dtype, at, count in REAL_PARTS:
        values = source.choice([0.0, -0.0, 1.0, -2.5, np.inf, np.nan, 1e-6, 3.0], (lanes, count)).astype(dtype)
        out[:, at : at + values.dtype.itemsize * count] = values.view(np.uint8)
    return out.tobytes()


def make(seed: int) -> bytes:
    """The input of a seed."""
    p = Program(seed)
    text = text_of(accepted(p.lines(), p.platform))
    records = p.threads * p.groups
    lanes = records * p.simd
    mentioned = [(at, size, t) for name, (at, size, t) in OFFSETS.items() if re.search(rf"\b{name}\b", text)]
    parts = [(BFLOAT if t == BFLOAT else np.dtype(DTYPES[t]).str, at, size // SIZES[t]) for at, size, t in mentioned]
    parts += [("<u4", PREDICATES_AT + 16 * n, 1) for n in range(4)]
    raw = np.frombuffer(contents(seed, records), np.uint8)
    arguments: list[Json] = [{"bytes": packed(raw)}, {"bytes": packed(np.zeros_like(raw))}, {"random": [lanes * LANE_BYTES, seed]},
                             {"random": [records * BLOCK_BYTES, seed + 1]}, {"random": [SHARED_BYTES, seed + 2]}, {"random": [SUM_BYTES, seed + 3]},
                             {"bytes": packed(np.frombuffer(reals(seed, lanes), np.uint8))},
                             {"bytes": packed(np.arange(len(EXTREMES) * EXTREME_BYTES // 4, dtype="f4").view(np.uint8))}]  # fmt: skip
    compare = {"1": (RECORD, parts), "2": (LANE_BYTES, [("<u1", 0, LANE_BYTES)]), "3": (BLOCK_BYTES, [("<u1", 0, BLOCK_BYTES)]),
               "4": (SHARED_BYTES, [("<u1", 0, SHARED_BYTES)]), "5": (SUM_BYTES, [("<u1", 0, SUM_BYTES)]), "6": (LANE_BYTES, [*REAL_PARTS]),
               "7": (EXTREME_BYTES, [("<f4", 0, EXTREME_BYTES // 4)])}  # fmt: skip
    if p.with_images:
        arguments += p.images.arguments(seed, records)
        compare[str(len(INPUTS) + 1)] = p.images.compare()
    schedule, hosts = p.random.choice(("", "", "reverse", "random:1")), p.random.choice((1, 1, 2))
    return Execution(
        text, p.platform, "k", [lanes], [p.threads * p.simd], "", "", arguments, compare, True, schedule, hosts
    ).to_bytes()


TARGETS = [
    Target(
        "program",
        "generated programs without races, executed on both engines, which must agree",
        make,
        execute,
        100,
        guard_workers,
    )
]
__all__ = ["TARGETS", "make"]
