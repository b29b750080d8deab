"""The rules of one instruction that can be encoded (manual, chapters 3 and 5): types, regions, modifiers, extents.

Every rule was checked against the compilers' output. A rule of the manual that they break is a warning, or an optional
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from visakit.isa import InstructionDesc
from visakit.isa.record import INTEGERS, Flow, Rule, Saturation
from visakit.isa.systolic import NAMES, row_bytes
from visakit.language import types
from visakit.language.operands import SCALAR, Address, General, Immediate, Indirect, Raw, VectorOperand
from visakit.language.platforms import MAXIMUM_GRF_SIZE, SMALLEST_GRF_SIZE
from visakit.language.program import FIRST_VARIABLE, Fields, Function, Instruction
from visakit.language.types import DataType
from visakit.rules.call_rules import advice, broken_calls
from visakit.rules.extents import (
    Extents,
    count_of,
    has_message,
    message_overruns,
    read_only_writes,
    state_overruns,
    takes_scalars,
    unaligned_messages,
)
from visakit.rules.operand_classes import wrong_class, wrong_modifier, wrong_together
from visakit.rules.restrictions import is_restricted, restrictions
from visakit.rules.violation import Violation

_MEANT = {types.V: INTEGERS, types.UV: INTEGERS, types.VF: {"f"}}
"""Types as which packed immediates count."""
_INTEGER, _F, _HF, _BF, _DF = (1 << n for n in range(5))
_KINDS = {"f": _F, "vf": _F, "hf": _HF, "bf": _BF, "df": _DF}
_SMALL_BITS = {"hf": 0x400, "bf": 0x80, "f": 0x10000, "df": 0x10000}
"""Below these, bits of floats are numbers next to 0, and rather meant as whole numbers."""
BITS_OF_A_FLOAT = "W017"
"""The code of a rule about how a number is written, which bits do not say: those in hexadecimal are meant so."""
ROW_OF_AN_ADDRESS = "W019"
"""The code of the rule about bytes in brackets after ``&V``, which become a row and a column instead of a row."""
_ADDRESSES = frozenset({Address})
_MIXES = frozenset({0, _INTEGER, _F, _HF, _BF, _DF, _F | _HF, _F | _BF})
"""Kinds of types that arithmetic takes together: the manual's type maps."""


class _Slot(NamedTuple):
    """The checks of one vector operand of a kind of instruction."""

    name: str
    destination: bool
    kinds: dict[int, int]
    """The kinds of valid operands, by identity."""
    forms: dict[tuple[object, ...], int]
    """The byte before which a general operand ends, by type, row, column, region and modifier that break no rule."""


class _Plan(NamedTuple):
    """The checks of a kind of instruction."""

    operands: tuple[_Slot, ...]
    restricted: bool
    """The instruction has special restrictions."""
    whole: bool
    """There are rules of several operands, or of parts of messages."""
    calls: bool
    """It calls or returns."""

    @classmethod
    def of(cls, desc: InstructionDesc) -> _Plan:
        """The plan of an instruction's record, which lives as long as the program."""
        operands = tuple(
            _Slot(f.name, f.kind == "d", {}, {})
            for f in desc.fields
            if f.kind in ("d", "s") and f.constant is None and not f.copy_of
        )
        whole = has_message(desc) or desc.works_on_predicates or desc.moves_states
        return cls(operands, is_restricted(desc), whole, desc.flow.is_call or desc.flow is Flow.RETURN)


class Rules:
    """Checks the instructions of one function.

    Fields and operands that are known by identity are kept alive, so that no other object gets their identity.

    Args:
        grf_size: bytes of a register; 0 for an unknown platform.
        silent: codes of disabled warnings.
        largest_grf_size: ``grf_size``; of all platforms the largest one if the platform is unknown.
    """

    def __init__(
        self,
        function: Function,
        grf_size: int,
        silent: frozenset[str] = frozenset(),
        largest_grf_size: int = MAXIMUM_GRF_SIZE,
        platform: str = "",
    ) -> None:
        self.function, self.silent, self.largest_grf_size, self.platform = function, silent, largest_grf_size, platform
        self.extents = Extents(function, grf_size)
        self.grf_size, self.known_grf_size = self.extents.grf_size, grf_size
        self._clean: dict[int, Fields] = {}
        self._keep: list[VectorOperand] = []
        self._plans: dict[tuple[int, int], _Plan] = {}
        """The checks of each kind of instruction, by identity of its record, and execution size."""

    def broken(self) -> Iterator[tuple[Instruction, Violation]]:
        """The rules that each instruction of the function breaks."""
        clean = self._clean
        for i in self.function.instructions:
            if id(i.args) not in clean:
                for violation in self.check(i):
                    yield i, violation

    def check(self, i: Instruction) -> list[Violation]:
        """The rules that an instruction breaks."""
        desc, args = i.desc, i.args
        execution = args.get("exec")
        size = execution.size if execution else 1
        plan = self._plans.get((id(desc), size))
        if plan is None:
            plan = self._plans[id(desc), size] = _Plan.of(desc)
        violations: list[Violation] = []
        kinds = 0
        for slot in plan.operands:
            op = args.get(slot.name)
            if op is None:
                continue
            kind = slot.kinds.get(id(op))
            if kind is None:
                kind = self._kind(desc, op, slot.destination)
                broken = self._broken(desc, slot, op, size)
                if broken:
                    violations += broken
                else:
                    slot.kinds[id(op)] = kind
                    self._keep.append(op)  # its id must stay its own
            kinds |= kind
        if kinds not in _MIXES and not violations:
            violations += self._heard(self._mixed(i, plan))
        if plan.restricted:
            violations += self._heard(restrictions(self.type_of, i, size, self.known_grf_size, self.platform))
        violations += read_only_writes(self.function, i)
        if plan.whole:
            violations += self._heard(self._whole(i))
        if plan.calls:
            violations += self._heard((*broken_calls(self.function, i, self.platform), *advice(self.function, i)))
        if not violations:
            self._clean[id(args)] = args
        return violations

    def _heard(self, violations: Iterable[Violation]) -> list[Violation]:
        return [v for v in violations if v.code not in self.silent]

    def _whole(self, i: Instruction) -> Iterator[Violation]:
        """Rules about several operands, or parts of messages."""
        if has_message(i.desc):
            yield from message_overruns(self.extents, i)
            yield from unaligned_messages(self.extents, i)
            yield from self._raw_types(i)
            if Rule.SYSTOLIC in i.desc.rules:
                yield from self._activations(i)
        else:
            yield from (Violation("V055", *broken) for broken in wrong_together(i))
            yield from state_overruns(self.extents, i)

    def _raw_types(self, i: Instruction) -> Iterator[Violation]:
        for name in i.desc.operand_types:
            op = i.args.get(name)
            if isinstance(op, Raw) and op.var:
                yield from self._type(i.desc, name, self.function.variable_type(op.var), True)

    def _kind(self, desc: InstructionDesc, op: VectorOperand, destination: bool) -> int:
        """The kind of an operand's type, if the types of other operands depend on it."""
        calculates = (desc.category == "arithmetic" and not desc.pairs) or Rule.SELECTS in desc.rules
        t = self.type_of(op) if calculates or (desc.category == "compare" and not destination) else None
        return 0 if t is None else _KINDS.get(t.name, _INTEGER)

    def type_of(self, op: VectorOperand | Raw) -> DataType | None:
        """The element type of an operand; None where it has none."""
        if isinstance(op, General):
            return self.function.variable_type(op.var)
        if isinstance(op, Raw):
            return self.function.variable_type(op.var) if op.var else None
        return op.type if isinstance(op, (Immediate, Indirect)) else None

    # -- one operand ---------------------------------------------------------------------------------------

    def _broken(self, desc: InstructionDesc, slot: _Slot, op: VectorOperand, size: int) -> list[Violation]:
        """The rules that an operand breaks. A form that breaks none breaks none in another variable that is as long."""
        if not isinstance(op, General) or not op.var or slot.name in desc.aligned:
            return self._heard(self._operand(desc, slot, op, size))
        form = (self.function.variable_type(op.var).name, op.row, op.col, op.region, op.modifier)
        end = slot.forms.get(form)
        if end is not None and self.extents.reaches(op.var, end):
            return []
        broken = self._heard(self._operand(desc, slot, op, size))
        if not broken:
            slot.forms[form] = self.extents.region(op, count_of(desc, size))[1]
        return broken

    def _operand(self, desc: InstructionDesc, slot: _Slot, op: VectorOperand, size: int) -> Iterator[Violation]:
        name, destination = slot.name, slot.destination
        if type(op) not in desc.classes[name]:
            yield Violation("V055", *wrong_class(desc, name, op), name)
            return
        t = self.type_of(op)
        null = isinstance(op, General) and not op.var
        if t is not None and not (null and name in desc.operand_types):
            yield from self._type(desc, name, t)
        if op.modifier:
            yield from self._modifier(desc, name, op, t, destination)
        if isinstance(op, General) and op.col:
            yield from self._column(name, op)
        if size > 1 and name in desc.aligned and isinstance(op, General) and op.var and op.region != SCALAR:
            yield from self._alignment(desc, name, op, desc.aligned[name])
        yield from self._slips(desc, name, op)
        overrun = self.extents.operand(name, op, count_of(desc, size))
        if overrun:
            yield overrun
        if not isinstance(op, General | Indirect) or takes_scalars(desc) or null:
            return
        yield from self._region(name, op, size, destination)
        if isinstance(op, General) and not overrun:
            yield from self._registers(name, op, size)

    def _slips(self, desc: InstructionDesc, name: str, op: VectorOperand) -> Iterator[Violation]:
        """Operands that can be encoded, but differ from their text in meaning."""
        if isinstance(op, Immediate) and 0 < op.bits < _SMALL_BITS.get(op.type.name, 0):
            message = f"a whole number before :{op.type} is the bits of a float, and {op.bits} are those of almost 0"
            hint = f"write {op.bits}.0:{op.type} for the number {op.bits}, {op.bits:#x}:{op.type} for the bits"
            yield Violation(BITS_OF_A_FLOAT, message, hint, name)
        computes_address = name == "src0" and desc.classes.get("dst") == _ADDRESSES
        if computes_address and isinstance(op, General) and op.region != SCALAR:
            message = f"{desc.mnemonic} takes the address of a variable here, not its elements"
            yield Violation("V055", message, f"write &{self.function.variable_name(op.var)}", name)
        elif computes_address and isinstance(op, General) and op.row and not self.known_grf_size:
            message = (
                f"the bytes of this text depend on the size of a register: this is row {op.row} where it has 32 bytes"
            )
            yield Violation(ROW_OF_AN_ADDRESS, message, "name the platform, as in --platform tgllp; 32 are taken", name)

    def _type(self, desc: InstructionDesc, name: str, t: DataType, message: bool = False) -> Iterator[Violation]:
        meant, allowed = _MEANT.get(t, {t.name}), desc.types_of(name)
        if not allowed or allowed & meant:
            return
        hint = f"it takes {', '.join(n for n in types.BY_NAME if n in allowed)}"
        # Messages move bytes, and no tool looks at their types.
        if message or desc.beyond.get(name, frozenset()) & meant:
            yield Violation("W015", f"{desc.mnemonic} does not take type {t} here in the manual", hint, name)
        else:
            yield Violation("V034", f"{desc.mnemonic} does not take type {t}{_place(desc, name)}", hint, name)

    def _modifier(
        self, desc: InstructionDesc, name: str, op: VectorOperand, t: DataType | None, destination: bool
    ) -> Iterator[Violation]:
        message, hint = wrong_modifier(desc, op, destination)
        if message:
            yield Violation("V037", message, hint, name)
        elif destination:
            never = desc.saturation is Saturation.NONE
            if never or (desc.saturation is Saturation.FLOATS and t is not None and not t.is_float):
                message = f"{desc.mnemonic} cannot saturate" + ("" if never else f" type {t}")
                yield Violation("V038", message, "leave out .sat", name)

    def _column(self, name: str, op: General) -> Iterator[Violation]:
        """Columns are those of one register (manual, chapter 5, "General Operands")."""
        at = op.col * self.function.variable_type(op.var).size
        if at >= self.largest_grf_size:
            row, rest = divmod(at, self.grf_size)
            column = rest // self.function.variable_type(op.var).size
            message = f"column {op.col} begins at byte {at}, beyond a register of {self.largest_grf_size} bytes"
            hint = f"with registers of {self.grf_size} bytes write ({op.row + row},{column})"
            yield Violation("V057", message, hint, name)

    def _registers(self, name: str, op: General, size: int) -> Iterator[Violation]:
        """Operands over more registers than the manual lets them reach."""
        low, end = self.extents.region(op, size)
        if (end - 1) // self.grf_size - low // self.grf_size > 1:
            message = f"the operand reaches over more than two registers of {self.grf_size} bytes"
            yield Violation("W005", message, "", name)

    def _activations(self, i: Instruction) -> Iterator[Violation]:
        """Activations begin at a multiple of the bytes of a row of them (manual, DPAS)."""
        op, args = i.args["src2"], i.args
        if isinstance(op, General) and op.var:
            weights, activations = (NAMES[args[f"src{n}_precision"]] for n in (1, 2))
            unit = row_bytes(weights, activations, args["depth"])
            yield from self._alignment(i.desc, "src2", op, max(unit, 1))

    def _alignment(self, desc: InstructionDesc, name: str, op: General, unit: int) -> Iterator[Violation]:
        """An operand that does not begin at a multiple of ``size`` bytes, in its root variable."""
        place = self.extents.place(op.var)
        if place is None:
            return
        at = place.start + self.extents.region(op, 1)[0]
        wanted = f"{desc.mnemonic} takes operands that begin at a multiple of {unit} bytes"
        if at % unit:
            yield Violation("V039", f"{wanted}, this one begins at byte {at}", "", name)
        elif self._declared_alignment(place.root) < unit:
            align = {4: "dword", 8: "qword", 16: "oword"}.get(unit, "GRF")
            hint = f"declare '{self.function.variable_name(place.root)}' with align={align}"
            yield Violation("W015", f"{wanted}, this one's variable may begin anywhere", hint, name)

    def _declared_alignment(self, var: int) -> int:
        """Alignment of a variable in bytes, by its declaration."""
        if var < FIRST_VARIABLE:
            return SMALLEST_GRF_SIZE
        return types.ALIGNMENT_BYTES[self.function.variables[var - FIRST_VARIABLE].align]

    def _region(self, name: str, op: General | Indirect, size: int, destination: bool) -> Iterator[Violation]:
        """Regions of an unusable width, and regions in an unusual notation."""
        v, w, h = op.region
        h = h or 0
        if destination or w is None:
            return
        if w > size:
            usual = f"<{size},{h}>" if v is None else f"<{h * size};{size},{h}>"
            message = f"the region is {w} wide, but the execution size is {size}"
            yield Violation("V035", message, f"write {usual}", name)
        elif v is None:
            return
        elif w > 1 and h and size == w and v != w * h:
            message = f"the region has one row, but its vertical stride is {v}, not {w * h}"
            yield Violation("W006", message, f"write <{w * h};{w},{h}>", name)
        elif size == 1 and v:
            message = f"the region of a single element has a vertical stride of {v}"
            yield Violation("W007", message, "write <0;1,0>", name)
        elif (w == 1 and h) or (w > 1 and not h and not v):
            message = f"<{v};{w},{h}> has the elements of <{v};1,0>, which hardware takes"
            yield Violation("W007", message, f"write <{v};1,0>", name)

    # -- the instruction -----------------------------------------------------------------------------------

    def _mixed(self, i: Instruction, plan: _Plan) -> Iterator[Violation]:
        """Types that no calculation takes together: an integer beside a float, or two floats that are not converted."""
        typed = [(name, t) for name, *_ in reversed(plan.operands) if (t := self.type_of(i.args[name])) is not None]
        real = next(t for _, t in reversed(typed) if _KINDS.get(t.name, _INTEGER) != _INTEGER)
        mnemonic = i.desc.mnemonic
        whole = [(name, t) for name, t in typed if _KINDS.get(t.name, _INTEGER) == _INTEGER]
        destinations = {slot.name for slot in plan.operands if slot.destination}
        sources = [(name, t) for name, t in whole if name not in destinations]
        if sources:
            name, t = sources[-1]
            hint = f"convert one with mov; all sources are {real}, or none is"
            yield Violation("V036", f"{mnemonic} mixes types {real} and {t}", hint, name)
            return
        name, t = whole[-1] if whole else next((n, t) for n, t in typed if t is not real)
        hint = "operands are f and hf, f and bf, or of one type; convert with mov"
        yield Violation("V036", f"{mnemonic} mixes types {real} and {t}", hint, name)


def _place(desc: InstructionDesc, name: str) -> str:
    """The place of the operand, if the types of others differ."""
    return f" as {name}" if name in desc.operand_types else ""
