"""Random forms of instructions that compute lane by lane: types, modifiers, saturation, rounding mode and values.

A *form* is one instruction with its operands, under settings of %cr0 that are its own; :mod:`scalar` says what each lane
gets. Forms are drawn from numbers alone, without anything of the simulator, so that the page on fidelity can say what
is drawn (:func:`coverage`) without executing it.
"""

import functools
import math
from dataclasses import dataclass
from random import Random

from support import scalar
from support.scalar import FLOATS, INTEGERS
from support.strategies import ARITHMETIC_MODIFIERS, BITWISE_MODIFIERS, PACKED, number

LANES = 16
MODES = {"nearest": 0, "up": 0x10, "down": 0x20, "zero": 0x30}
KEEPS = {"df": 0x40, "f": 0x80, "hf": 0x400}
"""Bits of %cr0 that keep the denormals of a type."""
SMALLEST = {"df": 2.0**-1022, "f": 2.0**-126, "bf": 2.0**-126, "hf": 2.0**-14}
"""The smallest numbers that are no denormals."""
DIGITS = {"df": 52, "f": 23, "bf": 7, "hf": 10}
"""Bits of their fractions."""
APPROXIMATE = {"exp": 1, "log": 1, "sin": 1, "cos": 1, "pow": 1, "rsqrt": 1}
"""Units in the last place that results may be off, in any rounding mode."""

NARROW, ALL_INTEGERS = ("ub", "b", "uw", "w", "ud", "d"), ("ub", "b", "uw", "w", "ud", "d", "uq", "q")
HALVES, BRAINS = ("f", "hf"), ("f", "bf")
ANY_FLOAT, ALL = (HALVES, BRAINS, ("df",)), (ALL_INTEGERS, HALVES, BRAINS, ("df",))
MOVED = ((*ALL_INTEGERS, "hf", "f", "df", "bf"),)


@dataclass(frozen=True)
class Kind:
    """How forms of an instruction are drawn: families of matching types, sources, and optional parts."""

    families: tuple
    sources: int
    results: tuple = ()
    """Types of results where they are not those of the sources."""
    saturates: tuple = ()
    """Types that it can saturate."""
    modifiers: tuple = ARITHMETIC_MODIFIERS
    platforms: tuple = ("skl", "tgllp", "dg2", "xehp", "pvc", "bmg")


NONE = ("",)
_FLOATS, _SINCE_XEHP = ("f", "hf", "bf", "df"), ("xehp", "dg2", "pvc", "bmg")
_WORDS = ("ud", "d", "uw", "w")
_SIGNED, _UNSIGNED = ("b", "w", "d", "q"), ("ub", "uw", "ud", "uq")
_MATH = Kind((HALVES, BRAINS), 1, saturates=_FLOATS)
_WHOLE = Kind((("f",),), 1, saturates=_FLOATS)
_DOTS = Kind((("f",),), 2, saturates=_FLOATS)
KINDS = {
    "mov": Kind(MOVED, 1, saturates=(*ALL_INTEGERS, *_FLOATS)),
    "sel": Kind(ALL, 2, saturates=(*ALL_INTEGERS, *_FLOATS)),
    "min": Kind(ALL, 2, saturates=(*ALL_INTEGERS, *_FLOATS)),
    "max": Kind(ALL, 2, saturates=(*ALL_INTEGERS, *_FLOATS)),
    "cmp": Kind(ALL, 2, results=("uw", "d", "uq")),
    "add": Kind(ALL, 2, saturates=(*ALL_INTEGERS, *_FLOATS)),
    "mul": Kind((NARROW, *ANY_FLOAT), 2, saturates=(*ALL_INTEGERS, *_FLOATS)),
    "mad": Kind(ALL, 3, saturates=_FLOATS),
    "div": Kind(ALL, 2, saturates=_FLOATS),
    "mod": Kind((NARROW,), 2),
    "divm": Kind((("f",), ("df",)), 2, saturates=_FLOATS),
    "sqrtm": Kind((("f",), ("df",)), 1, saturates=_FLOATS),
    "inv": Kind(ANY_FLOAT, 1, saturates=_FLOATS),
    "sqrt": Kind(ANY_FLOAT, 1, saturates=_FLOATS),
    "add3": Kind((_WORDS,), 3, saturates=ALL_INTEGERS, platforms=_SINCE_XEHP),
    "avg": Kind((NARROW,), 2, saturates=ALL_INTEGERS),
    "mulh": Kind((("ud", "d"),), 2),
    "madw": Kind((("ud", "d"),), 3),
    "addc": Kind((("ud",),), 2, modifiers=NONE),
    "subb": Kind((("ud",),), 2, modifiers=NONE),
    "add3.o": Kind((_WORDS,), 3, platforms=("pvc", "bmg")),
    "dp4a": Kind((("ud", "d"),), 3, saturates=ALL_INTEGERS, modifiers=NONE, platforms=("tgllp", *_SINCE_XEHP)),
    "sad2": Kind((("ub", "b"),), 2, results=("uw", "w"), saturates=ALL_INTEGERS, platforms=("skl",)),
    "sad2add": Kind((("ub", "b"),), 3, results=("uw", "w"), saturates=ALL_INTEGERS, platforms=("skl",)),
    "shl": Kind((ALL_INTEGERS,), 2, saturates=ALL_INTEGERS),
    "shr": Kind((_UNSIGNED,), 2, results=ALL_INTEGERS, saturates=ALL_INTEGERS),
    "asr": Kind((_SIGNED,), 2, results=ALL_INTEGERS),
    "frc": Kind((("f",),), 1),
    "lrp": Kind((("f",),), 3, saturates=_FLOATS),
    "line": _DOTS,
    "plane": Kind((("f",),), 2, saturates=_FLOATS, platforms=("skl", "tgllp", "dg2", "xehp")),
    **dict.fromkeys(("dp2", "dp3", "dp4", "dph"), _DOTS),
    **dict.fromkeys(("rndd", "rndu", "rnde", "rndz"), _WHOLE),
    **dict.fromkeys(("exp", "log", "sin", "cos", "rsqrt"), _MATH),
    "pow": Kind((HALVES, BRAINS), 2, saturates=_FLOATS),
    **dict.fromkeys(("and", "or", "xor"), Kind((ALL_INTEGERS,), 2, modifiers=BITWISE_MODIFIERS)),
    "not": Kind((ALL_INTEGERS,), 1, modifiers=BITWISE_MODIFIERS),
    "bfn": Kind((_WORDS,), 3, modifiers=NONE, platforms=_SINCE_XEHP),
    **dict.fromkeys(
        ("rol", "ror"), Kind(((*_WORDS, "q", "uq"),), 2, modifiers=NONE, platforms=("tgllp", *_SINCE_XEHP))
    ),
    "bfe": Kind((("ud",), ("d",)), 3, modifiers=NONE),
    "bfi": Kind((("ud", "d"),), 4, modifiers=NONE),
    "bfrev": Kind((("ud",),), 1, modifiers=NONE),
    "cbit": Kind((("ub", "uw", "ud"),), 1, results=("ud",), modifiers=NONE),
    "lzd": Kind((("ud",),), 1, modifiers=NONE),
    "fbl": Kind((("ud",),), 1, modifiers=NONE),
    "fbh": Kind((("ud", "d"),), 1, results=("ud",), modifiers=NONE),
}
RELATIONS = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
             "lt": lambda x, y: x < y, "le": lambda x, y: x <= y}  # fmt: skip
ALIGNED = ("line", "plane", "dp2", "dp3", "dp4", "dph", "sad2", "sad2add")
"""Instructions whose lanes see others, so that no source is an immediate or one element."""
WHOLE = ("rndd", "rndu", "rnde", "rndz", "cmp")
"""Instructions on floats that never round, as results are exact."""
DOT_TERMS = {"dp2": 2, "dp3": 3, "dp4": 4, "dph": 3}


@dataclass(frozen=True)
class Operand:
    """A source: its numbers in front of its modifier, one for each lane."""

    type: str
    modifier: str
    numbers: tuple
    immediate: str = ""
    region: str = "<1;1,0>"

    def signed(self, x):
        """A number behind the modifier."""
        if self.modifier == "(~)":
            return ~x
        x = abs(x) if "abs" in self.modifier else x
        return -x if "-" in self.modifier else x

    def lane(self, i):
        return self.signed(self.numbers[i])


@dataclass(frozen=True)
class Form:
    """One instruction and the state of %cr0 in which it executes."""

    name: str
    dst: str
    sources: tuple
    saturate: bool
    mode: str
    known: bool
    """The mode is a constant of the program, not a number out of a register."""
    kept: tuple
    """Types whose denormals are kept."""
    relation: str = "eq"
    chosen: int = 0
    """The predicate of a selection, or the function of bits."""

    @property
    def mnemonic(self):
        suffix = {"cmp": f".{self.relation}", "bfn": f".x{self.chosen & 255:x}"}.get(self.name, "")
        return self.name + suffix + (".sat" if self.saturate else "")

    @property
    def is_macro(self):
        """Whether hardware has it as a sequence of instructions that some platforms lack."""
        doubles = "df" in (self.dst, *(s.type for s in self.sources))
        return self.name in ("divm", "sqrtm") or (doubles and self.name in ("div", "inv", "sqrt"))


# -- drawing ---------------------------------------------------------------------------------------------------


def close(random, t):
    """A float with few bits far apart: its sums and products are close to the middle between two numbers."""
    bits = sum(2.0 ** -random.choice([0, 1, 7, 8, 9, 10, 11, 12, 22, 23, 24, 25, 30, 52, 53, 54]) for _ in range(3))
    return scalar.narrow(random.choice([1, -1]) * bits * 2.0 ** random.choice([0, 0, 0, 1, -1, -14, -24, -126, 15]), t)


def tiny(random, t):
    """A float at the smallest numbers: a zero, a denormal, or a neighbour of the smallest normal number."""
    smallest, digits = SMALLEST[t], DIGITS[t]
    last = smallest * 2.0**-digits
    found = random.choice([0.0, last, smallest - last, last * random.randint(1, 2**digits), near(random, smallest, t)])
    return random.choice([1, -1]) * found


def near(random, power, t):
    """A power of two, or a number some places from it."""
    return scalar.narrow(power * (1 + random.randint(-4, 4) * 2.0 ** (-1 - DIGITS[t])), t)


def tiny_operands(random, t, count, divides):
    """Numbers for a lane: tiny ones, or such that a product, or a quotient, of the first two is."""
    found = [tiny(random, t) for _ in range(count)]
    if count > 1 and random.random() < 0.5:
        factor = 2.0 ** random.randint(-8, 8)
        found[0] = random.choice([1, -1]) * near(random, SMALLEST[t] * factor, t)
        found[1] = near(random, factor if divides else 1 / factor, t)
    return found


def any_number(random, t):
    return close(random, t) if t in FLOATS and random.random() < 0.4 else number(random, t)


def operand(random, t, kind, varied=True, lanes=LANES):
    modifier = random.choice(kind.modifiers) if t != "bf" else ""
    if varied and kind.modifiers != NONE and random.random() < 0.1:
        for name, (element, pick) in PACKED.items():
            if element == t:
                bits = random.getrandbits(32)
                return Operand(t, "", tuple(pick(bits, i) for i in range(lanes)), f"{bits:#x}:{name}")
    if varied and t not in ("ub", "b", "bf") and random.random() < 0.1:
        x = any_number(random, t)
        bits = int.from_bytes(scalar.encode(x, t), "little")
        return Operand(t, "", (x,) * lanes, f"{bits:#x}:{t}")
    if varied and random.random() < 0.1:
        return Operand(t, modifier, (any_number(random, t),) * lanes, region="<0;1,0>")
    return Operand(t, modifier, tuple(any_number(random, t) for _ in range(lanes)))


def form(random, name, lanes=LANES):
    """A form of an instruction, whose sources have numbers for so many lanes."""
    kind = KINDS[name]
    family = random.choice(kind.families)
    t = random.choice(family)
    types = [random.choice(family) if random.random() < 0.6 else t for _ in range(kind.sources)]
    if name == "sad2add":
        types[2] = random.choice(("uw", "w"))
    found = [operand(random, t, kind, name not in ALIGNED, lanes) for t in types]
    if name in scalar.SHIFTS:
        found[1] = _count(random, name, kind, lanes)
    found = _possible(random, name, found)
    dst = random.choice(ALL_INTEGERS if name == "mul" and t in INTEGERS else kind.results or family)
    saturate = dst in kind.saturates and random.random() < 0.4
    all_kept = name in APPROXIMATE or random.random() < 0.7
    kept = tuple(k for k in KEEPS if all_kept or random.random() < 0.5)
    return Form(name, dst, tuple(found), saturate, random.choice(list(MODES)), random.random() < 0.6, kept,
                random.choice(list(RELATIONS)), random.getrandbits(LANES))  # fmt: skip


def _count(random, name, kind, lanes):
    """A count of a shift: any number, or one below the width."""
    t = random.choice((*_WORDS, "q", "uq") if name in ("rol", "ror") else ALL_INTEGERS)
    if random.random() < 0.3:
        return operand(random, t, kind, lanes=lanes)
    counts = random.choice([range(4), range(64)])
    return Operand(t, "", tuple(random.choice(counts) for _ in range(lanes)))


def _angle(x, t):
    """An argument in the range in which the manual bounds the error."""
    return scalar.narrow(math.fmod(x, 30000.0), t) if math.isfinite(x) else x


def _possible(random, name, found):
    """Sources of which the manual, or our pages, define what comes."""
    if name in ("sin", "cos"):
        return [Operand(s.type, s.modifier, tuple(_angle(x, s.type) for x in s.numbers)) for s in found]
    if name in ("add", "mad") and random.random() < 0.3 and found[0].type in FLOATS:
        # Sums that cancel, exactly or but for a little.
        x = found[-2]
        return [*found[:-1], Operand(x.type, "(-)" if x.modifier == "" and x.type != "bf" else "", x.numbers)]
    return found


# -- what comes ------------------------------------------------------------------------------------------------


def flushed(form, x, t):
    """A number, or a zero if it is a denormal that %cr0 does not keep."""
    small = x == x and abs(x) < SMALLEST[t]
    return math.copysign(0.0, x) if small and ("f" if t == "bf" else t) not in form.kept else x


def expected(form, i):
    """The expected value of lane i of the destination; None if it is undefined."""
    types = [s.type for s in form.sources]
    values = [s.lane(i) for s in form.sources]
    if form.name == "sel":
        at = 0 if form.chosen >> i & 1 else 1
        types, values = types[at : at + 1], values[at : at + 1]
    plain = form.name in ("mov", "sel") and (form.name == "sel" or not form.sources[0].modifier)
    if not plain:
        values = [flushed(form, x, t) if t in FLOATS else x for x, t in zip(values, types, strict=True)]
    special = SPECIAL.get(form.name)
    if special:
        return special(form, values, i)
    mode = "nearest" if form.name in APPROXIMATE else form.mode
    name = f"bfn.x{form.chosen & 255:x}" if form.name == "bfn" else form.name
    modified = any(s.modifier for s in form.sources)
    found = scalar.result(name, types, values, form.dst, form.saturate, mode, modified)
    all_types = [s.type for s in form.sources]
    executed = all_types[0] if len(set(all_types)) == 1 else scalar.execution_type(all_types, form.dst)
    widened = form.name == "mov" and (executed, form.dst) == ("bf", "f")
    copied = plain and not form.saturate and (executed == form.dst or widened)
    keeps = copied or form.dst in INTEGERS or not any(t in FLOATS for t in types)
    return found if keeps else flushed(form, found, form.dst)


def _float(form, x):
    return flushed(form, scalar.saturated(x) if form.saturate else x, form.dst)


def _all(form, operand, i):
    """A source's number in another lane."""
    x = form.sources[operand].lane(i)
    return flushed(form, x, form.sources[operand].type)


def _dot(form, values, i):
    first, total = i // 4 * 4, None
    for k in range(DOT_TERMS[form.name]):
        product = scalar.mul(_all(form, 0, first + k), _all(form, 1, first + k), "f", form.mode)
        total = product if total is None else scalar.add(total, product, "f", form.mode)
    if form.name == "dph":
        total = scalar.add(total, _all(form, 1, first + 3), "f", form.mode)
    return _float(form, total)


def _line(form, values, i):
    """The result of one of 8 lanes; ``plane`` has its second coordinates in the other 8."""
    if i >= 8:
        return None
    p, q, _, r = (_all(form, 0, k) for k in range(4))
    total = scalar.mul(p, values[1], "f", form.mode)
    if form.name == "plane":
        total = scalar.add(total, scalar.mul(q, _all(form, 1, 8 + i), "f", form.mode), "f", form.mode)
    return _float(form, scalar.add(total, r, "f", form.mode))


def _cmp(form, values, i):
    holds = RELATIONS[form.relation](*values)
    return scalar.wrap(-1, form.dst) if holds else 0


def _integer(compute):
    """An instruction whose exact result is wrapped or saturated."""

    def result(form, values, i):
        total = compute(form, values, i)
        return total if total is None else scalar.convert(total, "q", form.dst, form.saturate)

    return result


def _bytes(x, t):
    return [scalar.wrap(x >> 8 * k, "b" if t == "d" else "ub") for k in range(4)]


def _dp4a(form, values, i):
    (_, first, second), (total, x, y) = (s.type for s in form.sources), values
    return sum((a * b for a, b in zip(_bytes(x, first), _bytes(y, second), strict=True)), total)


def _sad(form, values, i):
    if i % 2:
        return None
    total = sum(abs(form.sources[0].lane(k) - form.sources[1].lane(k)) for k in (i, i + 1))
    return total + values[2] if form.name == "sad2add" else total


SPECIAL = {
    **dict.fromkeys(DOT_TERMS, _dot),
    "line": _line,
    "plane": _line,
    "cmp": _cmp,
    "dp4a": _integer(_dp4a),
    "sad2": _integer(_sad),
    "sad2add": _integer(_sad),
    "madw": _integer(lambda form, values, i: values[0] * values[1] + values[2]),
    "addc": _integer(lambda form, values, i: values[0] + values[1]),
    "subb": _integer(lambda form, values, i: values[0] - values[1]),
    "add3.o": _integer(lambda form, values, i: sum(values)),
}
SECOND = {
    "madw": lambda form, values: scalar.wrap(values[0] * values[1] + values[2] >> 32, form.dst),
    "addc": lambda form, values: values[0] + values[1] >> 32,
    "subb": lambda form, values: int(values[0] < values[1]),
    "add3.o": lambda form, values: int(scalar.wrap(sum(values), form.dst) != sum(values)),
}
"""What a lane gets in a second destination."""

# -- drawing -------------------------------------------------------------------------------------------------------

AXES = ("rounding modes", "saturation", "mixed types", "special values")
DRAWN = 700
"""Forms of an instruction among which everything comes that is drawn of it."""


def is_special(x, t):
    """Whether a number is an end of its type, zero, infinite, NaN or a denormal."""
    if t in INTEGERS:
        bits, signed = INTEGERS[t]
        return x in (0, (1 << bits - signed) - 1, -(1 << bits - 1) if signed else 0)
    return not math.isfinite(x) or x == 0 or abs(x) < SMALLEST[t]


@functools.cache
def coverage(name):
    """The drawn forms of an instruction: by axis the types of results, or of sources for mixed and special ones."""
    random, found = Random(name), {axis: set() for axis in AXES}
    for _ in range(DRAWN):
        f = form(random, name, lanes=2)
        types = {s.type for s in f.sources}
        if f.mode != "nearest" and f.dst in FLOATS and name not in (*APPROXIMATE, *WHOLE):
            found["rounding modes"].add(f.dst)
        if f.saturate:
            found["saturation"].add(f.dst)
        if len(types | ({f.dst} if name != "cmp" else set())) > 1:
            found["mixed types"] |= types
        found["special values"] |= {s.type for s in f.sources if any(is_special(x, s.type) for x in s.numbers)}
    return found
