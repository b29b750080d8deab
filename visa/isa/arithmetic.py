"""Arithmetic instructions: the manual's chapter on arithmetic, dot products and mathematics."""

from visa.isa.record import FLOATS, INTEGERS, SAT, InstructionDesc, Number, form
from visa.platforms import since

_CATEGORY = "arithmetic"
_ALU = INTEGERS | FLOATS


def _unary(opcode: int, name: str, summary: str, types: frozenset[str] | str = FLOATS, **more: object) -> InstructionDesc:
    return form(opcode, name, "ec pr d:dst s:src0", summary, category=_CATEGORY, suffixes=(SAT,), types=types, **more)  # type: ignore[arg-type]


def _binary(opcode: int, name: str, summary: str, types: frozenset[str] | str = _ALU, **more: object) -> InstructionDesc:
    return form(opcode, name, "ec pr d:dst s:src0 s:src1", summary, category=_CATEGORY, suffixes=(SAT,), types=types, **more)  # type: ignore[arg-type]


def _ternary(opcode: int, name: str, summary: str, types: frozenset[str] | str = _ALU, **more: object) -> InstructionDesc:
    return form(opcode, name, "ec pr d:dst s:src0 s:src1 s:src2", summary, category=_CATEGORY, suffixes=(SAT,), types=types, **more)  # type: ignore[arg-type]


def _systolic(opcode: int, name: str, summary: str) -> InstructionDesc:
    from visa.isa.enums import PRECISIONS
    from visa.isa.record import Choice

    return form(
        opcode, name, "ec w:dst r:src0 r:src1 s:src2 W:src1_precision.8+src2_precision.8+depth.8+count.8", summary, category=_CATEGORY,
        suffixes=(Choice("src1_precision", PRECISIONS), Choice("src2_precision", PRECISIONS), Number("depth"), Number("count")),
        types="d ud f hf bf", platforms=since("xehp"), spelling="bare-region",
    )  # fmt: skip


FORMS = (
    _binary(0x01, "add", "dst = src0 + src1.", _ALU | {"bf"}),
    _binary(0x02, "avg", "Average of two integers, rounded up: dst = (src0 + src1 + 1) >> 1.", INTEGERS),
    _binary(0x03, "div", "Quotient; integers round towards zero."),
    _binary(0x04, "dp2", "Dot product of pairs: lanes of a group of four get x0*y0 + x1*y1.", "f df"),
    _binary(0x05, "dp3", "Dot product of three elements in each group of four lanes.", "f df"),
    _binary(0x06, "dp4", "Dot product of four elements in each group of four lanes.", "f df"),
    _binary(0x07, "dph", "Homogeneous dot product: x0*y0 + x1*y1 + x2*y2 + y3 in each group of four lanes.", "f df"),
    _unary(0x08, "exp", "Two to the power of src0."),
    _unary(0x09, "frc", "Fraction: src0 - floor(src0).", "f df hf", rules="float-only"),
    _binary(0x0A, "line", "Line equation: dst = p * src1 + q, with p and q elements 0 and 3 of src0.", "f df"),
    _unary(0x0B, "log", "Logarithm to base two."),
    _ternary(0x0C, "mad", "Multiply and add: dst = src0 * src1 + src2; floats round once.", _ALU | {"bf"}),
    _binary(0x0D, "mulh", "High half of the 64-bit product of two 32-bit integers.", "ud d"),
    _ternary(0x0E, "lrp", "Linear interpolation: dst = src0 * src1 + (1 - src0) * src2.", "f df", rules="float-only"),
    _binary(0x0F, "mod", "Remainder of an integer division, with the sign of src0.", INTEGERS),
    _binary(0x10, "mul", "dst = src0 * src1.", _ALU | {"bf"}),
    _binary(0x11, "pow", "src0 to the power of src1.", FLOATS, rules="float-only"),
    _unary(0x12, "rndd", "Round down to an integral value.", rules="float-only"),
    _unary(0x13, "rndu", "Round up to an integral value.", rules="float-only"),
    _unary(0x14, "rnde", "Round to the nearest integral value, ties to even.", rules="float-only"),
    _unary(0x15, "rndz", "Round towards zero to an integral value.", rules="float-only"),
    _binary(0x16, "sad2", "Sum of absolute differences of pairs of bytes.", "ub b uw w"),
    _unary(0x17, "sin", "Sine of an angle in radians.", rules="float-only"),
    _unary(0x18, "cos", "Cosine of an angle in radians.", rules="float-only"),
    _unary(0x19, "sqrt", "Square root.", rules="float-only"),
    _unary(0x1A, "rsqrt", "Reciprocal square root.", rules="float-only"),
    _unary(0x1B, "inv", "Reciprocal.", rules="float-only"),
    _systolic(0x1C, "dpasw", "Systolic dot product with accumulation, src2 shared by a pair of fused threads."),
    form(0x1E, "srnd", "ec d:dst s:src0 s:src1", "Stochastic rounding to a narrower float; src1 holds the random bits.",
         category=_CATEGORY, suffixes=(SAT,), types="ub hf f", platforms=since("pvc"), classes="dst:g src0:g src1:gc"),
    _unary(0x1F, "lzd", "Count of leading zero bits.", INTEGERS),
    form(0x49, "addc", "ec pr d:dst d:carry s:src0 s:src1", "Unsigned sum and its carry.", category=_CATEGORY, types="ud", rules="ud-only"),
    form(0x4A, "subb", "ec pr d:dst d:borrow s:src0 s:src1", "Unsigned difference and its borrow.", category=_CATEGORY, types="ud", rules="ud-only"),
    _ternary(0x6A, "sad2add", "Sum of absolute differences of pairs of bytes, added to src2.", "ub b uw w"),
    _binary(0x6B, "plane", "Plane equation: dst = p * u + q * v + r for the pixel pairs of src1.", "f", sizes=(8, 16)),
    _unary(0x7E, "sqrtm", "Correctly rounded square root (the IEEE macro).", "f df"),
    _binary(0x7F, "divm", "Correctly rounded quotient (the IEEE macro).", "f df"),
    _ternary(0x82, "dp4a", "Dot product of four packed bytes with accumulation: dst = src0 + sum of src1.b[i] * src2.b[i].", "d ud",
             platforms=since("tgllp")),
    _systolic(0x83, "dpas", "Systolic dot product with accumulation."),
    _ternary(0x84, "add3", "dst = src0 + src1 + src2.", INTEGERS, platforms=since("xehp")),
    _ternary(0x91, "madw", "Multiply and add with the full 64-bit result, low and high halves in consecutive registers.", "ud d"),
    form(0x92, "add3.o", "ec pr d:dst s:src0 s:src1 s:src2", "add3 whose overflow goes to the predicate.", category=_CATEGORY, writes_predicate=True,
         suffixes=(SAT,), types="ud d uw w", platforms=since("pvc")),
    _unary(0x9B, "invm", "Correctly rounded reciprocal (the IEEE macro).", "f df"),
    _unary(0x9C, "rsqtm", "Correctly rounded reciprocal square root (the IEEE macro).", "f df"),
)  # fmt: skip
