"""Instructions without a public functional definition; a kernel that can reach one is refused when it is loaded."""

from __future__ import annotations

from visakit.isa.record import InstructionDesc, Rule
from visakit.language.program import Function

_MOTION = "motion estimation: the manual names its inputs, but the search itself and its costs are not published"
_ANALYTICS = "video analytics: its functions have no public definition"
_OFFSETS = "how the offsets of a pixel are packed into one parameter is not published"
_PACKED = ("", "_b", "_l", "_c", "_d", "_l_c", "_lz", "_c_lz", "_b_c", "_d_c")
_COUNTER = "the append counter is part of a surface's state, and where the driver keeps it is not published"

REFUSED = {
    **dict.fromkeys(("vme_ime", "vme_sic", "vme_fbr", "vme_idm"), _MOTION),
    **dict.fromkeys(("va", "va_skl_plus"), _ANALYTICS),
    "avs": "adaptive video scaling: its filter coefficients and their choice are state of the driver without a public "
    "definition",
    "sample_unorm": "the filter of this media sampler is state of the driver without a public definition",
    **dict.fromkeys(("lsc_apndctr_atomic_add", "lsc_apndctr_atomic_sub", "lsc_apndctr_atomic_store"), _COUNTER),
    **dict.fromkeys([f"sample_po{kind}" for kind in _PACKED], _OFFSETS),
    **dict.fromkeys([f"sample4_po_{kind}" for kind in ("l", "b", "i", "i_c", "l_c")], _OFFSETS),
    "lod": "it follows from the differences between pixels, and how they are taken is not published",
    "sample_d_c_mlod": "how the least level of detail is packed into a coordinate is not published",
    "raw_sendg": "of its descriptors of 64 bits only some fields are published",
    "typed_lsc_read_state_info": "the contents of a surface state are the driver's, without a functional definition",
}
"""Reasons by the name of the semantics."""
RAW_MESSAGES = ("raw_send", "raw_sends")
"""Refused if their descriptors say nothing that an instruction says, too."""


def returns_to_nobody(function: Function, desc: InstructionDesc) -> bool:
    """Whether it returns to the caller of a function, and is part of a kernel (manual, chapter 6, FRET)."""
    return function.is_kernel and Rule.FUNCTION_ONLY in desc.rules


def may_be_refused(desc: InstructionDesc) -> bool:
    """Whether there are such instructions that cannot be executed."""
    return desc.semantics in REFUSED or desc.semantics in RAW_MESSAGES
