"""Errors of a launch: they name the instruction, its line and the work-item."""

from __future__ import annotations

from visakit.diagnostics import Diagnostic, RegisterValue, SimulationError
from visakit.language.program import Function, Instruction
from visakit.text.printer import FunctionPrinter
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.memory import READ_ONLY
from vsim.launch.dispatch import Dispatch
from vsim.launch.threads import first_lane
from vsim.memory.memory import Buffer, shown_offset
from vsim.observe.elements import element_of
from vsim.semantics.messages import RAW_MESSAGE


class Faults:
    """The errors of the code of one function."""

    def __init__(self, function: Function, dispatch: Dispatch, running: Running) -> None:
        self.function, self.dispatch, self.running = function, dispatch, running
        self.image = dispatch.image

    def _described(self, instruction: Instruction) -> tuple[str, str]:
        """The text of an instruction, and "instruction 5 of "; of one that stands for a raw message that message's."""
        number = self._number(instruction)
        instruction = instruction.args.get(RAW_MESSAGE, instruction)
        shown = FunctionPrinter(self.function).instruction(instruction)
        return shown, "" if number is None else f"instruction {number} of "

    def _number(self, instruction: Instruction) -> int | None:
        """The number of an instruction, or of the raw message that it stands for; None if the function has neither."""
        instruction = instruction.args.get(RAW_MESSAGE, instruction)
        return next((n for n, i in enumerate(self.function.instructions) if i is instruction), None)

    def cannot(self, text: str, instruction: Instruction) -> SimulationError:
        """The error that an instruction cannot be executed, raised when it is to be."""
        shown, number = self._described(instruction)
        span, labels = self.image.place(self.function, instruction)
        message, hint = f"{text} in '{shown}' ({number}'{self.function.name}')", self.image.line_hint(self.function)
        return SimulationError(Diagnostic("S020", message, span, hint, labels))

    def at(
        self,
        row: int,
        lane: int,
        message: str,
        instruction: Instruction | None = None,
        registers: tuple[RegisterValue, ...] = (),
    ) -> SimulationError:
        """The error for a lane of an instruction, of a thread without one."""
        shown, number = self._described(instruction) if instruction else ("", "")
        element, is_block = "", False
        if instruction:
            element, is_block = element_of(self.function, instruction, lane, self.dispatch.grf_size)
            lane = first_lane(instruction) + (0 if is_block else lane)
        who = element + self.running.threads.describe(row, -1 if is_block else lane)
        self.running.at_fault = row if self.running.threads.rows is None else int(self.running.threads.rows[row]), lane
        by = f" by '{shown}'" if instruction else ""
        span, labels = self.image.place(self.function, instruction)
        hint = self.image.line_hint(self.function)
        message = f"{message}{by} ({number}'{self.function.name}', {who})"
        return SimulationError(Diagnostic("S030", message, span, hint, labels, registers=registers))

    def registers(self, row: int, lane: int, instruction: Instruction | None) -> tuple[RegisterValue, ...]:
        """The registers that an instruction reads in a lane."""
        if instruction is None:
            return ()
        from vsim.engines.numpy.fault_registers import read_registers

        lane = 0 if element_of(self.function, instruction, lane, self.dispatch.grf_size)[1] else lane
        return read_registers(self.dispatch, self.running, self.function, self._number(instruction), row, lane)

    def outside(
        self,
        row: int,
        lane: int,
        what: str | Buffer,
        offset: int,
        limit: int,
        *,
        size: int,
        instruction: Instruction | None,
        is_flat: bool,
    ) -> SimulationError:
        """The error of an access that is not inside a buffer; ``what`` is empty if no buffer is at the address.

        Args:
            is_flat: the offset follows from an address of 64 bits.
        """
        name = self.dispatch.name_of(what) if isinstance(what, Buffer) else what
        registers = self.registers(row, lane, instruction)
        if limit == READ_ONLY:
            message = f"write of {size} bytes to '{name}', an array that is read-only, at offset {offset}"
            return self.at(row, lane, message, instruction, registers)
        place = f"'{name}', which has {limit} bytes, at offset {offset if is_flat else shown_offset(offset, limit)}"
        place = place if name else self.dispatch.nowhere(offset & ((1 << 64) - 1))
        return self.at(row, lane, f"access of {size} bytes outside {place}", instruction, registers)
