"""Logic and bit instructions."""

from visa.isa.record import INTEGERS, SAT, InstructionDesc, Number, form
from visa.platforms import since

_CATEGORY = "logic"
_PREDICATES = "dst:gip src0:gicp src1:gicp"


def _logic(opcode: int, name: str, operands: str, summary: str, types: frozenset[str] | str = INTEGERS, **more: object) -> InstructionDesc:
    return form(opcode, name, f"ec pr d:dst {operands}", summary, category=_CATEGORY, suffixes=(SAT,), types=types, **more)  # type: ignore[arg-type]


FORMS = (
    _logic(0x20, "and", "s:src0 s:src1", "Bitwise and, of integers or of whole predicates.", rules="bitwise", modifiers="complement", classes=_PREDICATES),
    _logic(0x21, "or", "s:src0 s:src1", "Bitwise or, of integers or of whole predicates.", rules="bitwise", modifiers="complement", classes=_PREDICATES),
    _logic(0x22, "xor", "s:src0 s:src1", "Bitwise exclusive or, of integers or of whole predicates.", rules="bitwise", modifiers="complement", classes=_PREDICATES),
    _logic(0x23, "not", "s:src0", "Bitwise complement of an integer or a predicate.", rules="bitwise", modifiers="complement", classes="dst:gip src0:gicp"),
    _logic(0x24, "shl", "s:src0 s:src1", "Shift left; the count is taken modulo the width.", modifiers="signs"),
    _logic(0x25, "shr", "s:src0 s:src1", "Logical shift right; the count is taken modulo the width.", modifiers="signs"),
    _logic(0x26, "asr", "s:src0 s:src1", "Arithmetic shift right; the count is taken modulo the width.", modifiers="signs"),
    _logic(0x27, "cbit", "s:src0", "Count of one bits."),
    _logic(0x2E, "fbl", "s:src0", "Position of the lowest one bit, -1 if there is none.", "ud uw ub"),
    _logic(0x2F, "fbh", "s:src0", "Distance from the top of the highest one bit (of a negative number, zero bit), -1 if there is none.", "ud d"),
    _logic(0x46, "bfe", "s:width s:offset s:src", "Extract the field of width bits at offset; a signed type extends its sign.", "ud d"),
    _logic(0x47, "bfi", "s:width s:offset s:insert s:base", "Insert the low width bits into base at offset.", "ud d", rules="not-size-2 aligned-16"),
    _logic(0x48, "bfrev", "s:src0", "Reverse the bits.", "ud d"),
    _logic(0x80, "rol", "s:src0 s:src1", "Rotate left.", "ud d uw w uq q", platforms=since("icllp"), modifiers="signs"),
    _logic(0x81, "ror", "s:src0 s:src1", "Rotate right.", "ud d uw w uq q", platforms=since("icllp"), modifiers="signs"),
    form(0x85, "bfn", "ec pr d:dst s:src0 s:src1 s:src2 B:function", "Any bitwise function of three operands, given by its truth table.",
         category=_CATEGORY, suffixes=(Number("function", "x", 16), SAT), types="ud d uw w", platforms=since("xehp")),
)  # fmt: skip
