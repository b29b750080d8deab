"""Every field of the four instruction types with its place in the six words, operations and codes (us_* of the R5xx).

Assembler, disassembler and simulator are derived from it; there is no other list of bits or operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

WORDS = 6
SLOTS = 512
INT_CONSTANT = (("count", 0, 255), ("start of aL", 0, 255), ("step", -128, 127))
"""The parts of an integer constant, and how small and how large they may be."""
TEMPORARIES, FLOAT_CONSTANTS, INT_CONSTANTS, BOOL_CONSTANTS, OUTPUTS = 128, 256, 32, 32, 4
ALU, OUT, FC, TEX = range(4)
TYPE_NAMES = ("alu", "out", "fc", "tex")
Values = Mapping[str, int]
"""Fields of an instruction by name; absent fields are 0."""


@dataclass(frozen=True, slots=True)
class BitField:
    """Bits ``low`` to ``low + width - 1`` of a word."""

    name: str
    word: int
    low: int
    width: int = 1

    def of(self, words: tuple[int, ...]) -> int:
        """The value in the words of an instruction."""
        return words[self.word] >> self.low & ((1 << self.width) - 1)


def _fields(word: int, text: str, prefix: str = "") -> tuple[BitField, ...]:
    """``name:low`` or ``name:low.width``."""
    found = []
    for item in text.split():
        name, _, place = item.partition(":")
        low, _, width = place.partition(".")
        found.append(BitField(prefix + name, word, int(low), int(width or 1)))
    return tuple(found)


COMMON = _fields(
    0,
    """type:0.2 sem_wait:2 rgb_pred:3.3 rgb_pred_inv:6 write_inactive:7 last:8 nop:9 alu_wait:10 wmask_rgb:11.3
    wmask_a:14 omask_rgb:15.3 omask_a:18 rgb_clamp:19 alpha_clamp:20 result_sel:21 alpha_pred_inv:22 result_op:23.2
    alpha_pred:25.3 stat:28.4""",
)
_ADDRESSES = "addr0:0.8 const0:8 rel0:9 addr1:10.8 const1:18 rel1:19 addr2:20.8 const2:28 rel2:29 srcp:30.2"
_RGB_A_B = """sel_a:0.2 swiz_a_r:2.3 swiz_a_g:5.3 swiz_a_b:8.3 mod_a:11.2
    sel_b:13.2 swiz_b_r:15.3 swiz_b_g:18.3 swiz_b_b:21.3 mod_b:24.2 omod:26.3 target:29.2"""
_ALPHA_A_B = """op:0.4 dst:4.7 dst_rel:11 sel_a:12.2 swiz_a:14.3 mod_a:17.2 sel_b:19.2 swiz_b:21.3 mod_b:24.2
    omod:26.3 target:29.2 w_omask:31"""
_RGB_C = "op:0.4 dst:4.7 dst_rel:11 sel_c:12.2 swiz_c_r:14.3 swiz_c_g:17.3 swiz_c_b:20.3 mod_c:23.2"
ARITHMETIC = (
    *_fields(1, _ADDRESSES, "rgb_"),
    *_fields(2, _ADDRESSES, "alpha_"),
    *_fields(3, _RGB_A_B, "rgb_"),
    *_fields(3, "result_wmask:31"),
    *_fields(4, _ALPHA_A_B, "alpha_"),
    *_fields(5, _RGB_C, "rgb_"),
    *_fields(5, "sel_c:25.2 swiz_c:27.3 mod_c:30.2", "alpha_"),
)
FLOW = (
    *_fields(2, "op:0.3 b_else:4 any:5 a_op:6.2 func:8.8 pop:16.5 b_op0:24.2 b_op1:26.2 ignore_uncovered:28"),
    *_fields(3, "bool:0.5 int:8.5 jump:16.9 jump_global:31"),
)
TEXTURE = (
    *_fields(1, "tex_id:16.4 inst:22.3 sem_acquire:25 ignore_uncovered:26 unscaled:27"),
    *_fields(2, "src:0.7 src_rel:7 swiz_s:8.2 swiz_t:10.2 swiz_r:12.2 swiz_q:14.2 dst:16.7 dst_rel:23"),
    *_fields(2, "swiz_out_r:24.2 swiz_out_g:26.2 swiz_out_b:28.2 swiz_out_a:30.2"),
    *_fields(3, "dx:0.7 dx_rel:7 dx_swiz:8.8 dy:16.7 dy_rel:23 dy_swiz:24.8"),
)
FIELDS: dict[int, tuple[BitField, ...]] = {
    ALU: COMMON + ARITHMETIC,
    OUT: COMMON + ARITHMETIC,
    FC: COMMON + FLOW,
    TEX: COMMON + TEXTURE,
}
BY_NAME: dict[int, dict[str, BitField]] = {kind: {f.name: f for f in fields} for kind, fields in FIELDS.items()}

# -- flow control ------------------------------------------------------------------------------------------------------

JUMP, LOOP, ENDLOOP, REP, ENDREP, BREAKLOOP, BREAKREP, CONTINUE = range(8)
FC_OPS = ("jump", "loop", "endloop", "rep", "endrep", "breakloop", "breakrep", "continue")
BREAK_OF = {FC_OPS[LOOP]: BREAKLOOP, FC_OPS[REP]: BREAKREP}
"""The instruction that leaves a loop, by what begins it."""
A_NONE, A_POP, A_PUSH = range(3)
A_OPS = ("none", "pop", "push")
B_NONE, B_DECR, B_INCR = range(3)
B_OPS = ("none", "decr", "incr")
FC_NUMBERS = {
    "func": "func", "any": "any", "pop": "pop", "else": "b_else", "global": "jump_global",
    "uncovered": "ignore_uncovered", "wait": "alu_wait",
}  # fmt: skip
"""Fields that ``fc`` sets to numbers, by the names that they have in the text."""
FC_WORDS = {"a": ("a_op", A_OPS), "b0": ("b_op0", B_OPS), "b1": ("b_op1", B_OPS)}
"""Fields that ``fc`` sets to words, and the words."""
FUNC_NEVER, FUNC_ALWAYS = 0x00, 0xFF
FUNCTIONS = {"alu": 0xF0, "pred": 0xCC, "bool": 0xAA}
"""Truth tables of JUMP_FUNC by (alu << 2) | (predicate << 1) | boolean."""
COMPARISONS = ("eq", "lt", "ge", "ne")
"""Comparisons with zero, as predicates and the ALU result know them."""
PRED_SELECTS = {"none": 0, "rgba": 1, "r": 2, "g": 3, "b": 4, "a": 5}
PRED_PER_CHANNEL = PRED_SELECTS["rgba"]


def depends(func: int, what: str) -> bool:
    """Whether a truth table looks at the ALU result, the predicate or the boolean constant."""
    shift, mask = {"alu": (4, 0x0F), "pred": (2, 0x33), "bool": (1, 0x55)}[what]
    return (func >> shift) & mask != func & mask


# -- arithmetic --------------------------------------------------------------------------------------------------------

UNITS = ("rgb", "alpha")
"""The colour unit and the alpha unit, as their fields are called."""
CHANNELS = {"rgb": "rgb", "alpha": "a"}
"""What the units write."""


class OperandFields(NamedTuple):
    """The fields of an operand of a unit."""

    select: str
    modifier: str
    swizzle: tuple[str, ...]


OPERANDS = {
    (unit, letter): OperandFields(
        f"{unit}_sel_{letter}",
        f"{unit}_mod_{letter}",
        tuple(f"rgb_swiz_{letter}_{c}" for c in "rgb") if unit == "rgb" else (f"alpha_swiz_{letter}",),
    )
    for unit in UNITS
    for letter in "abc"
}


@dataclass(frozen=True, slots=True)
class AluOperation:
    """An operation: how many operands it takes, and its code in the units that have it."""

    name: str
    operands: int
    rgb: int | None = None
    alpha: int | None = None

    def code(self, unit: str) -> int | None:
        """The code in a unit; None if the unit does not have it."""
        return self.rgb if unit == "rgb" else self.alpha


MAD = AluOperation("mad", 3, rgb=0, alpha=0)
DP3 = AluOperation("dp3", 2, rgb=1, alpha=1)
DP4 = AluOperation("dp4", 2, rgb=2, alpha=1)
DP = AluOperation("dp", 2, alpha=1)
D2A = AluOperation("d2a", 3, rgb=3)
MIN = AluOperation("min", 2, rgb=4, alpha=2)
MAX = AluOperation("max", 2, rgb=5, alpha=3)
CND = AluOperation("cnd", 3, rgb=7, alpha=5)
CMP = AluOperation("cmp", 3, rgb=8, alpha=6)
FRC = AluOperation("frc", 1, rgb=9, alpha=7)
SOP = AluOperation("sop", 0, rgb=10)
EX2 = AluOperation("ex2", 1, alpha=8)
LN2 = AluOperation("ln2", 1, alpha=9)
RCP = AluOperation("rcp", 1, alpha=10)
RSQ = AluOperation("rsq", 1, alpha=11)
SIN = AluOperation("sin", 1, alpha=12)
COS = AluOperation("cos", 1, alpha=13)
MDH = AluOperation("mdh", 3, rgb=11, alpha=14)
MDV = AluOperation("mdv", 3, rgb=12, alpha=15)
OPERATIONS = {
    o.name: o for o in (MAD, DP3, DP4, DP, D2A, MIN, MAX, CND, CMP, FRC, SOP, EX2, LN2, RCP, RSQ, SIN, COS, MDH, MDV)
}
BY_CODE: dict[str, dict[int, AluOperation]] = {
    unit: {code: o for o in OPERATIONS.values() if (code := o.code(unit)) is not None} for unit in UNITS
}
"""The operations of a unit; the alpha unit's part of every dot product is ``dp``."""


@dataclass(frozen=True, slots=True)
class Shorthand:
    """A name for one use of MAD, whose operands are ``order``: operand ``a`` or ``b``, or the number 0 or 1."""

    name: str
    operands: int
    order: tuple[str, str, str]


MOV = Shorthand("mov", 1, ("a", "1", "0"))
ADD = Shorthand("add", 2, ("a", "1", "b"))
SUB = Shorthand("sub", 2, ("a", "1", "-b"))
MUL = Shorthand("mul", 2, ("a", "b", "0"))
SHORTHANDS = {s.name: s for s in (MOV, ADD, SUB, MUL)}

SWIZZLES = "rgba0h1"
OMODS = ("x1", "x2", "x4", "x8", "d2", "d4", "d8", "off")
UNUSED_SOURCE = 0x80
FLAGS = {"wait": "sem_wait", "inactive": "write_inactive", "last": "last", "nop": "nop", "aluwait": "alu_wait"}
"""Flags that are one bit."""
VALUE_FLAGS = ("clamp", "omod", "pred", "alu")
"""The other flags."""


def mask_bits(mask: str) -> tuple[int, int]:
    """A mask such as ``rga`` as the colour unit's three bits and the alpha unit's bit."""
    return sum(1 << i for i, c in enumerate(CHANNELS["rgb"]) if c in mask), int(CHANNELS["alpha"] in mask)


def unused_sources() -> dict[str, int]:
    """The fields of an instruction that reads nothing."""
    return {f"{unit}_addr{slot}": UNUSED_SOURCE for unit in UNITS for slot in range(3)}


def inline_value(code: int) -> float:
    """The number that a source address 128 + code stands for: 4 bits of exponent (bias 7), 3 of mantissa, no sign."""
    exponent, mantissa = code >> 3 & 15, code & 7
    return mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)


INLINE_CODES = {inline_value(code): code for code in range(128)}

# -- fetches -----------------------------------------------------------------------------------------------------------

TEX_OPS = {"nop": 0, "ld": 1, "texkill": 2, "proj": 3, "lodbias": 4, "lod": 5, "dxdy": 6}
TEX_NOP, TEX_KILL, TEX_PROJ = TEX_OPS["nop"], TEX_OPS["texkill"], TEX_OPS["proj"]
TEX_INPUTS = 16

# -- words -------------------------------------------------------------------------------------------------------------


def encode(kind: int, values: Values) -> tuple[int, ...]:
    """The six words of an instruction.

    Raises:
        ValueError: a field does not exist or its value does not fit.
    """
    words = [kind, 0, 0, 0, 0, 0]
    fields = BY_NAME[kind]
    for name, value in values.items():
        field = fields.get(name)
        if field is None:
            raise ValueError(f"a {TYPE_NAMES[kind]} instruction has no field '{name}'")
        if value >> field.width:  # Of a negative number, too, bits are left.
            raise ValueError(f"{name} is {value}, it has {field.width} bit{'s' if field.width > 1 else ''}")
        words[field.word] |= value << field.low
    return tuple(words)


def decode(words: tuple[int, ...]) -> tuple[int, dict[str, int]]:
    """Type and fields that are not 0."""
    kind = words[0] & 3
    found = {}
    for name, word, low, mask in _PLACES[kind]:
        value = words[word] >> low & mask
        if value:
            found[name] = value
    return kind, found


_PLACES = {
    kind: tuple((f.name, f.word, f.low, (1 << f.width) - 1) for f in fields if f.name != "type")
    for kind, fields in FIELDS.items()
}
END = encode(OUT, {"sem_wait": 1, "last": 1} | unused_sources())
"""The instruction that ends a program: an output that writes nothing."""
