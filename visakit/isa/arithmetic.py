"""Arithmetic instructions: the manual's chapter on arithmetic, dot products and mathematics."""

from typing import Unpack

from visakit.isa.record import FLOATS, INTEGERS, Details, InstructionDesc, Pipe, Saturation, form
from visakit.isa.suffixes import SAT, Number
from visakit.language.platforms import ALL, WITH_MACROS, since

_CATEGORY = "arithmetic"
_ALU = INTEGERS | FLOATS
_NARROW = INTEGERS - {"uq", "q"}
_SADS = "dst:uw,w src0:ub,b src1:ub,b"
_MUL_SOURCES = ",".join(sorted((_ALU | {"bf"}) - {"uq", "q"}))
"""A product of 64 bits is one of 32-bit factors."""


def _unary(opcode: int, name: str, summary: str, types: frozenset[str] | str = FLOATS, /, **more: Unpack[Details]) -> InstructionDesc:
    more = {"suffixes": (SAT,), "types": types, **more}
    return form(opcode, name, "ec pr d:dst s:src0", summary, category=_CATEGORY, **more)


def _binary(opcode: int, name: str, summary: str, types: frozenset[str] | str = _ALU, /, **more: Unpack[Details]) -> InstructionDesc:
    more = {"suffixes": (SAT,), "types": types, **more}
    return form(opcode, name, "ec pr d:dst s:src0 s:src1", summary, category=_CATEGORY, **more)


def _ternary(opcode: int, name: str, summary: str, types: frozenset[str] | str = _ALU, /, **more: Unpack[Details]) -> InstructionDesc:
    more = {"suffixes": (SAT,), "types": types, **more}
    return form(opcode, name, "ec pr d:dst s:src0 s:src1 s:src2", summary, category=_CATEGORY, **more)


def _systolic(opcode: int, name: str, results: str, summary: str, platforms: frozenset[str]) -> InstructionDesc:
    from visakit.isa.enums import PRECISIONS
    from visakit.isa.suffixes import Choice

    return form(
        opcode, name, "ec w:dst r:src0 r:src1 s:src2 W:src1_precision.8+src2_precision.8+depth.8+count.8", summary, category=_CATEGORY,
        suffixes=(Choice("src1_precision", PRECISIONS), Choice("src2_precision", PRECISIONS), Number("depth"), Number("count")),
        types=results, platforms=platforms, spelling="bare-region", sizes=(8, 16), modifiers="", rules="systolic", pipe=Pipe.XMX,
        operands="src1:d,ud src2:d,ud", beyond="src2:f,hf,bf,w,uw,b,ub", classes="src2:g",
        limits={"count": (1, 8)}, message_alignment={"dst": 0, "src0": 0},
    )  # fmt: skip


def _block_systolic() -> InstructionDesc:
    from visakit.isa.enums import PRECISIONS
    from visakit.isa.suffixes import Choice

    words = {name: PRECISIONS[name] for name in ("bf", "hf", "bf8", "hf8", "e2m1")}
    return form(
        0x99, "bdpas", "ec w:dst r:src0 r:src1 r:src2 s:src3 s:src4 W:src1_precision.8+src2_precision.8+depth.8+count.8",
        "Systolic dot product with accumulation of blocks that have scales, in src3 and src4.", category=_CATEGORY,
        suffixes=(Choice("src1_precision", words), Choice("src2_precision", words), Number("depth"), Number("count")),
        types="f hf bf", platforms=since("cri"), spelling="bare-region", sizes=(16,), modifiers="", message_alignment={"dst": 0, "src0": 0}, pipe=Pipe.XMX,
        operands="src1:bf,hf,ud src2:bf,hf,ud src3:ub src4:ub",
    )  # fmt: skip


FORMS = (
    _binary(0x01, "add", "dst = src0 + src1.", _ALU | {"bf"}, joins=True),
    _binary(0x02, "avg", "Average of two integers, rounded up: dst = (src0 + src1 + 1) >> 1.", _NARROW),
    _binary(0x03, "div", "Quotient; integers round towards zero.", _NARROW | FLOATS | {"bf"},
            beyond="dst:q,uq src0:q,uq src1:q,uq", saturation=Saturation.FLOATS, rules="df-by-macros", pipe=Pipe.EM),
    _binary(0x04, "dp2", "Dot product of pairs: lanes of a group of four get x0*y0 + x1*y1.", "f"),
    _binary(0x05, "dp3", "Dot product of three elements in each group of four lanes.", "f"),
    _binary(0x06, "dp4", "Dot product of four elements in each group of four lanes.", "f"),
    _binary(0x07, "dph", "Homogeneous dot product: x0*y0 + x1*y1 + x2*y2 + y3 in each group of four lanes.", "f"),
    _unary(0x08, "exp", "Two to the power of src0.", "f hf bf", pipe=Pipe.EM),
    _unary(0x09, "frc", "Fraction: src0 - floor(src0).", "f", saturation=Saturation.NONE),
    _binary(0x0A, "line", "Line equation: dst = p * src1 + q, with p and q elements 0 and 3 of src0.", "f"),
    _unary(0x0B, "log", "Logarithm to base two.", "f hf bf", pipe=Pipe.EM),
    _ternary(0x0C, "mad", "Multiply and add: dst = src0 * src1 + src2; floats round once.", _NARROW | FLOATS | {"bf"}, operations=2,
             beyond="dst:q,uq src0:q,uq src1:q,uq src2:q,uq", saturation=Saturation.FLOATS),
    _binary(0x0D, "mulh", "High half of the 64-bit product of two 32-bit integers.", "ud d", saturation=Saturation.NONE),
    _ternary(0x0E, "lrp", "Linear interpolation: dst = src0 * src1 + (1 - src0) * src2.", "f",
             aligned=dict.fromkeys(("dst", "src0", "src1", "src2"), 16), classes="dst:g src0:gc src1:gc src2:gc"),
    _binary(0x0F, "mod", "Remainder of an integer division, with the sign of src0.", _NARROW, saturation=Saturation.NONE, pipe=Pipe.EM),
    _binary(0x10, "mul", "dst = src0 * src1.", _ALU | {"bf"}, operands=f"src0:{_MUL_SOURCES} src1:{_MUL_SOURCES}", joins=True),
    _binary(0x11, "pow", "src0 to the power of src1.", "f hf bf", pipe=Pipe.EM),
    _unary(0x12, "rndd", "Round down to an integral value.", "f"),
    _unary(0x13, "rndu", "Round up to an integral value.", "f"),
    _unary(0x14, "rnde", "Round to the nearest integral value, ties to even.", "f"),
    _unary(0x15, "rndz", "Round towards zero to an integral value.", "f"),
    _binary(0x16, "sad2", "Sum of absolute differences of pairs of bytes.", "ub b uw w", operands=_SADS, platforms=ALL - since("icllp")),
    _unary(0x17, "sin", "Sine of an angle in radians.", "f hf bf", pipe=Pipe.EM),
    _unary(0x18, "cos", "Cosine of an angle in radians.", "f hf bf", pipe=Pipe.EM),
    _unary(0x19, "sqrt", "Square root.", "f hf bf", beyond="dst:df src0:df", rules="df-by-macros", pipe=Pipe.EM),
    _unary(0x1A, "rsqrt", "Reciprocal square root.", "f hf bf", pipe=Pipe.EM),
    _unary(0x1B, "inv", "Reciprocal.", FLOATS | {"bf"}, rules="df-by-macros", pipe=Pipe.EM),
    _systolic(0x1C, "dpasw", "d ud f", "Systolic dot product with accumulation, src2 shared by a pair of fused threads.", since("xehp") - since("pvc")),
    form(0x1E, "srnd", "ec d:dst s:src0 s:src1", "Stochastic rounding to a narrower float; src1 holds the random bits.",
         category=_CATEGORY, suffixes=(SAT,), types="ub b hf bf f", operands="dst:ub,b,hf src0:hf,bf,f src1:ub,uw", beyond="src1:hf,f",
         pairs="hf:f ub:hf,bf b:hf,bf", platforms=since("pvc"), modifiers="", rules="no-mask saturates-bytes", classes="dst:g src0:gc src1:gc"),
    _unary(0x1F, "lzd", "Count of leading zero bits.", "ud", modifiers="", saturation=Saturation.NONE),
    form(0x49, "addc", "ec pr d:dst d:carry s:src0 s:src1", "Unsigned sum and its carry.", category=_CATEGORY, types="ud", joins=True,
         modifiers=""),
    form(0x4A, "subb", "ec pr d:dst d:borrow s:src0 s:src1", "Unsigned difference and its borrow.", category=_CATEGORY, types="ud",
         modifiers=""),
    _ternary(0x6A, "sad2add", "Sum of absolute differences of pairs of bytes, added to src2.", "ub b uw w", operands=f"{_SADS} src2:uw,w",
             platforms=ALL - since("icllp")),
    _binary(0x6B, "plane", "Plane equation: dst = p * u + q * v + r for the pixel pairs of src1.", "f", sizes=(8, 16),
            aligned={"src0": 16, "src1": 32}, classes="src0:gi src1:gi"),
    _unary(0x7E, "sqrtm", "Correctly rounded square root (the IEEE macro).", "f df", platforms=WITH_MACROS, pipe=Pipe.EM),
    _binary(0x7F, "divm", "Correctly rounded quotient (the IEEE macro).", "f df", platforms=WITH_MACROS, pipe=Pipe.EM),
    _ternary(0x82, "dp4a", "Dot product of four packed bytes with accumulation: dst = src0 + sum of src1.b[i] * src2.b[i].", "d ud",
             platforms=since("tgllp"), modifiers=""),
    _systolic(0x83, "dpas", "d ud f bf hf", "Systolic dot product with accumulation.", since("xehp")),
    _ternary(0x84, "add3", "dst = src0 + src1 + src2.", "ud d uw w", platforms=since("xehp")),
    _ternary(0x91, "madw", "Multiply and add with the full 64-bit result, low and high halves in consecutive registers.", "ud d",
             sizes=(1, 2, 4, 8, 16), saturation=Saturation.NONE),
    form(0x92, "add3.o", "ec pr d:dst s:src0 s:src1 s:src2", "add3 whose overflow goes to the predicate.", category=_CATEGORY, writes_predicate=True,
         suffixes=(SAT,), types="ud d uw w", platforms=since("pvc"), saturation=Saturation.NONE, rules="needs-predicate"),
    _unary(0x96, "tanh", "Hyperbolic tangent.", "f hf bf", platforms=since("cri"), pipe=Pipe.EM),
    _unary(0x97, "sigm", "Logistic function: 1 / (1 + e ** -src0).", "f hf bf", platforms=since("cri"), pipe=Pipe.EM),
    _block_systolic(),
    form(0x9B, "invm", "ec pr d:dst d:early s:src0 s:src1", "Where a division begins; a predicate says which lanes are done: NaN, infinity or zero.",
         category=_CATEGORY, types="f df", operands="early:", classes="early:p", pipe=Pipe.EM),
    form(0x9C, "rsqtm", "ec pr d:dst d:early s:src0", "Where a reciprocal square root begins; a predicate says which lanes are done: NaN, infinity or zero.",
         category=_CATEGORY, types="f df", operands="early:", classes="early:p", pipe=Pipe.EM),
)  # fmt: skip
