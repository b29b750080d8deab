"""Errors of launches that compiled code has stopped; the reference engine adds the facts about the instruction."""

from __future__ import annotations

from dataclasses import replace

from visakit.diagnostics import SimulationError
from vsim.engines.llvm import RecordedFault, RefusedInstruction
from vsim.engines.numpy.engine import refusal
from vsim.engines.numpy.fault_registers import recorded_registers
from vsim.launch.dispatch import Dispatch


def error_of(dispatch: Dispatch, stop: RecordedFault | RefusedInstruction) -> SimulationError:
    """The error that a launch ends with."""
    if isinstance(stop, RefusedInstruction):
        return refusal(dispatch, stop.function, stop.number)
    registers = recorded_registers(dispatch, stop.function, stop.number, stop.values, stop.lane)
    return SimulationError(replace(stop.diagnostics[0], registers=registers))
