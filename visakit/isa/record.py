"""The record that describes an instruction, and the notation in which the chapters write records down.

The *layout* lists the binary fields (:mod:`visakit.isa.layout`), *suffixes* the words after the mnemonic
(:mod:`visakit.isa.suffixes`). The *text* lists the operands in the order of the assembly language: names of fields, and
the forms of :mod:`visakit.text.instruction_syntax`: ``(exec)`` and other groups in parentheses, ``@data:dst`` and its
like for operands of messages, ``x?`` for an operand that may be missing, ``x*`` for a list.

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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from visakit.forks import cached_property
from visakit.isa.enums import CHOICE_CODES, COUNT_CODES, ENUMERATED
from visakit.isa.layout import Field, parse_layout
from visakit.isa.suffixes import Choice, Flag, Hint, Number, Saturate, Suffix
from visakit.language.operands import Address, General, Immediate, Indirect, Predicate, State
from visakit.language.platforms import ALL

LINE = "line"
"""The field that holds a source line."""
SPELLINGS = frozenset({"subroutine", "optional-exec", "predicate-copy", "bare-region", "channels", "bare-surface"})
_FIELD = re.compile(r"(?<=[:+])[A-Za-z_]\w*")
"""Names of fields in a layout."""
_OPERAND = re.compile(r"(?:^|(?<= )|(?<=:))[A-Za-z_]\w*(?=[?*]?(?: |$))")
"""Names of fields in a text, alone or in the form of an operand."""


class Flow(enum.Enum):
    """What an instruction does to control flow; after most, the next one executes."""

    NEXT = enum.auto()
    LABEL = enum.auto()
    """Nothing executes: a place that jumps or calls of the same function lead to."""
    GOTO = enum.auto()
    """The lanes that take it go on at the label."""
    JUMP = enum.auto()
    """The whole thread continues at the label or at the next instruction."""
    SWITCH = enum.auto()
    """The whole thread continues at one of several labels or at the next instruction."""
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


class MemoryKind(enum.Enum):
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


class Pipe(enum.Enum):
    """The pipe of the execution unit that an instruction goes to; no pipe for directives, which do not execute."""

    ALU = enum.auto()
    """FPU or INT: as its types are floats or integers."""
    EM = enum.auto()
    """Extended mathematics: quotients, roots, logarithms, sines."""
    XMX = enum.auto()
    """Systolic products."""
    SEND = enum.auto()
    """A message to a unit outside of the execution unit."""
    CONTROL = enum.auto()
    NOTHING = enum.auto()


class Payload(enum.Enum):
    """What a message moves for its lanes; with the fields of the instruction that says how many bytes its operands have."""

    UNSAID = enum.auto()
    """What its own page of the manual says (samplers, images, matrices, raw messages), or nothing."""
    OWORDS = enum.auto()
    """``owords`` consecutive ones."""
    CHANNELS = enum.auto()
    """A dword for each channel of ``channel_mask``."""
    DWORD = enum.auto()
    """One dword, or a narrower element in its low end."""
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
    """A restriction of single instructions. Their records have its word, and none can have another word."""

    ADDRESS_OF = "address-of"
    ATOMIC_DATA = "atomic-data"
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


INTEGERS = frozenset({"ud", "d", "uw", "w", "ub", "b", "uq", "q"})
FLOATS = frozenset({"df", "f", "hf"})
ANY_SIZE = (1, 2, 4, 8, 16, 32)
TypesOf = dict[str, frozenset[str]]
"""Types by the name of an operand."""


@dataclass(frozen=True, eq=False, repr=False)
class InstructionDesc:
    """One mnemonic: the sub-operation of an opcode, its binary fields, its text, its effects on control and memory."""

    opcode: int
    mnemonic: str
    category: str
    layout: str
    summary: str
    semantics: str
    modifiers: str
    """Which modifiers sources can have: ``signs``, ``complement`` or none."""
    written: str | None = None
    """The text in the notation; None if its operands have the binary order."""
    fixed: dict[str, int] = field(default_factory=dict)
    """Fields with one value, which tell the sub-operations of an opcode apart."""
    suffixes: tuple[Suffix, ...] = ()
    types: frozenset[str] = frozenset()
    platforms: frozenset[str] = ALL
    sizes: tuple[int, ...] = ANY_SIZE
    aliases: tuple[str, ...] = ()
    rules: frozenset[Rule] = frozenset()
    flow: Flow = Flow.NEXT
    memory: MemoryKind = MemoryKind.NONE
    access: Access = Access.NONE
    writes_predicate: bool = False
    """Whether the predicate of the instruction is a result."""
    implied: tuple[tuple[str, int], ...] = ()
    """Fields that the text leaves out, where they are not 0, with their values."""
    spelling: frozenset[str] = frozenset()
    """The parts of the text alone, in the words of the notation."""
    payload: Payload = Payload.UNSAID
    operation: str = ""
    """What an atomic does, in the data port's words, if no field says it."""
    written_classes: str = ""
    """Classes of vector operands that are others than usual, in the notation."""
    operand_types: TypesOf = field(default_factory=dict)
    """The types of operands where they are not ``types``; message operands have only these types."""
    beyond: TypesOf = field(default_factory=dict)
    """Types that compilers write although the manual does not have them."""
    pairs: TypesOf = field(default_factory=dict)
    """For each type of the destination those of src0, where a conversion has no others."""
    saturation: Saturation = Saturation.ANY
    pipe: Pipe = Pipe.ALU
    operations: int = 1
    """Arithmetic operations of a lane, as peaks of devices count them: two of a multiply-add."""
    joins: bool = False
    """Whether the finalizer may put two such instructions into one (``mad``, ``add3``, ``bfn``)."""
    aligned: dict[str, int] = field(default_factory=dict)
    """Vector operands that begin at a multiple of so many bytes if more than one lane executes."""
    message_alignment: dict[str, int] = field(default_factory=dict)
    """Message operands that may begin inside a register, at a multiple of so many bytes; 0 for the bytes of a row of
    their elements, one for each lane.
    """
    limits: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The least and greatest value of a number, of an immediate, or length of a list."""

    def __post_init__(self) -> None:
        """Every field that the record names is in its layout, and every word in the notation."""
        named = {*self.fixed, *dict(self.implied), *self.operand_types, *self.beyond, *self.aligned, *self.message_alignment}
        named |= {*self.limits, *(word.partition(":")[0] for word in self.written_classes.split())}
        named |= {getattr(suffix, "field", "") for suffix in self.suffixes} - {""}
        named |= set(_OPERAND.findall(self.written or ""))
        if unknown := named - set(_FIELD.findall(self.layout)):
            raise ValueError(f"{self.mnemonic}: the layout has no field {', '.join(sorted(unknown))}")
        if strange := self.spelling - SPELLINGS:
            raise ValueError(f"{self.mnemonic}: the notation has no spelling {', '.join(sorted(strange))}")

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
        found |= {n: frozenset(codes.values()) for word, (n, codes) in COUNT_CODES.items() if word in self.text}
        found |= {n: frozenset(codes.values()) for word, (n, codes) in CHOICE_CODES.items() if word in self.text}
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
def types_by_operand(text: str) -> TypesOf:
    """The types of operands, or of pairs, written ``dst:uw,w src0:ub,b``; ``src0:`` has no rule."""
    pairs = [item.split(":") for item in text.split()]
    return {name: frozenset(filter(None, types.split(","))) for name, types in pairs}


class Details(TypedDict, total=False):
    """The keywords of :func:`form` beside the category.

    ``operands``, ``beyond`` and ``pairs`` are written as :func:`types_by_operand` reads them. Without ``text`` the
    operands of the text have the binary order; ``semantics`` names the function of the effect, usually the mnemonic.
    """

    text: str
    fixed: dict[str, int]
    suffixes: tuple[Suffix, ...]
    types: frozenset[str] | str
    platforms: frozenset[str]
    sizes: tuple[int, ...]
    aliases: tuple[str, ...]
    semantics: str
    rules: str
    flow: Flow
    memory: MemoryKind
    access: Access
    writes_predicate: bool
    implied: tuple[tuple[str, int], ...]
    spelling: str
    payload: Payload
    operation: str
    classes: str
    operands: str
    beyond: str
    pairs: str
    modifiers: str
    saturation: Saturation
    pipe: Pipe
    operations: int
    joins: bool
    aligned: dict[str, int]
    message_alignment: dict[str, int]
    limits: dict[str, tuple[int, int]]


def _words(value: str | frozenset[str]) -> frozenset[str]:
    """A set, written as its words."""
    return frozenset(value.split()) if isinstance(value, str) else value


def _as_it_is(value: object) -> object:
    return value


_FIELDS = {"text": "written", "classes": "written_classes", "operands": "operand_types"}
"""Fields of a record whose keyword has another name."""
_READ: dict[str, Callable[..., object]] = {
    "types": _words,
    "spelling": _words,
    "rules": lambda words: frozenset(map(Rule, words.split())),
    **dict.fromkeys(("operands", "beyond", "pairs"), types_by_operand),
}
"""What reads the value of a keyword that the chapters write in the notation."""


def _usual_pipe(mnemonic: str, flow: Flow, memory: MemoryKind) -> Pipe:
    """The pipe of an instruction whose record does not say it."""
    if mnemonic.startswith("."):
        return Pipe.NOTHING
    if memory is not MemoryKind.NONE or flow.is_barrier or flow is Flow.END:
        return Pipe.SEND
    return Pipe.ALU if flow is Flow.NEXT else Pipe.CONTROL


def form(
    opcode: int, mnemonic: str, layout: str, summary: str, *, category: str, **details: Unpack[Details]
) -> InstructionDesc:
    """A record of the table.

    Raises:
        TypeError: a keyword is not one of :class:`Details`.
        ValueError: the record names a field that its layout lacks, or uses a word that the notation lacks.
    """
    if unknown := details.keys() - Details.__annotations__.keys():
        raise TypeError(f"{mnemonic}: a record has no {', '.join(sorted(unknown))}")
    # Any: the values have the types of the fields, which Details has checked.
    values: dict[str, Any] = {
        "modifiers": _SIGNS if category in _COMPUTING else "",
        "semantics": mnemonic,
        "pipe": _usual_pipe(mnemonic, details.get("flow", Flow.NEXT), details.get("memory", MemoryKind.NONE)),
        **{_FIELDS.get(name, name): _READ.get(name, _as_it_is)(value) for name, value in details.items()},
    }
    return InstructionDesc(opcode, mnemonic, category, layout, summary, **values)
