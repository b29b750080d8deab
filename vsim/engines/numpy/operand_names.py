"""Names of the registers that an instruction reads and writes, in traces and faults."""

from __future__ import annotations

from visakit.language.operands import Address, General, Indirect, Raw, VectorOperand
from visakit.language.types import DataType
from visakit.text.printer import FunctionPrinter
from vsim.engines.numpy.algebra import DTYPES


def operand_name(printer: FunctionPrinter, op: VectorOperand) -> str:
    """An operand without its region and modifier."""
    if isinstance(op, General):
        return printer.operands.place(op)
    if isinstance(op, Address):
        return f"{printer.function.addresses[op.var].name}({op.offset})"
    if isinstance(op, Indirect):
        offset = f",{op.offset}" if op.offset else ""
        return f"r[{printer.function.addresses[op.var].name}({op.element}){offset}]"
    return printer.operands.vector(op, False)


def raw_name(printer: FunctionPrinter, op: Raw, offset: int) -> str:
    """A raw operand with a byte offset."""
    return f"{printer.function.variable_name(op.var)}.{op.offset + offset}"


def raw_type(printer: FunctionPrinter, op: Raw, data_type: DataType) -> DataType | None:
    """The type that elements of a raw operand are shown in: that of its variable, if it has their size."""
    own = printer.function.variable_type(op.var)
    return own if own.size == data_type.size and own in DTYPES else None
