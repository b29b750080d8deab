"""The record that describes an instruction, and the small notation in which the chapters write records down.

A *layout* lists the fields of an instruction in binary order, after the opcode byte, separated by blanks:

====== ============================================== =========================================
kind   field                                          value in ``Instruction.args``
====== ============================================== =========================================
ec     execution size and mask, one byte              :class:`~visakit.language.operands.Execution`
pr     predicate, two bytes                           ``PredicateControl`` or None
d: s:  vector operand, destination or source          one of the operand classes
w: r:  raw operand, destination or source             :class:`~visakit.language.operands.Raw`
T: S:  surface or sampler index, one byte             int
L:     label index, two bytes                         int
B: H:  unsigned integer of 1 or 2 bytes               int
W: I:  unsigned and signed integer of 4 bytes         int
X:     unsigned integer of 8 bytes                     int
A:     how a matrix is addressed: no byte, it follows int
       from what stands behind it
N2:    name of a symbol, two bytes                    int, index into the function's strings
N4:    name of a source file, four bytes              int, index into the function's strings
n:x    count of the list field x, one byte            (none)
L*: r* list of labels or raw operands                 tuple
====== ============================================== =========================================

``B:a.5+b.3`` packs fields into bits, lowest first; ``B:=3`` is a constant, ``B:=a`` a copy of field ``a``;
``s?mode&4:x`` is present only if that bit of an earlier field is set, ``T?mode!4:x`` if it is not (fields of other kinds likewise). ``r!`` is the list of render-target outputs,
whose length follows from ``mode``.

The *text* lists the operands in the order of the assembly language: names of fields, and these forms:
``(exec)``, ``(owords)``, ``(block)``, ``(modes)``, ``(gather)`` for the group in parentheses, ``@data`` and ``@address``
for the two operands of LSC messages, ``@sampler`` and ``@surface`` for states in variables or registers, ``@sized:x`` for a message operand with its bytes (x and x_bytes), ``x?`` for one that may be missing, ``x*`` for a list.

Fields that the text leaves out are 0, or as ``implied`` says. The *spelling* is a set of words for what else is peculiar
to the text of an instruction:

=============== =============================================================================================
subroutine      a label that begins a subroutine: a directive with the name in quotes, not ``name:``
optional-exec   execution mask and size may be missing; the encoding then has (M1_NM, 1)
predicate-copy  of a whole predicate: mask, size and predicate in front count for nothing, the encoding has (M1_NM, 1)
bare-region     a vector source may stand without its region: V(row,column), a packed operand
channels        the data name the channels of an element: V:d32.xyzw
bare-surface    an address without coordinates is written as the surface alone
=============== =============================================================================================

Vector operands are general or register-indirect, sources can be immediates, too. Where that is not so, *classes* says it:
``dst:p src0:gp`` with the letters g (general), i (indirect), c (immediate), a (address), p (predicate), s (state).
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from visakit.forks import cached_property
from visakit.isa.enums import ENUMERATED, GROUPS, TARGET_OUTPUTS
from visakit.language.operands import Address, General, Immediate, Indirect, Predicate, State
from visakit.language.platforms import ALL

LINE = "line"
"""The field that holds a source line."""


class Condition(NamedTuple):
    """A bit of an earlier field, and whether it must be set."""

    field: str
    bit: int
    is_set: bool

    def holds(self, value: int) -> bool:
        """Whether the bit is as it must be."""
        return bool(value & self.bit) == self.is_set


class Field(NamedTuple):
    """One field of the binary form. ``parts`` are (name, bits) of a packed integer."""

    name: str
    kind: str
    parts: tuple[tuple[str, int], ...] = ()
    constant: int | None = None
    copy_of: str = ""
    condition: Condition | None = None


@dataclass(frozen=True, eq=False)
class Choice:
    """A suffix that selects one of several values of a field. With a default it may be missing."""

    field: str
    values: dict[str, int]
    default: int | None = None

    @cached_property
    def names(self) -> dict[int, str]:
        return {v: k for k, v in reversed(self.values.items())}


class Flag(NamedTuple):
    """A suffix that sets a field to 1. Without a field it is accepted and not stored."""

    field: str
    word: str


class Hint(NamedTuple):
    """A suffix that counts for nothing, in front of one of the same words; the bytes have no place for it."""

    name: str
    values: dict[str, int]


class Number(NamedTuple):
    """A suffix that is an integer; ``prefix`` and ``base`` say how it is written."""

    field: str
    prefix: str = ""
    base: int = 10


class Saturate:
    """``.sat`` behind a mnemonic: stored as the modifier of the destination."""


class FenceFlags(NamedTuple):
    """The letters behind a fence, one bit each."""

    letters: tuple[tuple[str, str, int], ...] = (
        ("L1", "l1", 1),
        ("E", "flush", 1),
        ("I", "flush", 2),
        ("S", "flush", 4),
        ("C", "flush", 8),
        ("R", "flush", 16),
    )


class TargetFlags(NamedTuple):
    """The ``<RTI><A>...`` flags of a render-target write, bits of ``mode``."""

    bits: tuple[tuple[str, int], ...]


Suffix = Choice | Flag | Hint | Number | Saturate | FenceFlags | TargetFlags


class Flow(enum.Enum):
    """What an instruction does to control flow; after most, the next one executes."""

    NEXT = enum.auto()
    LABEL = enum.auto()
    """Nothing executes: a place that jumps or calls of the same function lead to."""
    GOTO = enum.auto()
    """The lanes that take it go on at the label."""
    JUMP = enum.auto()
    """The whole thread goes on at the label or at the next instruction."""
    SWITCH = enum.auto()
    """The whole thread goes on at one of several labels or at the next instruction."""
    CALL = enum.auto()
    """A subroutine of the same function."""
    CALL_FUNCTION = enum.auto()
    CALL_ADDRESS = enum.auto()
    RETURN = enum.auto()
    """Lanes leave the subroutine or function, or end in a kernel."""
    BARRIER = enum.auto()
    """Waits for the other threads of the work-group."""
    SIGNAL = enum.auto()
    """Arrives at the barrier of the work-group without waiting."""
    NAMED_BARRIER = enum.auto()
    END = enum.auto()
    """The thread's last message."""

    # Cached on the members, as analyses ask for every instruction.

    @cached_property
    def is_label(self) -> bool:
        """Whether it is a place that branches and calls of the same function lead to."""
        return self is Flow.LABEL

    @cached_property
    def is_branch(self) -> bool:
        """Whether it goes to labels of the same function, without coming back."""
        return self in (Flow.GOTO, Flow.JUMP, Flow.SWITCH)

    @cached_property
    def is_scalar_jump(self) -> bool:
        """Whether the whole thread jumps, so that its execution size says nothing."""
        return self in (Flow.JUMP, Flow.SWITCH)

    @cached_property
    def calls_function(self) -> bool:
        """Whether it calls a function, by name or by address."""
        return self in (Flow.CALL_FUNCTION, Flow.CALL_ADDRESS)

    @cached_property
    def is_call(self) -> bool:
        """Whether it calls a subroutine or function, so that lanes come back behind it."""
        return self is Flow.CALL or self.calls_function

    @cached_property
    def ends_lanes(self) -> bool:
        """Whether lanes leave the function, or the subroutine that they are in."""
        return self in (Flow.RETURN, Flow.END)

    @cached_property
    def is_terminator(self) -> bool:
        """Whether a basic block ends with it."""
        return self.is_branch or self.ends_lanes or self is Flow.CALL

    @cached_property
    def is_barrier(self) -> bool:
        return self in (Flow.BARRIER, Flow.SIGNAL, Flow.NAMED_BARRIER)


class Memory(enum.Enum):
    """What a message goes to; ``OPERAND``: an operand says whether that is flat memory, a surface or local memory."""

    NONE = enum.auto()
    FLAT = enum.auto()
    SURFACE = enum.auto()
    IMAGE = enum.auto()
    URB = enum.auto()
    OPERAND = enum.auto()


class Access(enum.Enum):
    """What a message does to memory."""

    NONE = enum.auto()
    LOAD = enum.auto()
    STORE = enum.auto()
    ATOMIC = enum.auto()


class Payload(enum.Enum):
    """What a message moves for its lanes; with the fields of the instruction that says how many bytes its operands have."""

    UNSAID = enum.auto()
    """What its own page of the manual says (samplers, images, matrices, raw messages), or nothing."""
    OWORDS = enum.auto()
    """``owords`` consecutive ones."""
    CHANNELS = enum.auto()
    """A dword for each channel of ``channel_mask``."""
    DWORD = enum.auto()
    """One dword, or what is narrower in its low end."""
    QWORDS = enum.auto()
    """``num_blocks`` qwords."""
    BLOCKS = enum.auto()
    """``num_blocks`` of ``block_type``."""
    ATOMIC = enum.auto()
    """Old value and sources of ``op`` in ``width``."""
    ELEMENTS = enum.auto()
    """``elems`` of ``data_size``, in the order of ``order``."""
    QUAD = enum.auto()
    """The channels of ``elems`` in ``data_size``."""
    LSC_ATOMIC = enum.auto()
    """Old value and sources in ``data_size``."""


class Rule(enum.Enum):
    """A restriction of single instructions. Their records have its word; who asks for one that is not here does not pass
    the type check, and a record with such a word cannot be made.
    """

    ADDRESS_OF = "address-of"
    CONTIGUOUS = "contiguous"
    DF_BY_MACROS = "df-by-macros"
    FUNCTION_ONLY = "function-only"
    NEEDS_PREDICATE = "needs-predicate"
    NO_MASK = "no-mask"
    NO_MASK_TO_BYTES = "no-mask-to-bytes"
    NO_PACKED = "no-packed"
    PACKED_LANES = "packed-lanes"
    PREDICATE_BITS = "predicate-bits"
    SATURATES_BYTES = "saturates-bytes"
    SELECTS = "selects"
    SYSTOLIC = "systolic"
    TABLE_OF_DWORDS = "table-of-dwords"
    TRANSPOSED_OF_ONE = "transposed-of-one"
    WORDS = "words"


class Saturation(enum.Enum):
    """Which results an instruction can saturate; one without the suffix saturates nothing, whatever this says."""

    ANY = enum.auto()
    FLOATS = enum.auto()
    """Only those of a floating-point type."""
    NONE = enum.auto()
    """The encoding has a place for it, the manual or the reference compiler's verifier forbids it."""


TypesOf = dict[str, frozenset[str]]
"""Types by the name of an operand."""


@dataclass(frozen=True, eq=False, repr=False)
class InstructionDesc:
    """One mnemonic: the sub-operation of an opcode, its binary fields, its text, and what it does to control and memory."""

    opcode: int
    mnemonic: str
    category: str
    layout: str
    written: str | None
    fixed: dict[str, int]
    suffixes: tuple[Suffix, ...]
    summary: str
    types: frozenset[str]
    platforms: frozenset[str]
    sizes: tuple[int, ...]
    aliases: tuple[str, ...]
    semantics: str
    rules: frozenset[Rule] = frozenset()
    flow: Flow = Flow.NEXT
    memory: Memory = Memory.NONE
    access: Access = Access.NONE
    writes_predicate: bool = False
    """Whether the predicate of the instruction is a result."""
    implied: tuple[tuple[str, int], ...] = ()
    """Fields that the text leaves out, where they are not 0, with their values."""
    spelling: frozenset[str] = frozenset()
    """What the text has of its own, in the words of the notation."""
    payload: Payload = Payload.UNSAID
    operation: str = ""
    """What an atomic does, in the data port's words, if no field says it."""
    written_classes: str = ""
    """Classes of vector operands that are others than usual, in the notation."""
    operand_types: TypesOf = field(default_factory=dict)
    """The types of operands where they are not ``types``; of message operands only those that stand here."""
    beyond: TypesOf = field(default_factory=dict)
    """Types that compilers write although the manual does not have them."""
    pairs: TypesOf = field(default_factory=dict)
    """For each type of the destination those of src0, where a conversion has no others."""
    modifiers: str = ""
    """Which modifiers sources can have: ``signs``, ``complement`` or none."""
    saturation: Saturation = Saturation.ANY
    aligned: dict[str, int] = field(default_factory=dict)
    """Bytes of which the places of operands are multiples where more than one lane executes."""
    parts: dict[str, int] = field(default_factory=dict)
    """Bytes of which the places of message operands are multiples that need not begin with a register; 0 stands for a
    row of their elements, one for each lane.
    """
    limits: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The least and greatest value of a number, of an immediate, or length of a list."""

    def types_of(self, operand: str) -> frozenset[str]:
        """The element types of a vector operand; empty if there is no rule."""
        return self.operand_types.get(operand, self.types)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The binary fields in order."""
        return parse_layout(self.layout)

    @cached_property
    def text(self) -> tuple[str, ...]:
        """The operands of the text in order; those of the binary form where the record does not say."""
        if self.written is not None:
            return tuple(self.written.split())
        hidden = {getattr(s, "field", "") for s in self.suffixes} | set(self.fixed)
        names = ["(exec)"] if self.has_exec else []
        for f in self.fields:
            names += [n for n, _ in f.parts if n not in hidden]
            if f.name and f.name not in hidden and f.kind not in ("ec", "pr", "n"):
                names.append(f.name)
        return tuple(names)

    @cached_property
    def classes(self) -> dict[str, frozenset[type]]:
        """Of which classes each vector operand can be (manual, chapter 5 and the page of the instruction)."""
        own = dict(word.split(":") for word in self.written_classes.split())
        usual = {"d": "gi", "s": "gic"}
        return {
            f.name: frozenset(CLASSES[c] for c in own.get(f.name, usual[f.kind]))
            for f in self.fields
            if f.kind in usual and f.name
        }

    @cached_property
    def works_on_predicates(self) -> bool:
        """Whether whole predicates can be its operands, which are then all of them predicates."""
        return bool(self.classes) and all(Predicate in found for found in self.classes.values())

    @cached_property
    def moves_states(self) -> bool:
        """Whether it moves between registers and surface or sampler variables."""
        return bool(self.classes) and all(State in found for found in self.classes.values())

    @cached_property
    def names_symbol(self) -> bool:
        """Whether it refers to a function or to data by name, so that a linker must resolve it."""
        return any(f.kind == "N2" for f in self.fields)

    @cached_property
    def names_string(self) -> bool:
        """Whether it takes a string of its function's pool: the name of a symbol or of a source file."""
        return any(f.kind in ("N2", "N4") for f in self.fields)

    @cached_property
    def names_file(self) -> bool:
        """Whether it names the source file of what follows."""
        return any(f.kind == "N4" for f in self.fields)

    @cached_property
    def marks_line(self) -> bool:
        """Whether it says which source line follows."""
        return self.is_directive and LINE in self.by_name

    @cached_property
    def is_directive(self) -> bool:
        """Whether nothing executes: labels, and marks of source files and lines."""
        return self.mnemonic.startswith(".")

    @cached_property
    def has_exec(self) -> bool:
        return any(f.kind == "ec" for f in self.fields)

    @cached_property
    def has_predicate(self) -> bool:
        return any(f.kind == "pr" for f in self.fields)

    @cached_property
    def by_name(self) -> dict[str, Field]:
        return {name: f for f in self.fields for name in ([p for p, _ in f.parts] or [f.name])}

    @cached_property
    def enumerated(self) -> tuple[tuple[str, frozenset[int]], ...]:
        """Fields of which only some values exist, with these."""
        found = {n: frozenset(codes.values()) for n, codes in ENUMERATED.items() if n in self.by_name and (self.category == "lsc" or n == "class")}
        found |= {field: frozenset(codes.values()) for word, (field, codes) in GROUPS.items() if word in self.text}
        for s in self.suffixes:
            if isinstance(s, Choice) and s.field and s.field in self.by_name:
                found[s.field] = frozenset(s.values.values()) | ({s.default} if s.default is not None else frozenset())
        return tuple(found.items())

    @cached_property
    def syntax(self) -> str:
        """The assembly form, for messages and the reference pages."""
        suffix = ""
        for s in self.suffixes:
            if isinstance(s, Saturate):
                suffix += "[.sat]" if self.saturation is not Saturation.NONE else ""
            elif isinstance(s, Choice):
                word = s.field or next(iter(s.values))
                suffix += f".{word}" if s.default is None else f"[.{word}]"
            elif isinstance(s, Flag):
                suffix += f"[.{s.word}]"
            elif isinstance(s, Hint):
                suffix += f"[.{s.name}]"
            elif isinstance(s, Number):
                suffix += f".{s.prefix}{s.field}"
            else:
                suffix += "[.flags]"
        shown = {"(exec)": "(mask, exec_size)", "@sampler": "sampler", "@surface": "surface"}
        operands = [shown.get(o, o) for o in self.text]
        operands = ["[" + o[:-1] + "]" if o.endswith("?") else o.replace("*", "...") for o in operands]
        return " ".join((["[(predicate)]"] if self.has_predicate else []) + [self.mnemonic + suffix] + operands)

    def __repr__(self) -> str:
        return f"<InstructionDesc {self.opcode:#x} {self.mnemonic}>"


_SIGNS, _COMPUTING = "signs", ("arithmetic", "move", "compare")
"""Sources of these instructions can have signs, if their records do not say otherwise."""
CLASSES: dict[str, type] = {
    "g": General, "i": Indirect, "c": Immediate, "a": Address, "p": Predicate, "s": State,
}  # fmt: skip
"""Classes of vector operands by their letters."""
_WIDTHS = {"B": 1, "H": 2, "W": 4, "I": 4, "X": 8, "n": 1}
_ITEM = re.compile(r"(?P<kind>[A-Za-z]\w?[*!]?)(?:\?(?P<cond>\w+)(?P<sign>[&!])(?P<bit>\d+))?(?::(?P<rest>.+))?$")


def parse_layout(layout: str) -> tuple[Field, ...]:
    """Fields of a layout in the notation above."""
    fields: list[Field] = []
    for item in layout.split():
        match = _ITEM.match(item)
        assert match, item
        kind, rest = match["kind"], match["rest"] or ""
        condition = Condition(match["cond"], int(match["bit"]), match["sign"] == "&") if match["cond"] else None
        if kind in ("ec", "pr"):
            fields.append(Field({"ec": "exec", "pr": "pred"}[kind], kind))
        elif rest.startswith("="):
            value = rest[1:]
            fields.append(Field("", kind, constant=int(value)) if value.isdigit() else Field("", kind, copy_of=value))
        elif kind in _WIDTHS and ("+" in rest or "." in rest):
            parts = [p.split(".") for p in rest.split("+")]
            fields.append(Field("", kind, parts=tuple((n, int(b)) for n, b in parts)))
        else:
            fields.append(Field(rest, kind, condition=condition))
    return tuple(fields)


def width_of(kind: str) -> int:
    """Bytes of an integer field."""
    return _WIDTHS[kind]


def target_outputs(mode: int) -> int:
    """Number of outputs of a render-target write with this mode: four colours, and one for each bit that adds one."""
    return 4 + sum(1 for bit in TARGET_OUTPUTS if mode & bit)


def types_by_operand(text: str) -> TypesOf:
    """The types of operands, or of pairs, written ``dst:uw,w src0:ub,b``; ``src0:`` has no rule."""
    pairs = [item.split(":") for item in text.split()]
    return {name: frozenset(filter(None, types.split(","))) for name, types in pairs}


INTEGERS = frozenset({"ud", "d", "uw", "w", "ub", "b", "uq", "q"})
FLOATS = frozenset({"df", "f", "hf"})
ANY_SIZE = (1, 2, 4, 8, 16, 32)


def form(
    opcode: int,
    mnemonic: str,
    layout: str,
    summary: str,
    *,
    category: str,
    text: str | None = None,
    suffixes: tuple[Suffix, ...] = (),
    types: frozenset[str] | str = frozenset(),
    platforms: frozenset[str] = ALL,
    sizes: tuple[int, ...] = ANY_SIZE,
    aliases: tuple[str, ...] = (),
    semantics: str | None = None,
    rules: str = "",
    flow: Flow = Flow.NEXT,
    memory: Memory = Memory.NONE,
    access: Access = Access.NONE,
    writes_predicate: bool = False,
    implied: tuple[tuple[str, int], ...] = (),
    spelling: str = "",
    payload: Payload = Payload.UNSAID,
    operation: str = "",
    classes: str = "",
    operands: str = "",
    beyond: str = "",
    pairs: str = "",
    modifiers: str | None = None,
    saturation: Saturation = Saturation.ANY,
    aligned: dict[str, int] | None = None,
    parts: dict[str, int] | None = None,
    limits: dict[str, tuple[int, int]] | None = None,
    **fixed: int,
) -> InstructionDesc:
    """A record. Without ``text`` the operands stand in binary order; ``semantics`` names the function that says what it does.

    ``operands``, ``beyond`` and ``pairs`` are written as :func:`types_by_operand` reads them.
    """
    types = frozenset(types.split()) if isinstance(types, str) else types
    return InstructionDesc(
        opcode, mnemonic, category, layout, text, fixed, suffixes, summary, types, platforms, sizes, aliases,
        semantics or mnemonic, frozenset(map(Rule, rules.split())), flow, memory, access, writes_predicate, implied,
         frozenset(spelling.split()), payload, operation, classes, types_by_operand(operands), types_by_operand(beyond),
         types_by_operand(pairs), (_SIGNS if category in _COMPUTING else "") if modifiers is None else modifiers, saturation,
         aligned or {}, parts or {}, limits or {},
    )  # fmt: skip


SAT = Saturate()
CHANNELS = {"".join(c for i, c in enumerate("RGBA") if mask >> i & 1): mask for mask in range(1, 16)}
