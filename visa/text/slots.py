"""The places of operands in the text of an instruction: each slot reads its token into fields and writes fields back as text."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from visa import types
from visa.diagnostics import did_you_mean
from visa.isa import InstructionDesc, enums
from visa.operands import EXEC_SIZES, SAMPLER, SCALAR, SURFACE, Execution, General, Immediate, Raw, VectorOperand
from visa.text.operands import OperandReader, Problem, split_list, unescape
from visa.text.scanner import Token

if TYPE_CHECKING:
    from visa.text.parser import FunctionParser
    from visa.text.printer import FunctionPrinter

_EXEC = re.compile(r"\(\s*(?:(?P<mask>\w+)\s*,)?\s*(?P<size>\d+)\s*\)(?:\.mod)?$")
_MASKS = {f"M{i + 1}": i for i in range(8)} | {f"M{i + 1}_NM": i + 8 for i in range(8)} | {"NoMask": 8}


class Slot:
    """Base: one token of the text, ``name`` is the field that it fills."""

    optional = False
    many = False
    pure = True  # the fields follow from the token and the names in scope alone, and reading them leaves nothing behind
    what = "an operand"

    def __init__(self, name: str) -> None:
        self.name = name

    def accepts(self, token: Token) -> bool:
        """Whether an optional slot takes this token."""
        return True

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        raise NotImplementedError

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        raise NotImplementedError


@functools.cache
def execution(text: str) -> Execution:
    """``(M5_NM, 16)``, ``(16)`` or ``(NoMask, 1)``."""
    m = _EXEC.match(text)
    if not m:
        raise Problem("V040", f"'{text}' is not an execution mask and size", "write (M1, 16)")
    mask = m["mask"] or "M1"
    if mask not in _MASKS:
        raise Problem(
            "V041",
            f"'{mask}' is not an execution mask",
            did_you_mean(mask, _MASKS) or "masks are M1 to M8, M1_NM to M8_NM and NoMask",
        )
    size = int(m["size"])
    if size not in EXEC_SIZES:
        raise Problem("V042", f"{size} is not an execution size", "it is 1, 2, 4, 8, 16 or 32")
    offset = (_MASKS[mask] & 7) * 4
    if offset % min(size, 32) if size >= 4 else 0:
        raise Problem("V043", f"mask {mask} starts at lane {offset}, which is no multiple of the execution size {size}",
                      f"for size {size} use " + ", ".join(f"M{i // 4 + 1}" for i in range(0, 32, max(size, 4))))  # fmt: skip
    if offset + size > 32:
        raise Problem("V043", f"mask {mask} with size {size} reaches beyond lane 31")
    return Execution(size, _MASKS[mask])


class ExecSlot(Slot):
    what = "(mask, exec_size)"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        args["exec"] = execution(token[1])

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return str(args["exec"])


class GatherSlot(Slot):
    """Execution size and mask of gather and scatter, which share one byte."""

    what = "(mask, exec_size)"
    _sizes = enums.GATHER_SIZES

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        found = execution(token[1])
        if found.size not in self._sizes:
            raise Problem("V042", f"{found.size} is not an execution size of this instruction", "it is 1, 8 or 16")
        args["num_elts"], args["mask"] = self._sizes[found.size], found.mask

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return str(Execution({v: k for k, v in self._sizes.items()}[args["num_elts"]], args["mask"]))


class CountSlot(Slot):
    """``(n)`` coded through a table."""

    def __init__(self, name: str, codes: dict[int, int], what: str) -> None:
        super().__init__(name)
        self.codes, self.what = codes, what

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        text = token[1].removesuffix(".mod").strip("() ")
        value = parser.operands.integer(text)
        if value not in self.codes:
            raise Problem("V044", f"({value}) is not {self.what}", "it is " + ", ".join(map(str, self.codes)))
        args[self.name] = self.codes[value]

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return f"({ {v: k for k, v in self.codes.items()}.get(args[self.name], args[self.name]) })".replace(" ", "")


class BlockSlot(Slot):
    what = "(width,height)"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        parts = split_list(token[1][1:-1])
        if len(parts) != 2:
            raise Problem("V044", f"'{token[1]}' is not a block size", "write (width,height) in bytes and rows")
        args["block_width"], args["block_height"] = (parser.operands.integer(p, 0, 255, "block size") for p in parts)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return f"({args['block_width']},{args['block_height']})"


class ModesSlot(Slot):
    """A group of integers or vector operands, as in the VME instructions."""

    def __init__(self, names: list[str], desc: InstructionDesc) -> None:
        super().__init__(names[0])
        self.names, self.desc = names, desc
        self.what = f"({','.join(names)})"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        parts = split_list(token[1][1:-1])
        if len(parts) != len(self.names):
            raise Problem("V044", f"'{token[1]}' has {len(parts)} entries, expected {self.what}")
        for name, part in zip(self.names, parts, strict=True):
            if self.desc.by_name[name].kind == "s":
                args[name] = parser.operands.vector(
                    ("IMMEDIATE" if ":" in part and part[:1] in set("0123456789-") else "VECTOR", part, token[2]), False
                )
            else:
                args[name] = parser.operands.integer(part, 0, 255, name)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        shown = [
            printer.vector(args[n], False) if self.desc.by_name[n].kind == "s" else str(args[n]) for n in self.names
        ]
        return f"({','.join(shown)})"


class VectorSlot(Slot):
    def __init__(self, name: str, destination: bool) -> None:
        super().__init__(name)
        self.destination = destination
        self.what = "a destination region" if destination else "a source operand"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        args[self.name] = parser.operands.vector(token, self.destination)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return printer.vector(args[self.name], self.destination)


class BareRegionSlot(Slot):
    """``V(r,c)`` whose region is understood (the packed operand of dpas)."""

    what = "V(row,column)"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        args[self.name] = parser.operands.bare_region(token, (1, 1, 0))

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        op = args[self.name]
        return printer.place(op) if isinstance(op, General) and op.region == (1, 1, 0) else printer.vector(op, False)


class OptionalVectorSlot(VectorSlot):
    """A vector operand that is present if a bit of the mode says so."""

    optional = True

    def __init__(self, name: str, condition: tuple[str, int]) -> None:
        super().__init__(name, False)
        self.condition = condition

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return super().write(printer, args) if args[self.condition[0]] & self.condition[1] else ""


class RawSlot(Slot):
    what = "a message operand (V.offset)"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        if token[0] not in ("RAW", "NAME"):
            raise Problem("V012", f"'{token[1]}' is not a message operand", "write V.offset, the offset in bytes")
        args[self.name] = parser.operands.raw(token)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return printer.raw(args[self.name])


class RawListSlot(RawSlot):
    many = True
    pure = False

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        args[self.name] = (*args.get(self.name, ()), parser.operands.raw(token))

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return " ".join(printer.raw(r) for r in args[self.name])


class StateSlot(Slot):
    """A surface or a sampler by its bare name."""

    def __init__(self, name: str, kind: int) -> None:
        super().__init__(name)
        self.kind = kind
        self.what = "a surface" if kind == SURFACE else "a sampler"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        if token[0] != "NAME":
            raise Problem("V012", f"'{token[1]}' is not {self.what}")
        args[self.name] = parser.operands.symbol(token[1], "T" if self.kind == SURFACE else "S").index

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        index = args[self.name]
        return printer.function.surface_name(index) if self.kind == SURFACE else printer.function.sampler_name(index)


class LabelSlot(Slot):
    pure = False
    what = "a label"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        if token[0] not in ("NAME", "STRING"):
            raise Problem("V012", f"'{token[1]}' is not a label")
        args[self.name] = parser.label(unescape(token[1]) if token[0] == "STRING" else token[1], token)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return printer.label(args[self.name])


class LabelListSlot(Slot):
    pure = False
    what = "(label, ...)"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        if token[0] not in ("GROUP", "PREDICATION"):
            raise Problem("V012", f"'{token[1]}' is not a list of labels", "write (L1, L2)")
        names = split_list(token[1][1:-1])
        args[self.name] = tuple(parser.label(unescape(n) if n.startswith('"') else n, token) for n in names)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return f"({', '.join(printer.label(n) for n in args[self.name])})"


class IntegerSlot(Slot):
    what = "an integer"
    _limits = {"B": (0, 255), "H": (0, 65535), "W": (0, (1 << 32) - 1), "I": (-(1 << 31), (1 << 31) - 1)}

    def __init__(self, name: str, kind: str, optional: bool = False) -> None:
        super().__init__(name)
        self.limits, self.optional, self.hexadecimal = self._limits[kind], optional, name == "ex_desc"

    def accepts(self, token: Token) -> bool:
        return token[0] == "NUMBER"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        if token[0] not in ("NUMBER", "GROUP"):
            raise Problem("V012", f"'{token[1]}' is not an integer")
        args[self.name] = parser.operands.integer(token[1], *self.limits, self.name)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return f"{args[self.name]:#x}" if self.hexadecimal else str(args[self.name])


class ChoiceSlot(Slot):
    """A word out of a table."""

    def __init__(self, name: str, values: dict[str, int]) -> None:
        super().__init__(name)
        self.values = values
        self.what = " or ".join(values)

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        if token[1] not in self.values:
            raise Problem("V012", f"'{token[1]}' is not {self.what}", did_you_mean(token[1], self.values))
        args[self.name] = self.values[token[1]]

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return next((k for k, v in self.values.items() if v == args[self.name]), str(args[self.name]))


class StringSlot(Slot):
    pure = False
    what = "a name"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        if token[0] not in ("NAME", "STRING"):
            raise Problem("V012", f"'{token[1]}' is not a name")
        args[self.name] = parser.function.add_string(unescape(token[1]) if token[0] == "STRING" else token[1])

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return printer.string(args[self.name])


class FileNameSlot(StringSlot):
    """The name of a source file, which is always written in quotes."""

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return printer.quoted(args[self.name])


class VariableSlot(Slot):
    """The variable of a lifetime mark."""

    what = "a variable"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        symbol = parser.operands.symbol(token[1], "VAP")
        args["variable"], args["class"] = symbol.index, enums.LIFETIME_CLASSES[symbol.kind]

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        index, function = args["variable"], printer.function
        return (
            function.variable_name(index),
            function.addresses[index].name if args["class"] == 1 else "",
            function.predicates[index - 1].name if args["class"] == 2 else "",
        )[args["class"]]


# -- LSC -------------------------------------------------------------------------------------------------------

_DATA = re.compile(
    r"(?P<raw>[^:]+):(?P<size>[du]\d+(?:[cu]32h?)?)(?:x(?P<elems>\d+))?(?P<order>t)?(?:\.(?P<mask>[xyzw]+))?$"
)
_BLOCK2D = re.compile(
    r"(?P<raw>[^:]+):(?P<size>[du]\d+)\.(?:(?P<blocks>\d+)x)?(?P<width>\d+)x(?P<height>\d+)(?P<order>[nt])(?P<vnni>[nt])$"
)
_TILE = re.compile(r"(?P<raw>[^:]+):(?P<width>\d+)x(?P<height>\d+)$")
_ADDRESS = re.compile(r"(?:(?P<type>\w+)(?:\((?P<surface>.*?)\))?)?(?:\[(?P<inside>.*)\])?(?::(?P<size>a\d+))?$")
_UNTYPED = re.compile(r"(?:(?P<scale>\w+)\s*\*\s*)?(?P<raw>%?[A-Za-z_][\w.]*)\s*(?:(?P<sign>[+-])\s*(?P<offset>.+))?$")


class DataSlot(Slot):
    """``V:d32x4t`` or ``V:d32.xyzw``: payload, element size, count and order."""

    what = "data (V:d32x4)"

    def __init__(self, name: str, desc: InstructionDesc) -> None:
        super().__init__(name)
        self.names_channels = "channels" in desc.spelling

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        m = _DATA.match(token[1])
        if not m:
            raise Problem("V050", f"'{token[1]}' is not LSC data", "write V:d32, V:d32x4, V:d32x4t or V:d32.xyzw")
        if m["size"] not in enums.LSC_DATA_SIZE_SPELLINGS:
            hint = did_you_mean(m["size"], enums.LSC_DATA_SIZE_SPELLINGS)
            raise Problem("V050", f"'{m['size']}' is not a data size", hint)
        elements = int(m["elems"] or 1)
        if elements not in enums.LSC_ELEMENTS:
            raise Problem("V050", f"{elements} elements do not exist", "it is 1, 2, 3, 4, 8, 16, 32 or 64")
        args[self.name] = parser.operands.raw_text(m["raw"])
        args["data_size"] = enums.LSC_DATA_SIZE_SPELLINGS[m["size"]]
        args["order"] = enums.LSC_ORDERS["t" if m["order"] else "n"]
        if self.names_channels != bool(m["mask"]):
            hint = "write V:d32.xyzw" if self.names_channels else "write V:d32x4"
            raise Problem("V050", "quad messages name their channels, others do not", hint)
        args["elems"] = sum(1 << "xyzw".index(c) for c in set(m["mask"])) if m["mask"] else enums.LSC_ELEMENTS[elements]

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        size = next(k for k, v in enums.LSC_DATA_SIZES.items() if v == args["data_size"])
        text = f"{printer.bare_raw(args[self.name])}:{size}"
        if self.names_channels:
            return f"{text}.{''.join(c for i, c in enumerate('xyzw') if args['elems'] >> i & 1)}"
        count = next((k for k, v in enums.LSC_ELEMENTS.items() if v == args["elems"]), 1)
        return text + (f"x{count}" if count > 1 else "") + ("t" if args["order"] == 2 else "")


class Block2DSlot(Slot):
    """``V:d32.2x16x8nt``: element size, blocks, width, height, transposition, VNNI."""

    what = "a block (V:d32.16x8nn)"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        m = _BLOCK2D.match(token[1])
        if not m or m["size"] not in enums.LSC_DATA_SIZE_SPELLINGS:
            raise Problem("V050", f"'{token[1]}' is not a two-dimensional block", "write V:d32.16x8nn")
        args[self.name] = parser.operands.raw_text(m["raw"])
        args["data_size"] = enums.LSC_DATA_SIZE_SPELLINGS[m["size"]]
        args["order"], args["vnni"] = enums.LSC_ORDERS[m["order"]], int(m["vnni"] == "t")
        args["blocks"], args["width"], args["height"] = int(m["blocks"] or 1), int(m["width"]), int(m["height"])

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        size = next(k for k, v in enums.LSC_DATA_SIZES.items() if v == args["data_size"])
        blocks = f"{args['blocks']}x" if args["blocks"] != 1 else ""
        order = "t" if args["order"] == 2 else "n"
        return f"{printer.bare_raw(args[self.name])}:{size}.{blocks}{args['width']}x{args['height']}{order}{'t' if args['vnni'] else 'n'}"


class TileSlot(Slot):
    """``V:64x4``: width in bytes and height in rows."""

    what = "a tile (V:64x4)"

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        m = _TILE.match(token[1])
        if not m:
            raise Problem("V050", f"'{token[1]}' is not a tile of an image", "write V:64x4 (bytes, rows)")
        args[self.name] = parser.operands.raw_text(m["raw"])
        args["width"], args["height"] = int(m["width"]), int(m["height"])

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return f"{printer.bare_raw(args[self.name])}:{args['width']}x{args['height']}"


class AddressSlot(Slot):
    """``flat[V+0x10]:a64`` and its relatives."""

    what = "an address (flat[V]:a64)"

    def __init__(self, desc: InstructionDesc) -> None:
        super().__init__("address")
        self.desc = desc
        self.fields = desc.by_name

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        m = _ADDRESS.match(token[1])
        kind = (m["type"] or "flat") if m else ""
        if not m or kind not in enums.LSC_ADDRESS_TYPES or (m["inside"] is None and "u" not in self.fields):
            raise Problem(
                "V051",
                f"'{token[1]}' is not an LSC address",
                "write flat[V]:a64, bti(n)[V]:a32, ss(V)[V]:a32 or bss(V)[V]:a32",
            )
        if kind != "arg" and (kind == "flat") != (m["surface"] is None):
            raise Problem("V051", f"'{kind}' {'takes no' if kind == 'flat' else 'needs a'} surface in parentheses")
        args["addr_type"] = enums.LSC_ADDRESS_TYPES[kind]
        args["addr_size"] = enums.LSC_ADDRESS_SIZES.get(m["size"] or "a32", 0)
        if not args["addr_size"]:
            raise Problem("V051", f"'{m['size']}' is not an address size", "it is a16, a32 or a64")
        args["surface"] = self._surface(parser.operands, m["surface"])
        inside = split_list(m["inside"]) if m["inside"] is not None else []
        if "u" in self.fields:
            names = [n for n in ("u", "v", "r", "lod") if n in self.fields]
            if len(inside) > len(names):
                raise Problem("V051", f"{len(inside)} coordinates, at most {len(names)} can stand here")
            for name, part in zip(names, inside, strict=False):
                args[name] = parser.operands.raw_text(part)
            return
        if "pitch" in self.fields and len(inside) == 2:
            args["pitch"] = _scalar(parser.operands, inside.pop())
        elif "pitch" in self.fields:
            args["pitch"] = Immediate(types.UD, 0)
        if len(inside) != 1:
            raise Problem("V051", f"'{m['inside']}' is not the address of this message")
        u = _UNTYPED.match(inside[0])
        if not u:
            raise Problem(
                "V051", f"'{inside[0]}' is not the address of this message", "write V, V+offset or scale*V+offset"
            )
        args["imm_scale"] = parser.operands.integer(u["scale"], 1, 0xFFFF, "scale") if u["scale"] else 1
        offset = parser.operands.integer(u["offset"], 0, (1 << 32) - 1, "offset") if u["offset"] else 0
        offset = -offset if u["sign"] == "-" else offset
        args["imm_offset"] = offset - (1 << 32) if offset >= 1 << 31 else offset
        args["addr"] = parser.operands.raw_text(u["raw"])

    def _surface(self, operands: OperandReader, text: str | None) -> VectorOperand:
        if text is None:
            return Immediate(types.UD, 0)
        m = re.fullmatch(r"(%?[A-Za-z_]\w*)(?:\.(.+))?", text.strip())
        if m:
            # The reference assembler takes the number behind the dot as the column.
            column = operands.integer(m[2], 0, 255, "column") if m[2] else 0
            return General(operands.symbol(m[1], "V").index, 0, column, SCALAR)
        return _scalar(operands, text)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        kind = next((k for k, v in enums.LSC_ADDRESS_TYPES.items() if v == args["addr_type"]), "flat")
        surface = (
            ""
            if kind == "flat" or (kind == "arg" and args["surface"] == Immediate(types.UD, 0))
            else f"({printer.bare_scalar(args['surface'])})"
        )
        if "u" in self.fields:
            raws = [args[n] for n in ("u", "v", "r", "lod") if n in self.fields]
            while raws and raws[-1] == Raw(0, 0):
                raws.pop()
            inside = ",".join(printer.bare_raw(r) for r in raws)
            if not raws and "bare-surface" in self.desc.spelling:
                return kind + surface
        else:
            inside = printer.bare_raw(args["addr"])
            if args["imm_scale"] > 1:
                inside = f"{args['imm_scale']}*{inside}"
            if args["imm_offset"]:
                inside += f"{'-' if args['imm_offset'] < 0 else '+'}{abs(args['imm_offset']):#x}"
            if "pitch" in self.fields:
                inside += f",{printer.bare_scalar(args['pitch'])}"
        size = (
            next(k for k, v in enums.LSC_ADDRESS_SIZES.items() if v == args["addr_size"])
            if "addr_size" in self.fields
            else ""
        )
        return f"{kind}{surface}[{inside}]" + (f":{size}" if size else "")


class MatrixSlot(Slot):
    """``flat[base,width,height,pitch,x,y]`` of block-2D messages."""

    what = "flat[base,width,height,pitch,x,y]"
    _names = ("base", "surface_width", "surface_height", "surface_pitch", "x", "y")

    def read(self, parser: FunctionParser, token: Token, args: dict[str, Any]) -> None:
        m = _ADDRESS.match(token[1])
        parts = split_list(m["inside"]) if m and m["inside"] else []
        if not m or m["type"] not in (None, "flat") or len(parts) != len(self._names):
            raise Problem("V051", f"'{token[1]}' is not the address of a two-dimensional block", f"write {self.what}")
        for name, part in zip(self._names, parts, strict=True):
            args[name] = _scalar(parser.operands, part)

    def write(self, printer: FunctionPrinter, args: dict[str, Any]) -> str:
        return f"flat[{','.join(printer.bare_scalar(args[n]) for n in self._names)}]"


def _scalar(operands: OperandReader, text: str) -> VectorOperand:
    kind = (
        "IMMEDIATE"
        if ":" in text
        else "NAME"
        if re.fullmatch(r"%?[A-Za-z_]\w*", text)
        else "VECTOR"
        if text[:1].isalpha() or text[:1] in "%_"
        else "EXPRESSION"
    )
    return operands.bare_region((kind, text, 0), SCALAR)


def _slot(text: str, desc: InstructionDesc) -> Slot:
    name = text.rstrip("?*")
    if text == "(exec)":
        return ExecSlot("exec")
    if text == "(gather)":
        return GatherSlot("num_elts")
    if text in ("(owords)", "(simd)"):
        coded, codes = enums.GROUPS[text]
        return CountSlot(
            coded, codes, "a number of owords" if coded == "owords" else "an execution size of this instruction"
        )
    if text == "(block)":
        return BlockSlot("block_width")
    if text.startswith("("):
        return ModesSlot(text[1:-1].split(","), desc)
    if text.startswith("@"):
        return _lsc_slot(text[1:], desc)
    if text.startswith("="):
        return ChoiceSlot(*enums.GROUPS[name])
    if name == "variable":
        return VariableSlot(name)
    field = desc.by_name[name]
    if field.condition:
        return OptionalVectorSlot(name, field.condition)
    if field.kind == "s" and "bare-region" in desc.spelling:
        return BareRegionSlot(name)
    if field.kind in ("d", "s"):
        return VectorSlot(name, field.kind == "d")
    if field.kind in ("T", "S"):
        return StateSlot(name, SURFACE if field.kind == "T" else SAMPLER)
    if field.kind in _PLAIN:
        return _PLAIN[field.kind](name)
    return IntegerSlot(name, field.kind, text.endswith("?"))


_PLAIN: dict[str, type[Slot]] = {
    "r": RawSlot, "w": RawSlot, "r*": RawListSlot, "r!": RawListSlot, "L": LabelSlot, "L*": LabelListSlot, "N2": StringSlot, "N4": FileNameSlot,
}  # fmt: skip


def _lsc_slot(text: str, desc: InstructionDesc) -> Slot:
    kind, _, name = text.partition(":")
    if kind == "data":
        return DataSlot(name, desc)
    if kind == "block2d":
        return Block2DSlot(name)
    if kind == "tile":
        return TileSlot(name)
    return AddressSlot(desc) if kind == "address" else MatrixSlot("base")


@functools.cache
def slots(desc: InstructionDesc) -> tuple[Slot, ...]:
    """The slots of a form in text order."""
    return tuple(_slot(t, desc) for t in desc.text)
