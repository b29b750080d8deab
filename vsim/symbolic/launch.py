"""A launch on symbols: the payload and memory of a bound launch, with symbols in the place of arguments, sizes and ids.

The bound launch gives places and addresses; the values that it was bound with do not matter. A hardware thread of any
work-group of any launch of the kernel begins with these registers, under the facts of :class:`Symbols`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import z3

from visakit.language.program import Function
from visakit.objects.image import SLOT
from visakit.objects.ze_info import PayloadField
from vsim.launch import threads
from vsim.launch.bound_launch import BoundLaunch
from vsim.launch.payload import SCRATCH_HANDLE
from vsim.semantics.registers import CR0
from vsim.symbolic import terms
from vsim.symbolic.algebra import SymbolicAlgebra
from vsim.symbolic.floats import UninterpretedFloats
from vsim.symbolic.limits import Limits, answer_of
from vsim.symbolic.registers import Piece, SymbolicRegisters, pieces_of
from vsim.symbolic.spaces import (
    FLAT,
    HANDLES,
    LOCAL,
    SCRATCH_MEMORY,
    TABLE,
    KnownElements,
    LoadedValue,
    SymbolicBuffer,
    SymbolicSpace,
)
from vsim.symbolic.symbols import Symbols, Uniformity
from vsim.symbolic.terms import Condition, Term
from vsim.symbolic.thread import loops_in

AXES = "xyz"
MAXIMUM_GLOBAL = (1 << 31) - 1
"""Work-items along a dimension of launches that are looked at."""
MAXIMUM_GROUP = 1024
MAXIMUM_BUFFER = SLOT - (1 << 17)
"""Bytes of a buffer of launches that are looked at."""
MAXIMUM_LOCAL = 1 << 16
"""Bytes of an argument in local memory of launches that are looked at."""
THREADS_IN_FLIGHT = 1024
THREAD = "thread"
"""The symbol of the number of the thread in its group."""


@dataclass(frozen=True)
class NdRangeShape:
    """What is fixed of the ND-range: the dimensions of launches, and sizes of a group where they are numbers."""

    dimensions: int
    local_size: tuple[int | None, int | None, int | None]


@dataclass
class SymbolicLaunch:
    """The threads of all launches of a kernel; see the module's description.

    Attributes:
        arguments: symbols of arguments by value, by number, and of the sizes of local memory.
        predefined: bytes of predefined variables that instructions have looked at.
        loads: what loads gave.
        known_elements: assumptions about the elements of arrays, by number of the argument.
        limits: of time and memory for the proof; all work on terms asks them.
    """

    bound: BoundLaunch
    geometry: NdRangeShape
    symbols: Symbols = field(default_factory=Symbols)
    arguments: dict[int, Term] = field(default_factory=dict)
    buffers: list[SymbolicBuffer] = field(default_factory=list)
    predefined: dict[int, list[Piece]] = field(default_factory=dict)
    loads: list[LoadedValue] = field(default_factory=list)
    known_elements: dict[int, KnownElements] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        bound = self.bound
        self.image, self.kernel, self.grf_size = bound.image, bound.kernel, bound.grf_size
        self.lanes, self.simd, self.float_modes = bound.lanes, bound.simd, bound.float_modes
        self.algebra = SymbolicAlgebra(UninterpretedFloats())
        self._simplified: dict[int, tuple[Term, Term]] = {}
        self._loops: dict[int, dict[int, range]] = {}
        self._name_sizes()
        self._name_buffers()
        self.local_sizes: dict[int, Term] = {}
        """Bytes of arguments in local memory, by number."""
        self.slm_size: Term = bound.signature.slm_size
        self.payload = self._payload()

    # -- sizes and ids -------------------------------------------------------------------------------------

    def _name_sizes(self) -> None:
        state, number = self.symbols.state, self.symbols.number
        self._products: list[tuple[Term, Term]] = []
        """Products of sizes and ids, which have symbols: the solver is slow with them."""
        self.local_size: list[Term] = []
        self.global_size: list[Term] = []
        self.group_ids: list[Term] = []
        self.group_starts: list[Term] = []
        for axis, name in enumerate(AXES):
            if axis >= self.geometry.dimensions:
                self.local_size.append(1)
                self.global_size.append(1)
                self.group_ids.append(0)
                self.group_starts.append(0)
                continue
            local: Term = self.geometry.local_size[axis]
            if local is None:
                local = number(f"local_size.{name}", 32, scope=Uniformity.LAUNCH, is_input=True)
                state(z3.UGE(local, 1), z3.ULE(local, MAXIMUM_GROUP))
            size = number(f"global_size.{name}", 32, scope=Uniformity.LAUNCH, is_input=True)
            group = number(f"group_id.{name}", 32, scope=Uniformity.GROUP, is_input=True)
            start, whole = terms.times(group, local, 32), terms.expression(local, 32)
            if not isinstance(local, int):
                product, start = start, number(f"group_start.{name}", 32, scope=Uniformity.GROUP)
                self._products += [(product, start), (whole * group, start), *_low_products(group, whole, start)]
                state(start == product)
            state(
                z3.UGE(size, 1),
                z3.ULE(size, MAXIMUM_GLOBAL),
                z3.BVMulNoOverflow(group, whole, False),
                z3.ULT(start, size),
                z3.ULE(start + whole, size),
            )
            if isinstance(local, int):
                state(z3.URem(size, local) == 0)
            self.local_size.append(local)
            self.global_size.append(size)
            self.group_ids.append(group)
            self.group_starts.append(start)
        sizes = [terms.extend(n, 32, 64, False) for n in self.local_size]
        self.group_items = terms.times(terms.times(sizes[0], sizes[1], 64), sizes[2], 64)
        if not isinstance(self.group_items, int) and self.geometry.dimensions > 1:
            state(z3.ULE(self.group_items, MAXIMUM_GROUP))
        self.slot = number("slot", 32, is_input=False)
        state(z3.ULT(self.slot, THREADS_IN_FLIGHT))

    def local_id(self, axis: int, lane: int) -> Term:
        """The local id of a lane along a dimension, a word."""
        if axis >= self.geometry.dimensions:
            return 0
        name = f"local_id.{AXES[axis]}"
        is_new = f"{name}@{lane}" not in self.symbols.known
        found = self.symbols.number(name, 16, lane, is_input=True)
        if is_new:
            whole = z3.ZeroExt(16, found)
            self.symbols.state(z3.ULT(whole, terms.expression(self.local_size[axis], 32)))
            self.symbols.state(z3.ULT(whole + self.group_starts[axis], self.global_size[axis]))
        return found

    def start_guards(self) -> tuple[Condition, ...]:
        """The lanes that are work-items: all of them where threads are whole, else at least the first."""
        if self.kernel.is_cm or self.has_whole_threads():
            return (True,) * self.lanes
        active = self.symbols.condition
        return tuple(k == 0 or active("active", k) for k in range(self.lanes))

    def has_whole_threads(self) -> bool:
        """Whether the facts say that a group has no thread with fewer work-items than lanes."""
        if isinstance(self.group_items, int):
            return self.group_items % self.simd == 0
        names = self.symbols.free(self.group_items)
        solver = z3.Solver()
        solver.set("timeout", 2000)
        solver.add(*(f for f in self.symbols.facts if self.symbols.free(f) <= names))
        solver.add(z3.URem(self.group_items, self.simd) != 0)
        return bool(answer_of(solver) == z3.unsat)

    def links(self) -> list[Condition]:
        """Facts about the thread's number: which work-items it has, in groups of one dimension."""
        thread = self.symbols.expressions.get(THREAD)
        if thread is None:
            return []
        items = terms.expression(self.group_items, 64)
        found = [z3.ULT(z3.ZeroExt(32, thread) * self.simd, items)]
        if self.geometry.dimensions == 1:
            for lane in range(self.lanes):
                if (own := self.symbols.expressions.get(f"local_id.x@{lane}")) is not None:
                    at = z3.ZeroExt(16, own) == thread * self.simd + lane
                    active = self.symbols.expressions.get(f"active@{lane}")
                    found.append(at if active is None else z3.Implies(active, at))
        return found

    # -- memory --------------------------------------------------------------------------------------------

    def _name_buffers(self) -> None:
        bound = self.bound
        arguments = {own.address: n for n, own in bound.arguments.buffers.items()}
        for slot, own in sorted(bound.memory.slots.items()):
            index = arguments.get(own.address)
            if own.address // SLOT != slot or own.name == "private memory":
                continue
            size: Term = own.size
            if index is not None:
                size = self.symbols.number(f"size({self.name_of(index)})", 64, scope=Uniformity.LAUNCH, is_input=True)
                self.symbols.state(z3.ULE(size, MAXIMUM_BUFFER))
            name = own.name if index is None else self.name_of(index)
            self.buffers.append(SymbolicBuffer(name, own.address, size, own.writable, index))

    def name_of(self, index: int) -> str:
        """The name of an argument, in assumptions and verdicts."""
        names = self.bound.signature.names_in_order
        return names[index] if index < len(names) else f"#{index}"

    def buffer_of(self, argument: int | None) -> SymbolicBuffer | None:
        """The memory of an argument."""
        return next((b for b in self.buffers if b.argument == argument), None)

    def buffer_at(self, address: int) -> SymbolicBuffer | None:
        """The memory whose slot holds an address."""
        return next((b for b in self.buffers if b.address // SLOT == address // SLOT), None)

    def candidates(self, space: SymbolicSpace, address: Term) -> list[SymbolicBuffer]:
        """The memories that an access may be meant for, with the base from which its address counts: for flat memory
        those whose addresses occur in the term.
        """
        if space.kind == LOCAL:
            return [SymbolicBuffer("local memory", 0, self.slm_size)]
        if space.kind == SCRATCH_MEMORY:
            return [SymbolicBuffer("scratch memory", 0, self.bound.scratch_size)]
        if space.kind in (TABLE, HANDLES):
            table: Mapping[int, object] = self.bound.surfaces if space.kind == TABLE else self.bound.bindless
            own = table.get(space.surface) if isinstance(space.surface, int) else None
            found = [b for b in self.buffers if own is not None and b.address == getattr(own, "address", None)]
            return [SymbolicBuffer(b.name, 0, b.size, b.is_writable, b.argument) for b in found]
        if space.kind != FLAT:
            return []
        values = terms.numerals(address)
        slots = values | {value // SLOT for value in values}  # a high half alone is a slot
        return [b for b in self.buffers if b.address // SLOT in slots]

    # -- registers of a thread that begins -----------------------------------------------------------------

    def states_of(self, function: Function) -> dict[tuple[int, int, int], Term]:
        """Surface and sampler variables that begin with a number."""
        found = {(kind, index, 0): n for kind, index, n in threads.state_defaults(self.bound, function)}
        return dict(found)

    def fill(self, registers: SymbolicRegisters) -> None:
        """The payload goes into the kernel's inputs."""
        for var, offset, size in threads.input_places(self.bound):
            root, start = registers.layout.root(var)
            registers.bytes_of(root)[start : start + size] = self.payload[offset : offset + size]
        for kind, index, offset in threads.state_inputs(self.bound):
            word = self.bound.payload[offset : offset + 4]
            registers.states[kind, index, 0] = int.from_bytes(word, "little")

    def _payload(self) -> list[Piece]:
        bound = self.bound
        data = bound.payload_of(bound.local_size, 0)
        payload = [Piece(byte, 1, 0) for byte in data]

        def put(at: int, value: Term, size: int) -> None:
            payload[at : at + size] = pieces_of(value, size)

        self._put_arguments(payload, put)
        for at, own in bound.signature.layout.range_values:
            self._put_range(put, at, own)
        for at in bound.signature.layout.group_size_at:
            for axis in range(3):
                put(at + 4 * axis, self.local_size[axis], 4)
        for at in bound.signature.layout.private_at:
            put(at, self._private_memory(), 8)
        first, step = bound.local_ids_at, threads.id_step_bytes(bound)
        dimensions = min(bound.local_id_rows * threads.id_row_bytes(bound) // step, 3)
        for axis in range(dimensions):
            for lane in range(self.simd):
                put(first + axis * step + 2 * lane, self.local_id(axis, lane), 2)
        return payload

    def _put_range(self, put: Callable[[int, Term, int], None], at: int, own: PayloadField) -> None:
        """A value that the ND-range decides. Global offsets are 0."""
        if own.kind == "work_dimensions":
            put(at, self.geometry.dimensions, own.size)
            return
        triples = {
            "enqueued_local_size": self.local_size, "global_size": self.global_size, "global_id_offset": [0, 0, 0],
        }  # fmt: skip
        values = triples.get(own.kind) or [self.group_count(axis) for axis in range(3)]
        for axis in range(3):
            put(at + 4 * axis, values[axis], 4)

    def group_count(self, axis: int) -> Term:
        """The number of groups along a dimension."""
        if axis >= self.geometry.dimensions:
            return 1
        name = f"group_count.{AXES[axis]}"
        is_new = name not in self.symbols.known
        found = self.symbols.number(name, 32, scope=Uniformity.LAUNCH)
        if is_new:
            local = terms.expression(self.local_size[axis], 32)
            self.symbols.state(
                z3.ULT(self.group_ids[axis], found),
                found * local == self.global_size[axis],
                z3.BVMulNoOverflow(found, local, False),
            )
        return found

    def _put_arguments(self, payload: list[Piece], put: Callable[[int, Term, int], None]) -> None:
        signature = self.bound.signature
        if signature.info is None:
            for index, name in self.bound.arguments.inputs.items():
                place = signature.inputs.get(name)
                if place is not None and index not in self.bound.arguments.buffers:
                    value = self._argument(index, place.size)
                    payload[place.offset : place.offset + place.size] = pieces_of(value, place.size)
            return
        for at, own in signature.layout.arguments:
            if own.kind == "arg_byvalue":
                pieces = signature.fields[own.argument]
                size = max(p.source_offset + p.size for p in pieces)
                value = self._argument(own.argument, size)
                whole = pieces_of(value, size)
                payload[at : at + own.size] = whole[own.source_offset : own.source_offset + own.size]
        end: Term = 0
        for at, own in signature.layout.local_pointers:
            step = own.slm_alignment
            start = terms.plus(end, step - 1, 64)
            start = terms.both_bits(start, -step & (1 << 64) - 1, 64)
            put(at, terms.extract(start, 0, 8 * (own.size or 4), 64), own.size or 4)
            end = terms.plus(start, self._local_size(own.argument), 64)
        self.slm_size = terms.plus(end, signature.slm_size, 64)

    def _local_size(self, index: int) -> Term:
        """The size of an argument in local memory."""
        size = self.symbols.number(f"size({self.name_of(index)})", 64, scope=Uniformity.LAUNCH, is_input=True)
        self.symbols.state(z3.UGE(size, 1), z3.ULE(size, MAXIMUM_LOCAL))
        self.local_sizes[index] = size
        return size

    def _argument(self, index: int, size: int) -> Term:
        """The symbol of an argument by value."""
        if index not in self.arguments:
            name = self.name_of(index)
            self.arguments[index] = self.symbols.number(name, 8 * size, scope=Uniformity.LAUNCH, is_input=True)
        return self.arguments[index]

    def _private_memory(self) -> int:
        """The address of the private memory of the threads in flight."""
        address = self.bound.private_memory(1)
        size = self.bound.private_size * THREADS_IN_FLIGHT
        if all(b.name != "private memory" for b in self.buffers):
            self.buffers.append(SymbolicBuffer("private memory", address, size))
        return address

    def start_value(self, register: int, size: int) -> list[Piece]:
        """What threads find in a predefined register when they start."""
        found = [Piece(0, 1, 0)] * size
        axis = register - threads.GROUP_ID

        def put(at: int, value: Term, count: int = 4) -> None:
            found[at : at + count] = pieces_of(value, count)

        if register == threads.R0:
            for at, n in ((4, 0), (24, 1), (28, 2)):
                put(at, self.group_ids[n])
            put(8, z3.ZeroExt(24, z3.Extract(7, 0, self.thread_number())))
            put(20, self.slot)
        elif 0 <= axis < 3:
            put(0, self.group_ids[axis])
        elif register == threads.HW_ID:
            put(0, self.slot)
        elif register == threads.SCRATCH_LOCATION:
            put(0, SCRATCH_HANDLE)
        elif register in (threads.SR0, threads.MSG0):
            sr0, msg0 = threads.slot_registers(self.image.platform)
            put(0, self._slot_bits(sr0 if register == threads.SR0 else msg0))
        elif register in (threads.THREAD_X, threads.THREAD_X + 1, 6):
            put(0, self.symbols.number(f"register.{register}", 8 * size), size)
        elif register != CR0 and register in (8, 9, 10, 11):
            whole = self.symbols.number(f"undefined.V{register}", 8 * size, is_undefined=True)
            return pieces_of(whole, size)
        return found

    def thread_number(self) -> Term:
        """The number of the thread in its group."""
        return self.symbols.number(THREAD, 32)

    def _slot_bits(self, fields: tuple[threads.SlotBits, ...]) -> Term:
        total: Term = 0
        for own in fields:
            part = terms.both_bits(terms.shift_right(self.slot, own.first, 32, False), own.mask or 0xFFFFFFFF, 32)
            total = terms.plus(total, terms.shift_left(part, own.to, 32), 32)
        return total

    # -- terms ---------------------------------------------------------------------------------------------

    def simplified(self, term: Term) -> Term:
        """A term or condition, as short as the solver makes it; a number or truth where it is constant.

        Raises:
            Undecided: the proof takes too long or too much.
        """
        if isinstance(term, (int, bool)):
            return term
        key = terms.identity(term)
        known = self._simplified.get(key)
        if known is None:
            self.limits.check()
            named = z3.substitute(term, *self._products) if self._products else term
            found: Term = z3.simplify(named, elim_sign_ext=False)
            if z3.is_bv_value(found):
                found = found.as_long()
            elif z3.is_true(found) or z3.is_false(found):
                found = bool(z3.is_true(found))
            known = self._simplified[key] = found, term
        return known[0]

    def fix(self, symbol: Term, value: int) -> None:
        """Let a symbol be a number in simplified terms: the facts leave no other one."""
        self._products.append((symbol, z3.BitVecVal(value, symbol.size())))

    def loops_of(self, function: Function) -> dict[int, range]:
        """The loops of a function, by the pc of their first instruction."""
        if id(function) not in self._loops:
            self._loops[id(function)] = loops_in(function)
        return self._loops[id(function)]

    def loaded(self, symbol: Term, space: SymbolicSpace, address: Term, offset: int, size: int) -> None:
        """Remember the result of a load."""
        self.loads.append(LoadedValue(symbol, space, address, offset, size))
        found = self.candidates(space, address) if self.known_elements and space.kind in (FLAT, TABLE, HANDLES) else []
        if len(found) == 1 and found[0].argument is not None:
            at = terms.less(terms.plus(address, offset, 64), found[0].address, 64)
            self.state_elements(found[0].argument, at, size, symbol)

    def state_elements(self, argument: int, offset: Term, size: int, value: Term) -> None:
        """State the assumption about elements of an array for the initial bytes at an offset; nothing is known of bytes
        that are parts of two elements.
        """
        known = self.known_elements.get(argument)
        if known is None or size % (element := known.symbol.size() // 8):
            return
        is_parts = terms.negation(self.simplified(terms.equal(terms.both_bits(offset, element - 1, 64), 0, 64)))
        for k in range(0, size, element):
            own = known.of(terms.extract(value, 8 * k, 8 * element, 8 * size))
            self.symbols.state(terms.disjunction(is_parts, own))


def _low_products(x: Term, y: Term, product: Term) -> Iterator[tuple[Term, Term]]:
    """The low bits of a product as the solver writes them, as in parts of an index."""
    for high in range(31):
        low = [z3.Extract(high, 0, t) for t in (x, y, product)]
        yield low[0] * low[1], low[2]
        yield low[1] * low[0], low[2]
