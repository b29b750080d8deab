"""Moves, conversions, selection, comparison and address arithmetic."""

from visakit.isa.enums import DOWNSCALE_MODES, DOWNSCALE_ROUNDINGS, DOWNSCALES, NO_RELATION, RELATIONS
from visakit.isa.record import FLOATS, INTEGERS, form
from visakit.isa.suffixes import SAT, Choice
from visakit.language.platforms import since

_CATEGORY = "move"
_ANY = INTEGERS | FLOATS | {"bf", "v", "uv", "vf"}

FORMS = (
    form(0x1D, "fcvt", "ec d:dst s:src0", "Convert between floats and the formats bf8, hf8 and tf32.", category=_CATEGORY, suffixes=(SAT,),
         types="ub b ud hf f", platforms=since("pvc"), pairs="hf:ub,b ub:hf b:hf f:ud ud:f", modifiers="",
         rules="no-mask-to-bytes saturates-bytes", classes="dst:g src0:g"),
    form(0x28, "addr_add", "ec d:dst s:src0 s:src1", "Add an offset to an address.", category=_CATEGORY, types="uw",
         operands="src0:", beyond="src1:ub,b,w", rules="address-of", classes="dst:a src0:ags src1:gic"),
    form(0x29, "mov", "ec pr d:dst s:src0", "Copy with conversion to the destination's type.", category=_CATEGORY, suffixes=(SAT,), types=_ANY,
         spelling="predicate-copy", classes="dst:gia src0:gicpa"),
    form(0x2A, "sel", "ec pr d:dst s:src0 s:src1", "src0 where the predicate holds, else src1.", category=_CATEGORY, suffixes=(SAT,), types=_ANY,
         rules="selects"),
    form(0x2B, "setp", "ec d:dst s:src0", "Set a predicate from the bits of an integer.", category=_CATEGORY, types="ub uw ud", beyond="src0:b,w,d,uq,q",
         rules="predicate-bits", modifiers="", classes="dst:p"),
    form(0x2C, "cmp", "ec B:rel_op d:dst s:src0 s:src1", "Compare; the result is a predicate or all ones and zeros.", category="compare",
         suffixes=(Choice("rel_op", RELATIONS, NO_RELATION),), types=_ANY, classes="dst:pg"),
    form(0x2D, "movs", "ec d:dst s:src0", "Copy to or from a surface or sampler variable.", category=_CATEGORY, types="ud", beyond="src0:d",
         modifiers="", rules="contiguous", classes="dst:gs src0:gics"),
    form(0x95, "shfl_idx4", "ec pr w:dst s:src0 s:src1", "Look packed indices of four bits up in a table.", category=_CATEGORY,
         types="ud uw ub", platforms=since("cri"), sizes=(16, 32), modifiers="", rules="table-of-dwords",
         operands="dst:ud src0:ud src1:uw,ub", classes="src0:g src1:g"),
    form(0x9A, "dnscl", "ec pr B:conversion B:mode B:rounding w:dst r:src0 r:src1 r:src2", "Scale down and convert to formats of four bits.",
         category=_CATEGORY, text="(exec) dst src0 src1 src2", platforms=since("cri"), operands="dst:ud src0:ud src1:ud src2:ud", message_alignment=dict.fromkeys(("dst", "src0", "src1", "src2"), 4),
         suffixes=(Choice("conversion", DOWNSCALES), Choice("mode", DOWNSCALE_MODES), Choice("rounding", DOWNSCALE_ROUNDINGS))),
    form(0x45, "min", "ec B:sub_op d:dst s:src0 s:src1", "The smaller of two values; a number wins over a NaN.", category=_CATEGORY,
         suffixes=(SAT,), types=_ANY, rules="selects", fixed={"sub_op": 0}),
    form(0x45, "max", "ec B:sub_op d:dst s:src0 s:src1", "The larger of two values; a number wins over a NaN.", category=_CATEGORY,
         suffixes=(SAT,), types=_ANY, rules="selects", fixed={"sub_op": 1}),
)  # fmt: skip
