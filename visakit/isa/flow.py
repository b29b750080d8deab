"""Control flow: labels, scalar jumps, SIMD goto, subroutines, functions."""

from visakit.isa.record import Flow, form
from visakit.isa.suffixes import Flag

_CATEGORY = "flow"

FORMS = (
    form(0x30, ".function", "L:label", "Start of a subroutine.", category=_CATEGORY, flow=Flow.LABEL, text="label", spelling="subroutine"),
    form(0x31, ".label", "L:label", "Target of jumps.", category=_CATEGORY, flow=Flow.LABEL, text="label"),
    form(0x32, "jmp", "ec pr L:label", "Scalar jump of the whole thread.", category=_CATEGORY, sizes=(1,), flow=Flow.JUMP),
    form(0x33, "call", "ec pr L:label", "Call a subroutine of the same body.", category=_CATEGORY, flow=Flow.CALL, aliases=("fccall",)),
    form(0x34, "ret", "ec pr", "Return from a subroutine; in a kernel, end the lanes.", category=_CATEGORY, flow=Flow.RETURN),
    form(0x4F, "ifcall", "ec pr s:func_addr B:arg_grf B:ret_grf", "Call the function at an address.", category=_CATEGORY, flow=Flow.CALL_ADDRESS),
    form(0x50, "faddr", "N2:name d:dst", "Address of a function or data symbol.", category=_CATEGORY, types="ud uq"),
    form(0x67, "fcall", "ec pr N2:name B:arg_grf B:ret_grf", "Call a function by name.", category=_CATEGORY, flow=Flow.CALL_FUNCTION),
    form(0x68, "fret", "ec pr", "Return from a function.", category=_CATEGORY, flow=Flow.RETURN, rules="function-only"),
    form(0x69, "switchjmp", "ec n:labels s:index L*:labels", "Scalar jump to one of several labels.", category=_CATEGORY, flow=Flow.SWITCH,
         text="(exec) index labels*", sizes=(1,), types="ub", beyond="index:uw,w,ud,d", limits={"labels": (1, 32)}),
    form(0x6C, "goto", "ec pr L:label", "SIMD jump: the lanes that take it wait at the label.", category=_CATEGORY, flow=Flow.GOTO),
)  # fmt: skip

IFCALL_4_2 = form(
    0x4F, "ifcall", "ec pr B:uniform.1+noreturn.1 s:func_addr B:arg_grf B:ret_grf", "Call the function at an address.",
    category=_CATEGORY, flow=Flow.CALL_ADDRESS, suffixes=(Flag("uniform", "uniform"), Flag("noreturn", "noreturn")),
)  # fmt: skip
"""ifcall since version 4.2, which gained a byte of modifiers."""
