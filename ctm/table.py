"""Every field of the four instruction types, with its place in the six words, and the codes that have names (registers us_* of the R5xx).

Assembler, disassembler and simulator are derived from it; there is no other list of bits.
"""

from __future__ import annotations

from dataclasses import dataclass

WORDS = 6
ALU, OUT, FC, TEX = range(4)
TYPE_NAMES = ("alu", "out", "fc", "tex")


@dataclass(frozen=True)
class Field:
    """Bits ``low`` to ``low + width - 1`` of a word."""

    name: str
    word: int
    low: int
    width: int = 1

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1


def _fields(word: int, text: str, prefix: str = "") -> tuple[Field, ...]:
    """``name:low`` or ``name:low.width``."""
    found = []
    for item in text.split():
        name, _, place = item.partition(":")
        low, _, width = place.partition(".")
        found.append(Field(prefix + name, word, int(low), int(width or 1)))
    return tuple(found)


COMMON = _fields(
    0, "type:0.2 sem_wait:2 rgb_pred:3.3 rgb_pred_inv:6 write_inactive:7 last:8 nop:9 alu_wait:10 wmask_rgb:11.3 wmask_a:14 omask_rgb:15.3 omask_a:18"
       " rgb_clamp:19 alpha_clamp:20 result_sel:21 alpha_pred_inv:22 result_op:23.2 alpha_pred:25.3 stat:28.4",
)  # fmt: skip
_ADDRESSES = "addr0:0.8 const0:8 rel0:9 addr1:10.8 const1:18 rel1:19 addr2:20.8 const2:28 rel2:29 srcp:30.2"
ARITHMETIC = (
    *_fields(1, _ADDRESSES, "rgb_"), *_fields(2, _ADDRESSES, "alpha_"),
    *_fields(3, "sel_a:0.2 swiz_a_r:2.3 swiz_a_g:5.3 swiz_a_b:8.3 mod_a:11.2 sel_b:13.2 swiz_b_r:15.3 swiz_b_g:18.3 swiz_b_b:21.3 mod_b:24.2 omod:26.3 target:29.2",
             "rgb_"),
    *_fields(3, "result_wmask:31"),
    *_fields(4, "op:0.4 dst:4.7 dst_rel:11 sel_a:12.2 swiz_a:14.3 mod_a:17.2 sel_b:19.2 swiz_b:21.3 mod_b:24.2 omod:26.3 target:29.2 w_omask:31", "alpha_"),
    *_fields(5, "op:0.4 dst:4.7 dst_rel:11 sel_c:12.2 swiz_c_r:14.3 swiz_c_g:17.3 swiz_c_b:20.3 mod_c:23.2", "rgb_"),
    *_fields(5, "sel_c:25.2 swiz_c:27.3 mod_c:30.2", "alpha_"),
)  # fmt: skip
FLOW = (
    *_fields(2, "op:0.3 b_else:4 any:5 a_op:6.2 func:8.8 pop:16.5 b_op0:24.2 b_op1:26.2 ignore_uncovered:28"),
    *_fields(3, "bool:0.5 int:8.5 jump:16.9 jump_global:31"),
)
TEXTURE = (
    *_fields(1, "tex_id:16.4 inst:22.3 sem_acquire:25 ignore_uncovered:26 unscaled:27"),
    *_fields(2, "src:0.7 src_rel:7 swiz_s:8.2 swiz_t:10.2 swiz_r:12.2 swiz_q:14.2 dst:16.7 dst_rel:23 swiz_out_r:24.2 swiz_out_g:26.2 swiz_out_b:28.2 swiz_out_a:30.2"),
    *_fields(3, "dx:0.7 dx_rel:7 dx_swiz:8.8 dy:16.7 dy_rel:23 dy_swiz:24.8"),
)  # fmt: skip
FIELDS: dict[int, tuple[Field, ...]] = {
    ALU: COMMON + ARITHMETIC,
    OUT: COMMON + ARITHMETIC,
    FC: COMMON + FLOW,
    TEX: COMMON + TEXTURE,
}
BY_NAME: dict[int, dict[str, Field]] = {kind: {f.name: f for f in fields} for kind, fields in FIELDS.items()}

JUMP, LOOP, ENDLOOP, REP, ENDREP, BREAKLOOP, BREAKREP, CONTINUE = range(8)
FC_OPS = ("jump", "loop", "endloop", "rep", "endrep", "breakloop", "breakrep", "continue")
A_NONE, A_POP, A_PUSH = range(3)
A_OPS = ("none", "pop", "push")
B_NONE, B_DECR, B_INCR = range(3)
B_OPS = ("none", "decr", "incr")
COMPARISONS = ("eq", "lt", "ge", "ne")
"""Comparisons with zero, as predicates and the ALU result know them."""
PRED_SELECTS = {"none": 0, "rgba": 1, "r": 2, "g": 3, "b": 4, "a": 5}
RGB_OPS = {
    "mad": 0,
    "dp3": 1,
    "dp4": 2,
    "d2a": 3,
    "min": 4,
    "max": 5,
    "cnd": 7,
    "cmp": 8,
    "frc": 9,
    "sop": 10,
    "mdh": 11,
    "mdv": 12,
}
ALPHA_OPS = {
    "mad": 0,
    "dp": 1,
    "min": 2,
    "max": 3,
    "cnd": 5,
    "cmp": 6,
    "frc": 7,
    "ex2": 8,
    "ln2": 9,
    "rcp": 10,
    "rsq": 11,
    "sin": 12,
    "cos": 13,
    "mdh": 14,
    "mdv": 15,
}
OPERANDS = {"mad": 3, "dp3": 2, "dp4": 2, "d2a": 3, "min": 2, "max": 2, "cnd": 3, "cmp": 3, "frc": 1, "sop": 0, "mdh": 3, "mdv": 3, "dp": 2, "ex2": 1, "ln2": 1,
            "rcp": 1, "rsq": 1, "sin": 1, "cos": 1}  # fmt: skip
TEX_OPS = {"nop": 0, "ld": 1, "texkill": 2, "proj": 3, "lodbias": 4, "lod": 5, "dxdy": 6}
SWIZZLES = "rgba0h1"
OMODS = ("x1", "x2", "x4", "x8", "d2", "d4", "d8", "off")
UNUSED_SOURCE = 0x80
SLOTS = 512
FUNC_NEVER, FUNC_ALWAYS = 0x00, 0xFF
FUNCTIONS = {"alu": 0xF0, "pred": 0xCC, "bool": 0xAA}
"""Truth tables of JUMP_FUNC by (alu << 2) | (predicate << 1) | boolean."""


def depends(func: int, what: str) -> bool:
    """Whether a truth table looks at the ALU result, the predicate or the boolean constant."""
    shift, mask = {"alu": (4, 0x0F), "pred": (2, 0x33), "bool": (1, 0x55)}[what]
    return (func >> shift) & mask != func & mask


def encode(kind: int, values: dict[str, int]) -> tuple[int, ...]:
    """The six words of an instruction.

    Raises:
        ValueError: a field does not exist or its value does not fit.
    """
    words = [kind, 0, 0, 0, 0, 0]
    for name, value in values.items():
        field = BY_NAME[kind].get(name)
        if field is None:
            raise ValueError(f"a {TYPE_NAMES[kind]} instruction has no field '{name}'")
        if not 0 <= value <= field.mask:
            raise ValueError(f"{name} is {value}, it has {field.width} bit{'s' if field.width > 1 else ''}")
        words[field.word] |= value << field.low
    return tuple(words)


def decode(words: tuple[int, ...]) -> tuple[int, dict[str, int]]:
    """Type and fields that are not 0."""
    kind = words[0] & 3
    values = {f.name: words[f.word] >> f.low & f.mask for f in FIELDS[kind] if f.name != "type"}
    return kind, {name: value for name, value in values.items() if value}


def inline_value(code: int) -> float:
    """The number that a source address 128 + code stands for: 4 bits of exponent (bias 7), 3 of mantissa, no sign."""
    exponent, mantissa = code >> 3 & 15, code & 7
    return mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)


INLINE_CODES = {inline_value(code): code for code in range(128)}
