"""Facts about a lane value: proved properties that later code is simplified by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.affine import AffineLanes, BasePointer
    from vsim.engines.llvm.ir.base_offset import BaseOffset
    from vsim.engines.llvm.ir.carries import CarriedSum, HighDword
    from vsim.engines.llvm.ir.divisions import Division
    from vsim.engines.llvm.ir.halves import Half
    from vsim.engines.llvm.ir.index import WideIndex
    from vsim.engines.llvm.ir.interleaved import Interleaved
    from vsim.engines.llvm.ir.near import NearLanes
    from vsim.engines.llvm.ir.values import Value


class Facts(NamedTuple):
    """The facts about one value, which never change; None for an unknown fact."""

    affine: AffineLanes | None = None
    """The distances between the lanes."""
    base_pointer: BasePointer | None = None
    """The pointer argument from which this address was computed."""
    wide_index: WideIndex | None = None
    """The index of 32 bits and the pointer of this address."""
    base_offset: BaseOffset | None = None
    """The vector and the scalars of this sum, if the builder tracks them (``Builder.tracks_base_offset``)."""
    near: NearLanes | None = None
    """The scalar and the small numbers whose sum this is."""
    extended: Value | None = None
    """The narrower integer that this is the sign or zero extension of."""
    interleaved: Interleaved | None = None
    """The vectors whose elements alternate in this one."""
    concatenated: tuple[Value, Value] | None = None
    """The two vectors that this one consists of."""
    narrow: Value | None = None
    """The 32-bit value that this is the zero extension of."""
    negated: Value | None = None
    """The integer that this is the negation of."""
    inverse: Value | None = None
    """The mask that this is the complement of."""
    implies: frozenset[str] = frozenset()
    """Masks (SSA names) that hold wherever this mask does."""
    low_zeros: int = 0
    """The number of lowest bits that are zero in all lanes."""
    high_of: HighDword | None = None
    """The qwords whose high dwords these are."""
    carried: CarriedSum | None = None
    """The part of a sum of qwords that this dword or mask is, if the builder follows carries."""
    half: Half | None = None
    """The qwords whose low or high dwords these are, if they were picked out of them."""
    division: Division | None = None
    """The part of a division that this dword or mask is, if the builder follows divisions."""
    denormal: Value | None = None
    """Of floats without denormals: the same, or with denormals where this has zeros."""

    def of_address(self) -> Facts:
        """The facts that hold for a copy under another type with the same LLVM type."""
        if self.base_pointer is None and self.wide_index is None:
            return NO_FACTS
        return Facts(base_pointer=self.base_pointer, wide_index=self.wide_index)

    def of_bits(self) -> Facts:
        """The facts that depend on the bits alone, not on their type."""
        if self is NO_FACTS:
            return self
        return Facts(
            *self[:8],
            low_zeros=self.low_zeros,
            high_of=self.high_of,
            carried=self.carried,
            half=self.half,
            division=self.division,
        )

    def of_emitted(self) -> Facts:
        """The facts that a value keeps when it is emitted for good."""
        if self is NO_FACTS:
            return self
        return Facts(
            *self[:5],
            narrow=self.narrow,
            low_zeros=self.low_zeros,
            half=self.half,
            division=self.division,
            denormal=self.denormal,
        )


NO_FACTS = Facts()
