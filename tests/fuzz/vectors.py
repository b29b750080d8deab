"""Kernels in the manner of the vector compiler: one thread, wide registers, regions of every shape, addresses of registers.

A text has ``Target="cm"``. Its four registers have aliases of several types: narrow writes are read wide.
The model is a machine of this file: bytes, Python integers, and the lanes that run; it knows nothing of the engines.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from support.scalar import INTEGERS, SIZES, bits_of, result

from fuzz.guarded import guard_workers
from fuzz.launches import Execution, Json, execute, packed
from fuzz.programs import Line, accepted, text_of
from fuzz.target import Target
from visakit.language.platforms import find

PLATFORMS = ("skl", "tgllp", "dg2", "pvc", "bmg")
ROOTS, BYTES = ("R0", "R1", "R2", "R3"), 512
"""Registers of the program, and bytes of each."""
RECORD = len(ROOTS) * BYTES + 64
"""Bytes of a launch's result: the registers, and the predicates as dwords."""
PREDICATES = {"P1": 32, "P2": 16, "P3": 8, "P4": 32}
LAUNCHES = 3
MEMORY = 1024
"""Bytes of each part of the buffer that programs change."""
REACH = 64
"""Largest address and offset in a register in bytes; those of the second addresses are twice as large."""
SIGNED, UNSIGNED = ("b", "w", "d", "q"), ("ub", "uw", "ud", "uq")
ONE, TWO, THREE = (
    ("mov", "not", "bfrev", "lzd", "fbl", "cbit"),
    ("add", "mul", "and", "or", "xor", "shl", "shr", "avg", "min", "max"),
    ("mad", "add3"),
)
BITWISE = ("and", "or", "xor", "not")
RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
}  # fmt: skip
LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}

Place = tuple[str, int]
"""A register, and a byte in it."""


@dataclass
class Machine:
    """What a thread has: the bytes of the registers, predicates as bits, and the place that each address is of."""

    registers: dict[str, bytearray]
    predicates: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PREDICATES, 0))
    addresses: dict[str, list[Place]] = field(default_factory=lambda: {"A0": [("R0", 0)] * 16, "A1": [("R0", 0)] * 16})
    memory: dict[str, bytearray] = field(default_factory=dict)

    def load(self, place: Place, t: str) -> int:
        """The number at a place."""
        register, at = place
        return int.from_bytes(self.registers[register][at : at + SIZES[t]], "little", signed=INTEGERS[t][1])

    def store(self, place: Place, t: str, x: int) -> None:
        """Put a number at a place."""
        register, at = place
        self.registers[register][at : at + SIZES[t]] = bits_of(x, INTEGERS[t][0]).to_bytes(SIZES[t], "little")


@dataclass
class Operand:
    """How an operand is written, its type, and the place of each lane; a number has none."""

    text: str
    type: str
    place: Callable[[Machine, int], Place] | None = None
    number: int = 0
    modifier: str = ""

    def read(self, m: Machine, lane: int) -> int:
        """The number of a lane, behind the modifier."""
        x = self.number if self.place is None else m.load(self.place(m, lane), self.type)
        x = abs(x) if "abs" in self.modifier else x
        return ~x if self.modifier == "(~)" else -x if "-" in self.modifier else x


@dataclass
class Act:
    """A line, and its effect where some lanes run, given as bits."""

    line: Line
    effect: Callable[[Machine, int], None]


@dataclass
class Branch:
    """Lanes whose bit is (not) set go to the second part; both parts are as wide as the branch."""

    predicate: str
    inverse: bool
    width: int
    first: list[Statement]
    second: list[Statement]


@dataclass
class Loop:
    """Goes round as often as each lane's counter says, once at least."""

    limit: Operand
    width: int
    body: list[Statement]


@dataclass
class Call:
    """Lanes of a subroutine, which others may call, too."""

    name: str
    width: int
    body: list[Statement]


Statement = Act | Branch | Loop | Call


class Vector:
    """A program of a seed."""

    def __init__(self, seed: int, kind: str = "vector") -> None:
        self.random = random.Random(f"{kind} {seed}")
        self.platform = self.random.choice(PLATFORMS)
        self.grf = find(self.platform).grf_size
        self.numbers = itertools.count()
        self.width, self.is_inside = 32, False
        """Lanes of the enclosing branch, and whether there is one: all instructions within it have this width."""
        self.subroutines: list[Call] = []

    # -- operands ----------------------------------------------------------------------------------------------

    def region(self, size: int, reach: int) -> tuple[str, list[int]]:
        """A region, and the element of each lane; no further than so many elements."""
        r = self.random
        while True:
            width = r.choice([w for w in (1, 2, 4, 8, 16) if w <= size])
            across, step = r.choice((0, 1, 2, 4, 8, 16, 32)), r.choice((0, 1, 2, 4)) if width > 1 else 0
            if r.random() < 0.3:
                across, width, step = r.choice(((0, 1, 0), (1, 1, 0), (2, 1, 0)))
            elements = [lane // width * across + lane % width * step for lane in range(size)]
            if max(elements) < reach:
                return f"<{across};{width},{step}>", elements

    def direct(self, t: str, size: int) -> Operand:
        """A region of a register."""
        root = self.random.choice(ROOTS)
        region, elements = self.region(size, 2 * self.grf // SIZES[t])
        first = self.random.randrange((BYTES - (max(elements) + 1) * SIZES[t]) // SIZES[t] + 1)
        if self.random.random() < 0.5:
            first -= first % (self.grf // SIZES[t])
        row, column = divmod(first * SIZES[t], self.grf)
        places = [(root, (first + e) * SIZES[t]) for e in elements]
        return Operand(f"{root}_{t.upper()}({row},{column // SIZES[t]}){region}", t, lambda _, lane: places[lane])

    def indirect(self, t: str, size: int) -> Operand:
        """A region behind an address, or behind an address for each row."""
        name, offset = self.random.choice(("A0", "A1")), self.random.randrange(0, REACH, SIZES[t])
        if self.random.random() < 0.5:
            region, elements = self.region(size, self.grf // SIZES[t])
            first, rows = self.random.randrange(16), [0] * size
        else:
            width, step = (
                self.random.choice([w for w in (1, 2, 4, 8, 16) if w <= size and size // w <= 16]),
                self.random.choice((0, 1, 2)),
            )
            step = step if width > 1 else 0
            region, elements = f"<{width},{step}>", [lane % width * step for lane in range(size)]
            first, rows = self.random.randrange(16 - size // width + 1), [lane // width for lane in range(size)]

        def place(m: Machine, lane: int) -> Place:
            register, at = m.addresses[name][first + rows[lane]]
            return register, at + offset + elements[lane] * SIZES[t]

        return Operand(f"r[{name}({first}),{offset}]{region}:{t}", t, place)

    def source(self, t: str, size: int, modifiers: tuple[str, ...] = ("",)) -> Operand:
        """A source of a type."""
        kind, bits = self.random.random(), INTEGERS[t][0]
        if kind < 0.12 and bits > 8:
            number = self.random.choice((0, 1, 2, (1 << bits) - 1, 1 << bits - 1, self.random.getrandbits(bits)))
            signed = number - (1 << bits) if INTEGERS[t][1] and number >> bits - 1 else number
            return Operand(f"{number:#x}:{t}", t, None, signed)
        found = self.indirect(t, size) if kind < 0.4 else self.direct(t, size)
        found.modifier = self.random.choice(modifiers) if self.random.random() < 0.3 else ""
        found.text = found.modifier + found.text
        return found

    def destination(self, t: str, size: int) -> Operand:
        """A destination of a type."""
        step = self.random.choice((1, 1, 1, 2, 4)) if size > 1 else 1
        if size * step * SIZES[t] > 2 * self.grf:
            step = 1
        if self.random.random() < 0.3:
            name, element, offset = (
                self.random.choice(("A0", "A1")),
                self.random.randrange(16),
                self.random.randrange(0, REACH, SIZES[t]),
            )

            def place(m: Machine, lane: int) -> Place:
                register, at = m.addresses[name][element]
                return register, at + offset + lane * step * SIZES[t]

            return Operand(f"r[{name}({element}),{offset}]<{step}>:{t}", t, place)
        root, count = self.random.choice(ROOTS), BYTES // SIZES[t]
        first = self.random.randrange(count - (size - 1) * step)
        if self.random.random() < 0.6:
            first -= first % (self.grf // SIZES[t])
        row, column = divmod(first * SIZES[t], self.grf)
        places = [(root, (first + lane * step) * SIZES[t]) for lane in range(size)]
        return Operand(f"{root}_{t.upper()}({row},{column // SIZES[t]})<{step}>", t, lambda _, lane: places[lane])

    # -- masks ---------------------------------------------------------------------------------------------------

    def lanes(self, sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32)) -> tuple[str, int, int, bool]:
        """Mask and size as text, size, first lane, and whether inactive lanes execute, too."""
        size = self.random.choice([s for s in sizes if s <= self.width])
        first = self.random.randrange(0, self.width - size + 1, max(size, 4))
        no_mask = self.random.random() < 0.25
        return f"(M{1 + first // 4}{'_NM' if no_mask else ''}, {size})", size, first, no_mask

    def guard(self, first: int, size: int) -> tuple[str, Callable[[Machine, int], bool]]:
        """A predicate in front, and its value for a lane."""
        fitting = [name for name, bits in PREDICATES.items() if first + size <= bits]
        if not fitting or self.random.random() < 0.7:
            return "", lambda _, __: True
        name, inverse = self.random.choice(fitting), self.random.random() < 0.5
        mode, whole = self.random.choice(("", "", "", ".any", ".all")), (1 << PREDICATES[name]) - 1

        def holds(m: Machine, lane: int) -> bool:
            bits = m.predicates[name]
            found = bits != 0 if mode == ".any" else bits == whole if mode == ".all" else bool(bits >> first + lane & 1)
            return found != inverse

        return f"({'!' if inverse else ''}{name}{mode}) ", holds

    # -- lines ---------------------------------------------------------------------------------------------------

    def family(self) -> tuple[str, ...]:
        """Types that go together: a signed source beside an unsigned one of 64 bits is open."""
        return self.random.choice((SIGNED, UNSIGNED, ("b", "w", "d", "ub", "uw", "ud")))

    def computing(self) -> Act:
        """An instruction that computes in each lane."""
        r = self.random
        name, family = r.choice((*ONE, *TWO, *TWO, *THREE)), self.family()
        if name in ("min", "max", "shr") and family not in (SIGNED, UNSIGNED):
            family = SIGNED
        if name == "shr" and family == SIGNED:
            name = "asr"
        head, size, first, no_mask = self.lanes()
        modifiers = (
            ("(~)",)
            if name in BITWISE
            else ("(-)", "(abs)", "(-abs)")
            if family == SIGNED and name in ("mov", "add", "mul", "mad", "min", "max")
            else ("",)
        )
        sources = [
            self.source(r.choice(family), size, modifiers)
            for _ in range(1 if name in ONE else 2 if name not in THREE else 3)
        ]
        dst = self.destination(
            r.choice(SIGNED if name == "asr" else UNSIGNED if name == "shr" else (*SIGNED, *UNSIGNED)), size
        )
        saturate = name in ("mov", "add", "mul", "mad", "avg", "shl") and r.random() < 0.15
        guard, holds = self.guard(first, size)

        def effect(m: Machine, running: int) -> None:
            lanes = [lane for lane in range(size) if (no_mask or running >> first + lane & 1) and holds(m, lane)]
            found = [
                result(name, [s.type for s in sources], [s.read(m, lane) for s in sources], dst.type, saturate)
                for lane in lanes
            ]
            assert dst.place is not None
            places = [dst.place(m, lane) for lane in lanes]
            for place, x in zip(places, found, strict=True):
                m.store(place, dst.type, x)

        text = f"{guard}{name}{'.sat' if saturate else ''} {head} {dst.text} {' '.join(s.text for s in sources)}"
        return Act(Line(text, True), effect)

    def selecting(self) -> Act:
        """``sel``: each lane takes one of two sources."""
        family = self.random.choice((SIGNED, UNSIGNED))
        head, size, first, no_mask = self.lanes()
        name = self.random.choice([n for n, bits in PREDICATES.items() if first + size <= bits])
        x, y = (self.source(self.random.choice(family), size) for _ in range(2))
        dst = self.destination(self.random.choice(family), size)

        def effect(m: Machine, running: int) -> None:
            bits = m.predicates[name]
            lanes = [lane for lane in range(size) if no_mask or running >> first + lane & 1]
            chosen = [x if bits >> first + lane & 1 else y for lane in lanes]
            found = [
                result("sel", [s.type], [s.read(m, lane)], dst.type) for s, lane in zip(chosen, lanes, strict=True)
            ]
            assert dst.place is not None
            for place, n in zip([dst.place(m, lane) for lane in lanes], found, strict=True):
                m.store(place, dst.type, n)

        return Act(Line(f"({name}) sel {head} {dst.text} {x.text} {y.text}", True), effect)

    def comparing(self) -> Act:
        """``cmp`` into the bits of a predicate."""
        family = self.random.choice((SIGNED, UNSIGNED))
        head, size, first, no_mask = self.lanes()
        name = self.random.choice([n for n, bits in PREDICATES.items() if first + size <= bits])
        relation = self.random.choice(list(RELATIONS))
        x, y = (self.source(self.random.choice(family), size) for _ in range(2))

        def effect(m: Machine, running: int) -> None:
            bits = m.predicates[name]
            for lane in range(size):
                if no_mask or running >> first + lane & 1:
                    bit = 1 << first + lane
                    bits = bits | bit if RELATIONS[relation](x.read(m, lane), y.read(m, lane)) else bits & ~bit
            m.predicates[name] = bits

        return Act(Line(f"cmp.{relation} {head} {name} {x.text} {y.text}", True), effect)

    def of_predicates(self) -> Act:
        """Logic of whole predicates, a predicate as a number, and a number as a predicate."""
        r, name = self.random, self.random.choice(list(PREDICATES))
        count = PREDICATES[name]
        kind = r.randrange(3)
        if kind == 0:
            op, others = (
                r.choice(list(LOGIC)),
                [r.choice([n for n, bits in PREDICATES.items() if bits >= count]) for _ in range(2)],
            )

            def combine(m: Machine, _: int) -> None:
                x, y = (bits_of(m.predicates[other], count) for other in others)
                m.predicates[name] = LOGIC[op](x, y)

            return Act(Line(f"{op} (M1_NM, {count}) {name} {others[0]} {others[1]}", True), combine)
        number = self.direct("ud", 1) if kind == 1 else self.destination("ud", 1)
        assert number.place is not None
        place = number.place

        def make(m: Machine, _: int) -> None:
            m.predicates[name] = bits_of(m.load(place(m, 0), "ud"), count)

        def give(m: Machine, _: int) -> None:
            m.store(place(m, 0), "ud", m.predicates[name])

        if kind == 1:
            scalar = f"{number.text.partition('<')[0]}<0;1,0>"
            return Act(Line(f"setp (M1_NM, {count}) {name} {scalar}", True), make)
        return Act(Line(f"mov (M1_NM, 1) {number.text} {name}", True), give)

    def addressing(self) -> list[Act]:
        """Addresses of places in registers: constant ones, computed ones, and sums with other ones."""
        r, size = self.random, self.random.choice((1, 2, 4, 8, 16))
        first, kind = self.random.randrange(0, 17 - size), self.random.randrange(3)
        if kind == 0:
            root, at = r.choice(ROOTS), r.randrange(0, REACH + 1, 8)

            def known(m: Machine, _: int) -> None:
                m.addresses["A0"][first : first + size] = [(root, at)] * size

            return [Act(Line(f"addr_add (M1_NM, {size}) A0({first})<1> &{root} {at}:uw"), known)]
        offsets = self.direct("uw", size)
        limit = Line(f"and (M1_NM, {size}) OFFSETS(0,0)<1> {offsets.text} {REACH - 8:#x}:uw")
        if kind == 1:
            root, name, base = r.choice(ROOTS), "A0", None
            text = f"addr_add (M1_NM, {size}) A0({first})<1> &{root} OFFSETS(0,0)<1;1,0>"
        else:
            name, base = "A1", r.randrange(0, 17 - size)
            text = f"addr_add (M1_NM, {size}) A1({first})<1> A0({base})<{size}> OFFSETS(0,0)<1;1,0>"

        def computed(m: Machine, _: int) -> None:
            found = [bits_of(offsets.read(m, lane), 16) & REACH - 8 for lane in range(size)]
            starts = [(root, 0)] * size if base is None else m.addresses["A0"][base : base + size]
            m.addresses[name][first : first + size] = [
                (register, at + n) for (register, at), n in zip(starts, found, strict=True)
            ]

        if size == 1:
            text = text.replace("<1;1,0>", "<0;1,0>")
        return [Act(limit, lambda _, __: None), Act(Line(text), computed)]

    # -- statements ------------------------------------------------------------------------------------------------

    def straight(self) -> list[Statement]:
        """A statement, behind its preparations."""
        kind = self.random.random()
        if kind < 0.15:
            return [*self.addressing()]
        return [
            self.computing()
            if kind < 0.75
            else self.selecting()
            if kind < 0.82
            else self.comparing()
            if kind < 0.93
            else self.of_predicates()
        ]

    def body(self, depth: int, count: int) -> list[Statement]:
        """A list of statements."""
        found: list[Statement] = []
        for _ in range(count):
            if depth and self.random.random() < 0.25:
                found.append(self.branch(depth - 1) if self.random.random() < 0.6 else self.loop(depth - 1))
            else:
                found += self.straight()
        return found

    def _inside(self, make: Callable[[], list[Statement]], width: int) -> list[Statement]:
        """Instructions within a branch of so many lanes."""
        outside = self.width, self.is_inside
        self.width, self.is_inside = width, True
        found = make()
        self.width, self.is_inside = outside
        return found

    def _branch_width(self) -> int:
        return self.width if self.is_inside else self.random.choice((8, 16, 32))

    def branch(self, depth: int) -> Statement:
        """Lanes part, and meet again."""
        r = self.random
        width = self._branch_width()
        name = r.choice([n for n, bits in PREDICATES.items() if bits >= width])
        first = self._inside(lambda: self.body(depth, r.randrange(1, 5)), width)
        second = self._inside(lambda: self.body(depth, r.randrange(0, 4)), width)
        return Branch(name, r.random() < 0.5, width, first, second)

    def loop(self, depth: int) -> Statement:
        """Lanes go round."""
        r = self.random
        width = self._branch_width()
        return Loop(self.direct("ub", width), width, self._inside(lambda: self.body(depth, r.randrange(1, 4)), width))

    # -- the text --------------------------------------------------------------------------------------------------

    def lines(self, statements: list[Statement], depth: int = 0) -> Iterator[Line]:
        """The lines of statements."""
        for s in statements:
            if isinstance(s, Act):
                yield s.line
                continue
            if isinstance(s, Call):
                yield Line(f"call (M1, {s.width}) {s.name}")
                continue
            n = next(self.numbers)
            if isinstance(s, Branch):
                yield Line(f"({'!' if s.inverse else ''}{s.predicate}) goto (M1, {s.width}) else_{n}")
                yield from self.lines(s.first, depth + 1)
                yield from [Line(f"goto (M1, {s.width}) end_{n}"), Line(f"else_{n}:")]
                yield from self.lines(s.second, depth + 1)
                yield Line(f"end_{n}:")
                continue
            counter = f"COUNTER_{depth}(0,0)"
            yield from [Line(f"and (M1, {s.width}) {counter}<1> {s.limit.text} 3:uw"), Line(f"loop_{n}:")]
            yield from self.lines(s.body, depth + 1)
            yield Line(f"cmp.gt (M1, {s.width}) P5 {counter}<1;1,0> 0:w")
            yield from [
                Line(f"add (M1, {s.width}) {counter}<1> {counter}<1;1,0> -1:w"),
                Line(f"(P5) goto (M1, {s.width}) loop_{n}"),
            ]

    def _move(self, load: bool) -> Iterator[Line]:
        for number, root in enumerate(ROOTS):
            for at in range(0, BYTES, 128):
                yield Line(f"add (M1_NM, 1) AT(0,0)<1> {'IN' if load else 'OUT'}(0,0)<0;1,0> {number * BYTES + at}:ud")
                yield Line(f"svm_block_{'ld' if load else 'st'} (8) AT(0,0)<0;1,0> {root}.{at}")

    def declarations(self) -> list[str]:
        """Further declarations and inputs."""
        return []

    def before(self) -> Iterator[Line]:
        """Lines before the statements."""
        yield from ()

    def behind(self) -> Iterator[Line]:
        """Lines behind them."""
        yield from ()

    def frame(self, statements: list[Statement]) -> list[Line]:
        """The whole text."""
        types = (*SIGNED, *UNSIGNED)
        found = [
            ".version 4.1",
            '.kernel "k"',
            *(f".decl {n} v_type=G type=uq num_elts=1 align=qword" for n in ("IN", "OUT", "AT")),
        ]
        for root in ROOTS:
            found += [f".decl {root} v_type=G type=ud num_elts={BYTES // 4} align=GRF"]
            found += [
                f".decl {root}_{t.upper()} v_type=G type={t} num_elts={BYTES // SIZES[t]} alias=<{root}, 0>"
                for t in types
            ]
        found += [f".decl {n} v_type=G type=w num_elts=32 align=GRF" for n in ("COUNTER_0", "COUNTER_1", "COUNTER_2")]
        found += [
            ".decl OFFSETS v_type=G type=uw num_elts=16 align=GRF",
            ".decl BITS v_type=G type=ud num_elts=16 align=GRF",
        ]
        found += [*(f".decl {n} v_type=A num_elts=16" for n in ("A0", "A1")), ".decl P5 v_type=P num_elts=32"]
        found += [f".decl {n} v_type=P num_elts={bits}" for n, bits in PREDICATES.items()]
        found += [".input IN offset=64 size=8", ".input OUT offset=72 size=8", '.kernel_attr Target="cm"']
        found += self.declarations()
        head = [
            *(f"addr_add (M1_NM, 16) {n}(0)<1> &R0 0:uw" for n in ("A0", "A1")),
            *(f"setp (M1_NM, {bits}) {n} 0:ud" for n, bits in PREDICATES.items()),
        ]
        tail = [
            "mov (M1_NM, 16) BITS(0,0)<1> 0:ud",
            *(f"mov (M1_NM, 1) BITS(0,{k})<1> {n}" for k, n in enumerate(PREDICATES)),
        ]
        tail += [
            f"add (M1_NM, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {len(ROOTS) * BYTES}:ud",
            "svm_block_st (4) AT(0,0)<0;1,0> BITS.0",
            "ret (M1, 1)",
        ]
        return [
            *map(Line, found),
            *self._move(True),
            *map(Line, head),
            *self.before(),
            *self.lines(statements),
            *self._move(False),
            *self.behind(),
            *map(Line, tail),
            *(line for s in self.subroutines for line in self._subroutine(s)),
        ]

    def _subroutine(self, s: Call) -> Iterator[Line]:
        yield Line(f"{s.name}:")
        yield from self.lines(s.body, 2)
        yield Line(f"ret (M1, {s.width})")


# -- the model -------------------------------------------------------------------------------------------------------


def run(statements: list[Statement], m: Machine, running: int) -> None:
    """Execute statements for the lanes that run."""
    for s in statements:
        if isinstance(s, Act):
            s.effect(m, running)
            continue
        own = running & (1 << s.width) - 1
        if isinstance(s, Call):
            run(s.body, m, own)
            continue
        if isinstance(s, Branch):
            bits = m.predicates[s.predicate]
            away = own & (~bits if s.inverse else bits)
            for part, lanes in ((s.first, own & ~away), (s.second, away)):
                if lanes:
                    run(part, m, lanes)
            continue
        counters = [bits_of(s.limit.read(m, lane), 2) for lane in range(s.width)]
        lanes = own
        while lanes:
            run(s.body, m, lanes)
            lanes = sum(1 << lane for lane in range(s.width) if lanes >> lane & 1 and counters[lane] > 0)
            counters = [n - 1 for n in counters]


def without(statements: list[Statement], kept: set[int]) -> list[Statement]:
    """The statements without acts whose line the assembler refused."""
    found: list[Statement] = []
    for s in statements:
        if isinstance(s, Branch):
            found.append(Branch(s.predicate, s.inverse, s.width, without(s.first, kept), without(s.second, kept)))
        elif isinstance(s, Loop):
            found.append(Loop(s.limit, s.width, without(s.body, kept)))
        elif isinstance(s, Call):
            found.append(Call(s.name, s.width, without(s.body, kept)))
        elif id(s.line) in kept:
            found.append(s)
    return found


def contents(r: random.Random) -> bytes:
    """First contents of the registers: any bytes, small numbers, ends of ranges."""
    size = len(ROOTS) * BYTES
    pieces = []
    while sum(map(len, pieces)) < size:
        pieces.append(
            r.choice(
                (
                    r.randbytes(8),
                    r.randrange(40).to_bytes(8, "little"),
                    b"\xff" * 8,
                    bytes(7) + b"\x80",
                    b"\xff" * 7 + b"\x7f",
                    b"\x01\x00" * 4,
                )
            )
        )
    return b"".join(pieces)[:size]


def make(seed: int) -> bytes:
    """The input of a seed."""
    return made(Vector(seed))


def made(program: Vector, memory: Sequence[str] = ()) -> bytes:
    """The input of a program; ``memory`` names parts of a third buffer that it changes."""
    statements = program.body(2, program.random.randrange(3, 14))
    lines = accepted(program.frame(statements), program.platform)
    statements = without(statements, {id(line) for line in lines})
    launches: list[Json] = []
    for _ in range(LAUNCHES):
        raw = contents(program.random)
        machine = Machine({root: bytearray(raw[n * BYTES : (n + 1) * BYTES]) for n, root in enumerate(ROOTS)})
        shared = program.random.randbytes(MEMORY * len(memory))
        machine.memory = {name: bytearray(shared[n * MEMORY :][:MEMORY]) for n, name in enumerate(memory)}
        run(statements, machine, 0xFFFFFFFF)
        after = b"".join(
            [
                *machine.registers.values(),
                *(bits.to_bytes(4, "little") for bits in machine.predicates.values()),
                bytes(48),
            ]
        )
        inputs: list[Json] = [
            {"bytes": packed(np.frombuffer(raw, np.uint8))},
            {"bytes": packed(np.zeros(RECORD, np.uint8))},
        ]
        results = {"1": after, "2": b"".join(machine.memory.values())} if memory else {"1": after}
        inputs += [{"bytes": packed(np.frombuffer(shared, np.uint8))}] if memory else []
        expected = {n: packed(np.frombuffer(data, np.uint8)) for n, data in results.items()}
        launches.append({"arguments": inputs, "expected": expected})
    first, *more = launches
    compare = {n: [len(data), [["<u1", 0, len(data)]]] for n, data in results.items()}
    fixed: Json = {"kernel": "k", "local_size": [1], "compare": compare}
    return Execution(text_of(lines), program.platform, more=more, **fixed, **first).to_bytes()  # type: ignore[arg-type]


TARGETS = [
    Target(
        "vector",
        "kernels of the vector compiler's kind, on both engines, against a model in Python's integers",
        make,
        execute,
        50,
        guard_workers,
    )
]
__all__ = ["TARGETS", "make"]
