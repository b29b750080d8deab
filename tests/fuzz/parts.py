"""Texts in which instructions are for parts of the lanes, and numbers are in parts: halves of instructions that run one
after the other or in turn with those of another one, in all orders and under masks; sums of qwords in dwords with
carries; rows of qwords; numbers that lie over each other in several types.

Around them stand forms that passes of the fast engine change: loops that lanes leave one by one, with counters for each
lane; loads that may be outside; quotients; long chains; subroutines that some lanes call. One thread runs.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Sequence

import numpy as np
from support.scalar import SIZES

from fuzz.guarded import guard_workers
from fuzz.launches import Execution, Json, execute, packed
from fuzz.loops import CPUS
from fuzz.records import LANES, Variable, moves, place_of
from fuzz.target import Target
from visakit.language.platforms import find

PLATFORMS = ("tgllp", "tgllp", "skl", "icllp", "dg2", "dg2", "pvc", "bmg", "bmg")
UNSIGNED = ("A0", "A1", "A2", "A3")
DWORDS = (*UNSIGNED, "D0", "D1")
NOT_UNSIGNED = re.compile(r"\b[DWB](\d)\[")
"""Variables of other types in a line."""
COUNTERS = ("N0", "N1", "N2")
"""Of loops: all lanes that are still in one have the same there, if nothing hinders that."""
LEFT = ("LEFT0", "LEFT1", "LEFT2", "LEFT3")
"""How many rounds a lane has left: two levels of loops, and a loop of each subroutine."""
CARRIES = tuple(f"C{n}" for n in range(6))
TYPES = dict.fromkeys((*UNSIGNED, *COUNTERS, *LEFT, *CARRIES, "S"), "ud") | {
    "D0": "d", "D1": "d", "Q0": "uq", "Q1": "uq", "W0": "uw", "F0": "f",
}  # fmt: skip
TEMPORARIES = {"LANE": "ud", "OFF": "ud", "LOW": "ud", "HIGH": "ud", "SIGNS": "ud", "DATA": "ud", "PLACE": "uq"}
INPUTS = ("IN", "OUT", "MEM", "OWN")
ALIASES = {
    "H0": ("uw", "A0"), "L0": ("ud", "Q0"), "L1": ("ud", "Q1"), "Q2": ("uq", "A2"), "B1": ("ub", "A1"),
    "SD": ("d", "S"), "A0_D": ("d", "A0"), "A1_D": ("d", "A1"), "OFF_D": ("d", "OFF"), "PLACE_D": ("ud", "PLACE"),
    "MEM_D": ("ud", "MEM"), "OWN_D": ("ud", "OWN"), "S_Q": ("uq", "S"), "LOW_D": ("d", "LOW"),
}  # fmt: skip
"""Other views of variables, by their types."""
PREDICATES = ("P1", "P2", "P3", "P4")
MEMORY, ROWS = 1024, 8
"""Bytes of the memory that is read, and rows of dwords that lanes write, each to its own column."""
LAUNCHES, CALLS = 3, 6
"""Launches of a text, and the theme with subroutines."""
PLACE = re.compile(r"(\w+)\[(2?)(l?)\+?(\d*)\]")
"""A variable in a line: from twice the first lane on, or from this lane on, and an element further."""


class Parts:
    """A text of a seed."""

    def __init__(self, seed: int) -> None:
        r = self.random = random.Random(f"part {seed}")
        self.platform = r.choice(PLATFORMS)
        self.register = find(self.platform).grf_size
        self.simd = r.choice((16, 16, 32) if self.register == 64 else (8, 16, 16, 16, 32))
        carries = [Variable(name, "ud", r.choice((8, 16))) for name in CARRIES]
        others = [Variable(n, t, 16 if n == "S" else LANES) for n, t in TYPES.items() if n not in CARRIES]
        self.variables = [*others, *carries]
        self.widths = {v.name: v.count for v in carries}
        self.types = TYPES | TEMPORARIES | dict.fromkeys(INPUTS, "uq") | {name: t for name, (t, _) in ALIASES.items()}
        self.far = r.choice((1,) * 9 + (2,))
        """How many times as far loads go as the memory."""
        self.is_limited = self.far == 1 and r.random() < 0.5
        """Whether all accesses are inside of the memory."""
        self.theme = r.randrange(8)
        """Which kind of statements there are most of."""
        self.dwords = r.sample(DWORDS, r.choice((2, 3, 6)))
        """What most instructions compute with: few ones are in each other's way."""
        self.labels = 0
        self.first_left = 0
        """The place in :data:`LEFT` of the counter that outer loops take."""
        self.subroutines: list[list[str]] = []

    # -- lines ---------------------------------------------------------------------------------------------------

    def line(self, text: str, lane: int, width: int, nm: str = "") -> str:
        """An instruction of some lanes, ``{m}`` being its mask and size."""

        def place(found: re.Match[str]) -> str:
            name, twice, of_lane, further = found.groups()
            element = (2 if twice else 1) * (lane if of_lane else 0) + int(further or 0)
            return f"{name}{place_of(element, SIZES[self.types[name]], self.register)}"

        return PLACE.sub(place, text.replace("{m}", f"(M{1 + lane // 4}{nm}, {width})"))

    def all(self, *texts: str, widest: int = 4, nm: str = "") -> list[str]:
        """Instructions of all lanes, each in as many parts as registers let it.

        Args:
            widest: bytes of the largest element.
            nm: ``_NM`` where lanes that do not run take part.
        """
        each = min(self.simd, 2 * self.register // widest)
        return [self.line(text, lane, each, nm) for text in texts for lane in range(0, self.simd, each)]

    def source(self) -> str:
        """Dwords: of the same lanes, one for all, a number, every second one, narrower ones, those of other lanes."""
        r, name = self.random, self.random.choice(self.dwords)
        number = r.choice((r.getrandbits(32), r.randrange(40), 0xFFFFFFFF, 1 << 31))
        row, other = f"{r.choice(('L0', 'L1'))}[2l+{r.randrange(2)}]", r.choice(("W0", *COUNTERS))
        moved = f"{name}[l+{8 if self.simd < LANES or r.random() < 0.05 else 0}]"  # The last lanes may have none.
        kinds = {
            f"{name}[l]<1;1,0>": 60, f"{number:#x}:ud": 10, self.scalar(): 10, f"{other}[l]<1;1,0>": 6,
            f"{row}<2;1,0>": 8, f"{moved}<1;1,0>": 10, f"B1[l+{r.randrange(9)}]<1;1,0>": 3,
        }  # fmt: skip
        return r.choices(list(kinds), list(kinds.values()))[0]

    def scalar(self) -> str:
        """A dword for all lanes."""
        return f"{self.random.choice(('S', 'S', *self.dwords))}[{self.random.randrange(8)}]<0;1,0>"

    def guard(self) -> str:
        """A predicate, mostly none."""
        r = self.random
        return f"({r.choice(('', '', '!'))}{r.choice(('P1', *PREDICATES))}) " if r.random() < 0.4 else ""

    # -- instructions in parts -----------------------------------------------------------------------------------

    def splitted(self) -> list[str]:
        """An instruction, or a few, in parts for some of the lanes."""
        r = self.random
        width = min(self.simd, r.choice((8, 8, 16) if self.simd == 32 else (8, 4, 8)))
        first = r.choice(range(0, self.simd, 2 * width)) if 2 * width <= self.simd else 0
        lanes = [n for n in range(first, self.simd, width)][: r.choice((2, 2, 2, 4))]
        made = r.choice((self.computing, self.computing, self.computing, self.carrying, self.deciding, self.rows))
        texts, carries = made(), [name for name, count in self.widths.items() if count >= width]
        if any("{c}" in text for text in texts) and not carries:
            return []
        carries, nm, found = r.sample(carries, min(2, len(carries))), r.choice(("", "", "", "_NM")), list[str]()
        own = r.random() < 0.9
        for n, lane in enumerate(lanes[::-1] if r.random() < 0.1 else lanes):
            named = [t.replace("{c}", carries[min(n, len(carries) - 1) if own else 0]) if carries else t for t in texts]
            if r.random() < 0.05:  # Nearly halves.
                named[-1], nm = r.choice(((f"{named[-1].rpartition(' ')[0]} {self.source()}", nm), (named[-1], "_NM")))
            found += [self.line(text, lane, width, nm) for text in named]
        return found

    def computing(self) -> list[str]:
        """A computation."""
        r, x, z, guard = self.random, self.source(), self.source(), self.guard()
        target = r.choice((*self.dwords, *self.dwords, "W0", "H0", COUNTERS[0]))
        y = r.choice((self.source(), f"{target}[l]<1;1,0>"))
        forms = [f"{op} {{m}} {target}[l]<1> {x} {y}" for op in ("add", "and", "or", "xor", "mul", "avg")]
        forms += [f"mov {{m}} {target}[l]<1> {x}"] * 2 + [f"shl {{m}} {target}[l]<1> {x} {r.randrange(32)}:ud"]
        forms += [f"mad {{m}} {target}[l]<1> {x} {y} {z}", "mad {m} F0[l]<1> F0[l]<1;1,0> 1.5:f F0[l]<1;1,0>"]
        forms += [f"mov {{m}} Q1[l]<1> {x}", "and {m} Q0[l]<1> Q1[l]<1;1,0> Q0[l]<1;1,0>"]
        return [guard + r.choice(forms)]

    def carrying(self) -> list[str]:
        """A sum or difference, whose carries have a variable for each part."""
        r, target = self.random, self.random.choice(self.dwords)
        x, z = self.random.choice(UNSIGNED), self.source()
        y = NOT_UNSIGNED.sub(r"A\1[", self.source())
        first = f"{r.choice(('addc', 'addc', 'subb'))} {{m}} {r.choice(UNSIGNED)}[l]<1> {{c}}[0]<1> {x}[l]<1;1,0> {y}"
        return [first, f"{self.guard()}add {{m}} {target}[l]<1> {{c}}[0]<1;1,0> {z}"][: r.choice((1, 2, 2))]

    def deciding(self) -> list[str]:
        """A comparison, or what one has chosen."""
        r, x, y = self.random, self.source(), self.source()
        name, relation, target = r.choice(PREDICATES), r.choice(("lt", "ge", "ne", "eq")), r.choice(self.dwords)
        return [r.choice((f"cmp.{relation} {{m}} {name} {x} {y}", f"({name}) sel {{m}} {target}[l]<1> {x} {y}"))]

    def rows(self) -> list[str]:
        """Every second dword: mostly both of a qword."""
        name, head = self.random.choice(("L0", "L1")), f"{self.guard()}mov {{m}}"
        halves = self.random.choice(((0, 1), (0, 1), (1, 0), (0,), (1,)))
        return [f"{head} {name}[2l+{half}]<2> {self.source()}" for half in halves]

    # -- sums of qwords ------------------------------------------------------------------------------------------

    def term(self) -> tuple[list[str], str, str]:
        """A term of a sum of qwords: lines that compute it, its low and its high dwords; of zeros, nothing."""
        r = self.random
        index, low, n = r.choice(("A0", "A1", "OFF")), r.choice((*UNSIGNED, "OFF", *COUNTERS)), 2 * r.randrange(4)
        name, signs = r.choice(("L0", "L1")), self.all(f"asr {{m}} SIGNS[l]<1> {index}_D[l]<1;1,0> 31:ud")
        return r.choice((
            (signs, f"{index}[l]<1;1,0>", "SIGNS[l]<1;1,0>"), ([], f"{name}[2l]<2;1,0>", f"{name}[2l+1]<2;1,0>"),
            ([], "MEM_D[0]<0;1,0>", "MEM_D[1]<0;1,0>"), ([], f"S[{n}]<0;1,0>", f"S[{n + 1}]<0;1,0>"),
            ([], f"{low}[l]<1;1,0>", ""), ([], f"{low}[l]<1;1,0>", f"{r.choice(self.dwords)}[l]<1;1,0>"),
        ))  # fmt: skip

    def sum(self, x: tuple[str, str], y: tuple[str, str]) -> list[str]:
        """The sum of two qwords in ``LOW`` and ``HIGH``, as compilers write it, or nearly so."""
        r, width = self.random, min(self.simd, 2 * self.register // 4, self.random.choice((8, 16)))
        highs = [high for high in (x[1], y[1])[:: r.choice((1, 1, -1))] if high]
        both = [f"add {{m}} HIGH[l]<1> {' '.join(highs)}"] if len(highs) == 2 else []
        carried = ["{c}[0]<1;1,0>", "HIGH[l]<1;1,0>" if both else highs[0] if highs else "0:ud"][:: r.choice((1, -1))]
        texts = [f"addc {{m}} LOW[l]<1> {{c}}[0]<1> {x[0]} {y[0]}", *both, f"add {{m}} HIGH[l]<1> {' '.join(carried)}"]
        if both and r.random() < 0.3:  # The high dwords may be the low ones of a sum before: then it is another sum.
            texts[:2] = texts[1::-1]
        if r.random() < 0.1:  # The carry of another sum.
            texts.insert(
                1,
                f"{r.choice(('addc', 'subb'))} {{m}} DATA[l]<1> {{c}}[0]<1> LOW[l]<1;1,0> {r.choice(UNSIGNED)}[l]<1;1,0>",
            )
        carry = r.choice([name for name, count in self.widths.items() if count >= width] or ["SIGNS"])
        return [self.line(t.replace("{c}", carry), lane, width) for lane in range(0, self.simd, width) for t in texts]

    def wide_sum(self) -> list[str]:
        """A sum of qwords, of up to seven terms, into the rows of a variable."""
        r, (before, *x), (further, *y) = self.random, self.term(), self.term()
        lines = [*before, *further, *self.sum((x[0], x[1]), (y[0], y[1]))]
        for _ in range(r.choice((0, 0, 1, 1, 2, 5))):
            before, low, high = self.term()
            terms = [(low, high), ("LOW[l]<1;1,0>", "HIGH[l]<1;1,0>")][:: r.choice((1, -1))]
            lines += [*before, *self.sum(*terms)]
        lines += self.splitted() if r.random() < 0.15 else []
        return lines + self.pair(r.choice(("L0", "L1")), self.guard())

    def pair(self, name: str, guard: str = "") -> list[str]:
        """``LOW`` and ``HIGH`` become the dwords of qwords; rarely, in another order."""
        dwords = self.random.choices((("LOW", "HIGH"), ("HIGH", "LOW"), ("LOW", "LOW")), (40, 1, 1))[0]
        texts = [f"{guard}mov {{m}} {name}[2l+{half}]<2> {x}[l]<1;1,0>" for half, x in enumerate(dwords)]
        return self.all(*texts[:: self.random.choice((1, 1, -1))], widest=8)

    def bits(self) -> list[str]:
        """Operations on the bits of qwords, for the low dwords and for the high ones; a rotation; or a scalar qword."""
        r = self.random
        if r.random() < 0.4:
            return self.rotated() if r.random() < 0.5 else self.scalar_qword()
        wide, lines = r.sample(("L0", "L1"), 2), list[str]()
        for n in range(r.choice((1, 1, 2, 3, 5))):
            op, guard = r.choice(("and", "or", "xor", "xor", "not", "sel")), r.choice(("", "", "", self.guard()))
            name, swaps = r.choice(wide), r.random() < 0.05
            for half, to in enumerate(("LOW", "HIGH")):
                row = f"{name}[2l+{half ^ swaps}]<2;1,0>"
                x = f"{to}[l]<1;1,0>" if n else f"{wide[0]}[2l+{half}]<2;1,0>"
                y = r.choice((row, row, row, row, f"{0x1234567 << half:#x}:ud"))
                chosen = f"({PREDICATES[n % 4]}) " if op == "sel" else guard
                lines += self.all(f"{chosen}{op} {{m}} {to}[l]<1> {x}" + ("" if op == "not" else f" {y}"))
            lines += self.splitted() if r.random() < 0.1 else []
        return lines + self.pair(r.choice(wide), self.guard())

    def rotated(self) -> list[str]:
        """Numbers that rotate by counts of each lane, or by one for all, written as compilers do, or as instructions."""
        name, count = self.random.choice(UNSIGNED), self.source()
        if self.platform != "skl" and self.random.random() < 0.5:
            return self.all(
                f"{self.guard()}{self.random.choice(('rol', 'ror'))} {{m}} {name}[l]<1> {name}[l]<1;1,0> {count}"
            )
        width = self.random.choice((32, 32, 32, 31))
        return self.all(
            f"and {{m}} LOW[l]<1> {count} 31:ud", f"add {{m}} HIGH[l]<1> (-)LOW_D[l]<1;1,0> {width}:d",
            f"shl {{m}} LOW[l]<1> {name}[l]<1;1,0> LOW[l]<1;1,0>", f"shr {{m}} HIGH[l]<1> {name}[l]<1;1,0> HIGH[l]<1;1,0>",
            f"or {{m}} {name}[l]<1> LOW[l]<1;1,0> HIGH[l]<1;1,0>",
        )  # fmt: skip

    def scalar_qword(self) -> list[str]:
        """Two dwords of a scalar, which is read as a qword."""
        r, at = self.random, self.random.randrange(0, 8, 2)
        halves = [
            f"{r.choice(('add', 'mul', 'xor'))} (M1_NM, 1) S[{at + n}]<1> {self.scalar()} {self.scalar()}"
            for n in (0, 1)
        ]
        lines = [self.line(text, 0, 1) for text in halves[:: r.choice((1, 1, -1))][: r.choice((1, 2, 2, 2, 2))]]
        return lines + self.all(f"add {{m}} Q0[l]<1> Q0[l]<1;1,0> S_Q[{at // 2}]<0;1,0>", widest=8)

    # -- what passes are for -------------------------------------------------------------------------------------

    def dividing(self) -> list[str]:
        """Quotients or remainders of integers."""
        r = self.random
        names, scalar = r.choice(((("D0", "D1"), "SD"), (("A0", "A1", "A2", "N0", "W0"), "S")))
        by = r.choice((f"{r.choice(names)}[l]<1;1,0>", f"{scalar}[{r.randrange(8)}]<0;1,0>"))
        head = f"{self.guard()}{r.choice(('div', 'mod'))} {{m}} {r.choice(self.dwords)}[l]<1>"
        lines = self.all(f"{head} {r.choice(names)}[l]<1;1,0> {by}")
        qwords = self.all(f"{self.guard()}div {{m}} Q0[l]<1> Q0[l]<1;1,0> Q1[l]<1;1,0>", widest=8)
        return r.choices((lines, qwords), (8, 1))[0][: r.choice((1, 4))]

    def chains(self) -> list[str]:
        """Long chains one behind the other, perhaps with accesses in between."""
        r, lines = self.random, list[str]()
        for name in r.sample(DWORDS, r.choice((3, 4))):
            factor, term, guard = r.choice(("W0", name)), self.source(), self.guard()
            for n in range(r.choice((30, 45))):
                lines += self.all(f"mul {{m}} {name}[l]<1> {name}[l]<1;1,0> {factor}[l]<1;1,0>")
                lines += self.all(f"{guard if n % 7 == 3 else ''}add {{m}} {name}[l]<1> {name}[l]<1;1,0> {term}")
            lines += self.access() if r.random() < 0.2 else []
        return lines

    def access(self, names: Sequence[str] = ()) -> list[str]:
        """A load at an index, or a store to a place that no other lane has.

        Args:
            names: of variables that may well be the index without a limit; any others without them.
        """
        r, stores = self.random, self.random.random() < 0.3
        index = f"{r.choice(names or (*COUNTERS, *self.dwords))}[l]<1;1,0>"
        lines = self.all(r.choice((f"mov {{m}} OFF[l]<1> {index}", f"add {{m}} OFF[l]<1> LANE[l]<1;1,0> {index}")))
        mask = ROWS - 1 if stores else self.far * MEMORY // 4 - 1
        if self.is_limited or r.random() < (0.2 if names else 0.96) or stores:
            lines += self.all(f"and {{m}} OFF[l]<1> OFF[l]<1;1,0> {mask:#x}:ud")
        lines += self.all(f"shl {{m}} OFF[l]<1> OFF[l]<1;1,0> {7 if stores else 2}:ud")
        if stores:
            lines += self.all("mad {m} OFF[l]<1> LANE[l]<1;1,0> 4:uw OFF[l]<1;1,0>")
        name = "OWN" if stores else "MEM"
        if r.random() < 0.5:
            terms = [("OFF[l]<1;1,0>", ""), (f"{name}_D[0]<0;1,0>", f"{name}_D[1]<0;1,0>")][:: r.choice((1, -1))]
            lines += [*self.sum(*terms), *self.pair("PLACE_D")]
        else:
            texts = "mov {m} PLACE[l]<1> OFF[l]<1;1,0>", f"add {{m}} PLACE[l]<1> PLACE[l]<1;1,0> {name}[0]<0;1,0>"
            lines += self.all(*texts, widest=8)
        data, each = r.choice(self.dwords) if stores else "DATA", min(16, self.simd)
        head = f"{self.guard()}svm_{'scatter' if stores else 'gather'}.4.1"
        for lane in range(0, self.simd, each):
            lines.append(f"{head} (M{1 + lane // 4}, {each}) PLACE.{8 * lane} {data}.{4 * lane}")
        return lines if stores else [*lines, *self.all("xor {m} A1[l]<1> A1[l]<1;1,0> DATA[l]<1;1,0>")]

    # -- flow ----------------------------------------------------------------------------------------------------

    def label(self) -> str:
        """A new one."""
        self.labels += 1
        return f"HERE{self.labels}"

    def branch(self, depth: int) -> list[str]:
        """Some lanes jump over lines, or to other ones."""
        r, other, behind = self.random, self.label(), self.label()
        head = f"({r.choice(('', '!'))}{r.choice(PREDICATES)}) goto (M1, {self.simd}) {other}"
        first, second = (self.body(depth, r.randrange(1, 4)) for _ in range(2))
        if r.random() < 0.6:
            return [head, *first, f"{other}:"]
        return [head, *first, f"goto (M1, {self.simd}) {behind}", f"{other}:", *second, f"{behind}:"]

    def count(self) -> list[str]:
        """A counter, mostly in the same way in all lanes."""
        r, n = self.random, self.random.choice(COUNTERS)
        others = f"S[{r.randrange(8)}]<0;1,0>", f"{r.choice(COUNTERS)}[l]<1;1,0>", "LANE[l]<1;1,0>"
        step = r.choice((*(f"{n}:w" for n in (1, 1, 1, 2, 4, -1)), *others))
        if r.random() < 0.2:
            return self.all(f"mov {{m}} {n}[l]<1> {r.choice((step, self.source()))}")
        guard = self.guard() if r.random() < 0.2 else ""
        return self.all(f"{guard}add {{m}} {n}[l]<1> {n}[l]<1;1,0> {step}", nm=r.choice(("",) * 9 + ("_NM",)))

    def loop(self, depth: int) -> list[str]:
        """A loop that lanes leave one by one, at its end or in the middle."""
        r, again, behind, left = self.random, self.label(), self.label(), f"{LEFT[self.first_left + depth]}[l]"
        by_counter = functools.partial(self.access, COUNTERS)
        lines = self.all(f"and {{m}} {left}<1> {self.source()} {r.choice((3, 7))}:ud")
        for n in r.sample(COUNTERS, 2):
            first = r.choice(("0:ud", "0:ud", "5:ud", "40:ud", "LANE[l]<1;1,0>", self.source()))
            lines += self.all(f"mov {{m}} {n}[l]<1> {first}")
        inside = [f"{again}:"]
        for _ in range(r.randrange(1, 4)):
            inside += r.choice((by_counter, by_counter, self.count, lambda: self.body(depth, 1)))()
        if r.random() < 0.4:
            inside += [*self.all("cmp.lt {m} P5 A1[l]<1;1,0> S[7]<0;1,0>"), f"(P5) goto (M1, {self.simd}) {behind}"]
        inside += self.count()
        if r.random() < 0.4:
            lines, inside = self.with_further_way(lines, inside, left, behind)
        return [
            *lines,
            *inside,
            *self.next_round(left, again),
            f"{behind}:",
            *(by_counter() if r.random() < 0.2 else []),
        ]

    def next_round(self, left: str, label: str, some: str = "") -> list[str]:
        """Lanes that have rounds left go to a label; perhaps some of them alone, and the others on."""
        lines = self.all(f"cmp.gt {{m}} P6 {left}<1;1,0> 0:ud")
        lines += [f"and (M1, {self.simd}) P6 P6 {some}"] if some else []
        guard = "(P6) " if some else self.random.choice(("", "", "(P6) "))
        lines += self.all(f"{guard}add {{m}} {left}<1> {left}<1;1,0> -1:w")
        return [*lines, f"(P6) goto (M1, {self.simd}) {label}"]

    def with_further_way(
        self, front: list[str], inside: list[str], left: str, behind: str
    ) -> tuple[list[str], list[str]]:
        """The lines in front of a loop, and those in it, with another way into it, back, or out of it by way of accesses."""
        r, label, over, some = self.random, self.label(), self.label(), self.random.choice(PREDICATES)
        kind = r.choice(("in", "back", "front", "out"))
        if kind == "in":
            return [*front, f"({some}) goto (M1, {self.simd}) {label}"], [*inside, f"{label}:", *self.count()]
        if kind == "out":
            ways = f"({some}) goto (M1, {self.simd}) {label}", f"goto (M1, {self.simd}) {over}", f"{label}:"
            own = [ways[0], *self.count(), *ways[1:], *self.access(COUNTERS), f"goto (M1, {self.simd}) {behind}"]
            return front, [*inside, *own, f"{over}:"]
        again = inside[0].rstrip(":") if kind == "back" else label
        start = len(front) if kind == "back" else r.randrange(len(front) // 2, len(front) + 1)
        front = front if kind == "back" else [*front[:start], f"{label}:", *front[start:]]
        return front, [*inside, *self.next_round(left, again, some), *self.count()]

    def body(self, depth: int, count: int) -> list[str]:
        """Statements, many of which are of the text's theme."""
        weights: dict[Callable[[], list[str]], int] = {
            self.halves: 8, self.wide_sum: 3, self.dividing: 2, self.access: 2,
            lambda: self.branch(depth - 1): 3 if depth else 0, lambda: self.loop(depth - 1): 4 if depth else 0,
            self.call: 3 if self.subroutines else 0, self.bits: 4,
        }  # fmt: skip
        kinds, chances = list(weights), list(weights.values())
        chances[self.theme] *= 5
        return [line for _ in range(count) for line in self.random.choices(kinds, chances)[0]()]

    def call(self) -> list[str]:
        """A subroutine for some lanes."""
        return [f"{self.guard()}call (M1, {self.simd}) ROUTINE{self.random.randrange(len(self.subroutines))}"]

    def halves(self) -> list[str]:
        """An instruction in parts, perhaps in turn with another one."""
        queues = self.splitted(), self.splitted() if self.random.random() < 0.5 else []
        return self.in_turn(*queues)

    def in_turn(self, *queues: list[str]) -> list[str]:
        """The instructions of two statements, in their orders."""
        found = list[str]()
        while any(queues):
            found.append(self.random.choice([q for q in queues if q]).pop(0))
        return found

    # -- the whole -----------------------------------------------------------------------------------------------

    def declarations(self) -> list[str]:
        """Declarations of all variables, and the inputs."""
        own = [*self.variables, *(Variable(n, t) for n, t in TEMPORARIES.items())]
        sizes = {v.name: v.bytes for v in own} | dict.fromkeys(INPUTS, 8)
        found = [v.declaration for v in own]
        found += [f".decl {n} v_type=G type=uq num_elts=1" for n in (*INPUTS, "AT")]
        for name, (t, of) in ALIASES.items():
            found.append(f".decl {name} v_type=G type={t} num_elts={sizes[of] // SIZES[t]} alias=<{of}, 0>")
        found += [f".decl P{n} v_type=P num_elts=32" for n in range(1, 7)]
        found += [f".input {name} offset={64 + 8 * n} size=8" for n, name in enumerate(INPUTS)]
        return [*found, f".kernel_attr SimdSize={self.simd}"]

    def text(self) -> str:
        """The text."""
        r = self.random
        for n in range(r.choice((1, 2) if self.theme == CALLS else (0, 0, 0, 1))):
            self.first_left = 2 + n
            body = self.body(1, r.randrange(1, 4))
            self.subroutines.append([f"ROUTINE{n}:", *body, f"ret (M1, {self.simd})"])
        self.first_left = 0
        main = self.body(2, r.randrange(2, 7)) + (self.chains() if r.random() < 0.2 else [])
        lanes = ["mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv"]
        for n in range(8, self.simd, 8):
            lanes.append(self.line(f"add {{m}} LANE[l]<1> LANE[0]<1;1,0> {n}:uw", n, 8, "_NM"))
        begun = (f"cmp.lt {{m}} {p} {x}[l]<1;1,0> 0x80000000:ud" for p, x in zip(PREDICATES, UNSIGNED, strict=True))
        ended = (f"({p}) add {{m}} {x}[l]<1> {x}[l]<1;1,0> 77:ud" for p, x in zip(PREDICATES, UNSIGNED, strict=True))
        head = [".version 4.1", '.kernel "k"', *self.declarations(), *moves(self.variables, True), *lanes]
        tail = [*self.all(*ended), *moves(self.variables, False), "ret (M1, 1)"]
        lines = [*head, *self.all(*begun, nm="_NM"), *main, *tail, *(t for lines in self.subroutines for t in lines)]
        return "\n".join(lines) + "\n"

    # -- launches ------------------------------------------------------------------------------------------------

    def contents(self) -> bytes:
        """The record of a launch: any dwords, small ones, ends of ranges, products of the scalars."""
        r, found = self.random, list[int]()
        ways = (lambda: r.getrandbits(32), lambda: r.getrandbits(8), lambda: r.choice((0xFFFFFFFF, 0, 1 << 31)))
        scalars = r.choices([r.choice(ways)() for _ in range(3)], k=16)
        known = {"S": scalars, "F0": np.arange(LANES, dtype="f4").view("u4").tolist()}
        for v in self.variables:
            found += known.get(v.name) or [self.dword(scalars) for _ in range(v.bytes // 4)]
        return np.array(found, "u4").tobytes()

    def dword(self, scalars: Sequence[int]) -> int:
        """A number."""
        r = self.random
        end, product = r.choice((0, 1, 0xFFFFFFFF, 1 << 31, 0x7FFFFFFF)), r.choice(scalars) * r.getrandbits(6)
        return r.choices((r.getrandbits(32), r.getrandbits(6), end, product), (4, 3, 2, 1))[0] & 0xFFFFFFFF

    def launch(self, local: list[int]) -> Json:
        """A launch: arguments, and the memory that the engines compare."""
        raw, own = np.frombuffer(self.contents(), "u1"), np.zeros(ROWS * LANES * 4, "u1")
        arguments: list[Json] = [{"bytes": packed(a)} for a in (raw, np.zeros_like(raw), own)]
        arguments.insert(2, {"random": [MEMORY, self.random.getrandbits(16)]})
        compare: Json = {str(n): [size, [["<u1", 0, size]]] for n, size in ((1, raw.size), (3, own.size))}
        return {"global_size": local, "local_size": local, "arguments": arguments, "compare": compare}


def make(seed: int) -> bytes:
    """The input of a seed."""
    parts = Parts(seed)
    text, r, n = parts.text(), parts.random, parts.simd
    local = r.choice(([n], [n], [n], [n - 3], [5]))
    first, *more = (parts.launch(local) for _ in range(LAUNCHES))
    fixed = {"kernel": "k", "cpu": r.choice(CPUS), "at_end": r.random() < 0.8}
    return Execution(text, parts.platform, more=more, **fixed, **first).to_bytes()  # type: ignore[arg-type]


TARGETS = [
    Target(
        "part",
        "instructions in parts of the lanes and numbers in parts, with what passes are for, on both engines",
        make,
        execute,
        50,
        guard_workers,
    )
]
__all__ = ["TARGETS", "make"]
