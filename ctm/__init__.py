"""The second target: the flow-control processor of ATI's CTM guide (R5xx). docs/ctm.md explains the machine."""

from __future__ import annotations

from ctm.assembler import assemble
from ctm.machine import Machine, Options
from ctm.program import Module
from ctm.simulator import load

__all__ = ["Machine", "Module", "Options", "assemble", "load"]
