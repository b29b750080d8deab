"""Storage of a function's registers between blocks: stack slots, the registers that all functions of a thread share,
the register file.

Every register that code touches has a *key*: its kind and number. Most live in a separate stack slot, which LLVM
promotes to SSA values (mem2reg). Variables whose addresses are taken share the *register file*, at offsets
that address variables hold. The predefined variables of functions that call each other (arguments, return values, stack
pointers) share a block that the kernel passes on; a function that takes the address of one copies it to its register
file while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from visakit.language.platforms import MAXIMUM_GRF_SIZE
from visakit.language.program import FIRST_VARIABLE, PREDEFINED_VARIABLES, Function, predefined_size
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.builder import Builder
from vsim.semantics.registers import Layout

Key = tuple[str, int]
"""Kind and number of a register."""
VARIABLE, ADDRESS, STATE, PREDICATE = "V", "A", "S", "P"
"""Kinds: general variables (by root), address variables, elements of surface and sampler variables, predicates."""
AFFINE_SLOT = "L"
"""With a place behind it, the kind of the scalars that stand for lanes (see :mod:`affine_registers`)."""
UNDEFINED_BITS, UNDEFINED_LANES = "v", "p"
"""In launches that are checked for undefined values: the shadows of general variables, and of predicates."""

_SHARED_SIZES = [-(-predefined_size(n, MAXIMUM_GRF_SIZE) // 64) * 64 for n in range(len(PREDEFINED_VARIABLES))]
_SHARED_OFFSETS = [cx.SHARED_REGISTERS + sum(_SHARED_SIZES[:i]) for i in range(len(_SHARED_SIZES))]
SHARED_SIZE = cx.SHARED_REGISTERS + sum(_SHARED_SIZES)
"""Bytes of the block of registers that the functions of a thread share; the shadows of these follow."""


def is_shadow(key: Key) -> bool:
    """Whether a key is that of a shadow: bits that are 1 where those of a register are undefined."""
    return key[0] in (UNDEFINED_BITS, UNDEFINED_LANES)


def is_predicate(key: Key) -> bool:
    """Whether a register holds lanes, a bit each: a predicate or its shadow."""
    return key[0] in (PREDICATE, UNDEFINED_LANES)


def is_variable(key: Key) -> bool:
    """Whether a register is a general variable or its shadow."""
    return key[0] in (VARIABLE, UNDEFINED_BITS)


def state_key(kind: int, index: int, element: int = 0) -> Key:
    """The key of an element of a surface or sampler variable."""
    return (STATE, element << 20 | kind << 16 | index)


def file_of(key: Key) -> str:
    """The register file in which a variable or its shadow lies."""
    return "%undefined_file" if is_shadow(key) else "%file"


def shared_offset(key: Key) -> int:
    """Offset of a predefined variable or its shadow in the block that functions share."""
    return _SHARED_OFFSETS[key[1]] + (SHARED_SIZE if is_shadow(key) else 0)


class Storage:
    """Where the registers of one function lie, and how large they are."""

    def __init__(self, b: Builder, function: Function, layout: Layout, shares: bool) -> None:
        self.b, self.function, self.layout, self.shares = b, function, layout, shares
        self.extents: Mapping[Key, int] = {}
        """How far the accesses to keys go, once that is known: slots need not be larger."""
        self.slots: dict[Key, int] = {}
        """Bytes of the slots that the current emission uses, in the order of their first use."""

    def begin(self, extents: Mapping[Key, int]) -> None:
        """Begin an emission."""
        self.extents, self.slots = extents, {}

    def is_shared(self, key: Key) -> bool:
        """Whether a register is in the block that the functions of a thread share."""
        return self.shares and is_variable(key) and key[1] < FIRST_VARIABLE

    def in_file(self, key: Key) -> bool:
        """Whether a register is in the register file, as its address is taken."""
        return is_variable(key) and key[1] in self.layout.file_offsets

    def is_visible(self, key: Key) -> bool:
        """Whether others than the code that names the register can read it, so that it must always be stored."""
        return is_variable(key) and (key[1] in self.layout.file_offsets or self.is_shared(key))

    def size(self, key: Key) -> int:
        """Bytes of storage, of predicates lanes: as many as the code touches, when that is known."""
        if (known := self.extents.get(key)) is not None:
            return known
        kind, number = key
        if kind.startswith(AFFINE_SLOT):
            return 8
        if is_predicate(key):
            return self.rounded(key, max(self.function.predicates[number - 1].elements, 32))
        if kind == ADDRESS:
            return 4 * max(self.function.addresses[number].elements, 1)
        if kind == STATE:
            return 4
        return _SHARED_SIZES[number] if number < FIRST_VARIABLE else self.layout.sizes[number]

    def rounded(self, key: Key, high: int) -> int:
        """A size to which accesses of that extent fit: of predicates a number of lanes that LLVM has integers for."""
        return max(8, 1 << (high - 1).bit_length()) if is_predicate(key) else high

    @staticmethod
    def slot(key: Key) -> str:
        """The name of a stack slot."""
        return f"%r{key[0]}{key[1]}"

    def pointer(self, key: Key) -> str:
        """Emit, where needed, the pointer to a register."""
        size = self.size(key) // 8 if is_predicate(key) else self.size(key)
        self.slots[key] = -(-size // 64) * 64 if size > 64 else 1 << (max(size, 1) - 1).bit_length()
        if self.in_file(key):
            return self.b.offset(file_of(key), self.layout.file_offsets[key[1]])
        if self.is_shared(key):
            return self.b.offset("%shared", shared_offset(key))
        return self.slot(key)

    def pointer_to_shared(self, number: int) -> str:
        """Emit the pointer to a predefined variable in the block that the functions of a thread share."""
        return self.b.offset("%shared", _SHARED_OFFSETS[number])

    def carry_in(self) -> None:
        """Emit copies of the shared registers whose address this function takes into its register file."""
        self._carry(lambda shared, own: f"ptr {own}, ptr {shared}")

    def carry_out(self) -> None:
        """Emit copies of them back to where other functions find them."""
        self._carry(lambda shared, own: f"ptr {shared}, ptr {own}")

    def _carry(self, pointers: Callable[[str, str], str]) -> None:
        b = self.b
        for root, at, size in self.layout.carried if self.shares else ():
            b.declare("llvm.memcpy.p0.p0.i64", "void", "ptr, ptr, i64, i1")
            places = pointers(b.offset("%shared", _SHARED_OFFSETS[root]), b.offset("%file", at))
            b.emit(f"call void @llvm.memcpy.p0.p0.i64({places}, i64 {size}, i1 false)")

    def own_slots(self) -> list[tuple[Key, int]]:
        """Keys with separate stack slots, and the bytes of these."""
        return [(k, size) for k, size in self.slots.items() if not self.is_shared(k) and not self.in_file(k)]
