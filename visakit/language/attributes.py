"""The attributes of kernels, functions and variables: their values, units and ranges.

The assembler checks texts against these tables, and docs/language.md shows them.
"""

from __future__ import annotations

from typing import NamedTuple

from visakit.language.program import ARGUMENT_REGISTERS, RESULT_REGISTERS

FLAG, NUMBER, TEXT, ANY = "flag", "number", "text", "any"


class AttributeForm(NamedTuple):
    """The values of an attribute.

    Attributes:
        meaning: its meaning in few words.
        form: a flag (alone, or with 0 or 1), a number, a text in quotes, or anything.
        unit: of a number.
        least, most: the range of a number; None where 32 bits are the limit.
        among: the only numbers or texts that there are; empty where there are others.
    """

    meaning: str
    form: str = FLAG
    unit: str = ""
    least: int = 0
    most: int | None = None
    among: tuple[int | str, ...] = ()

    @property
    def values(self) -> str:
        """The values in words."""
        if self.among:
            return ", ".join(f'"{a}"' if isinstance(a, str) else str(a) for a in self.among)
        if self.form == NUMBER:
            return f"{self.least} to {self.most if self.most is not None else (1 << 32) - 1}"
        return {FLAG: "nothing, 0 or 1", TEXT: "a text in quotes", ANY: "anything"}[self.form]

    def problem(self, value: int | str | None) -> str:
        """The error of a value, None for a missing one; empty if it is valid."""
        if self.form == ANY or (self.form == FLAG and value in (None, 0, 1)):
            return ""
        if self.among:
            return "" if value in self.among else self._wanted
        if self.form == TEXT:
            return "" if isinstance(value, str) else self._wanted
        is_number = self.form == NUMBER and isinstance(value, int) and value >= self.least
        return "" if is_number and (self.most is None or value <= self.most) else self._wanted  # type: ignore[operator]

    @property
    def _wanted(self) -> str:
        return f"it takes {self.values}{f', in {self.unit}' if self.unit else ''}"


_BYTES = 0xFFFF
"""Bytes of a payload, which its 16-bit offsets can name."""
KERNEL_ATTRIBUTES = {
    "Target": AttributeForm("lanes of a program of the vector compiler, or of one with a thread for several work-items",
                            TEXT, among=("cm", "3d")),
    "SimdSize": AttributeForm("work-items of a hardware thread", NUMBER, "work-items", among=(0, 1, 8, 16, 32)),
    "SLMSize": AttributeForm("local memory of a work-group", NUMBER, "KiB (of 1024 bytes)", 0, 1024),
    "SpillMemOffset": AttributeForm("where spills begin in the scratch memory of a thread", NUMBER, "bytes"),
    "ArgSize": AttributeForm("arguments of a function", NUMBER, "registers", 0, ARGUMENT_REGISTERS),
    "RetValSize": AttributeForm("results of a function", NUMBER, "registers", 0, RESULT_REGISTERS),
    "PerThreadInputSize": AttributeForm("payload that differs from thread to thread", NUMBER, "bytes", 0, _BYTES),
    "perThreadInputSize": AttributeForm("the same, as the vector compiler writes it", NUMBER, "bytes", 0, _BYTES),
    "CrossThreadInputSize": AttributeForm("payload that all threads share", NUMBER, "bytes", 0, _BYTES),
    "NBarrierCnt": AttributeForm("named barriers of a work-group", NUMBER, "barriers", 0, 32),
    "NumGRF": AttributeForm("registers of a thread", NUMBER, "registers", 0, 512),
    "MaxRegThreadDispatch": AttributeForm("registers that the dispatcher fills", NUMBER, "registers", 0, 512),
    "ScratchInlineOffset": AttributeForm("a place in scratch memory", NUMBER, "bytes"),
    "ScratchIndirectRegOffset": AttributeForm("a place in scratch memory", NUMBER, "bytes"),
    "ScratchIndirectMemOffset": AttributeForm("a place in scratch memory", NUMBER, "bytes"),
    "OutputAsmPath": AttributeForm("where a finalizer writes its assembly", TEXT),
    "AsmName": AttributeForm("the same by its older name", TEXT),
    "LTO_InvokeOptTarget": AttributeForm("a call that the link may replace", ANY),
    "Extern": AttributeForm("other objects see the function"),
    "NoBarrier": AttributeForm("no barrier is in the kernel"),
    "Callable": AttributeForm("others call the function"),
    "Caller": AttributeForm("the kernel calls others"),
    "Composable": AttributeForm("the finalizer may put kernels together"),
    "Entry": AttributeForm("a kernel begins here"),
    "SepSpillPvtSS": AttributeForm("separate scratch for spills and private memory"),
    "AllLaneActive": AttributeForm("all lanes of all threads run"),
    "DisableLoadThreadPayloadWA": AttributeForm("the finalizer loads the payload without its workaround"),
}  # fmt: skip
VARIABLE_ATTRIBUTES = {
    "Input": AttributeForm("it has a value when the kernel begins"),
    "Output": AttributeForm("it is read after the end of the kernel"),
    "Input_Output": AttributeForm("both"),
    "NoWidening": AttributeForm("the finalizer keeps its size"),
    "DoNotSpill": AttributeForm("it stays in registers"),
    "PayloadLiveOut": AttributeForm("its part of the payload lives to the end"),
    "ForceSpill": AttributeForm("it goes to memory"),
    "ExclusiveLoad": AttributeForm("only one load writes it"),
    "Scope": AttributeForm("who shares the memory of a surface", NUMBER),
    "SurfaceUsage": AttributeForm("the use of a surface", NUMBER),
}
