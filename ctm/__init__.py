"""The second target: the flow-control processor of ATI's CTM guide (R5xx). docs/ctm.md explains the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctm.assembler import assemble
    from ctm.linker import link
    from ctm.machine import ProcessorGroup
    from ctm.processors import Options
    from ctm.program import ShaderModule
    from ctm.simulator import load

__all__ = ["Options", "ProcessorGroup", "ShaderModule", "assemble", "link", "load"]
_PLACES = {
    "assemble": "ctm.assembler",
    "link": "ctm.linker",
    "Options": "ctm.processors",
    "ProcessorGroup": "ctm.machine",
    "ShaderModule": "ctm.program",
    "load": "ctm.simulator",
}
"""Where the public names are defined."""


def __getattr__(name: str) -> object:
    # Lark and numpy are loaded when something needs them.
    import importlib

    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'ctm' has no attribute '{name}'")
