"""Live registers: which registers a thread must hold when it executes each instruction.

A register is *live* for a lane if the lane may read a byte of it later that it, or its caller, has written. Registers
are live as a whole, since register allocators do not split variables; that they are written in parts is followed by
bytes, so that a variable is not live before the first of the writes that together fill it.

A thread holds more registers than are live for the lanes that run: lanes that went another way wait for it at a
reconvergence point, and read their registers there. So a register that is live at a point is held as long as lanes may
wait there, from the branch on that made the first of them wait. A write under a mask ends the life of the old contents
in the lanes that run, but not in waiting lanes::

    0 (P1) goto (M1, 16) ELSE      lanes wait at 3
    1 mov (M1, 16) A(0,0)<1> ...   writes A whole, and ...
    2 goto (M1, 16) END
    3 ELSE: add ... A(0,0)         ... A is held in 1 and 2, for the lanes that wait here
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from visakit.forks import cached_property
from visakit.isa.record import Flow
from visakit.language.program import ARG, Function
from vsim.analysis.control_flow import control_flow, takes_all
from vsim.analysis.liveness import liveness
from vsim.analysis.reconvergence import reconvergence, waiting_ranges
from vsim.analysis.register_accesses import R0, Accesses, Bank, Register, RegisterAccess, bytes_from
from vsim.analysis.uniformity import uniform_predicates
from vsim.semantics.registers import Layout, layout_of

Places = dict[Register, int]
"""Sets of bytes by register."""


@dataclass(frozen=True)
class LiveRegisters:
    """The registers that a thread holds at each instruction of a function.

    Each attribute has for each instruction a set of registers, as an integer with a bit for each of ``registers``.

    Attributes:
        live: live for the lanes that run, before or after it; its operands are among them.
        waiting: held for lanes that wait.
    """

    function: Function
    layout: Layout
    registers: tuple[Register, ...]
    live: tuple[int, ...]
    waiting: tuple[int, ...]
    definitions: Mapping[Register, tuple[int, ...]]
    """The instructions that write a register."""
    uses: Mapping[Register, tuple[int, ...]]
    """The instructions that read a register."""

    @cached_property
    def held(self) -> tuple[int, ...]:
        """The registers that a thread holds at each instruction."""
        return tuple(live | waiting for live, waiting in zip(self.live, self.waiting, strict=True))

    def among(self, found: int) -> list[Register]:
        """The registers of a set."""
        return [r for n, r in enumerate(self.registers) if found >> n & 1]


def live_registers(function: Function, grf_size: int) -> LiveRegisters:
    """The registers that are live at each instruction.

    Args:
        grf_size: bytes of a register.

    Raises:
        SimulationError: S021, an alias names itself.
    """
    return _Analysis(function, grf_size).run()


class _Analysis:
    """The data flow of one function."""

    def __init__(self, function: Function, grf_size: int) -> None:
        self.function, self.flow = function, control_flow(function)
        self.layout = layout_of(function, grf_size)
        self.lanes = function.jump_lanes
        accesses = Accesses(function, self.layout)
        self.accesses: list[list[RegisterAccess]] = [list(accesses.of(i)) for i in function.instructions]
        self.uniform = uniform_predicates(function)
        self.converged = reconvergence(self.flow, self.uniform, self.lanes, starts_full=True).converged
        self.crossed = {a.register for a in chain.from_iterable(self.accesses) if a.crosses}
        self.global_bits = _GlobalBits()

    def run(self) -> LiveRegisters:
        """Solve it."""
        summaries = {start: self._summary(start, end) for start, end in self.flow.blocks()}
        bits = self.global_bits
        for places in summaries.values():
            bits.add(places[0])
        exposed, killed, written = (
            {start: bits.set_of(places[part]) for start, places in summaries.items()} for part in range(3)
        )
        successors = {start: self._successors(end - 1) for start, end in self.flow.blocks()}
        live = liveness(self.flow.starts, successors, exposed, killed, {})
        defined = self._defined(successors, written)
        return self._registers(live.live_out, defined)

    # -- blocks --------------------------------------------------------------------------------------------

    def _ends_life(self, access: RegisterAccess, is_converged: bool, pc: int) -> bool:
        """Whether nothing that a register held in the bytes that are written is read after a write."""
        if not access.writes or not access.whole:
            return False
        execution = self.function.instructions[pc].args.get("exec")
        if execution is None or execution.no_mask or is_converged:
            return True
        # Lanes that do not run keep theirs: they, and no others, may read it, unless lanes read bytes of others.
        return execution.size > 1 and access.register not in self.crossed

    def _summary(self, start: int, end: int) -> tuple[Places, Places, Places]:
        """Bytes that a block reads before it writes them, whose life it ends, and that it writes."""
        exposed, killed, written = Places(), Places(), Places()
        is_converged = start in self.converged
        for pc in range(start, end):
            for access in self.accesses[pc]:
                register, places = access.register, access.places
                if not access.writes:
                    if new := places & ~killed.get(register, 0):
                        exposed[register] = exposed.get(register, 0) | new
                    continue
                written[register] = written.get(register, 0) | places
                if self._ends_life(access, is_converged, pc):
                    killed[register] = killed.get(register, 0) | places
        return exposed, killed, written

    def _successors(self, last: int) -> list[int]:
        flow, i = self.flow, self.function.instructions[last]
        found = flow.successors(last, self.lanes)
        if i.desc.flow is Flow.RETURN and (subroutine := flow.subroutine_of(last)) in flow.return_sites:
            found += flow.return_sites[subroutine]
        elif i.desc.flow is Flow.CALL and takes_all(i, self.lanes):  # Control comes back by the subroutine's return.
            found = flow.targets(i)
        return [s for s in found if s < flow.end]

    def _defined(self, successors: Mapping[int, Sequence[int]], written: Mapping[int, int]) -> dict[int, int]:
        """What may have been written where control enters each block: the same equations, against the edges."""
        before: dict[int, list[int]] = {n: [] for n in self.flow.starts}
        for n, following in successors.items():
            for s in following:
                before[s].append(n)
        inputs = self.global_bits.set_of(self._inputs())
        begin = {**written, 0: written.get(0, 0) | inputs}
        nothing = dict.fromkeys(self.flow.starts, 0)
        found = liveness(self.flow.starts[::-1], before, begin, nothing, {}).live_out
        return {**found, 0: found.get(0, 0) | inputs}

    def _inputs(self) -> Places:
        """Bytes that are written before the function runs."""
        found = Places()
        for one in self.function.inputs:
            if not one.variable_class:
                root, start = self.layout.root(one.index)
                register = Register(Bank.GENERAL, root)
                found[register] = found.get(register, 0) | bytes_from(start, start + one.size)
        found[Register(Bank.GENERAL, R0)] = bytes_from(0, self.layout.grf_size)
        if not self.function.is_kernel:
            found[Register(Bank.GENERAL, ARG)] = bytes_from(0, self.function.variable_size(ARG, self.layout.grf_size))
        return found

    # -- instructions --------------------------------------------------------------------------------------

    def _registers(self, live_out: Mapping[int, int], defined: Mapping[int, int]) -> LiveRegisters:
        """What is live at each instruction."""
        numbers: dict[Register, int] = {}
        definitions: dict[Register, list[int]] = {}
        uses: dict[Register, list[int]] = {}
        for pc, accesses in enumerate(self.accesses):
            for access in accesses:
                numbers.setdefault(access.register, len(numbers))
                (definitions if access.writes else uses).setdefault(access.register, []).append(pc)
        for register in self.global_bits.places:
            numbers.setdefault(register, len(numbers))
        before, after, live_in = [0] * self.flow.end, [0] * self.flow.end, dict[int, int]()
        for start, end in self.flow.blocks():
            places = self.global_bits.of_set(live_out[start])
            written = _bits(self.global_bits.of_set(defined[start]), numbers)
            self._walk(start, end, places, numbers, before, after)
            self._drop_unwritten(start, end, written, numbers, before, after)
            live_in[start] = before[start] & written
        waiting = [0] * self.flow.end
        for first, point in waiting_ranges(self.flow, self.uniform, self.lanes, self.converged):
            if point < self.flow.end:
                for pc in range(first, point):
                    waiting[pc] |= live_in[point]
        return LiveRegisters(
            self.function,
            self.layout,
            tuple(numbers),
            tuple(one | other for one, other in zip(before, after, strict=True)),
            tuple(waiting),
            {r: tuple(dict.fromkeys(found)) for r, found in definitions.items()},
            {r: tuple(dict.fromkeys(found)) for r, found in uses.items()},
        )

    def _walk(
        self, start: int, end: int, live: Places, numbers: Mapping[Register, int], before: list[int], after: list[int]
    ) -> None:
        """Go up a block from the registers that are live at its end, noting the live ones."""
        is_converged = start in self.converged
        now = _bits(live, numbers)
        for pc in range(end - 1, start - 1, -1):
            after[pc] = now
            for access in reversed(self.accesses[pc]):
                register, bit = access.register, 1 << numbers[access.register]
                if access.writes:
                    after[pc] |= bit
                    if self._ends_life(access, is_converged, pc):
                        left = live.get(register, 0) & ~access.places
                        live[register] = left
                        now = now | bit if left else now & ~bit
                else:
                    live[register] = live.get(register, 0) | access.places
                    now |= bit
            before[pc] = now

    def _drop_unwritten(
        self, start: int, end: int, written: int, numbers: Mapping[Register, int], before: list[int], after: list[int]
    ) -> None:
        """Go down a block from what may have been written before it, and drop registers that nothing has written."""
        for pc in range(start, end):
            read, wrote = self._bits_of(pc, numbers, False), self._bits_of(pc, numbers, True)
            before[pc] &= written | read
            written |= wrote
            after[pc] &= written

    def _bits_of(self, pc: int, numbers: Mapping[Register, int], writes: bool) -> int:
        """The registers that an instruction reads, or writes."""
        found = 0
        for access in self.accesses[pc]:
            if access.writes is writes:
                found |= 1 << numbers[access.register]
        return found


def _bits(places: Places, numbers: Mapping[Register, int]) -> int:
    found = 0
    for register, some in places.items():
        if some:
            found |= 1 << numbers[register]
    return found


class _GlobalBits:
    """The registers that live across blocks, laid out one behind the other: a bit for each byte."""

    def __init__(self) -> None:
        self.places: dict[Register, tuple[int, int]] = {}
        """First bit and number of bits of a register."""
        self.size = 0

    def add(self, places: Places) -> None:
        """Give registers room, of at least the bytes that are read."""
        for register, some in places.items():
            if register not in self.places:
                self.places[register] = (-1, 0)
            self.places[register] = (-1, max(self.places[register][1], some.bit_length()))

    def _lay_out(self) -> None:
        if self.size or not self.places:
            return
        sizes = [size for _, size in self.places.values()]
        begins = accumulate(sizes, initial=0)
        self.places = {r: (begin, size) for (r, (_, size)), begin in zip(self.places.items(), begins, strict=False)}
        self.size = sum(sizes)

    def set_of(self, places: Places) -> int:
        """Bytes as one set."""
        self._lay_out()
        found = 0
        for register, some in places.items():
            if register in self.places:
                begin, size = self.places[register]
                found |= (some & bytes_from(0, size)) << begin
        return found

    def of_set(self, found: int) -> Places:
        """The bytes of each register in a set."""
        self._lay_out()
        if not found:
            return {}
        return {r: some for r, (begin, size) in self.places.items() if (some := found >> begin & bytes_from(0, size))}
