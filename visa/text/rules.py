"""What an instruction may not do although it can be encoded (manual, chapters 3 and 5).

Types, regions, modifiers, room in variables. Every rule was checked against what the compilers emit. Where they break a
rule of the manual, it is a warning, or one that is off until asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from visa import types
from visa.call_rules import advice, broken_calls
from visa.isa import InstructionDesc
from visa.isa.record import INTEGERS, Flow
from visa.operand_classes import wrong_class, wrong_modifier, wrong_together
from visa.operands import SAT, General, Immediate, Indirect, VectorOperand
from visa.platforms import MAXIMUM_GRF_SIZE
from visa.program import Fields, Function, Instruction
from visa.types import DataType
from visa.validation import (
    Extents,
    count_of,
    has_message,
    message_overruns,
    takes_scalars,
    unaligned_messages,
)
from visa.violation import Violation

_MEANT = {types.V: INTEGERS, types.UV: INTEGERS, types.VF: {"f"}}
"""Types as which packed immediates count."""
UNDEFINED_RELATION = 6
_INTEGER, _REAL = 1, 2


class _Plan(NamedTuple):
    """What is to be checked of a kind of instruction."""

    operands: tuple[tuple[str, bool, dict[int, int]], ...]
    """Names of its operands, whether each is a destination, and those that broke no rule: their kinds by identity."""
    rules: bool
    """There are rules of its own."""
    computes: bool
    """Its operands ought to be of one kind."""
    whole: bool
    """There are rules of several operands, or of parts of messages."""
    calls: bool
    """It calls or returns."""

    @classmethod
    def of(cls, desc: InstructionDesc) -> _Plan:
        """The plan of an instruction's record, which lives as long as the program."""
        operands = tuple(
            (f.name, f.kind == "d", dict[int, int]())
            for f in desc.fields
            if f.kind in ("d", "s") and not f.condition and f.constant is None and not f.copy_of
        )
        computes = desc.category in ("arithmetic", "compare")
        whole = has_message(desc) or desc.works_on_predicates or desc.moves_states
        return cls(operands, bool(desc.rules), computes, whole, desc.flow.is_call or desc.flow is Flow.RETURN)


class Rules:
    """Checks the instructions of one function; ``grf_size`` in bytes, 0 where the platform is not known, ``silent``
    the codes that nobody wants to hear.

    ``row_size`` is the size of a register as far as it is known: where it is not, that of the largest.
    What is known by identity (fields, operands) is kept, so that its identity stays its own.
    """

    def __init__(
        self, function: Function, grf_size: int, silent: frozenset[str] = frozenset(), row_size: int = MAXIMUM_GRF_SIZE
    ) -> None:
        self.function, self.silent, self.row_size = function, silent, row_size
        self.extents = Extents(function, grf_size)
        self.grf_size = self.extents.grf_size
        self._clean: dict[int, Fields] = {}
        self._keep: list[VectorOperand] = []
        self._plans: dict[tuple[int, int], _Plan] = {}
        """What is to be checked of each kind of instruction: by identity of its record, and execution size."""

    def check(self, i: Instruction) -> list[Violation]:
        """The rules that an instruction breaks."""
        desc, args = i.desc, i.args
        if id(args) in self._clean:
            return []
        execution = args.get("exec")
        size = execution.size if execution else 1
        plan = self._plans.get((id(desc), size))
        if plan is None:
            plan = self._plans[id(desc), size] = _Plan.of(desc)
        found: list[Violation] = []
        kinds = 0
        for name, destination, fine in plan.operands:
            op = args[name]
            kind = fine.get(id(op))
            if kind is None:
                kind = 0 if destination else self._kind(op)
                broken = self._heard(self._operand(desc, name, op, size, destination))
                if broken:
                    found += broken
                else:
                    fine[id(op)] = kind
                    self._keep.append(op)  # its id must stay its own
            kinds |= kind
        if plan.rules or (kinds == _INTEGER | _REAL and plan.computes) or "rel_op" in args:
            found += self._heard(self._instruction(i, size))
        if plan.whole:
            found += self._heard(self._whole(i))
        if plan.calls:
            found += self._heard((*broken_calls(self.function, i), *advice(self.function, i)))
        if not found:
            self._clean[id(args)] = args
        return found

    def _heard(self, violations: Iterable[Violation]) -> list[Violation]:
        return [v for v in violations if v.code not in self.silent]

    def _whole(self, i: Instruction) -> Iterator[Violation]:
        """What concerns several operands, or parts of messages."""
        if has_message(i.desc):
            yield from message_overruns(self.extents, i)
            yield from unaligned_messages(self.extents, i)
        else:
            yield from (Violation("V055", *broken) for broken in wrong_together(i))

    def _kind(self, op: VectorOperand) -> int:
        t = self.type_of(op)
        return 0 if t is None else _REAL if t.is_float or t is types.VF else _INTEGER

    def type_of(self, op: VectorOperand) -> DataType | None:
        """The element type of an operand; None where it has none."""
        if isinstance(op, General):
            return self.function.variable_type(op.var)
        return op.type if isinstance(op, (Immediate, Indirect)) else None

    # -- one operand ---------------------------------------------------------------------------------------

    def _operand(
        self, desc: InstructionDesc, name: str, op: VectorOperand, size: int, destination: bool
    ) -> Iterator[Violation]:
        t = self.type_of(op)
        address_of = name == "src0" and "address-of" in desc.rules
        if t is not None and desc.types and not address_of and not desc.types & _MEANT.get(t, {str(t)}):
            allowed = ", ".join(n for n in types.BY_NAME if n in desc.types)
            yield Violation("V034", f"{desc.mnemonic} does not take type {t}", f"it takes {allowed}", name)
        if type(op) not in desc.classes[name]:
            yield Violation("V055", *wrong_class(desc, name, op), name)
            return
        if op.modifier:
            message, hint = wrong_modifier(desc, op, destination)
            if message:
                yield Violation("V037", message, hint, name)
        if isinstance(op, General) and op.col:
            yield from self._column(name, op)
        overrun = self.extents.operand(name, op, count_of(desc, size))
        if overrun:
            yield overrun
        if not isinstance(op, General | Indirect) or takes_scalars(desc) or (isinstance(op, General) and not op.var):
            return
        yield from self._region(name, op, size, destination)
        if isinstance(op, General) and not overrun:
            yield from self._registers(name, op, size)

    def _column(self, name: str, op: General) -> Iterator[Violation]:
        """Columns are those of one register (manual, chapter 5, "General Operands")."""
        at = op.col * self.function.variable_type(op.var).size
        if at >= self.row_size:
            row, rest = divmod(at, self.grf_size)
            column = rest // self.function.variable_type(op.var).size
            message = f"column {op.col} begins at byte {at}, beyond a register of {self.row_size} bytes"
            hint = f"with registers of {self.grf_size} bytes write ({op.row + row},{column})"
            yield Violation("V057", message, hint, name)

    def _registers(self, name: str, op: General, size: int) -> Iterator[Violation]:
        """Operands over more registers than the manual lets them reach."""
        low, end = self.extents.region(op, size)
        if (end - 1) // self.grf_size - low // self.grf_size > 1:
            message = f"the operand reaches over more than two registers of {self.grf_size} bytes"
            yield Violation("W005", message, "", name)

    def _region(self, name: str, op: General | Indirect, size: int, destination: bool) -> Iterator[Violation]:
        """Regions of a width that does not fit, and those that say the same in an unusual way."""
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

    def _instruction(self, i: Instruction, size: int) -> Iterator[Violation]:
        desc, args = i.desc, i.args
        sources = [(f.name, self.type_of(args[f.name])) for f in desc.fields if f.kind == "s" and f.name in args]
        real = [t for _, t in sources if t is not None and (t.is_float or t is types.VF)]
        if desc.category in ("arithmetic", "compare") and real:
            odd = next(
                ((name, t) for name, t in sources if t is not None and not t.is_float and t is not types.VF), None
            )
            if odd:
                yield Violation(
                    "V036",
                    f"{desc.mnemonic} mixes types {real[0]} and {odd[1]}",
                    f"convert one with mov; all sources are {real[0]}, or none is",
                    odd[0],
                )
        if args.get("rel_op") == UNDEFINED_RELATION:
            yield Violation(
                "W011",
                "the comparison has no condition, so its result is undefined",
                "write cmp.eq, .ne, .gt, .ge, .lt or .le",
            )
        if desc.rules:
            dst = args.get("dst")
            if "bitwise" in desc.rules and getattr(dst, "modifier", 0) == SAT:
                yield Violation("V038", f"{desc.mnemonic} cannot saturate", "leave out .sat", "dst")
            if "not-size-2" in desc.rules and size == 2:
                yield Violation("V039", f"{desc.mnemonic} does not exist with execution size 2", "", "")
            if "aligned-16" in desc.rules and size > 1:
                for f in desc.fields:
                    op = args.get(f.name)
                    if isinstance(op, General) and op.var and op.region != (0, 1, 0):
                        at = op.row * self.grf_size + op.col * self.function.variable_type(op.var).size
                        if at % 16:
                            wanted = f"{desc.mnemonic} takes operands that begin at a multiple of 16 bytes"
                            yield Violation("V039", f"{wanted}, this one begins at byte {at}", "", f.name)
