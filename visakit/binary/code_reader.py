"""Decodes the instructions of a function. It loads the table, which readers of declarations do not need."""

from __future__ import annotations

from collections.abc import Sequence

from visakit.binary.codec import DecodeError, Decoder, Operands, new_operands
from visakit.binary.references import invalid_reference
from visakit.binary.tables import Reader
from visakit.language.program import Function, Instruction

LARGE_CODE = 1 << 17
"""Bytes of a function's code from which on it pays to look for instructions that were read before."""
HEAD_BYTES, MOST_ALIKE = 16, 8
"""By how many bytes these are found, and how many of those with equal ones are kept."""


class _Repeats:
    """Instructions of a function by their bytes: unrolled loops repeat them, and equal bytes have equal fields."""

    def __init__(self, data: bytes, limit: int) -> None:
        self.data, self.limit = data, limit
        self.met: dict[bytes, list[tuple[bytes, Instruction]]] = {}
        self.end = 0
        """Where the instruction ends that was found last."""

    def find(self, at: int) -> Instruction | None:
        """An instruction with the bytes at a position."""
        for code, instruction in self.met.get(self.data[at : at + HEAD_BYTES], ()):
            if self.data.startswith(code, at) and (end := at + len(code)) <= self.limit:
                self.end = end
                return instruction
        return None

    def add(self, start: int, end: int, instruction: Instruction) -> None:
        """Keep an instruction."""
        alike = self.met.setdefault(self.data[start : start + HEAD_BYTES], [])
        alike.insert(0, (self.data[start:end], instruction))
        del alike[MOST_ALIKE:]


def read_code(
    r: Reader, position: int, end: int, operands: Operands | None, lines: Sequence[int], function: Function
) -> None:
    """Decode the instructions of a function between two positions; its declarations were read.

    Args:
        operands: decoded operands of other functions of the module, for reuse; None for none.
        lines: the source lines of the first instructions.

    Raises:
        FormatError: the bytes are no instructions, or an instruction names something that the function does not
            declare.
    """
    instructions: list[Instruction] = []
    decoder = Decoder(function, r.data, position, end, new_operands() if operands is None else operands)
    known: set[tuple[int, int]] = set()
    repeats = _Repeats(r.data, end) if end - position >= LARGE_CODE else None
    try:
        while decoder.position < end:
            at = decoder.position
            if repeats is not None and (same := repeats.find(at)) is not None:
                decoder.position = repeats.end
                instructions.append(Instruction(same.desc, same.args))
                continue
            instruction = decoder.next()
            # Operands must name declared things, so that users of the tree need not check.
            if problem := invalid_reference(function, instruction, known):
                raise DecodeError(at, problem)
            instructions.append(instruction)
            if repeats is not None:
                repeats.add(at, decoder.position, instruction)
    except DecodeError as error:
        hint = ""
        if (instructions and not any(r.data[end - 8 : end])) or len(instructions) < 4:
            hint = (
                "IGC 1.0.12198 to 1.0.13063 wrote instruction streams with operands missing; "
                "assemble the .visaasm text beside the file instead"
            )
        function.instructions = instructions  # for users that show the readable part
        raise r.fail(f"{error.message} in instruction {len(instructions)}", error.offset, "C002", hint) from None
    for instruction, line in zip(instructions, lines, strict=False):
        instruction.line = line
    function.instructions = instructions  # when it is whole: another thread may look at it
