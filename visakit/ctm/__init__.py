"""The second target: the flow-control processor of ATI's CTM guide (R5xx). docs/ctm.md explains the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.lazy import lazy_attributes

if TYPE_CHECKING:
    from visakit.ctm.assembler import assemble
    from visakit.ctm.linker import link
    from visakit.ctm.machine import ProcessorGroup
    from visakit.ctm.processors import Options
    from visakit.ctm.program import ShaderModule
    from visakit.ctm.simulator import load

__all__ = ["Options", "ProcessorGroup", "ShaderModule", "assemble", "link", "load"]
__getattr__, __dir__ = lazy_attributes(
    __name__,
    {
        "assemble": "visakit.ctm.assembler",
        "link": "visakit.ctm.linker",
        "Options": "visakit.ctm.processors",
        "ProcessorGroup": "visakit.ctm.machine",
        "ShaderModule": "visakit.ctm.program",
        "load": "visakit.ctm.simulator",
    },
)
