"""Raw messages, video motion estimation, debugging and lifetimes."""

from visakit.isa.enums import SHARED_FUNCTIONS
from visakit.isa.record import Flow, InstructionDesc, Pipe, form
from visakit.isa.suffixes import Choice, Number
from visakit.language.platforms import since

_CATEGORY = "misc"
_SENDS = "B:sendc.1+eot.1 ec pr B:src0_grfs B:src1_grfs B:dst_grfs B:sfid s:ex_desc s:desc r:src0 r:src1 w:dst"
_SENDS_TEXT = "(exec) ex_desc desc src0 src1 dst"
_GRFS = (Number("src0_grfs"), Number("src1_grfs"), Number("dst_grfs"))


def _sends(name: str, suffixes: tuple[Number, ...], sendc: int, eot: int, summary: str) -> InstructionDesc:
    return form(0x7A, name, _SENDS, summary, category=_CATEGORY, text=_SENDS_TEXT, suffixes=suffixes, semantics="raw_sends",
                types="ud", limits={"sfid": (0, 15), "src0_grfs": (1, 32), "src1_grfs": (0, 32), "dst_grfs": (0, 32)}, pipe=Pipe.SEND,
                flow=Flow.END if eot else Flow.NEXT, fixed={"sendc": sendc, "eot": eot})  # fmt: skip


def _send(name: str, sendc: int, summary: str) -> InstructionDesc:
    return form(0x5D, name, "B:sendc ec pr W:ex_desc B:src_grfs B:dst_grfs s:desc r:src w:dst", summary, category=_CATEGORY, semantics="raw_send",
                types="ud", limits={"src_grfs": (1, 15), "dst_grfs": (0, 16)}, pipe=Pipe.SEND, fixed={"sendc": sendc})  # fmt: skip


def _sendg(name: str, ways: int, summary: str) -> InstructionDesc:
    return form(0x93, name, "B:ways ec W:sfid pr w:dst W:dst_bytes r:src0 W:src0_bytes r:src1 W:src1_bytes s:ind0 s:ind1 X:descriptor", summary,
                category=_CATEGORY, text="(exec) @sized:dst @sized:src0 @sized:src1 ind0 ind1 descriptor", platforms=since("cri"), semantics="raw_sendg",
                suffixes=(Choice("sfid", SHARED_FUNCTIONS),), classes="ind0:gc ind1:gc",
                flow=Flow.END if ways & 2 else Flow.NEXT, modifiers="", pipe=Pipe.SEND, fixed={"ways": ways})  # fmt: skip


FORMS = (
    form(0x51, ".file", "N4:name", "Name of the source file of what follows.", category=_CATEGORY, aliases=("FILE",)),
    form(0x52, ".loc", "W:line", "Source line of what follows.", category=_CATEGORY, aliases=("LOC",)),
    form(0x54, "vme_ime", "B:stream_mode B:search_control r:uni_in r:ime_in T:surface r:ref0 r:ref1 r:cost_center w:output",
         "Integer motion estimation.", category=_CATEGORY, pipe=Pipe.SEND, text="(stream_mode,search_control) surface uni_in ime_in ref0 ref1 cost_center output",
         operands="uni_in:ub ime_in:ub ref0:uw ref1:uw cost_center:uw output:ub", beyond="ref0:w ref1:w cost_center:w output:ud", limits={"stream_mode": (0, 3), "search_control": (0, 7)}),
    form(0x55, "vme_sic", "r:uni_in r:sic_in T:surface w:output", "Skip check and intra prediction.", category=_CATEGORY, pipe=Pipe.SEND,
         text="surface uni_in sic_in output", operands="uni_in:ub sic_in:ub output:ub", beyond="output:ud"),
    form(0x56, "vme_fbr", "r:uni_in r:fbr_in T:surface s:mb_mode s:sub_mb_shape s:sub_pred_mode w:output", "Fractional and bidirectional refinement.",
         category=_CATEGORY, pipe=Pipe.SEND, text="(mb_mode,sub_mb_shape,sub_pred_mode) surface uni_in fbr_in output",
         operands="uni_in:ub fbr_in:ub mb_mode:ud sub_mb_shape:ud sub_pred_mode:ud output:ub",
         beyond="mb_mode:ub sub_mb_shape:ub sub_pred_mode:ub output:ud"),
    form(0x57, "vme_idm", "r:uni_in r:idm_in T:surface w:output", "Intra distortion.", category=_CATEGORY, pipe=Pipe.SEND, text="surface uni_in idm_in output",
         operands="uni_in:ub idm_in:ub output:ub", beyond="output:ud"),
    _send("raw_send", 0, "Send a message to a shared function."),
    _send("raw_sendc", 1, "Send a message after conflicting threads have ended."),
    _sends("raw_sends", (Number("sfid"), *_GRFS), 0, 0, "Send a message whose payload is in two places."),
    _sends("raw_sends_eot", (Number("sfid"), *_GRFS), 0, 1, "Send the thread's last message."),
    _sends("raw_sendsc", _GRFS, 1, 0, "Send a message in two parts after conflicting threads have ended."),
    _sends("raw_sendsc_eot", _GRFS, 1, 1, "Send the thread's last message after conflicting threads have ended."),
    _sendg("raw_sendg", 0, "Send a message whose descriptor has 64 bits."),
    _sendg("raw_sendg_eot", 2, "Send the thread's last message, with a descriptor of 64 bits."),
    _sendg("raw_sendgc", 1, "Send a message with a descriptor of 64 bits after conflicting threads have ended."),
    _sendg("raw_sendgc_eot", 3, "Send the thread's last message with a descriptor of 64 bits after conflicting threads have ended."),
    form(0x7B, "lifetime.start", "B:end.4+class.4 W:variable", "From here on the variable's contents count.", category=_CATEGORY, text="variable", fixed={"end": 0},
         semantics="lifetime", pipe=Pipe.NOTHING),
    form(0x7B, "lifetime.end", "B:end.4+class.4 W:variable", "From here on the variable's contents do not count.", category=_CATEGORY, text="variable",
         fixed={"end": 1}, semantics="lifetime", pipe=Pipe.NOTHING),
)  # fmt: skip

RESERVED = (
    0x00, 0x3B, 0x3D, 0x3E, 0x3F, 0x53, 0x58, 0x5E, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x76, 0x77, 0x88, 0x8C, 0x8D, 0x8E, 0x8F, 0x90,
)  # fmt: skip
"""Opcodes without an instruction."""
