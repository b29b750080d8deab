"""Raw messages (manual: chapter 6, "Miscellaneous Instructions": RAW_SEND, RAW_SENDS).

A message to memory does what another instruction does, and becomes it: its *equivalent*, which
:mod:`vsim.semantics.descriptors` finds. A descriptor that is known only when the message is sent is decoded then. A
message to the gateway may arrive at a named barrier, or end the thread.
"""

from __future__ import annotations

from visakit.isa.enums import SHARED_FUNCTIONS
from visakit.isa.record import Flow
from visakit.language import types
from visakit.language.operands import ACTIVE_LANES
from visakit.language.program import Instruction
from vsim.semantics.algebra import Lanes, Machine, Step
from vsim.semantics.core import SEMANTICS, nothing, semantics
from vsim.semantics.descriptors import memory_instruction
from vsim.semantics.flow import arrival
from vsim.semantics.raw_message import DATA_PORT_0, DATA_PORT_1, KNOWN, MEMORY_UNITS, AtRunTime, Message, NoEquivalent
from vsim.semantics.refused import RAW_MESSAGES

GATEWAY, THREAD_SPAWNER = 3, 7
GATEWAY_BARRIER, GATEWAY_END = 4, 16
"""Functions of the gateway, in bits 0 to 4 of the descriptor: arrive at a named barrier, end the thread."""
NAMED_BARRIER_GRF_SIZE = 64
"""Bytes of a register of the platforms that have named barriers: those since pvc."""
RAW_MESSAGE = "raw"
"""The field of an equivalent that has the raw message."""
_UNITS = {n: name for name, n in SHARED_FUNCTIONS.items() if name.isalpha()}
_UNITS |= {2: "sampler", 3: "gateway", 4: "data port 2", 5: "render targets", 6: "urb", 9: "constant cache"}
_OPERATIONS = {2: (12, 5), GATEWAY: (0, 5), 5: (14, 4), 6: (0, 4), 9: (14, 5)}
"""Where the descriptors of units say the operation: the lowest bit, and how many there are."""
_ELEMENTS = (types.UB, types.UW, types.UD, types.UQ, types.D, types.Q)
"""Types of elements of messages to memory."""


def equivalent(instruction: Instruction, grf_size: int) -> Instruction | None:
    """The instruction equivalent to a raw message; None if the message has no effect, or :func:`signals_barrier` holds.

    Raises:
        NoEquivalent: no instruction has this effect; :class:`AtRunTime` if that shows when the message is sent.
    """
    m = Message(instruction, grf_size)
    if m.unit in MEMORY_UNITS:
        desc, fields = memory_instruction(m)
        raw = instruction.args.get(RAW_MESSAGE, instruction)
        fields |= {"exec": m.execution, "pred": instruction.args["pred"], RAW_MESSAGE: raw}
        return Instruction(desc, fields, instruction.line)
    if not _only_ends(m, instruction) and not _signals(m, instruction):
        low, bits = _OPERATIONS.get(m.unit, (0, 0))
        operation = f", operation {m.field(low, bits)}," if bits and m.given is not None else ""
        raise NoEquivalent(
            f"messages to unit {m.unit} ({_UNITS.get(m.unit, 'reserved')}){operation} are not simulated; named "
            f"barriers ({GATEWAY}), the data ports ({DATA_PORT_0}, {DATA_PORT_1}) and "
            "the load/store units (1, 13 to 15) are"
        )
    return None


def _only_ends(m: Message, instruction: Instruction) -> bool:
    """Whether a thread's last message does nothing but end it: to the thread spawner, since dg2 to the gateway."""
    if instruction.desc.flow is not Flow.END:
        return False
    return m.unit == THREAD_SPAWNER or (m.unit == GATEWAY and m.field(0, 5) == GATEWAY_END)


def _signals(m: Message, instruction: Instruction) -> bool:
    if m.unit != GATEWAY or m.field(0, 5) != GATEWAY_BARRIER:
        return False
    if m.grf_size < NAMED_BARRIER_GRF_SIZE:
        raise NoEquivalent("barriers by messages are simulated where there are named barriers, on pvc and newer")
    if instruction.args["pred"] is not None:
        raise NoEquivalent("messages to barriers are simulated without a predicate")
    return True


def signals_barrier(instruction: Instruction, grf_size: int) -> bool:
    """Whether a raw message arrives at a named barrier."""
    if instruction.desc.semantics not in RAW_MESSAGES:
        return False
    try:
        return _signals(Message(instruction, grf_size), instruction)
    except NoEquivalent:
        return False


def flow_of(instruction: Instruction, grf_size: int) -> Flow:
    """What an instruction does to control flow; of a raw message to a named barrier, what ``nbarrier.signal`` does."""
    return Flow.NAMED_BARRIER if signals_barrier(instruction, grf_size) else instruction.desc.flow


def _signal(m: Machine, instruction: Instruction) -> Step:
    """Arrive at the named barrier that dword 2 of the header names: its number in bits 0 to 7, the role in 14 and 15,
    the producers from 16, the consumers from 24 on.
    """
    a, header = m.algebra, m.raw_reader(Message(instruction, m.grf_size).first, 8, 1, types.UD)

    def part(low: int, bits: int) -> Lanes:
        return (header() >> a.const(low, types.UD)) & a.const((1 << bits) - 1, types.UD)

    return m.named_barrier(lambda: part(0, 8), lambda: arrival(a, part(14, 2), part(16, 8), part(24, 8)), instruction)


def meaning(instruction: Instruction, grf_size: int) -> Instruction:
    """The instruction itself; of a raw message the equivalent instruction if one exists."""
    if instruction.desc.semantics not in RAW_MESSAGES:
        return instruction
    try:
        return equivalent(instruction, grf_size) or instruction
    except NoEquivalent:
        return instruction


def _decoded(m: Machine, instruction: Instruction) -> Step:
    """Sends a message whose descriptor is known when it is sent."""

    def prepare(descriptor: int) -> Step:
        known = instruction.args.get(KNOWN, {}) | {"desc": descriptor}
        fields = instruction.args | {KNOWN: known, RAW_MESSAGE: instruction}
        try:
            found = equivalent(Instruction(instruction.desc, fields, instruction.line), m.grf_size)
        except NoEquivalent as problem:
            raise m.cannot(f"descriptor {descriptor:#x}: {problem},", instruction) from None
        assert found is not None, "a message to memory"
        step: Step = SEMANTICS[found.desc.semantics](m, found)
        return step

    for name in ("src", "src0", "src1", "dst"):  # so that the machine has met the operands, in each type
        for t in _ELEMENTS if name in instruction.args else ():
            m.raw_reader(instruction.args[name], 0, 1, t)
    return m.decoded(instruction, prepare)


@semantics(*RAW_MESSAGES)
def raw_send(m: Machine, instruction: Instruction) -> Step:
    """Does what its equivalent does; a thread's last message ends all its lanes besides."""
    try:
        found = equivalent(instruction, m.grf_size)
    except AtRunTime:
        return _and_end(m, instruction, _decoded(m, instruction))
    except NoEquivalent:
        return nothing(m, instruction)  # A kernel that could reach it was refused.
    if signals_barrier(instruction, m.grf_size):
        return _signal(m, instruction)
    send = nothing(m, instruction) if found is None else SEMANTICS[found.desc.semantics](m, found)
    return _and_end(m, instruction, send)


def _and_end(m: Machine, instruction: Instruction, send: Step) -> Step:
    """What a message does; the thread's last one ends its lanes, too."""
    if instruction.desc.flow is not Flow.END:
        return send
    leave = m.leave(m.mask(ACTIVE_LANES, None))

    def last() -> object:
        send()
        return leave()

    return last
