"""The lane algebra: what an engine must offer so that the semantics can be written once.

A *lane value* is one value for each lane (and, in an engine that runs many threads at once, for each thread). Semantics treat it as
opaque: they combine lane values with Python's operators (+ - * & | ^ ~ << >> == != < <= > >=) and with the functions below. Both
sides of an operator must have the same type; a shift count is always reduced below the width first. Integers wrap around. Comparisons give
a *mask*, a lane value of booleans, which takes & | ^ ~.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from visa.operands import Execution, General, PredicateControl, Raw, VectorOperand
from visa.program import Function, Instruction
from visa.types import DataType
from vsim.images import ImageKind
from vsim.memory import SamplerState

Lanes = Any
"""A lane value of some engine."""
Mask = Any
"""A lane value of booleans, or True for "all lanes"."""
Read = Callable[[], Lanes]
Write = Callable[[Lanes, Mask], None]
Step = Callable[[], Any]


class Algebra(Protocol):
    """Primitive operations on lane values."""

    def const(self, value: int | float, data_type: DataType) -> Lanes:
        """The same value in every lane."""

    def iota(self, count: int, data_type: DataType) -> Lanes:
        """0, 1, 2, ... across the lanes."""

    def cast(self, x: Lanes, data_type: DataType) -> Lanes:
        """Convert: integers wrap, integer to float and float to float round to nearest even, float to integer truncates values known to fit."""

    def bitcast(self, x: Lanes, data_type: DataType) -> Lanes:
        """The same bits as another type of the same size."""

    def select(self, mask: Mask, x: Lanes, y: Lanes) -> Lanes:
        """x where the mask holds, else y."""

    def mask_to_int(self, mask: Mask, data_type: DataType) -> Lanes:
        """1 where the mask holds, else 0."""

    def udiv(self, x: Lanes, y: Lanes) -> Lanes:
        """Unsigned quotient; y is not zero."""

    def fdiv(self, x: Lanes, y: Lanes) -> Lanes:
        """Correctly rounded quotient of floats."""

    def fma(self, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
        """x * y + z rounded once."""

    def sqrt(self, x: Lanes) -> Lanes:
        """Correctly rounded square root."""

    def absolute(self, x: Lanes) -> Lanes:
        """Absolute value of a float (clears the sign)."""

    def negate(self, x: Lanes) -> Lanes:
        """Negation (of a float: flips the sign)."""

    def floor(self, x: Lanes) -> Lanes: ...

    def ceil(self, x: Lanes) -> Lanes: ...

    def trunc(self, x: Lanes) -> Lanes: ...

    def rint(self, x: Lanes) -> Lanes: ...

    def popcount(self, x: Lanes) -> Lanes:
        """Number of one bits, in the type of x."""

    def leading_zeros(self, x: Lanes) -> Lanes:
        """Number of leading zero bits of an unsigned integer, in the type of x; the width for zero."""

    def reverse_bits(self, x: Lanes) -> Lanes: ...

    def lanes(self, x: Lanes, indices: list[int]) -> Lanes:
        """Lanes of x in another order (x has at least as many lanes as the largest index says, or one lane)."""


Space = Any
"""An engine's handle for an address space."""
ImageReference = Any
"""An engine's handle for an image that is not looked up yet."""


@dataclass
class ImageView:
    """An image while an instruction works on it: its kind, the sizes of its axes (width first, one lane each, type D), and its memory.

    Who reads or writes it keeps to offsets that it has.
    """

    kind: ImageKind
    sizes: list[Lanes]
    space: Space


class Machine(Protocol):
    """What an engine offers beside the algebra while it prepares one function: operands, masks, memory and control flow.

    The ``*er`` methods are called once for each instruction and give functions that are called each time it executes (an engine that
    translates calls them once, too).
    """

    function: Function
    grf_size: int

    @property
    def algebra(self) -> Algebra:
        """The engine's lane algebra."""

    def type_of(self, op: VectorOperand) -> DataType:
        """Type of the elements of an operand."""

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        """Lanes of an operand in its own type (bf as uw), without its modifier; ``by_lane``: each matters to the lane of its number alone, if that executes."""

    def writer(self, op: VectorOperand, count: int) -> Write:
        """Stores lanes that have the operand's type under a mask."""

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        """``count`` consecutive elements at a byte offset into a raw operand; ``by_lane`` as for :meth:`reader`."""

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write: ...

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> Callable[[], Mask]:
        """Lanes that execute: the execution mask (all lanes with NoMask) and the predicate."""

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Read:
        """The predicate for each lane, as a mask."""

    def predicate_reader(self, index: int, offset: int, count: int) -> Read: ...

    def predicate_writer(self, index: int, offset: int, count: int) -> Write: ...

    def predicate_as_integer(self, index: int) -> Read:
        """All bits of a predicate as one UD lane."""

    def predicate_from_integer(self, value: Lanes, count: int) -> Mask:
        """Bits 0 to count-1 of lane 0 as a mask."""

    def address_of(self, op: General) -> Read:
        """Byte address of a register operand, as address variables hold it (type UD)."""

    def state_reader(self, kind: int, index: int, element: int) -> Read: ...

    def state_writer(self, kind: int, index: int, element: int) -> Write: ...

    def symbol_address(self, instruction: Instruction) -> int | None:
        """Address of the function or data symbol that faddr names; None if it is not defined."""

    def rounding(self) -> Lanes | None:
        """Rounding mode of %cr0 (0 nearest, 1 up, 2 down, 3 zero) as UD lanes; None if the function never changes it."""

    def denormals(self, data_type: DataType) -> Mask | None:
        """Where %cr0 asks for zeros instead of the denormals of a type; None if it never does."""

    def cannot(self, text: str, instruction: Instruction | None = None) -> Exception:
        """The error that an instruction cannot be executed: by default the one which is being prepared."""

    # -- memory --------------------------------------------------------------------------------------------

    def flat(self) -> Space:
        """The 64-bit address space."""

    def slm(self) -> Space: ...

    def surface(self, index: int) -> Space:
        """The surface that a surface variable names when the instruction executes."""

    def urb(self) -> Space:
        """The buffer that the launch names ``%urb``."""

    def pixel(self, execution: Execution) -> Callable[[], list[Lanes]]:
        """x and y of each lane's work-item, type D."""

    def surface_by_handle(self, kind: str, value: Lanes) -> Space:
        """The surface behind an LSC surface operand (bti, ss, bss)."""

    def load(self, space: Space, address: Lanes, data_type: DataType, mask: Mask, instruction: Instruction) -> Lanes:
        """Read one unsigned element for each lane at its byte address; lanes outside the mask give 0.

        Raises:
            SimulationError: an address lies outside its buffer.
        """

    def store(self, space: Space, address: Lanes, value: Lanes, mask: Mask, instruction: Instruction) -> None:
        """Write one element for each lane; of lanes with one address the highest wins."""

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
        """Atomic operations in lane order; gives the old values."""

    def mapped(self, space: Space, address: Lanes, size: int, mask: Mask) -> Mask:
        """The lanes of a mask that could read ``size`` bytes at their address."""

    def thread_mask(self) -> Mask:
        """True for every thread at this instruction, for messages without an execution mask."""

    # -- images: what is done is prepared for each kind of image and state of a sampler that the instruction may find -------

    def image(self, index: int) -> ImageReference:
        """The image that a surface variable names."""

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
        sampler: int,
        mask: Mask,
        instruction: Instruction,
        act: Callable[[ImageView, SamplerState, Mask], list[Lanes]],
    ) -> list[Lanes]:
        """The same with the state of the sampler that a sampler variable names."""

    # -- control flow: lanes that leave wait at the place where they go on; the smallest place at which lanes wait runs first ----

    def goto(self, label: int, lanes: Callable[[], Mask]) -> Step:
        """These lanes go on at the label."""

    def jump(self, label: int, taken: Callable[[], Mask] | None) -> Step:
        """All lanes of the threads for which ``taken`` holds go on at the label."""

    def switch(self, labels: tuple[int, ...], index: Callable[[], Lanes]) -> Step:
        """All lanes of a thread go on at the label with that number; beyond the last at the next instruction."""

    def call(self, label: int, lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """These lanes run a subroutine of the same function and come back."""

    def call_function(self, name: int, lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """These lanes run the function that a string names."""

    def call_address(self, address: Callable[[], Lanes], lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """Each thread's lanes run the function at its address."""

    def leave(self, lanes: Callable[[], Mask]) -> Step:
        """These lanes return from the subroutine or function, or end in the kernel."""

    def barrier(self, signal: bool, wait: bool, instruction: Instruction) -> Step:
        """Arrive at the group's barrier, wait until all its threads have arrived, or both."""

    def named_barrier(self, number: Read, arrivals: Read | None, instruction: Instruction) -> Step:
        """Arrive at a barrier that opens after so many arrivals; without ``arrivals`` wait until it opens once more than this thread has waited."""
