"""Logic and bit instructions."""

from typing import Unpack

from visakit.isa.enums import LFSR_FORMS
from visakit.isa.record import INTEGERS, Details, InstructionDesc, Saturation, form
from visakit.isa.suffixes import SAT, Choice, Number
from visakit.language.platforms import since

_CATEGORY = "logic"


def _logic(opcode: int, name: str, layout: str, summary: str, types: frozenset[str] | str = INTEGERS, /, **more: Unpack[Details]) -> InstructionDesc:
    more = {"suffixes": (SAT,), "types": types, **more}
    return form(opcode, name, f"ec pr d:dst {layout}", summary, category=_CATEGORY, **more)


def _bitwise(opcode: int, name: str, layout: str, summary: str) -> InstructionDesc:
    classes = "dst:gip src0:gicp" + (" src1:gicp" if "src1" in layout else "")
    return _logic(opcode, name, layout, summary, modifiers="complement", saturation=Saturation.NONE, classes=classes, joins=True)


def _bits(opcode: int, name: str, layout: str, summary: str, types: frozenset[str] | str = INTEGERS, /, **more: Unpack[Details]) -> InstructionDesc:
    more = {"saturation": Saturation.NONE, **more}
    return _logic(opcode, name, layout, summary, types, **more)


_FIELD_SIZES = (1, 4, 8, 16, 32)
_SIGNED, _UNSIGNED = "b,w,d,q", "ub,uw,ud,uq"

FORMS = (
    _bitwise(0x20, "and", "s:src0 s:src1", "Bitwise and, of integers or of whole predicates."),
    _bitwise(0x21, "or", "s:src0 s:src1", "Bitwise or, of integers or of whole predicates."),
    _bitwise(0x22, "xor", "s:src0 s:src1", "Bitwise exclusive or, of integers or of whole predicates."),
    _bitwise(0x23, "not", "s:src0", "Bitwise complement of an integer or a predicate."),
    _logic(0x24, "shl", "s:src0 s:src1", "Shift left; the count is taken modulo the width.", modifiers="signs", joins=True),
    _logic(0x25, "shr", "s:src0 s:src1", "Logical shift right; the count is taken modulo the width.",
           operands=f"dst:{_UNSIGNED} src0:{_UNSIGNED}", beyond=f"dst:{_SIGNED}", modifiers="signs"),
    _logic(0x26, "asr", "s:src0 s:src1", "Arithmetic shift right; the count is taken modulo the width.",
           operands=f"dst:{_SIGNED} src0:{_SIGNED}", beyond=f"dst:{_UNSIGNED} src0:{_UNSIGNED}", modifiers="signs",
           saturation=Saturation.NONE),
    _bits(0x27, "cbit", "s:src0", "Count of one bits.", operands="dst:ud src0:ub,uw,ud"),
    _bits(0x2E, "fbl", "s:src0", "Position of the lowest one bit, -1 if there is none.", "ud", beyond="src0:ub,uw"),
    _bits(0x2F, "fbh", "s:src0", "Distance from the top of the highest one bit (of a negative number, zero bit), -1 if there is none.", "ud d",
           operands="dst:ud", beyond="dst:d"),
    _bits(0x46, "bfe", "s:width s:offset s:src", "Extract the field of width bits at offset; a signed type extends its sign.", "ud d",
           aligned=dict.fromkeys(("dst", "width", "offset", "src"), 16), sizes=_FIELD_SIZES, rules="no-packed"),
    _bits(0x47, "bfi", "s:width s:offset s:insert s:base", "Insert the low width bits into base at offset.", "ud d",
           aligned=dict.fromkeys(("dst", "width", "offset", "insert", "base"), 16), sizes=_FIELD_SIZES, rules="no-packed"),
    _bits(0x48, "bfrev", "s:src0", "Reverse the bits.", "ud", beyond="dst:d src0:d"),
    _logic(0x80, "rol", "s:src0 s:src1", "Rotate left.", "ud d uw w uq q", platforms=since("icllp"), modifiers="signs", saturation=Saturation.NONE),
    _logic(0x81, "ror", "s:src0 s:src1", "Rotate right.", "ud d uw w uq q", platforms=since("icllp"), modifiers="signs", saturation=Saturation.NONE),
    form(0x98, "lfsr", "ec pr B:function d:dst s:src0 s:src1", "Step of linear-feedback shift registers, packed by the suffix.", category=_CATEGORY,
         suffixes=(Choice("function", LFSR_FORMS),), types="ud", platforms=since("cri"), modifiers="", rules="packed-lanes",
         classes="dst:g src0:g src1:gc"),
    form(0x85, "bfn", "ec pr d:dst s:src0 s:src1 s:src2 B:function", "Any bitwise function of three operands, given by its truth table.",
         category=_CATEGORY, suffixes=(Number("function", "x", 16), SAT), types="ud d uw w", platforms=since("xehp"),
         saturation=Saturation.NONE),
)  # fmt: skip
