"""The counts of messages to memory, in compiled code: behind each access of lanes a function out of line counts it
(``support/messages.ll``), in closed form where lanes are proved to be at a constant distance.

A message with several accesses is counted as one at its end. Whether others follow is not known where the first one is
lowered, so its call says so later.
"""

from __future__ import annotations

from typing import NamedTuple

from visakit.isa.enums import LSC_ORDERS
from visakit.isa.record import Payload
from visakit.language import types
from visakit.language.program import Instruction
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import first_counter
from vsim.engines.llvm.lower.observers.selection import LoweredAccess
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.memory.part import LanePart, affine_under, mask_bits, masked, narrowed, widened
from vsim.engines.llvm.memory.pattern import stride_of
from vsim.engines.llvm.support.messages import LANES, ROW
from vsim.observe.observer import Event, Observer
from vsim.semantics.memory import execution_of
from vsim.semantics.messages import meaning

_KINDS = {"read": 0, "write": 1, "atomic": 2}
_ONE_OF_SEVERAL = cx.MESSAGE_COLLECTS | cx.MESSAGE_VARIES
_LARGEST_LANES = 64


class _Call(NamedTuple):
    """A call that counts an access: its line among those of a block, and how lanes access memory."""

    lines: list[str]
    number: int
    how: int


class MessageCounters(Observer):
    """The code that counts the messages of one function."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.first = first_counter(state.dispatch.image.module, state.function)
        self.calls: list[_Call] = []
        self.lanes = 0
        """Of all accesses of the message."""

    def before(self, event: Event) -> None:
        self.calls, self.lanes = [], 0

    def accessed(self, event: Event, access: LoweredAccess) -> None:
        b, lanes = self.state.b, self._lanes_of(event.instruction, access)
        block, how = self._block(), access.size | _KINDS[access.kind] << cx.MESSAGE_KIND | lanes << cx.MESSAGE_LANES
        self.lanes += lanes
        if lanes > _LARGEST_LANES or self.lanes > cx.MESSAGE_INTERVALS:
            raise Unsupported("counts of messages with so many lanes")
        if access.kind == "atomic" and access.space.kind in (cx.LOCAL, cx.SCRATCH):
            b.emit(f"store i64 {self._owner(access.space.kind)}, ptr {b.offset(block, cx.MESSAGES_WHO)}, align 8")
        bits = mask_bits(b, None if access.mask is True else b.broadcast(access.mask, lanes), lanes)
        given = f"ptr {block}, ptr {self._site(event.number)}, ptr {access.space.counts or 'null'}"
        at_constant_distance = self._first_and_stride(access, lanes)
        if at_constant_distance is not None:
            name, parameters = "message_row", ", ".join(ROW)
            how |= _bits(access) << cx.MESSAGE_WIDTH
            given += f", i64 {at_constant_distance[0]}, i64 {at_constant_distance[1]}, i64 {bits}"
        else:
            name, parameters = "message_lanes", ", ".join(LANES)
            places = b.temporary(8 * lanes + 64)
            b.store(b.broadcast(masked(access.space, b.cast(access.address, types.UQ)), lanes), places, 8)
            given += f", ptr {places}, i64 {bits}"
        b.declare(name, "void", parameters)
        if self.calls:
            how |= _ONE_OF_SEVERAL
        b.emit(f"call void @{name}({given}, i64 {how})")
        self.calls.append(_Call(b.lines, len(b.lines) - 1, how))

    def after(self, event: Event) -> None:
        if len(self.calls) < 2:
            return
        b, (lines, number, how) = self.state.b, self.calls[0]
        call, _, _ = lines[number].rpartition(", i64 ")
        lines[number] = f"{call}, i64 {how | _ONE_OF_SEVERAL})"
        b.declare("message_end", "void", "ptr, ptr")
        b.emit(f"call void @message_end(ptr {self._block()}, ptr {self._site(event.number)})")

    def _block(self) -> str:
        return self.state.b.field("%ctx", cx.MESSAGES, "ptr")

    def _site(self, number: int) -> str:
        """The counts of an instruction."""
        b = self.state.b
        sites = b.field(self._block(), cx.MESSAGES_SITES, "ptr")
        return b.offset(sites, (self.first + number) * cx.SITE_SIZE)

    def _lanes_of(self, instruction: Instruction, access: LoweredAccess) -> int:
        """The lanes of an access, of whose address and mask one may stand for all."""
        lanes = max(access.address.lanes, 1 if access.mask is True else access.mask.lanes)
        instruction = meaning(instruction, self.state.dispatch.grf_size)
        execution = execution_of(instruction)
        return lanes if lanes > 1 or execution is None or _moves_blocks(instruction) else execution.size

    def _first_and_stride(self, access: LoweredAccess, lanes: int) -> tuple[str, int] | None:
        """The address of the first lane (i64) and the distance of lanes, if that is proved to be constant."""
        b, space = self.state.b, access.space
        offset = affine_under(narrowed(space, access.address), access.mask)
        if offset.lanes == 1:
            return widened(b, masked(space, offset).text, offset.type), 0
        stride = stride_of(LanePart(space, offset, access.mask, types.UB, access.size, lanes))
        known = offset.facts.affine
        if stride is None or known is None or offset.lanes != lanes or known.holds() != "true":
            return None
        first = masked(space, b.retype(known.first_lane, offset.type))
        return widened(b, first.text, first.type), stride

    def _owner(self, kind: int) -> str:
        """Whose local or scratch memory it is: a number above those of all places, i64."""
        b, count = self.state.b, [self.state.b.field("%ctx", cx.COUNTS + 8 * d) for d in range(2)]
        x, y, z = (b.cast(self.state.group_id(d), types.UQ).text for d in range(3))
        row = b.assign(f"add i64 {b.assign(f'mul i64 {z}, {count[1]}')}, {y}")
        owner = b.assign(f"add i64 {b.assign(f'mul i64 {row}, {count[0]}')}, {x}")
        if kind == cx.SCRATCH:
            owner = b.assign(f"add i64 {b.assign(f'mul i64 {owner}, {cx.MAXIMUM_THREADS}')}, {self.state.thread}")
        return b.assign(f"or i64 {b.assign(f'shl i64 {owner}, {cx.MESSAGE_OWNER}')}, {-1 << 63}")


def _bits(access: LoweredAccess) -> int:
    """How many bits of the addresses count."""
    mask = access.space.address_mask
    return narrowed(access.space, access.address).type.bits if mask is None else mask.bit_length()


def _moves_blocks(instruction: Instruction) -> bool:
    """Whether a message moves blocks of memory rather than an element for each lane."""
    desc, is_transposed = instruction.desc, instruction.args.get("order") == LSC_ORDERS["t"]
    return desc.payload is Payload.OWORDS or is_transposed or "block2d" in desc.semantics
