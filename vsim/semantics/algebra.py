"""The lane algebra: what an engine must offer so that the semantics can be written once.

A *lane value* is one value for each lane of an instruction (and, in an engine that runs many threads at once, for each
thread). The semantics treat it as opaque: they combine lane values with Python's operators (+ - * & | ^ ~ << >> == != <
<= > >=) and with the functions of :class:`Algebra`. Both sides of an operator have the same type, and a shift count is
below the width. Integers wrap around. Comparisons give a *mask*, a lane value of booleans, which takes & | ^ ~.

``add (M1, 16) V3(0,0)<1> V1(0,0)<8;8,1> V2(0,0)<8;8,1>`` shows how it fits together. The engine calls the semantics of
``add`` once, with itself as the :class:`Machine`; they ask it for two readers, a writer and a mask, and give back a
*step*::

    x, y, write, mask = m.reader(src0, 16), m.reader(src1, 16), m.writer(dst, 16), m.mask(exec, None)
    step = lambda: write(x() + y(), mask())

The numpy engine runs the step each time the instruction executes: ``x()`` is an array of threads by lanes, ``+`` is
numpy's. The LLVM engine runs it at each emission of the code: ``x()`` emits the loads of a vector, ``+`` an ``add``,
and ``write`` a store of the lanes in the mask. The order of the calls is therefore the order of the instructions in the
IR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from visakit.language.operands import Execution, General, PredicateControl, Raw, VectorOperand
from visakit.language.program import Function, Instruction
from visakit.language.types import DataType
from vsim.memory.images import ImageKind
from vsim.memory.memory import SamplerState

# The engines have different classes for these: an array in one engine, a value of the IR in the other. Type parameters
# would tell them apart, and bury the semantics.
Opaque: TypeAlias = Any
Lanes: TypeAlias = Opaque
"""A lane value: an array of threads by lanes, or a value of the IR."""
Mask: TypeAlias = Opaque
"""A lane value of booleans, or True for "all lanes"."""
Space: TypeAlias = Opaque
"""An address space: memory that an engine has looked up, or how to address it."""
ImageReference: TypeAlias = Opaque
"""An image that is not looked up yet: which one it is may differ between threads."""

Read = Callable[[], Lanes]
"""Gives the lanes of a source, each time the instruction executes."""
ReadMask = Callable[[], Mask]
"""Gives the lanes that execute."""
Write = Callable[[Lanes, Mask], None]
"""Predicated write: stores the lanes of a mask in a destination; other lanes keep their value."""
LARGEST_CHANGE = 2.0**-40
"""By what part a result may change if products and sums are rounded (:meth:`Algebra.rounded_once`)."""
Fused = Callable[[Lanes, Lanes, Lanes], Lanes]
"""x * y + z of doubles, rounded once."""


def product_and_sum(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """x * y + z, both rounded: what may stand for a :data:`Fused`."""
    return x * y + z


FindSpace = Callable[[], Space]
FindImage = Callable[[], ImageReference]
Step = Callable[[], object]
"""Executes an instruction once. Its result is the engine's, which made the control flow; the semantics hand it on."""


class Algebra(Protocol):
    """Primitive operations on lane values."""

    def const(self, value: int | float, data_type: DataType) -> Lanes:
        """The same value in every lane."""

    def iota(self, count: int, data_type: DataType) -> Lanes:
        """0, 1, 2, ... across the lanes."""

    def cast(self, x: Lanes, data_type: DataType) -> Lanes:
        """Convert: integers wrap, to floats rounds to nearest even, from floats to integers truncates what fits."""

    def bitcast(self, x: Lanes, data_type: DataType) -> Lanes:
        """The same bits as another type of the same size."""

    def select(self, mask: Mask, x: Lanes, y: Lanes) -> Lanes:
        """x where the mask holds, else y."""

    def mask_to_int(self, mask: Mask, data_type: DataType) -> Lanes:
        """1 where the mask holds, else 0."""

    def products(self, columns: list[Lanes], rows: list[Lanes], totals: list[Lanes]) -> list[Lanes]:
        """Totals of a type to which a matrix product is added: to that of a row the products of column k, which has an
        element for each lane, and element k of the row, in the order of k, of floats each with one rounding.
        """

    def products_of_bytes(self, columns: list[Lanes], rows: list[Lanes], signed: tuple[bool, bool]) -> list[Lanes]:
        """The same for totals, type D, that begin with 0, and dwords (UD) of four bytes whose products are added;
        ``signed``: whether the bytes of the columns, and of the rows, are.
        """

    def udiv(self, x: Lanes, y: Lanes) -> Lanes:
        """Unsigned quotient; y is not zero."""

    def fdiv(self, x: Lanes, y: Lanes) -> Lanes:
        """Correctly rounded quotient of floats."""

    def fma(self, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
        """x * y + z rounded once."""

    def rounded_once(self, compute: Callable[..., Lanes], data_type: DataType, *operands: Lanes) -> Lanes:
        """``compute(algebra, fused, *operands)``, lanes of doubles, rounded to f or hf.

        ``fused`` is a :data:`Fused`. Where an engine can show that the result is the same, it rounds product and sum:
        then the result must not change by more than :data:`LARGEST_CHANGE`.
        """

    def replaced(self, mask: Mask, compute: Callable[..., Lanes], value: Lanes, *operands: Lanes) -> Lanes:
        """A value, and ``compute(algebra, *operands)`` where the mask holds, which is so for hardly any lane."""

    exact: bool
    """Whether transcendental functions of floats are rounded once; else they are as exact as the hardware must be."""

    def power_of_whole(self, x: Lanes) -> Lanes | None:
        """2**x as f, of floats that are known to be whole numbers, infinities or NaN; None where nothing is known."""

    directs: bool
    """Whether :meth:`in_mode` exists; without it, directed results are made from the nearest ones."""

    def in_mode(self, op: str, mode: int, data_type: DataType, *operands: Lanes) -> Lanes:
        """``fadd``, ``fmul``, ``fma``, ``fdiv``, ``sqrt`` or ``fptrunc`` of floats or doubles, rounded up (1) or
        towards zero (3) to a type.
        """

    def sqrt(self, x: Lanes) -> Lanes:
        """Correctly rounded square root."""

    def without_denormals(self, x: Lanes) -> Lanes | None:
        """Zeros of the same sign instead of the denormals of a float; None where an engine uses the general way."""

    def whole_part(self, x: Lanes, data_type: DataType) -> Lanes | None:
        """Truncate floats to D or UD; out of range gives the nearest end of the range, NaN gives 0. None where an
        engine uses the general way.
        """

    def high_product(self, x: Lanes, y: Lanes) -> Lanes | None:
        """The high dwords of products of Q or UQ that are dwords, as UD. None where an engine uses the general way."""

    def element_plus(self, table: Sequence[int], number: Lanes, shift: int) -> Lanes | None:
        """``table[number % 8] + (number << shift)`` as UQ, of eight numbers and of UD lanes; the shift is 32 or more.
        None where an engine uses the general way.
        """

    def absolute(self, x: Lanes) -> Lanes:
        """Absolute value of a float (clears the sign)."""

    def negate(self, x: Lanes) -> Lanes:
        """Negation (of a float: flips the sign)."""

    def floor(self, x: Lanes) -> Lanes:
        """The whole number of a float at or below it."""

    def ceil(self, x: Lanes) -> Lanes:
        """The whole number of a float at or above it."""

    def trunc(self, x: Lanes) -> Lanes:
        """The whole number of a float towards zero."""

    def rint(self, x: Lanes) -> Lanes:
        """The nearest whole number of a float, of two the even one."""

    def popcount(self, x: Lanes) -> Lanes:
        """Number of one bits, in the type of x."""

    def leading_zeros(self, x: Lanes) -> Lanes:
        """Number of leading zero bits of an unsigned integer, in the type of x; the width for zero."""

    def reverse_bits(self, x: Lanes) -> Lanes:
        """The bits of an unsigned integer from last to first."""

    def rotated(self, x: Lanes, count: Lanes) -> Lanes | None:
        """An unsigned integer rotated left by less than its width; None where an engine uses the general way."""

    def lanes(self, x: Lanes, indices: list[int]) -> Lanes:
        """Shuffle: lanes of x in another order. x has one lane, or as many as the largest index asks for."""


class ImageView(NamedTuple):
    """An image while an instruction works on it: its kind, the sizes of its axes (width first, one lane each, type D),
    and its memory.

    Who reads or writes it keeps to offsets that it has.
    """

    kind: ImageKind
    sizes: list[Lanes]
    space: Space


class Machine(Protocol):
    """What an engine offers beside the algebra while it prepares one function: operands, masks, memory and control
    flow.

    The semantics call ``reader``, ``writer``, ``mask`` and their kin once for each instruction, and the functions that
    these return each time it executes. An engine that translates does both at each emission, and may emit code in
    either call, so that the order matters in both.
    """

    function: Function
    grf_size: int

    @property
    def algebra(self) -> Algebra:
        """The engine's lane algebra."""

    # -- operands ------------------------------------------------------------------------------------------

    def type_of(self, op: VectorOperand) -> DataType:
        """Type of the elements of an operand."""

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        """The ``count`` elements of an operand's region in its own type (bf as uw), without its source modifier.

        Args:
            by_lane: each element matters to the lane of its number alone, and only if that lane executes; so an engine
            need not read others.
        """

    def writer(self, op: VectorOperand, count: int) -> Write:
        """Stores lanes that have the operand's type under a mask."""

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        """``count`` consecutive elements at a byte offset into a raw operand; ``by_lane`` as for :meth:`reader`."""

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        """Stores ``count`` consecutive elements at a byte offset into a raw operand, under a mask."""

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> ReadMask:
        """Lanes that execute: the execution mask (all lanes with NoMask) and the predicate."""

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Read:
        """The predicate control for each lane, as a mask: ``any`` and ``all`` of every bit that the predicate has come
        first, then the inversion.
        """

    def predicate_reader(self, index: int, offset: int, count: int) -> Read:
        """Bits of a predicate variable from lane ``offset`` on, as a mask."""

    def predicate_writer(self, index: int, offset: int, count: int) -> Write:
        """Stores a mask in a predicate variable from lane ``offset`` on, in the lanes that execute."""

    def predicate_as_integer(self, index: int) -> Read:
        """All bits of a predicate as one UD lane."""

    def predicate_from_integer(self, value: Lanes, count: int) -> Mask:
        """Bits 0 to count-1 of lane 0 as a mask."""

    def address_of(self, op: General) -> Read:
        """Byte address of a register operand, as address variables hold it (type UD)."""

    def state_reader(self, kind: int, index: int, element: int) -> Read:
        """An element of a surface or sampler variable (``kind``: :mod:`visakit.language.operands`), one UD lane."""

    def state_writer(self, kind: int, index: int, element: int) -> Write:
        """Stores an element of a surface or sampler variable."""

    def symbol_address(self, instruction: Instruction) -> int | None:
        """Address of the function or data symbol that faddr names; None if it is not defined."""

    def rounding(self) -> Lanes | int | None:
        """Rounding mode of %cr0 (0 nearest, 1 up, 2 down, 3 zero) as UD lanes; a number where it is known, and None
        where it is known to be nearest.
        """

    def denormals(self, data_type: DataType) -> Mask | None:
        """Where %cr0 asks for zeros instead of the denormals of a type; None: never, True: always."""

    def cannot(self, text: str, instruction: Instruction | None = None) -> Exception:
        """The error that an instruction cannot be executed: by default the one which is being prepared."""

    def decoded(self, instruction: Instruction, prepare: Callable[[int], Step]) -> Step:
        """Sends a raw message by the step that ``prepare`` makes for the value of its descriptor, in the threads that
        have this value.
        """

    # -- memory --------------------------------------------------------------------------------------------

    def flat(self) -> Space:
        """The 64-bit address space."""

    def slm(self) -> Space:
        """The shared local memory of the work-group."""

    def surface(self, index: int) -> Space:
        """The surface that a surface variable names when the instruction executes."""

    def urb(self) -> Space:
        """The buffer that the launch names ``%urb``."""

    def pixel(self, execution: Execution) -> Callable[[], list[Lanes]]:
        """x and y of each lane's work-item, type D."""

    def surface_by_handle(self, kind: str, value: Lanes) -> Space:
        """The surface behind an LSC surface operand (``kind`` bti, ss or bss)."""

    def for_blocks(self, space: Space) -> Space:
        """The space as loads at one address see it, by one lane or by lanes that follow each other: in launches with
        lenient reads it has zeros behind the end of the buffer that the first byte is in.
        """

    def load(self, space: Space, address: Lanes, data_type: DataType, mask: Mask, instruction: Instruction) -> Lanes:
        """Gather: one unsigned element for each lane at its byte address (type UQ).

        Lanes outside the mask give 0, or what other lanes load.

        Raises:
            SimulationError: an address lies outside its buffer.
        """

    def store(self, space: Space, address: Lanes, value: Lanes, mask: Mask, instruction: Instruction) -> None:
        """Scatter: one element for each lane; of lanes with one address the highest wins."""

    def load_elements(
        self, space: Space, address: Lanes, data_type: DataType, count: int, mask: Mask, instruction: Instruction
    ) -> list[Lanes]:
        """Read consecutive elements for each lane from its address on; all of them must be inside the buffer."""

    def store_elements(
        self, space: Space, address: Lanes, values: list[Lanes], mask: Mask, instruction: Instruction
    ) -> None:
        """Write consecutive elements for each lane: the first of all lanes, then the second, and so on."""

    def atomic(
        self,
        space: Space,
        op: str,
        address: Lanes,
        data_type: DataType,
        sources: list[Lanes],
        mask: Mask,
        instruction: Instruction,
    ) -> Lanes:
        """Atomic operations in lane order; gives the old values.

        Args:
            op: the data port's word, as in :data:`visakit.isa.enums.ATOMICS`.
        """

    def mapped(self, space: Space, address: Lanes, size: int, mask: Mask) -> Mask:
        """The lanes of a mask that could read ``size`` bytes at their address."""

    def require_shape(self, found: Lanes, wanted: int, mask: Mask, instruction: Instruction) -> None:
        """See that one UD lane of a payload is the shape of the blocks of its instruction.

        Raises:
            SimulationError: it differs (:func:`visakit.rules.message_sizes.shape_difference`), and the lane executes.
        """

    def require_length(self, needed: Lanes, given: int, mask: Mask, instruction: Instruction) -> None:
        """See that the registers which a payload asks for, one UD lane, are not more than its message has.

        Raises:
            SimulationError: they are (:func:`visakit.rules.message_sizes.length_difference`), and the lane executes.
        """

    def thread_mask(self) -> Mask:
        """True for every thread at this instruction, for messages without an execution mask."""

    # -- images: ``act`` is prepared for each kind of image and state of a sampler that the instruction may find ------

    def image(self, index: int) -> ImageReference:
        """The image that a surface variable names."""

    def sampler(self, index: int) -> Lanes:
        """The number of the sampler that a sampler variable holds, one UD."""

    def image_by_handle(self, kind: str, value: Lanes) -> ImageReference:
        """The image behind an LSC surface operand."""

    def with_image(
        self, image: ImageReference, mask: Mask, instruction: Instruction, act: Callable[[ImageView, Mask], list[Lanes]]
    ) -> list[Lanes]:
        """What ``act`` gives for the image that each thread finds; ``act`` must not read or write registers.

        Raises:
            SimulationError: the surface is no image.
        """

    def with_sampler(
        self,
        image: ImageReference,
        sampler: Lanes,
        mask: Mask,
        instruction: Instruction,
        act: Callable[[ImageView, SamplerState, Mask], list[Lanes]],
    ) -> list[Lanes]:
        """The same with the state of the sampler that has this number, one UD."""

    # -- control flow: lanes that leave wait at the place where they go on; of these places the smallest runs first ---

    def goto(self, label: int, lanes: ReadMask) -> Step:
        """These lanes go on at the label."""

    def jump(self, label: int, taken: ReadMask | None) -> Step:
        """All lanes of the threads for which ``taken`` holds go on at the label."""

    def switch(self, labels: tuple[int, ...], index: Read) -> Step:
        """All lanes of a thread go on at the label with that number; beyond the last at the next instruction."""

    def call(self, label: int, lanes: ReadMask, instruction: Instruction) -> Step:
        """These lanes run a subroutine of the same function and come back."""

    def call_function(self, name: int, lanes: ReadMask, instruction: Instruction) -> Step:
        """These lanes run the function that a string names."""

    def call_address(self, address: Read, lanes: ReadMask, instruction: Instruction) -> Step:
        """Each thread's lanes run the function at its address."""

    def leave(self, lanes: ReadMask) -> Step:
        """These lanes return from the subroutine or function, or end in the kernel."""

    def barrier(self, signal: bool, wait: bool, instruction: Instruction) -> Step:
        """Arrive at the work-group's barrier, wait until all its threads have arrived, or both."""

    def named_barrier(self, number: Read, arrivals: Read | None, instruction: Instruction) -> Step:
        """Arrive at a barrier that opens after so many arrivals; without ``arrivals`` wait until it opens once more.

        A thread waits for the opening that follows its last arrival as a consumer, or its last wait. Bits of
        ``arrivals``: 0 to 7 how many producers the barrier waits for, 8 to 15 how many consumers; 16 and 17 what this
        thread is.
        """
