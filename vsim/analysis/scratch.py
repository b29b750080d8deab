"""Whether a kernel has to do with the scratch memory of its threads; most that have some leave it to spills, which only
the finalizer makes.
"""

from __future__ import annotations

from visakit.language.program import SCRATCH, Function, Instruction
from visakit.objects.image import LinkedImage
from vsim.analysis.reachability import reachable
from vsim.semantics.lsc import address_kind
from vsim.semantics.refused import RAW_MESSAGES


def touches_scratch(image: LinkedImage, kernel: Function) -> bool:
    """Whether a kernel, or a function that it calls, can read or write scratch memory."""
    return any(_touches(instruction) for _, _, instruction in reachable(image, kernel))


def _touches(instruction: Instruction) -> bool:
    args = instruction.args
    if instruction.desc.semantics in RAW_MESSAGES or args.get("surface") == SCRATCH:
        return True
    return "addr_type" in args and address_kind(instruction) in ("ss", "surf")  # whose handle may be that of scratch
