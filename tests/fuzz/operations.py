"""Instructions on registers for generated programs: every form of the table that computes, on random operands.

The generator follows the grammar and some of the rules; a line that the assembler refuses is left out.
Bits of floats never become integers, because which NaN a computation gives is open: so no variable is an alias of another.
"""

from __future__ import annotations

from random import Random

from support.scalar import FLOATS, INTEGERS, SIZES

from visakit.isa import FORMS
from visakit.isa.record import InstructionDesc, Rule, Saturation
from visakit.isa.suffixes import SAT
from vsim.semantics import SEMANTICS
from vsim.semantics.refused import REFUSED

TYPES = ("ud", "d", "uw", "w", "ub", "b", "uq", "q", "f", "df", "hf", "bf")
COPIES, ELEMENTS = 2, 32
"""Variables of each type, and elements of each."""
VARIABLES = {f"{t.upper()}_{n}": t for t in TYPES for n in range(COPIES)}
PREDICATES = ("P1", "P2", "P3", "P4")
SPECIAL = {
    "addr_add",
    "dnscl",
    "lfsr",
    "shfl_idx4",
    "bdpas",
    "movs",
    "setp",
    "cmp",
    "min",
    "max",
    "dpas",
    "dpasw",
    "invm",
    "rsqtm",
}
"""Instructions with a separate method below, or with a special order of registers."""
COMPUTING = [
    f
    for f in FORMS
    if f.category in ("arithmetic", "logic", "move")
    and f.semantics in SEMANTICS
    and f.semantics not in REFUSED
    and f.mnemonic not in SPECIAL
]
SIGNS = ("(-)", "(abs)", "(-abs)")
MODIFIERS: dict[str, tuple[str, ...]] = {"signs": SIGNS, "complement": ("(~)",), "": ()}
GROUPS_OF_FOUR = ("dp2", "dp3", "dp4", "dph")
REGISTERS_ONLY = ("line", "plane", "dp2", "dp3", "dp4", "dph")
"""What takes no numbers, which the engines say when it executes."""
RELATIONS = ("eq", "ne", "gt", "ge", "lt", "le")


class Operations:
    """Gives lines for a platform; ``simd`` are the lanes of a thread, ``register`` the bytes of a register."""

    def __init__(self, random: Random, platform: str, simd: int, register: int) -> None:
        self.random, self.simd, self.register = random, simd, register
        self.forms = [f for f in COMPUTING if platform in f.platforms]

    # -- places ------------------------------------------------------------------------------------------------

    def size(self) -> int:
        """An execution size: mostly that of the thread."""
        sizes = [n for n in (1, 2, 4, 8, 16, 32) if n <= self.simd]
        return self.random.choice([*sizes, self.simd, self.simd, self.simd])

    def mask(self, size: int) -> str:
        """A mask for an execution size."""
        first = self.random.randrange(0, max(1, self.simd - size + 1), max(size, 4)) if size < self.simd else 0
        no_mask = "_NM" if self.random.random() < (0.7 if size == 1 else 0.2) else ""
        return f"(M{1 + first // 4}{no_mask}, {size})"

    def _place(self, t: str, reach: int, align: int) -> str:
        """Row and column from which so many elements of a variable lie inside of it; rarely they do not."""
        rest = ELEMENTS - reach
        at = self.random.randrange(rest + 1) if rest > 0 and self.random.random() < 0.4 else 0
        at -= at % -(-align // SIZES[t])
        if self.random.random() < 0.0003:
            at += ELEMENTS
        row, column = divmod(at * SIZES[t], self.register)
        return f"({row},{column // SIZES[t]})"

    def region(self, size: int) -> tuple[str, int]:
        """A source region for an execution size, and how many elements it reaches over."""
        kind = self.random.randrange(10)
        if size == 1 or kind < 2:
            return "<0;1,0>", 1
        if kind < 6:
            return "<1;1,0>", size
        width = self.random.choice([w for w in (1, 2, 4, 8, 16) if w <= size])
        step = self.random.choice((0, 1, 2, 4)) if width > 1 else 0
        across = self.random.choice((0, 1, 2, 4, 8, 16, 32))
        reach = (size // width - 1) * across + (width - 1) * step + 1
        return (f"<{across};{width},{step}>", reach) if reach <= ELEMENTS else ("<1;1,0>", size)

    def variable(self, t: str) -> str:
        """A variable of a type."""
        return f"{t.upper()}_{self.random.randrange(COPIES)}"

    def direct(self, t: str, size: int, align: int = 1) -> str:
        """A source region of a variable, from a multiple of so many bytes on."""
        region, reach = self.region(size)
        return f"{self.variable(t)}{self._place(t, reach, align)}{region}"

    def destination(self, t: str, size: int, align: int = 1) -> str:
        """A destination of a type, from a multiple of so many bytes on."""
        step = self.random.choice([s for s in (1, 1, 1, 2, 4) if (size - 1) * s < ELEMENTS]) if size > 1 else 1
        return f"{self.variable(t)}{self._place(t, (size - 1) * step + 1, align)}<{step}>"

    def immediate(self, t: str) -> str:
        """A number."""
        bits = 8 * SIZES[t]
        value = self.random.choice(
            (0, 1, (1 << bits) - 1, 1 << bits - 1, self.random.getrandbits(bits), self.random.randrange(40))
        )
        return f"{value:#x}:{t}"

    def source(self, t: str, size: int, modifiers: tuple[str, ...], immediates: bool = True, align: int = 1) -> str:
        """A source operand of a type: region, or number."""
        if immediates and self.random.random() < 0.15 and t not in ("ub", "b", "bf"):
            return self.immediate(t)
        modifier = self.random.choice(modifiers) if modifiers and self.random.random() < 0.3 else ""
        return modifier + self.direct(t, size, align)

    def guard(self) -> str:
        """A predicate in front, or none."""
        if self.random.random() < 0.7:
            return ""
        mode = self.random.choice(("", "", "", ".any", ".all"))
        return f"({self.random.choice(('', '!'))}{self.random.choice(PREDICATES)}{mode}) "

    # -- instructions ------------------------------------------------------------------------------------------

    def _family(self, form: InstructionDesc) -> set[str]:
        """Types that the sources of an instruction have together."""
        legal = {t for t in form.types | form.beyond.get("src0", frozenset()) if t in VARIABLES.values()}
        floats, integers = sorted(legal & set(FLOATS)), legal & set(INTEGERS)
        if floats and (not integers or self.random.random() < 0.5):
            return {self.random.choice(floats)}
        kind = self.random.randrange(4)
        if kind == 0:
            return {self.random.choice(sorted(integers))}
        same = {t for t in integers if INTEGERS[t][1] == (kind == 1)}
        return same or integers or legal

    def computing(self) -> list[str]:
        """One arithmetic, logic or move instruction of the table."""
        form = self.random.choice(self.forms)
        if form.pairs:
            return self.converting(form)
        sizes = [n for n in form.sizes if n <= self.simd and (n >= 4 or form.mnemonic not in GROUPS_OF_FOUR)]
        size = self.size()
        size = size if size in sizes or not sizes else self.random.choice(sizes)
        family = self._family(form)
        converts = form.mnemonic == "mov"
        operands = []
        for f in form.fields:
            allowed = {t for t in form.types_of(f.name) | form.beyond.get(f.name, frozenset()) if t in TYPES}
            if f.kind == "d":
                types = family & allowed if self.random.random() < 0.8 else allowed
                operands.append(
                    self.destination(self.random.choice(sorted(types or allowed)), size, form.aligned.get(f.name, 1))
                )
            elif f.kind == "s":
                chosen = self.random.choice(sorted(allowed if converts else family & allowed or allowed))
                modifiers = MODIFIERS[form.modifiers] if form.mnemonic != "mov" else SIGNS
                immediates = form.mnemonic not in REGISTERS_ONLY
                operands.append(self.source(chosen, size, modifiers, immediates, form.aligned.get(f.name, 1)))
        suffix = f".x{self.random.randrange(256):x}" if form.mnemonic == "bfn" else ""
        saturates = SAT in form.suffixes and form.saturation is not Saturation.NONE
        saturate = ".sat" if saturates and self.random.random() < 0.15 else ""
        guard = self.guard() if form.has_predicate else ""
        if form.mnemonic == "sel" or form.writes_predicate:
            guard = f"({self.random.choice(PREDICATES)}) "
        mask = (
            self.mask(size).replace(",", "_NM,").replace("_NM_NM", "_NM")
            if Rule.NO_MASK in form.rules
            else self.mask(size)
        )
        return [f"{guard}{form.mnemonic}{suffix}{saturate} {mask} {' '.join(operands)}"]

    def converting(self, form: InstructionDesc) -> list[str]:
        """A conversion of the types that the table has in pairs; not to integers, which would hold bits of floats."""
        made = self.random.choice(sorted(t for t in form.pairs if t in FLOATS))
        size = self.size()
        operands = [self.destination(made, size)]
        operands.append(self.direct(self.random.choice(sorted(form.pairs[made] & set(TYPES))), size))
        if "src1" in form.by_name:
            operands.append(self.direct(self.random.choice(("ub", "uw")), size))
        return [f"{form.mnemonic} (M1_NM, {size}) {' '.join(operands)}"]

    def selecting(self) -> list[str]:
        """``min``, ``max``, comparison into a predicate or a variable, predicates' logic."""
        t = self.random.choice(TYPES)
        size = self.size()
        x, y = self.source(t, size, SIGNS), self.source(t, size, SIGNS)
        kind = self.random.randrange(7)
        if kind == 6:
            return self.refining(size)
        if kind < 2:
            return [f"{('min', 'max')[kind]} {self.mask(size)} {self.destination(t, size)} {x} {y}"]
        relation = self.random.choice(RELATIONS)
        predicate = self.random.choice(PREDICATES)
        if kind == 2:
            return [f"cmp.{relation} {self.mask(size)} {self.destination(t, size)} {x} {y}"]
        if kind == 3:
            return [f"cmp.{relation} {self.mask(size)} {predicate} {x} {y}"]
        if kind == 4:
            return [f"setp (M1_NM, {self.simd}) {predicate} {self.random.getrandbits(32):#x}:ud"]
        op = self.random.choice(("and", "or", "xor"))
        others = " ".join(self.random.choice(PREDICATES) for _ in range(2))
        return [f"{op} (M1{self.random.choice(('', '_NM'))}, {self.simd}) {predicate} {others}"]

    def refining(self, size: int) -> list[str]:
        """A quotient or root, whose special numbers a predicate has."""
        t, name = self.random.choice(("f", "df")), self.random.choice(("invm", "rsqtm"))
        given = " ".join(self.source(t, size, SIGNS) for _ in range(1 + (name == "invm")))
        return [
            f"{self.guard()}{name} {self.mask(size)} {self.destination(t, size)} {self.random.choice(PREDICATES)} {given}"
        ]

    def moving(self) -> list[str]:
        """Predicates into registers and back, and a variable that is made anew."""
        predicate, size = self.random.choice(PREDICATES), self.simd
        if self.random.random() < 0.2:
            t = self.random.choice(TYPES)
            name = self.variable(t)
            made = f"mov (M1_NM, {size}) {name}(0,0)<1> {self.source(t, size, ())}"
            return [f"lifetime.end {name}", f"lifetime.start {name}", made]
        if self.random.random() < 0.5:
            return [f"mov (M1_NM, 1) {self.destination('ud', 1)} {predicate}"]
        return [f"setp (M1_NM, {size}) {predicate} {self.direct('ud', 1)}"]

    def indirect(self) -> list[str]:
        """A move through an address variable, within one variable: from one address, or one for each lane."""
        t = self.random.choice(TYPES)
        name, other = self.variable(t), self.random.choice(TYPES)
        step = SIZES[t]
        if self.random.random() < 0.3:
            size = self.random.choice([n for n in (1, 2, 4, 8) if n <= self.simd])
            offsets = self.variable("uw")
            limit = ELEMENTS * step - 1 & ~(step - 1)
            taken = [f"and (M1_NM, {size}) OFFSETS(0,0)<1> {offsets}(0,0)<1;1,0> {limit:#x}:uw",
                     f"addr_add (M1_NM, {size}) A8(0)<{size}> &{name} OFFSETS(0,0){'<1;1,0>' if size > 1 else '<0;1,0>'}"]  # fmt: skip
            return [*taken, f"mov {self.mask(size)} {self.destination(other, size)} r[A8(0),0]<1,0>:{t}"]
        if self.random.random() < 0.2:
            return self.lane_after_lane(name, t)
        size = self.size()
        number, at = self.random.randrange(4), self.random.randrange(0, ELEMENTS - size + 1) if size < 32 else 0
        near = self.random.choice((0, 0, step, -step, 4 * step)) if at >= 4 else 0
        start = at * step - near
        taken = [f"addr_add (M1_NM, 1) A0({number})<1> &{name} {start}:uw"]
        if self.random.random() < 0.5:
            place = f"r[A0({number}),{near}]<1>:{t}"
            return [*taken, f"{self.guard()}mov {self.mask(size)} {place} {self.source(other, size, ())}"]
        region = self.random.choice(("<1;1,0>", "<0;1,0>"))
        return [
            *taken,
            f"{self.guard()}mov {self.mask(size)} {self.destination(other, size)} r[A0({number}),{near}]{region}:{t}",
        ]

    def lane_after_lane(self, name: str, t: str) -> list[str]:
        """A variable as compilers write an array that lanes index: an instruction for each lane."""
        size, step, other = min(self.simd, 8), SIZES[t], self.variable(t)
        limit = (ELEMENTS - 16) * step - 1 & ~(step - 1)
        no_mask, first = self.random.choice(("", "", "_NM")), self.random.choice((0, 0, 0, 3))
        lines = [f"and (M1_NM, {size}) OFFSETS(0,0)<1> {self.variable('uw')}(0,0)<1;1,0> {limit:#x}:uw",
                 f"addr_add (M1{no_mask}, {size}) A8(0)<{size}> &{name} OFFSETS(0,0)<1;1,0>"]  # fmt: skip
        for lane in range(first, size):
            lines += [f"setp (M1_NM, {size}) P4 {1 << lane:#x}:ud",
                      f"(P4) mov (M1{no_mask}, {size}) r[A8({lane}),0]<1>:{t} {other}(0,{lane})<0;1,0>"]  # fmt: skip
        return lines

    def line(self) -> list[str]:
        """One of these."""
        kind = self.random.randrange(20)
        if kind < 12:
            return self.computing()
        if kind < 16:
            return self.selecting()
        return self.moving() if kind < 17 else self.indirect()
