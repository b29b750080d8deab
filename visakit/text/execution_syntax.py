"""Operands in parentheses: execution mask and size, counts, sizes of blocks, and groups of modes."""

from __future__ import annotations

import functools
from typing import ClassVar

from visakit.diagnostics import did_you_mean
from visakit.isa import InstructionDesc, enums
from visakit.language.operands import EXEC_SIZES, MAXIMUM_LANES, Execution
from visakit.language.program import Fields
from visakit.text import syntax
from visakit.text.binder import Binder
from visakit.text.operand_printer import OperandPrinter
from visakit.text.operand_syntax import OperandSyntax, single_integer
from visakit.text.problem import Problem
from visakit.text.syntax import GroupNode, Placed

_MASKS = {f"M{i + 1}": i for i in range(8)} | {f"M{i + 1}_NM": i + 8 for i in range(8)} | {"NoMask": 8}


def is_execution(at: Placed) -> bool:
    """Whether something in parentheses stands here, as execution mask and size do."""
    return isinstance(at.node, (syntax.ExecutionNode, GroupNode))


def execution(at: Placed) -> Execution:
    """``(M5_NM, 16)``, ``(16)`` or ``(NoMask, 1)``."""
    node = at.node
    mask, size = (node.mask, node.size) if isinstance(node, syntax.ExecutionNode) else ("M1", single_integer(node))
    if not isinstance(size, int):
        is_predicate = isinstance(size, syntax.NameNode) and size.name not in _MASKS
        hint = "write (M1, 16)"
        if is_predicate:
            hint = f"a predicate precedes the instruction: {at.text} mov (M1, 16) ..."
        raise Problem("V040", f"'{at.text}' is not an execution mask and size", hint)
    return checked_execution(mask, size)


@functools.cache
def checked_execution(mask: str, size: int) -> Execution:
    """Execution mask and size, if they exist and fit together."""
    if mask not in _MASKS:
        raise Problem(
            "V041",
            f"'{mask}' is not an execution mask",
            did_you_mean(mask, _MASKS) or "masks are M1 to M8, M1_NM to M8_NM and NoMask",
        )
    if size not in EXEC_SIZES:
        raise Problem("V042", f"{size} is not an execution size", "it is 1, 2, 4, 8, 16 or 32")
    found = Execution(size, _MASKS[mask])
    if not found.is_aligned:
        fitting = ", ".join(f"M{i // 4 + 1}" for i in range(0, MAXIMUM_LANES, size))
        raise Problem(
            "V043",
            f"mask {mask} starts at lane {found.offset}, which is not a multiple of the execution size {size}",
            f"for size {size} use {fitting}",
        )
    if not found.is_within:
        raise Problem("V043", f"mask {mask} with size {size} reaches beyond lane {MAXIMUM_LANES - 1}")
    return found


class ExecutionSyntax(OperandSyntax, forms="(exec)"):
    what = "(mask, exec_size)"

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls("exec")

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        args["exec"] = execution(at)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return str(args["exec"])


class GatherSyntax(OperandSyntax, forms="(gather)"):
    """Execution size and mask of gather and scatter, which share one byte."""

    what = "(mask, exec_size)"
    _sizes: ClassVar[dict[int, int]] = enums.GATHER_SIZES

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls("num_elts")

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        found = execution(at)
        if found.size not in self._sizes:
            raise Problem("V042", f"{found.size} is not an execution size of this instruction", "it is 1, 8 or 16")
        args["num_elts"], args["mask"] = self._sizes[found.size], found.mask

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return str(Execution({v: k for k, v in self._sizes.items()}[args["num_elts"]], args["mask"]))


class CountSyntax(OperandSyntax, forms="(owords) (simd)"):
    """``(n)`` coded through a table."""

    def __init__(self, name: str, codes: dict[int, int], what: str) -> None:
        super().__init__(name)
        self.codes, self.what = codes, what

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        field, codes = enums.COUNT_CODES[form]
        return cls(field, codes, "a number of owords" if field == "owords" else "an execution size of this instruction")

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        count = single_integer(at.node)
        known = ", ".join(map(str, self.codes))
        if count is None:
            raise Problem("V044", f"'{at.text}' is not {self.what} in parentheses", f"it is {known}")
        value = binder.integer(count, -(1 << 63), (1 << 64) - 1)
        if value not in self.codes:
            raise Problem("V044", f"({value}) is not {self.what}", f"it is {known}")
        args[self.name] = self.codes[value]

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return f"({next((n for n, code in self.codes.items() if code == args[self.name]), args[self.name])})"


class BlockSizeSyntax(OperandSyntax, forms="(block)"):
    what = "(width,height)"

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls("block_width")

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        if not isinstance(at.node, GroupNode) or len(at.node.items) != 2:
            raise Problem("V044", f"'{at.text}' is not a block size", "write (width,height) in bytes and rows")
        width, height = (binder.integer(n, 0, 255, "block size") for n in at.node.items)
        args["block_width"], args["block_height"] = width, height

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return f"({args['block_width']},{args['block_height']})"


class ModesSyntax(OperandSyntax):
    """A group of integers or vector operands, as in the VME instructions."""

    def __init__(self, names: list[str], desc: InstructionDesc) -> None:
        super().__init__(names[0])
        self.names, self.desc = names, desc
        self.what = f"({','.join(names)})"

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        if not isinstance(at.node, GroupNode):
            raise Problem("V012", f"'{at.text}' is not a group", f"write {self.what}")
        items = at.node.items
        if len(items) != len(self.names):
            raise Problem("V044", f"'{at.text}' has {len(items)} entries, expected {self.what}")
        for name, item in zip(self.names, items, strict=True):
            if self.desc.by_name[name].kind == "s":
                args[name] = binder.vector(item, at.text, False)
            else:
                args[name] = binder.integer(item, 0, 255, name)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        shown = [
            printer.vector(args[n], False) if self.desc.by_name[n].kind == "s" else str(args[n]) for n in self.names
        ]
        return f"({','.join(shown)})"
