"""Registers and masks of a batch of hardware threads, and the operands over them."""

from __future__ import annotations

import contextlib
import enum
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from visa import types
from visa.diagnostics import Diagnostic, SimulationError
from visa.operands import (
    SAMPLER,
    SURFACE,
    Address,
    Execution,
    General,
    Immediate,
    Indirect,
    PredicateControl,
    Raw,
    VectorOperand,
)
from visa.program import (
    BINDLESS,
    FIRST_VARIABLE,
    NAMED_SAMPLER,
    PREDEFINED_VARIABLES,
    SCRATCH,
    SLM,
    STATELESS,
    Function,
    Instruction,
)
from visa.text.printer import FunctionPrinter
from visa.types import DataType
from vsim.abi import SAMPLER_HANDLE_SHIFT, URB
from vsim.images import SurfaceImage
from vsim.memory import Buffer, SamplerState
from vsim.numpy_engine import memory as mem
from vsim.numpy_engine.algebra import DTYPES, NumpyAlgebra
from vsim.registers import CR0, Layout, operand_type
from vsim.semantics.algebra import ImageView

Array = npt.NDArray[Any]
Mask = Any


class Special(enum.Enum):
    """Views that are not of a general variable."""

    FILE = "file"
    PREDICATES = "predicates"
    ADDRESSES = "addresses"


FILE, PREDICATES, ADDRESSES = Special
Kind = np.dtype[Any] | Special


@dataclass
class Code:
    """A function prepared for execution: a step for each instruction, the views that they need, the places of labels.

    For the places behind barriers ``arrivals`` says which threads may go on, and ``departures`` counts those that do.
    """

    function: Function
    layout: Layout
    slots: list[tuple[int, Kind]] = field(default_factory=list)
    slot_numbers: dict[tuple[int, Any], int] = field(default_factory=dict)
    steps: list[Callable[[], Any]] = field(default_factory=list)
    labels: dict[int, int] = field(default_factory=dict)
    arrivals: dict[int, Callable[[Array], Array]] = field(default_factory=dict)
    departures: dict[int, Callable[[Array], None]] = field(default_factory=dict)
    executed: Array | None = None

    def slot(self, root: int, kind: Kind) -> int:
        """Number of a view; ``root`` is a variable, ``kind`` a dtype or one of the special ones."""
        key = (root, kind)
        if key not in self.slot_numbers:
            self.slot_numbers[key] = len(self.slots)
            self.slots.append(key)
        return self.slot_numbers[key]


class Frame:
    """Registers of one activation: byte arrays with a row for each thread, and the views of them that the code asked for."""

    def __init__(self, bases: dict[Any, Array], recipes: list[tuple[Any, slice | None, np.dtype[Any] | None]]) -> None:
        self.bases, self.recipes = bases, recipes
        self.views = [self._view(*r) for r in recipes]

    def _view(self, key: Any, part: slice | None, dtype: np.dtype[Any] | None) -> Array:
        base = self.bases[key]
        base = base if part is None else base[:, part]
        return base if dtype is None else base.view(dtype)

    def rows(self, index: Array) -> Frame:
        """A copy of some threads' registers."""
        return Frame({k: b[index] for k, b in self.bases.items()}, self.recipes)

    def take_back(self, index: Array, other: Frame) -> None:
        """Copy registers back from :meth:`rows`."""
        for k, b in self.bases.items():
            b[index] = other.bases[k]


class NumpyMachine:
    """See :class:`vsim.semantics.algebra.Machine`. One batch of threads; ``views`` are those of the running frame."""

    def __init__(self, dispatch: Any, threads: int) -> None:
        self.dispatch, self.threads = dispatch, threads
        self.algebra = NumpyAlgebra()
        self.grf_size = dispatch.grf_size
        self.views: list[Array] = []
        self.shared: dict[int, Array] = {}
        self.surface_state: dict[tuple[int, int, int], Array] = {}
        self.code: Code
        self.function: Function
        self.context: Any = None
        self.here = 0
        self.flat_space = mem.Flat(dispatch.memory)
        self.slm_space: mem.Rows | None = None
        self.scratch_space: mem.Rows | None = None
        self.locate: Callable[[int, int], str] = lambda row, lane: ""
        self.pixels: Callable[[], list[Array]] = list

    # -- frames --------------------------------------------------------------------------------------------

    def new_frame(self, code: Code) -> Frame:
        """Fresh registers for one activation of a function."""
        layout = code.layout
        bases: dict[Any, Array] = {FILE: np.zeros((self.threads, layout.file_size), np.uint8)}
        recipes: list[tuple[Any, slice | None, np.dtype[Any] | None]] = []
        for root, kind in code.slots:
            key: Any = (kind, root)
            if kind is FILE:
                recipes.append((FILE, None, None))
                continue
            if kind is PREDICATES:
                bases[key] = np.zeros((self.threads, 32), bool)
            elif kind is ADDRESSES:
                bases[key] = np.zeros((self.threads, max(1, code.function.addresses[root].elements)), np.uint32)
            else:
                assert isinstance(kind, np.dtype)
                if root in layout.file_offsets:
                    at = layout.file_offsets[root]
                    recipes.append((FILE, slice(at, at + layout.sizes[root]), kind))
                    continue
                key = root
                if root not in bases:
                    bases[root] = (
                        self.shared_register(root)
                        if root < FIRST_VARIABLE
                        else np.zeros((self.threads, layout.sizes[root]), np.uint8)
                    )
                recipes.append((root, None, kind))
                continue
            recipes.append((key, None, None))
        return Frame(bases, recipes)

    def shared_register(self, index: int) -> Array:
        """Bytes of a predefined variable, which all functions of a thread share."""
        if index not in self.shared:
            _, data_type, count = PREDEFINED_VARIABLES[index]
            self.shared[index] = np.zeros((self.threads, max(64, -(-data_type.size * count // 64) * 64)), np.uint8)
        return self.shared[index]

    # -- operands ------------------------------------------------------------------------------------------

    def type_of(self, op: VectorOperand) -> DataType:
        return operand_type(self.function, op)

    def cannot(self, text: str, instruction: Instruction | None = None) -> SimulationError:
        function = self.function if instruction is None else self.body_running()
        number = (
            self.here
            if instruction is None
            else next(n for n, i in enumerate(function.instructions) if i is instruction)
        )
        i = function.instructions[number]
        where = f"'{FunctionPrinter(function).instruction(i)}' (instruction {number} of '{function.name}')"
        return SimulationError(Diagnostic("S020", f"{text} in {where}", self.dispatch.image.span(function, i.line)))

    def _place(self, var: int, offset: int, last: int, what: str) -> tuple[int, int]:
        """Root and byte offset of a byte of a variable; ``last`` is one past the last byte used."""
        root, start = self.code.layout.root(var)
        if root >= FIRST_VARIABLE and start + last > self.code.layout.sizes[root]:
            raise self.cannot(f"{what} reaches byte {last} of '{self.function.variable_name(var)}', which has fewer")
        return root, start + offset

    def _elements(self, op: General, count: int) -> tuple[int, list[int], DataType]:
        """Root variable and byte offsets of the elements of a region."""
        data_type = self.function.variable_type(op.var)
        base = op.row * self.grf_size + op.col * data_type.size
        v, w, h = op.region
        if w is None:
            index = [i * (h or 0) for i in range(count)]
        else:
            index = [(i // w) * (v or 0) + (i % w) * (h or 0) for i in range(count)]
        last = base + (max(index) + 1) * data_type.size
        root, start = self._place(op.var, base, last, "a region")
        return root, [start + i * data_type.size for i in index], data_type

    def _view(self, root: int, offsets: list[int], dtype: np.dtype[Any]) -> tuple[int, Any] | None:
        """Slot and column index for elements at byte offsets, or None if they are not aligned."""
        size = dtype.itemsize
        if any(o % size for o in offsets):
            return None
        index = [o // size for o in offsets]
        slot = self.code.slot(root, dtype)
        if len(index) == 1 or len(set(index)) == 1:
            return slot, slice(index[0], index[0] + 1)
        step = index[1] - index[0]
        if step > 0 and all(b - a == step for a, b in itertools.pairwise(index)):
            return slot, slice(index[0], index[-1] + 1, step)
        return slot, np.array(index)

    def _read_elements(self, root: int, offsets: list[int], dtype: np.dtype[Any]) -> Callable[[], Array]:
        found = self._view(root, offsets, dtype)
        if found is not None:
            slot, columns = found
            return lambda: self.views[slot][:, columns]
        slot = self.code.slot(root, np.dtype("u1"))
        index = np.array([[o + k for k in range(dtype.itemsize)] for o in offsets]).reshape(-1)
        return lambda: np.ascontiguousarray(self.views[slot][:, index]).view(dtype)

    def _write_elements(self, root: int, offsets: list[int], dtype: np.dtype[Any]) -> Callable[[Array, Mask], None]:
        found = self._view(root, offsets, dtype)
        if found is None:
            slot = self.code.slot(root, np.dtype("u1"))
            index = np.array([[o + k for k in range(dtype.itemsize)] for o in offsets])

            def write_bytes(value: Array, mask: Mask) -> None:
                view = self.views[slot]
                shape = (view.shape[0], len(offsets))
                data = (
                    np.ascontiguousarray(np.broadcast_to(value, shape)).view(np.uint8).reshape(*shape, dtype.itemsize)
                )
                lanes = np.broadcast_to(True if mask is True else mask, shape)
                for k in range(len(offsets)):
                    rows = lanes[:, k]
                    view[np.ix_(rows, index[k])] = data[rows, k]

            return write_bytes
        slot, columns = found

        def write(value: Array, mask: Mask) -> None:
            if mask is True:
                self.views[slot][:, columns] = value
            elif isinstance(columns, slice):
                np.copyto(self.views[slot][:, columns], value, where=mask)
            else:
                view = self.views[slot]
                shape = (view.shape[0], len(columns))
                lanes = np.broadcast_to(mask, shape)
                data = np.broadcast_to(value, shape)
                for k, column in enumerate(columns):
                    np.copyto(view[:, column], data[:, k], where=lanes[:, k])

        return write

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Callable[[], Array]:
        if isinstance(op, General):
            root, offsets, data_type = self._elements(op, count)
            if root == 0:
                zero = self.algebra.const(0, data_type)
                return lambda: zero
            return self._read_elements(root, offsets, DTYPES[data_type])
        if isinstance(op, Immediate):
            value = self._immediate(op, count)
            return lambda: value
        if isinstance(op, Address):
            slot = self.code.slot(op.var, ADDRESSES)
            columns = slice(op.offset, op.offset + max(1, min(op.width, count)))
            return lambda: self.views[slot][:, columns]
        if isinstance(op, Indirect):
            return self._indirect_reader(op, count)
        raise self.cannot(f"an operand of class {type(op).__name__} cannot be read here")

    def _immediate(self, op: Immediate, count: int) -> Array:
        t, bits = op.type, op.bits
        if t in (types.V, types.UV):
            nibbles = [bits >> (4 * i) & 15 for i in range(8)]
            values = [n - 16 if t is types.V and n > 7 else n for n in nibbles]
            return np.array([[values[i % 8] for i in range(count)]], "i2" if t is types.V else "u2")
        if t is types.VF:
            codes = [bits >> (8 * i) & 255 for i in range(4)]
            values_f = [
                (-1.0 if c & 128 else 1.0) * (0.0 if not c & 127 else 2.0 ** ((c >> 4 & 7) - 3) * (1 + (c & 15) / 16))
                for c in codes
            ]
            return np.array([[values_f[i % 4] for i in range(count)]], "f4")
        size = t.size
        return np.frombuffer((bits & ((1 << 8 * size) - 1)).to_bytes(size, "little"), DTYPES[t]).reshape(1, 1)

    def _indirect_places(self, op: Indirect, count: int, size: int) -> Callable[[], Array]:
        """Byte places in the register file, shape (threads, count)."""
        slot = self.code.slot(op.var, ADDRESSES)
        v, w, h = op.region
        if v is None and w is not None:
            elements = [op.element + i // w for i in range(count)]
            inner = [op.offset + (i % w) * (h or 0) * size for i in range(count)]
        elif v is None:
            elements = [op.element] * count
            inner = [op.offset + i * (h or 0) * size for i in range(count)]
        else:
            elements = [op.element] * count
            inner = [op.offset + ((i // (w or 1)) * v + (i % (w or 1)) * (h or 0)) * size for i in range(count)]
        columns: Any = slice(elements[0], elements[0] + 1) if len(set(elements)) == 1 else np.array(elements)
        offsets = np.array([inner], np.int64)
        return lambda: self.views[slot][:, columns].astype(np.int64) + offsets

    def _check_places(self, places: Array, size: int, file: Array, mask: Mask) -> Array:
        bad = (places < 0) | (places + size > file.shape[1])
        if mask is not True:
            bad = bad & np.broadcast_to(mask, bad.shape)
        if bad.any():
            row, lane = (int(i[0]) for i in np.nonzero(bad))
            raise self.fault_at(
                row,
                lane,
                f"register address {int(places[row, lane])} lies outside the registers whose addresses are taken",
            )
        return np.clip(places, 0, file.shape[1] - size)

    def _indirect_reader(self, op: Indirect, count: int) -> Callable[[], Array]:
        dtype = DTYPES[op.type]
        places = self._indirect_places(op, count, dtype.itemsize)
        slot = self.code.slot(-1, FILE)
        lanes = np.arange(dtype.itemsize)

        def read() -> Array:
            file = self.views[slot]
            at = np.clip(places(), 0, file.shape[1] - dtype.itemsize)
            if dtype.itemsize > 1 and not (at % dtype.itemsize).any():
                return np.take_along_axis(file.view(dtype), at // dtype.itemsize, 1)
            rows = np.arange(file.shape[0])[:, None, None]
            return np.ascontiguousarray(file[rows, at[..., None] + lanes]).view(dtype)[..., 0]

        return read

    def writer(self, op: VectorOperand, count: int) -> Callable[[Array, Mask], None]:
        if isinstance(op, General):
            root, offsets, data_type = self._elements(op, count)
            if root == 0:
                return lambda value, mask: None
            return self._write_elements(root, offsets, DTYPES[data_type])
        if isinstance(op, Address):
            slot = self.code.slot(op.var, ADDRESSES)
            columns = slice(op.offset, op.offset + count)

            def write_address(value: Array, mask: Mask) -> None:
                np.copyto(self.views[slot][:, columns], value.astype(np.uint32), where=mask)

            return write_address
        if isinstance(op, Indirect):
            dtype = DTYPES[op.type]
            places = self._indirect_places(op, count, dtype.itemsize)
            slot = self.code.slot(-1, FILE)

            def write_indirect(value: Array, mask: Mask) -> None:
                file = self.views[slot]
                at = self._check_places(places(), dtype.itemsize, file, mask)
                shape = (file.shape[0], count)
                lanes = np.broadcast_to(True if mask is True else mask, shape)
                data = (
                    np.ascontiguousarray(np.broadcast_to(value.astype(dtype, copy=False), shape))
                    .view(np.uint8)
                    .reshape(*shape, dtype.itemsize)
                )
                rows, columns_ = np.nonzero(lanes)
                at = np.broadcast_to(at, shape)
                for k in range(dtype.itemsize):
                    file[rows, at[rows, columns_] + k] = data[rows, columns_, k]

            return write_indirect
        raise self.cannot(f"an operand of class {type(op).__name__} cannot be written here")

    def raw_reader(
        self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False
    ) -> Callable[[], Array]:
        dtype = DTYPES[data_type]
        if op.var == 0:
            zero = self.algebra.const(0, data_type)
            return lambda: zero
        size = dtype.itemsize
        root, start = self._place(op.var, op.offset + offset, op.offset + offset + count * size, "a message")
        return self._read_elements(root, [start + i * size for i in range(count)], dtype)

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Callable[[Array, Mask], None]:
        dtype = DTYPES[data_type]
        if op.var == 0:
            return lambda value, mask: None
        size = dtype.itemsize
        root, start = self._place(op.var, op.offset + offset, op.offset + offset + count * size, "a message")
        return self._write_elements(root, [start + i * size for i in range(count)], dtype)

    def address_of(self, op: General) -> Callable[[], Array]:
        root, start = self.code.layout.root(op.var)
        if root not in self.code.layout.file_offsets:
            raise self.cannot(f"the address of '{self.function.variable_name(op.var)}' cannot be taken")
        at = (
            self.code.layout.file_offsets[root]
            + start
            + op.row * self.grf_size
            + op.col * self.function.variable_type(op.var).size
        )
        value = self.algebra.const(at, types.UD)
        return lambda: value

    # -- masks ---------------------------------------------------------------------------------------------

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> Callable[[], Mask]:
        offset, size = execution.offset, execution.size
        bits = self.predicate_bits(predicate, execution) if predicate else None
        if execution.no_mask:
            if bits is None:
                return self.thread_mask
            return lambda: _both(self.context.threads, bits())
        if bits is None:
            return lambda: self.context.lanes(offset, size)
        return lambda: _both(self.context.lanes(offset, size), bits())

    def thread_mask(self) -> Mask:
        return self.context.threads

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Callable[[], Array]:
        slot = self.code.slot(predicate.var, PREDICATES)
        columns = slice(execution.offset, execution.offset + execution.size)
        mode, inverse = predicate.mode, predicate.inverse

        def read() -> Array:
            bits: Any = self.views[slot][:, columns]
            if mode:
                bits = bits.any(axis=1, keepdims=True) if mode == "any" else bits.all(axis=1, keepdims=True)
            result: Array = ~bits if inverse else bits
            return result

        return read

    def predicate_reader(self, index: int, offset: int, count: int) -> Callable[[], Array]:
        slot = self.code.slot(index, PREDICATES)
        return lambda: self.views[slot][:, offset : offset + count]

    def predicate_writer(self, index: int, offset: int, count: int) -> Callable[[Array, Mask], None]:
        slot = self.code.slot(index, PREDICATES)

        def write(value: Array, mask: Mask) -> None:
            if mask is True:
                self.views[slot][:, offset : offset + count] = value
            else:
                np.copyto(self.views[slot][:, offset : offset + count], value, where=mask)

        return write

    def predicate_as_integer(self, index: int) -> Callable[[], Array]:
        slot = self.code.slot(index, PREDICATES)
        count = min(32, self.function.predicates[index - 1].elements)
        weights = (np.uint32(1) << np.arange(count, dtype=np.uint32)).reshape(1, count)
        return lambda: (self.views[slot][:, :count] * weights).sum(axis=1, keepdims=True, dtype=np.uint32)

    def predicate_from_integer(self, value: Array, count: int) -> Array:
        result: Array = (value >> np.arange(count, dtype=np.uint32)) & np.uint32(1) != 0
        return result

    # -- state ---------------------------------------------------------------------------------------------

    def _state(self, kind: int, index: int, element: int) -> Array:
        key = (kind, index, element)
        if key not in self.surface_state:
            self.surface_state[key] = np.zeros((self.threads, 1), np.uint32)
        return self.surface_state[key]

    def state_reader(self, kind: int, index: int, element: int) -> Callable[[], Array]:
        return lambda: self._state(kind, index, element)

    def state_writer(self, kind: int, index: int, element: int) -> Callable[[Array, Mask], None]:
        return lambda value, mask: np.copyto(self._state(kind, index, element), value, where=mask)

    def symbol_address(self, instruction: Instruction) -> int | None:
        found: int | None = self.dispatch.image.symbol_address(self.function, instruction.args["name"])
        return found

    def rounding(self) -> Array | None:
        if not self.dispatch.float_modes.rounding:
            return None
        # Bits 4 and 5: 0 nearest even, 1 up, 2 down, 3 towards zero.
        return (self._control() >> np.uint32(4)) & np.uint32(3)

    def denormals(self, data_type: DataType) -> Array | None:
        bit = self.dispatch.float_modes.flushed.get(data_type)
        return None if bit is None else (self._control() & np.uint32(bit)) == 0

    def _control(self) -> Array:
        return self.shared_register(CR0).view(np.uint32)[:, :1]

    # -- memory --------------------------------------------------------------------------------------------

    def flat(self) -> mem.Flat:
        return self.flat_space

    def slm(self) -> Any:
        return self.slm_space

    def surface(self, index: int) -> Any:
        if index == SLM:
            return self.slm_space
        if index == SCRATCH:
            return self.scratch_space
        if index == STATELESS:
            return self.flat_space
        return mem.Surface(
            self._state(SURFACE, index, 0), self.dispatch.surfaces if index != BINDLESS else self.dispatch.images
        )

    def urb(self) -> mem.Surface:
        return mem.Surface(np.full((self.threads, 1), URB), self.dispatch.surfaces)

    def pixel(self, execution: Execution) -> Callable[[], list[Array]]:
        part = slice(execution.offset, execution.offset + execution.size)
        return lambda: [axis[:, part] for axis in self.pixels()]

    def surface_by_handle(self, kind: str, value: Array) -> Any:
        if kind == "ss":
            return self.scratch_space
        return mem.Surface(
            np.broadcast_to(value, (self.threads, 1)), self.dispatch.surfaces if kind == "bti" else self.dispatch.images
        )

    # -- images --------------------------------------------------------------------------------------------

    def image(self, index: int) -> mem.Surface:
        found: mem.Surface = self.surface(index)
        return found

    def image_by_handle(self, kind: str, value: Array) -> mem.Surface:
        return mem.Surface(
            np.broadcast_to(value, (self.threads, 1)), self.dispatch.surfaces if kind == "bti" else self.dispatch.images
        )

    def with_image(
        self, image: mem.Surface, mask: Mask, instruction: Instruction, act: Callable[[ImageView, Mask], list[Array]]
    ) -> list[Array]:
        return self._each(
            image.number,
            mask,
            lambda number, lanes: act(self._image_view(image.table.get(number), number, instruction), lanes),
        )

    def with_sampler(
        self,
        image: mem.Surface,
        sampler: int,
        mask: Mask,
        instruction: Instruction,
        act: Callable[[ImageView, SamplerState, Mask], list[Array]],
    ) -> list[Array]:
        states, handles = self.dispatch.samplers, self._state(SAMPLER, sampler, 0)
        numbers = handles >> np.uint32(SAMPLER_HANDLE_SHIFT) if sampler == NAMED_SAMPLER else handles
        return self.with_image(
            image,
            mask,
            instruction,
            lambda view, lanes: self._each(
                numbers, lanes, lambda n, inner: act(view, states.get(n, SamplerState()), inner)
            ),
        )

    def _image_view(self, image: Buffer | SurfaceImage | None, number: int, instruction: Instruction) -> ImageView:
        if not isinstance(image, SurfaceImage):
            raise self.fault_at(0, 0, f"surface {number} is used as an image, but is none,", instruction)
        sizes = [np.full((1, 1), n, np.int32) for n in image.sizes]
        return ImageView(
            image.kind, sizes, mem.Rows(image.name, image.bytes, np.zeros((1, 1), np.int64), image.array.nbytes)
        )

    def _each(self, numbers: Array, mask: Mask, act: Callable[[int, Mask], list[Array]]) -> list[Array]:
        """What ``act`` gives for the lanes of all threads that have the same number, put together."""
        threads = self.context.threads
        active = numbers if threads is True or numbers.shape[0] == 1 else numbers[threads[:, 0]]
        first = active.reshape(-1)[0]
        if (active == first).all():
            return act(int(first), mask)
        found: list[Array] = []
        for number in np.unique(active):
            own = numbers == number
            values = act(int(number), _both(mask, own))
            found = [np.where(own, new, old) for new, old in zip(values, found, strict=True)] if found else values
        return found

    # -- checked access ------------------------------------------------------------------------------------

    def _access(self, space: Any, address: Array, mask: Mask, size: int, instruction: Instruction | None) -> mem.Access:
        def fault(row: int, lane: int, name: str, offset: int, limit: int) -> Exception:
            what = (
                f"'{name}', which has {limit} bytes, at offset {offset}"
                if name
                else f"address {offset:#x}, where there is no buffer,"
            )
            return self.fault_at(row, lane, f"access of {size} bytes outside {what}", instruction)

        return mem.Access(space, address, mask, size, fault)

    def fault_at(self, row: int, lane: int, message: str, instruction: Instruction | None = None) -> SimulationError:
        """The error for a lane of a thread: kernel, instruction, source line, work-item."""
        function = self.body_running()
        line = instruction.line if instruction else 0
        text = f" by '{FunctionPrinter(function).instruction(instruction)}'" if instruction else ""
        number = next((f"instruction {n} of " for n, i in enumerate(function.instructions) if i is instruction), "")
        return SimulationError(
            Diagnostic(
                "S030",
                f"{message}{text} ({number}'{function.name}', {self.locate(row, lane)})",
                self.dispatch.image.span(function, line),
            )
        )

    def body_running(self) -> Function:
        return self.context.code.function if self.context is not None else self.function

    def load(self, space: Any, address: Array, data_type: DataType, mask: Mask, instruction: Instruction) -> Array:
        return self.load_elements(space, address, data_type, 1, mask, instruction)[0]

    def store(self, space: Any, address: Array, value: Array, mask: Mask, instruction: Instruction) -> None:
        self.store_elements(space, address, [value], mask, instruction)

    def load_elements(
        self, space: Any, address: Array, data_type: DataType, count: int, mask: Mask, instruction: Instruction
    ) -> list[Array]:
        return mem.load(
            self._access(space, address, mask, count * data_type.size, instruction), DTYPES[data_type], count
        )

    def store_elements(
        self, space: Any, address: Array, values: list[Array], mask: Mask, instruction: Instruction
    ) -> None:
        mem.store(self._access(space, address, mask, len(values) * values[0].dtype.itemsize, instruction), values)

    def mapped(self, space: Any, address: Array, size: int, mask: Mask) -> Array:
        bits = np.broadcast_to(True if mask is True else mask, np.broadcast_shapes(address.shape, (self.threads, 1)))
        found = np.zeros(bits.shape, bool)
        for row, lane in zip(*np.nonzero(bits), strict=True):
            one = np.zeros(bits.shape, bool)
            one[row, lane] = True
            with contextlib.suppress(SimulationError):
                self._access(space, np.broadcast_to(address, bits.shape), one, size, None).parts()
                found[row, lane] = True
        return found

    def atomic(
        self,
        space: Any,
        op: str,
        address: Array,
        data_type: DataType,
        sources: list[Array],
        mask: Mask,
        instruction: Instruction,
    ) -> Array:
        return mem.atomic(
            self._access(space, address, mask, data_type.size, instruction), op, DTYPES[data_type], sources
        )


def _both(mask: Mask, bits: Array) -> Mask:
    return bits if mask is True else mask & bits
