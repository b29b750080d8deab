"""A raw message: its descriptors, and the parts of its payload."""

from __future__ import annotations

from visakit.language import types
from visakit.language.operands import Execution, Immediate, Raw, VectorOperand
from visakit.language.program import Instruction

DATA_PORT_0, DATA_PORT_1 = 10, 12
LSC_UNITS = {15: "ugm", 14: "slm", 1: "ugml"}
TYPED_UNIT = 13
MEMORY_UNITS = (DATA_PORT_0, DATA_PORT_1, TYPED_UNIT, *LSC_UNITS)
KNOWN = "known"
"""The field of a raw message with the values of descriptors that are in registers, by the names of their fields."""
_HEADER = 1 << 19


class NoEquivalent(Exception):
    """No instruction is equivalent to the message; the text says why."""


class AtRunTime(NoEquivalent):
    """The descriptor of a message to memory is known when it is sent."""


class Message:
    """A raw message: descriptors, and the payload as address part (behind the header) and data part.

    Attributes:
        given: the descriptor; None if it is not known.
        extended: the extended descriptor; None if it is not known.
        is_number: whether the extended descriptor is written as a number.
        second: the second payload; None if the first has addresses and data.
        sent, stored, loaded: registers of the first payload, of the block of a matrix, and of the result.
    """

    def __init__(self, instruction: Instruction, grf_size: int) -> None:
        args, known = instruction.args, instruction.args.get(KNOWN, {})
        self.grf_size = grf_size
        self.execution: Execution = args["exec"]
        self.dst: Raw = args["dst"]
        self.given: int | None = known.get("desc", _number(args["desc"]))
        self.second: Raw | None
        if "src0" in args:
            self.first, self.second = args["src0"], args["src1"] if args["src1_grfs"] else None
            self.surface: VectorOperand = args["ex_desc"]
            self.extended: int | None = known.get("ex_desc", _number(self.surface))
            self.sent = args["src0_grfs"]
        else:
            self.first, self.second = args["src"], None
            self.extended = args["ex_desc"]
            self.surface = Immediate(types.UD, args["ex_desc"])
            self.sent = args["src_grfs"]
        self.stored = args["src1_grfs"] if self.second else self.sent - 1
        self.is_number = isinstance(self.surface, Immediate)
        self.unit = args.get("sfid") or (self.extended or 0) & 15
        self.loaded = args["dst_grfs"]

    @property
    def descriptor(self) -> int:
        """The descriptor.

        Raises:
            NoEquivalent: it is not known; of messages to memory :class:`AtRunTime`.
        """
        if self.given is None:
            kind = AtRunTime if self.unit in MEMORY_UNITS else NoEquivalent
            raise kind(f"its descriptor is not a constant, as messages to unit {self.unit} need it")
        return self.given

    @property
    def has_header(self) -> bool:
        """Whether a register precedes the addresses: of messages to data ports alone."""
        return self.unit in (DATA_PORT_0, DATA_PORT_1) and bool(self.descriptor & _HEADER)

    @property
    def address(self) -> Raw:
        """The address part."""
        return Raw(self.first.var, self.first.offset + self.grf_size) if self.has_header else self.first

    def field(self, low: int, bits: int) -> int:
        """Bits of the descriptor."""
        return self.descriptor >> low & ((1 << bits) - 1)

    def registers(self, size: int) -> int:
        """How many registers so many bytes take."""
        return -(-size // self.grf_size)

    def behind(self, raw: Raw, size: int) -> Raw:
        """The register behind ``size`` bytes of a payload."""
        return Raw(raw.var, raw.offset + self.registers(size) * self.grf_size)

    def data(self, addresses: int) -> Raw:
        """The data part: the second payload, or what follows so many bytes of addresses."""
        return self.second or self.behind(self.address, addresses)


def _number(op: VectorOperand) -> int | None:
    return int(op.bits) if isinstance(op, Immediate) else None
