"""Which decoded instructions are legal, so that text can express them: limits of fields narrower than their bits.

The assembler never writes anything else, so bytes that hold it are damaged, or come from somewhere that this project
does not know; docs/cisa.md lists the rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from visakit.binary.matrices import illegal_matrix
from visakit.isa import Choice, FenceFlags, Flag, Hint, InstructionDesc, Number, TargetFlags
from visakit.isa.enums import GATHER_SIZES, LSC_ADDRESS_TYPES, LSC_ELEMENTS, LSC_ORDERS
from visakit.language import types
from visakit.language.operands import (
    ADDRESS_WIDTHS,
    HORIZONTAL_STRIDES,
    INDIRECT_OFFSETS,
    NO_MODIFIER,
    NULL,
    REGION_WIDTHS,
    SAMPLER,
    SAT,
    SCALAR,
    SURFACE,
    VERTICAL_STRIDES,
    Address,
    Execution,
    General,
    Immediate,
    Indirect,
    Predicate,
    Region,
    State,
    VectorOperand,
)
from visakit.language.program import Fields

DESTINATION, SATURATED, SOURCE, GROUPED, SCALAR_SOURCE = range(5)
"""Slots of vector operands: a destination, one that may saturate, a source, one within a group, and a scalar or a
number, as in addresses of messages.
"""

_UNIFORM, _EMPTY = Execution(1, 0), Execution(1, 8)
_ZERO = Immediate(types.UD, 0)
_ADDRESSED = (LSC_ADDRESS_TYPES["flat"], LSC_ADDRESS_TYPES["surf"])
"""Address types whose surface operand is an address."""
Check = Callable[[Fields], str]
"""The error of an instruction's fields; empty without one."""


@functools.cache
def slot_of(desc: InstructionDesc, name: str, kind: str) -> int:
    """The slot of the vector operand of a field."""
    if kind == "d":
        return SATURATED if any(not isinstance(s, _NAMED) for s in desc.suffixes) else DESTINATION
    if (
        name.endswith("_handle")
        or "bare-region" in desc.spelling
        or any(word in desc.text for word in ("@address", "@matrix"))
    ):
        return SCALAR_SOURCE
    return GROUPED if any(name in word.strip("()").split(",") for word in desc.text if word[0] == "(") else SOURCE


_NAMED = (Choice, FenceFlags, Flag, Hint, Number, TargetFlags)
"""Suffixes other than ``.sat``."""


def illegal_operand(op: VectorOperand, slot: int) -> str:
    """The error of a vector operand in its slot; empty without one."""
    if slot in (DESTINATION, SATURATED):
        return _illegal_destination(op, slot)
    if op.modifier == SAT or (op.modifier and not isinstance(op, General | Indirect)):
        return "a source has a modifier that it cannot have"
    if isinstance(op, Immediate):
        if op.type is types.BOOL_TYPE:
            return "a number has no type bool"
        return "" if _fits(op) else f"{op.bits:#x} does not fit into type {op.type}"
    if slot == SCALAR_SOURCE:
        if not isinstance(op, General) or op.modifier:
            return "this operand can only be a register or a number"
    elif slot == GROUPED and isinstance(op, Indirect):
        return "this operand cannot be register-indirect"
    if isinstance(op, General | Indirect) and not _is_source(op.region, isinstance(op, Indirect)):
        return f"{_shown(op.region)} is not the region of a source"
    return _illegal_place(op)


def _illegal_destination(op: VectorOperand, slot: int) -> str:
    if isinstance(op, Immediate):
        return "an immediate cannot be a destination"
    if op.modifier != NO_MODIFIER and (slot == DESTINATION or op.modifier != SAT):
        return "a destination has a modifier"
    if isinstance(op, General | Indirect):
        v, w, h = op.region
        if v is not None or w is not None or h not in (1, 2, 4):
            return f"{_shown(op.region)} is not the region of a destination"
    return _illegal_place(op)


def _illegal_place(op: VectorOperand) -> str:
    if isinstance(op, Address) and op.width not in ADDRESS_WIDTHS:
        return f"{op.width} is not the width of an address operand"
    if isinstance(op, Indirect) and not op.type.is_element:
        return f"elements of a register have no type {op.type}"
    if isinstance(op, Indirect) and op.offset not in INDIRECT_OFFSETS:
        return f"{op.offset} bytes cannot be added to an address"
    if isinstance(op, State) and op.kind not in (SURFACE, SAMPLER):
        return f"{op.kind} is not a kind of state"
    return ""


def _shown(region: Region) -> str:
    """A region as text writes it; a missing stride is empty."""
    v, w, h = ("" if part is None else str(part) for part in region)
    return f"<{v};{w},{h}>"


def _is_source(region: Region, indirect: bool) -> bool:
    v, w, h = region
    if w is None or v is None:
        return indirect and h in HORIZONTAL_STRIDES and (v is None and (w is None or w in REGION_WIDTHS))
    return v in VERTICAL_STRIDES and w in REGION_WIDTHS and h in HORIZONTAL_STRIDES


def _fits(op: Immediate) -> bool:
    bits = op.type.bits
    if op.type.is_float or bits >= 32:
        return op.bits < 1 << max(bits, 32 if op.type is types.F else 0)
    if not op.type.is_integer:
        return True
    return op.bits < 1 << bits or op.bits >= (1 << 32) - (1 << (bits - 1))


# -- whole instructions ------------------------------------------------------------------------------------------------


_GROUPS = {
    "(exec)": ("exec",), "(owords)": ("owords",), "(block)": ("block_width", "block_height"), "(simd)": ("simd16",),
    "(gather)": ("num_elts", "mask"), "=format": ("format",), "=mode": ("mode",), "variable": ("variable", "class"),
    "@matrix": (
        "addressing", "base", "surface_width", "surface_height", "surface_pitch", "x", "x_offset", "y", "y_offset",
    ),
    "@address": (
        "addr_type", "surface_index", "addr_size", "surface", "u", "v", "r", "lod", "moved", "u_offset", "v_offset",
        "r_offset", "addr", "imm_scale", "imm_offset", "pitch",
    ),
    "@data": ("data_size", "order", "elems"), "@added": ("data_size", "order", "elems"), "@null": (),
    "@block2d": ("data_size", "order", "blocks", "width", "height", "vnni"),
    "@sampler": ("in_registers", "sampler", "sampler_handle", "sampler_index"),
    "@surface": ("in_registers", "surface", "surface_handle", "surface_index"),
    "@tile": ("width", "height"), "@sized": ("dst_bytes", "src0_bytes", "src1_bytes"),
}  # fmt: skip
"""The fields that an operand of the text fills."""


def _written_fields(desc: InstructionDesc) -> set[str]:
    """Names of the fields that occur in the text of an instruction."""
    fields = {"pred", *desc.fixed}
    for word in desc.text:
        kind, _, name = word.partition(":")
        fields |= {name} if name else set()
        fields |= set(_GROUPS.get(kind) or word.strip("()?*").split(","))
    for s in desc.suffixes:
        if isinstance(s, FenceFlags):
            fields |= {field for _, field, _ in s.letters}
        elif isinstance(s, TargetFlags):
            fields.add("mode")
        elif isinstance(s, _NAMED) and not isinstance(s, Hint):
            fields.add(s.field)
    return fields


@functools.cache
def checks_of(desc: InstructionDesc) -> tuple[Check, ...]:
    """Conditions of combinations of fields of a decoded instruction."""
    checks: list[Check] = []
    hidden = _hidden(desc)
    if hidden:
        checks.append(lambda args: _illegal_hidden(hidden, args))
    if desc.flow.is_scalar_jump or "(exec)" not in desc.text:
        wanted = _UNIFORM if desc.flow.is_scalar_jump else _EMPTY
        checks.append(lambda args: "it has another mask and size" if args.get("exec", wanted) != wanted else "")
    if "predicate-copy" in desc.spelling:
        checks.append(_illegal_copy)
    if "(gather)" in desc.text:
        checks.append(_illegal_gather)
    flags = sum(bit for s in desc.suffixes if isinstance(s, TargetFlags) for _, bit in s.bits)
    if flags:
        checks.append(lambda args: "a flag that does not exist" if args["mode"] & ~flags else "")
    if any(word.startswith("@") for word in desc.text):
        checks.append(lambda args: _illegal_message(desc, args))
    return tuple(checks)


def _hidden(desc: InstructionDesc) -> dict[str, object]:
    """The fields that the text omits, with their values."""
    written, implied = _written_fields(desc), dict(desc.implied)
    fields: dict[str, object] = {}
    for f in desc.fields:
        for name in [n for n, _ in f.parts] or [f.name]:
            if name and name not in written and f.kind not in ("ec", "n"):
                fields[name] = implied.get(name, NULL if f.kind in ("r", "w") else 0)
    return fields


def _illegal_hidden(hidden: dict[str, object], args: Fields) -> str:
    for name, value in hidden.items():
        if args.get(name, value) != value:
            return f"{name} is {args[name]}"
    return ""


def _illegal_copy(args: Fields) -> str:
    if type(args["src0"]) is Predicate and (args["exec"] != _EMPTY or args["pred"] is not None):
        return "a predicate is copied under a mask"
    return ""


def _illegal_gather(args: Fields) -> str:
    size = {code: n for n, code in GATHER_SIZES.items()}.get(args["num_elts"])
    execution = Execution(size or 0, args["mask"])
    return "" if size and execution.is_aligned and execution.is_within else "mask and size do not fit together"


def _illegal_message(desc: InstructionDesc, args: Fields) -> str:
    """Data and address of an LSC message; handles of a sampler message."""
    if "in_registers" in args:
        return _illegal_handles(args)
    if "elems" in desc.by_name and not dict(desc.implied):
        channels = "channels" in desc.spelling
        if args["elems"] not in (range(1, 16) if channels else LSC_ELEMENTS.values()):
            return f"{args['elems']} is not a code for a number of elements"
        if channels and args["order"] != LSC_ORDERS["n"]:
            return "channels are not transposed"
    for name in ("imm_scale", "blocks", "width"):
        if args.get(name) == 0:
            return f"{name} is 0"
    if "addressing" in args and (problem := illegal_matrix(args)):
        return problem
    if args.get("vnni", 0) > 1:
        return f"vnni is {args['vnni']}"
    return _illegal_address(args)


def _illegal_handles(args: Fields) -> str:
    """Samplers and surfaces in registers: variables by their names, with a number."""
    for name in ("sampler", "surface") if args["in_registers"] else ():
        handle = args.get(f"{name}_handle")
        if handle is not None and handle != (type(handle) is General and General(handle.var, 0, 0, SCALAR)):
            return f"the handle of the {name} is not the first element of a variable"
        if args.get(f"{name}_index", 0) not in range(0x100):
            return f"{args[f'{name}_index']} is not the number of a {name}"
    return ""


def _illegal_address(args: Fields) -> str:
    """The prefix of the brackets of an LSC address, and numbers inside of them."""
    kind, surface = args.get("addr_type"), args.get("surface")
    if "addr" in args and "surface" not in args and kind != LSC_ADDRESS_TYPES["flat"]:
        return "addresses of a surface"
    if kind in (LSC_ADDRESS_TYPES["flat"], LSC_ADDRESS_TYPES["arg"]) and args.get("surface_index"):
        return "an address without a surface has the index of one"
    if "moved" in args and args["moved"] != int(any(args.get(f"{name}_offset") for name in "uvr")):
        return "offsets of coordinates are 0"
    if "addr" in args and "surface" in args and "imm_scale" not in args and args["addr"] != NULL:
        return "a counter has places"
    if kind in _ADDRESSED and isinstance(surface, Immediate) and surface.type is not types.UQ:
        is_none = kind == LSC_ADDRESS_TYPES["flat"] and surface == _ZERO
        return "" if is_none else "a number in place of an address has no 8 bytes"
    return ""
