"""The syntax tree: module, functions, declarations, instructions. Every tool works on it, and there is no other.

Indices are those of the binary format: general variables 0 to 31 are predefined, declared ones start at 32; predicates
start at 1 (0 is "no predicate"); surfaces 0 to 5 are predefined, declared ones start at 6; addresses, samplers and
labels start at 0.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from visakit.forks import free_in_child
from visakit.language.platforms import MAXIMUM_GRF_SIZE
from visakit.language.types import UD, UQ, UW, DataType

if TYPE_CHECKING:  # The table is large.
    from visakit.isa import InstructionDesc

CM_TARGET = b"\0"
"""The value of the attribute Target of kernels and functions for one work-item a thread."""
MAXIMUM_THREAD_LANES = 32
LEAST_LANES = 8
"""Lanes of the narrowest threads that compilers make, but for those of the vector compiler."""
FIRST_VARIABLE, FIRST_PREDICATE, FIRST_SURFACE = 32, 1, 6
MAXIMUM_PREDICATES = (1 << 12) - 1
"""Predicates of a function: predication encodes them in twelve bits, and 0 means no predicate."""
NAMED_SAMPLER = 31

PREDEFINED_VARIABLES: tuple[tuple[str, DataType, int], ...] = (
    ("%null", UD, 256), ("%thread_x", UW, 1), ("%thread_y", UW, 1), ("%group_id_x", UD, 1), ("%group_id_y", UD, 1),
    ("%group_id_z", UD, 1), ("%tsc", UD, 5), ("%r0", UD, 16), ("%arg", UD, 256), ("%retval", UD, 96), ("%sp", UQ, 1),
    ("%fp", UQ, 1), ("%hw_id", UD, 1), ("%sr0", UD, 4), ("%cr0", UD, 3), ("%ce0", UD, 1), ("%dbg0", UD, 2),
    ("%color", UD, 1), ("%impl_arg_buf_ptr", UQ, 1), ("%local_id_buf_ptr", UQ, 1), ("%msg0", UD, 3),
    ("%scratchloc", UQ, 1),
)  # fmt: skip
"""Name, type and element count of the predefined variables V0, V1, ... (manual, chapter 4); the last is new in 4.2."""
_WRITABLE = frozenset(
    ("%null", "%tsc", "%arg", "%retval", "%sp", "%fp", "%cr0", "%dbg0", "%impl_arg_buf_ptr", "%local_id_buf_ptr")
)
"""The predefined variables that the reference finalizer lets kernels and functions write; in %tsc compilers write the
pause of a loop that waits (element 4)."""
READ_ONLY_VARIABLES = frozenset(n for n, (name, _, _) in enumerate(PREDEFINED_VARIABLES) if name not in _WRITABLE)
"""Numbers of the others."""
ARGUMENT_REGISTERS, RESULT_REGISTERS = 32, 12
"""Registers of %arg and %retval, for all sizes of registers; the counts above are of registers of 32 bytes."""
ARG, RETVAL = 8, 9
_IN_REGISTERS = {ARG: ARGUMENT_REGISTERS, RETVAL: RESULT_REGISTERS}

_PREDEFINED_NAMES = tuple(n for n, _, _ in PREDEFINED_VARIABLES)
PREDEFINED_SURFACES = ("%slm", "T1", "T2", "TSS", "%bss", "%scratch")
SLM, SCRATCH, STATELESS, BINDLESS = 0, 5, 3, 4


def predefined_size(index: int, grf_size: int) -> int:
    """Bytes of a predefined variable on a platform with registers of ``grf_size`` bytes; for 0, an unknown platform,
    the largest size.
    """
    if index in _IN_REGISTERS:
        return _IN_REGISTERS[index] * (grf_size or MAXIMUM_GRF_SIZE)
    _, data_type, count = PREDEFINED_VARIABLES[index]
    return data_type.size * count


def predefined_names(version: tuple[int, int]) -> tuple[str, ...]:
    """Names of the predefined variables in a version of the format."""
    return _PREDEFINED_NAMES if version >= (4, 2) else _PREDEFINED_NAMES[:-1]


@functools.cache
def predefined_strings(version: tuple[int, int]) -> tuple[str, ...]:
    """Strings that follow the function's name in every function's pool."""
    return (*predefined_names(version), *PREDEFINED_SURFACES, "S31")


@dataclass(slots=True)
class Attribute:
    """Name (string index) and value: None for a flag, else the stored bytes."""

    string: int
    name: str
    value: bytes | None

    @property
    def integer(self) -> int:
        """The value as an unsigned integer; 1 for a flag."""
        return int.from_bytes(self.value or b"\1", "little")


@dataclass(slots=True)
class Variable:
    """A general variable. ``align`` is the binary code; ``alias`` (variable index, byte offset)."""

    string: int
    name: str
    type: DataType
    elements: int
    align: int = 0
    alias: tuple[int, int] | None = None
    attributes: list[Attribute] = field(default_factory=list)
    line: int = 0

    @property
    def size(self) -> int:
        """Bytes of the whole variable."""
        return self.type.size * self.elements


@dataclass(slots=True)
class Declared:
    """An address, predicate, sampler or surface variable."""

    string: int
    name: str
    elements: int
    attributes: list[Attribute] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class LabelName:
    """A label; ``kind`` 0 is a jump target, 1 a subroutine."""

    string: int
    name: str
    kind: int = 0
    line: int = 0


@dataclass(slots=True)
class Input:
    """A payload range that is loaded into a variable before the thread starts.

    ``kind`` is the stored byte: the class of the variable and, above it, the kind of implicit argument.
    """

    kind: int
    index: int
    offset: int
    size: int
    line: int = 0

    @property
    def variable_class(self) -> int:
        """0 a general variable, 1 a sampler, 2 a surface."""
        return self.kind & 7


Fields = dict[str, Any]
"""Values of the fields of an instruction by name; :mod:`visakit.isa.record` has the types."""


@dataclass(slots=True, repr=False)
class Instruction:
    """A record of the table with the values of its fields, and the source line (0 where unknown).

    Instructions of equal text may share their fields: replace them, do not change them.
    """

    desc: InstructionDesc
    args: Fields
    line: int = 0

    def __repr__(self) -> str:
        return f"<Instruction {self.desc.mnemonic}{f', line {self.line}' if self.line else ''}>"


class AliasCircle(Exception):
    """A variable is, over others, an alias of itself."""


_READING = free_in_child(threading.RLock())
"""Held while postponed parts are read."""

BODY: dict[str, Callable[[], object]] = {
    **dict.fromkeys(("strings", "variables", "addresses", "predicates", "labels"), list),
    **dict.fromkeys(("samplers", "surfaces", "inputs", "attributes"), list),
    **dict.fromkeys(("name_index", "input_size", "return_size"), int),
}
"""Fields that a function's bytes hold, without the instructions, and their values before these are read."""


@dataclass(slots=True, repr=False)
class Function:
    """A kernel or a function."""

    name: str
    is_kernel: bool
    version: tuple[int, int] = (4, 1)
    strings: list[str] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    addresses: list[Declared] = field(default_factory=list)
    predicates: list[Declared] = field(default_factory=list)
    labels: list[LabelName] = field(default_factory=list)
    samplers: list[Declared] = field(default_factory=list)
    surfaces: list[Declared] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    linkage: int = 0
    name_index: int = 0
    input_size: int = 0
    return_size: int = 0
    variable_relocations: list[tuple[int, int]] = field(default_factory=list)
    function_relocations: list[tuple[int, int]] = field(default_factory=list)
    file: str = ""
    line: int = 0
    encoded: tuple[bytes, int] | None = field(default=None, repr=False, compare=False)
    """The bytes of the function and the offset of its inputs in them, which :func:`visakit.binary.read_module` keeps
    for a linker; a change of the function clears it.
    """

    pending: Callable[[Function], None] | None = field(default=None, repr=False, compare=False)
    """Reads postponed parts on first use: the instructions, or all of a function's bytes. A linker seldom needs them.
    It does not refer to the function, so that no cycle arises.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name != "instructions" and name not in BODY:
                raise AttributeError(f"a function has no '{name}'")
            with _READING:
                pending = self.pending
                if pending is None:  # Another thread may have read it.
                    return object.__getattribute__(self, name)
                self.pending = None
                pending(self)
                return getattr(self, name)

    def postpone(self, fill: Callable[[Function], None]) -> None:
        """Leave the instructions to a function that makes and fills them."""
        with contextlib.suppress(AttributeError):
            del self.instructions
        self.pending = fill

    def add_string(self, text: str) -> int:
        """Append to the string pool; an empty string has index 0 and is not stored."""
        if not text:
            return 0
        self.strings.append(text)
        return len(self.strings) - 1

    def attribute(self, name: str) -> Attribute | None:
        """The first attribute of a name."""
        for a in self.attributes:
            if a.name == name:
                return a
        return None

    def integer_attribute(self, name: str, default: int = 0) -> int:
        """The value of an attribute; 1 of a flag."""
        value = self.attribute(name)
        return value.integer if value else default

    @property
    def is_exported(self) -> bool:
        """Whether other objects may refer to it."""
        return self.attribute("Extern") is not None or self.linkage == 2

    def __repr__(self) -> str:
        return f"<{'Kernel' if self.is_kernel else 'Function'} '{self.name}'>"

    @property
    def is_cm(self) -> bool:
        """Whether it is written for one work-item a thread, all of whose lanes run (``Target="cm"``)."""
        target = self.attribute("Target")
        return target is not None and target.value == CM_TARGET

    @property
    def simd_size(self) -> int:
        """Work-items of a thread; if the function has no size or 0: 16, and 1 for ``Target="cm"``."""
        return self.integer_attribute("SimdSize") or (1 if self.is_cm else 16)

    @property
    def jump_lanes(self) -> int:
        """Lanes of a jump that is for the whole thread: one where lanes are no work-items, as other lanes follow the
        jump.
        """
        return 1 if self.is_cm else self.simd_size

    @property
    def split_lanes(self) -> int:
        """Lanes of a thread that compilers may split code for; 0 where lanes are no work-items."""
        return 0 if self.is_cm else self.simd_size

    @property
    def lanes(self) -> int:
        """Lanes of a thread that runs it, which instructions may work on."""
        return MAXIMUM_THREAD_LANES if self.is_cm else self.simd_size

    def variable_name(self, index: int) -> str:
        """The name of a general variable, predefined or declared."""
        if index < len(_PREDEFINED_NAMES):
            return _PREDEFINED_NAMES[index]
        return self.variables[index - FIRST_VARIABLE].name

    def surface_name(self, index: int) -> str:
        """The name of a surface, predefined or declared."""
        return PREDEFINED_SURFACES[index] if index < FIRST_SURFACE else self.surfaces[index - FIRST_SURFACE].name

    def sampler_name(self, index: int) -> str:
        """The name of a sampler, predefined or declared."""
        return "S31" if index == NAMED_SAMPLER else self.samplers[index].name

    def predicate_bits(self, index: int) -> int:
        """Bits of a predicate, of which a thread has 32 lanes at most."""
        return min(MAXIMUM_THREAD_LANES, self.predicates[index - FIRST_PREDICATE].elements)

    def state_elements(self, kind: int, index: int) -> int:
        """Elements of a surface or sampler variable, a :class:`~visakit.language.operands.State`; one if predefined."""
        from visakit.language.operands import SURFACE  # late: functions that are not read do not need it

        if kind == SURFACE:
            return 1 if index < FIRST_SURFACE else self.surfaces[index - FIRST_SURFACE].elements
        return 1 if index == NAMED_SAMPLER else self.samplers[index].elements

    def variable_type(self, index: int) -> DataType:
        """The element type of a general variable, predefined or declared."""
        return PREDEFINED_VARIABLES[index][1] if index < FIRST_VARIABLE else self.variables[index - FIRST_VARIABLE].type

    def variable_size(self, index: int, grf_size: int) -> int:
        """Bytes of a general variable, predefined or declared; ``grf_size`` as of :func:`predefined_size`."""
        if index < FIRST_VARIABLE:
            return predefined_size(index, grf_size)
        return self.variables[index - FIRST_VARIABLE].size

    def alias_root(self, index: int) -> tuple[int, int]:
        """The variable at the end of a chain of aliases, and the byte offset in it.

        Raises:
            AliasCircle: the chain has no end.
        """
        var, offset, seen = index, 0, set[int]()
        while var >= FIRST_VARIABLE and (alias := self.variables[var - FIRST_VARIABLE].alias) is not None:
            if var in seen:
                raise AliasCircle(self.variable_name(index))
            seen.add(var)
            var, offset = alias[0], offset + alias[1]
        return var, offset


@dataclass(slots=True, repr=False)
class Module:
    """A CISA module: kernels, functions and the version of the format."""

    version: tuple[int, int] = (4, 1)
    kernels: list[Function] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    gen_binaries: list[list[tuple[int, bytes]]] = field(default_factory=list)

    def __repr__(self) -> str:
        names = ", ".join(f.name for f in self.all_functions[:8]) + (", ..." if len(self.all_functions) > 8 else "")
        return f"<Module {self.version[0]}.{self.version[1]} of {names or 'nothing'}>"

    @property
    def all_functions(self) -> list[Function]:
        """Kernels, then functions: the order of their addresses."""
        return [*self.kernels, *self.functions]


def widest_instruction(function: Function) -> int:
    """The largest execution size of its instructions, in lanes, from :data:`LEAST_LANES` on."""
    sizes = (int(i.args["exec"].size) for i in function.instructions if "exec" in i.args)
    return max(LEAST_LANES, *sizes, LEAST_LANES)
