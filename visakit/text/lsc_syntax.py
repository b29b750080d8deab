"""Data and addresses of LSC messages: each binds its node to fields, and writes the fields back as text."""

from __future__ import annotations

from visakit.binary.matrices import illegal_matrix
from visakit.diagnostics import did_you_mean
from visakit.isa import InstructionDesc, enums
from visakit.isa.enums import LSC_ORDERS
from visakit.language import types
from visakit.language.operands import NULL, SCALAR, General, Immediate, Raw, VectorOperand
from visakit.language.program import FIRST_SURFACE, Fields
from visakit.text import syntax
from visakit.text.binder import Binder
from visakit.text.operand_printer import OperandPrinter
from visakit.text.operand_syntax import OperandSyntax
from visakit.text.problem import Problem
from visakit.text.syntax import AddressNode, AddressPartNode, BlockNode, IncreasedNode, MovedNode, Placed, TileNode

_A32 = enums.LSC_ADDRESS_SIZES["a32"]
_WIDE = ("flat", "surf")
"""What is named by an address of 64 bits."""
_NOT_AN_ADDRESS = "is not the address of this message"


def _size_name(code: int) -> str:
    return next(name for name, known in enums.LSC_DATA_SIZES.items() if known == code)


def _size_code(name: str) -> int:
    """The code of a data size such as d32 or d8u32."""
    if name not in enums.LSC_DATA_SIZE_SPELLINGS:
        hint = did_you_mean(name, enums.LSC_DATA_SIZE_SPELLINGS) or "sizes are " + " ".join(enums.LSC_DATA_SIZES)
        raise Problem("V050", f"'{name}' is not a data size", hint)
    return enums.LSC_DATA_SIZE_SPELLINGS[name]


def _extent(binder: Binder, node: BlockNode | TileNode) -> tuple[int, int]:
    """Width and height of a block."""
    return binder.integer(node.width, 1, 0xFFFF, "width"), binder.integer(node.height, 0, 0xFFFF, "height")


class DataSyntax(OperandSyntax, forms="@data"):
    """``V:d32x4t`` or ``V:d32.xyzw``: payload, element size, count and order."""

    what = "data (V:d32x4)"

    def __init__(self, name: str, desc: InstructionDesc) -> None:
        super().__init__(name)
        self.names_channels = "channels" in desc.spelling

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls(name, desc)

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        node = at.node
        if not isinstance(node, syntax.DataNode) or node.order not in ("", "t") or set(node.channels) - set("xyzw"):
            raise Problem("V050", f"'{at.text}' is not LSC data", "write V:d32, V:d32x4, V:d32x4t or V:d32.xyzw")
        size = _size_code(node.size)
        elements = node.elements or 1
        if elements not in enums.LSC_ELEMENTS:
            raise Problem("V050", f"{elements} elements do not exist", "it is 1, 2, 3, 4, 8, 16, 32 or 64")
        args[self.name] = binder.raw(node.register, at.text)
        if args.get("data_size", size) != size:
            raise Problem("V050", "data of one message have different sizes", f"write :{_size_name(args['data_size'])}")
        args["data_size"] = size
        args["order"] = enums.LSC_ORDERS[node.order or "n"]
        if self.names_channels != bool(node.channels):
            hint = "write V:d32.xyzw" if self.names_channels else "write V:d32x4"
            raise Problem("V050", "quad messages name their channels, others do not", hint)
        if node.channels:
            args["elems"] = sum(1 << "xyzw".index(c) for c in set(node.channels))
        else:
            args["elems"] = enums.LSC_ELEMENTS[elements]

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        text = f"{printer.bare_raw(args[self.name])}:{_size_name(args['data_size'])}"
        if self.names_channels:
            return f"{text}.{''.join(c for i, c in enumerate('xyzw') if args['elems'] >> i & 1)}"
        count = next((k for k, v in enums.LSC_ELEMENTS.items() if v == args["elems"]), 1)
        transposed = args["order"] == LSC_ORDERS["t"]
        shown = f"x{count}" if count > 1 or (transposed and text[-1] == "h") else ""
        return text + shown + ("t" if transposed else "")


class AddedSyntax(DataSyntax, forms="@added"):
    """What is added to a counter: ``V:d32``, or ``V`` of the size that the result has."""

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        if isinstance(at.node, syntax.NameNode | syntax.RawNode):
            args[self.name] = binder.raw(at.node, at.text)
        else:
            super().bind(binder, at, args)


class NullSyntax(OperandSyntax, forms="@null"):
    """``%null`` in the place of an operand that the message does not have, which may be missing."""

    optional = True
    what = "%null"

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls(form.removeprefix("@"))

    def accepts(self, at: Placed) -> bool:
        return at.text == self.what

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        """It is no field."""

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return ""


class BlockSyntax(OperandSyntax, forms="@block2d"):
    """``V:d32.2x16x8nt``: element size, blocks, width, height, transposition, VNNI."""

    what = "a block (V:d32.16x8nn)"

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        node = at.node
        if not isinstance(node, syntax.BlockNode) or len(node.order) != 2:
            raise Problem("V050", f"'{at.text}' is not a two-dimensional block", "write V:d32.16x8nn")
        args[self.name] = binder.raw(node.register, at.text)
        args["data_size"] = _size_code(node.size)
        args["order"], args["vnni"] = enums.LSC_ORDERS[node.order[0]], int(node.order[1] == "t")
        args["blocks"] = binder.integer(node.blocks, 1, 255, "number of blocks")
        args["width"], args["height"] = _extent(binder, node)
        if "addressing" in args and (problem := illegal_matrix(args)):
            raise Problem("V051", problem, "copy them to the beginning of another variable")

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        blocks = f"{args['blocks']}x" if args["blocks"] != 1 else ""
        order = ("t" if args["order"] == 2 else "n") + ("t" if args["vnni"] else "n")
        register, size = printer.bare_raw(args[self.name]), _size_name(args["data_size"])
        return f"{register}:{size}.{blocks}{args['width']}x{args['height']}{order}"


class TileSyntax(OperandSyntax, forms="@tile"):
    """``V:64x4``: width in bytes and height in rows."""

    what = "a tile (V:64x4)"

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        node = at.node
        if not isinstance(node, syntax.TileNode):
            raise Problem("V050", f"'{at.text}' is not a tile of an image", "write V:64x4 (bytes, rows)")
        args[self.name] = binder.raw(node.register, at.text)
        args["width"], args["height"] = _extent(binder, node)
        if args["height"] > 0x7FFF:
            raise Problem("V021", f"height {args['height']} is outside 0 to {0x7FFF}")

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return f"{printer.bare_raw(args[self.name])}:{args['width']}x{args['height']}"


def _address(at: Placed) -> AddressNode | None:
    """The address that an operand is; a surface alone, ``bti(3)``, is one without parts."""
    node = at.node
    if isinstance(node, syntax.VectorNode) and node.region is None and not node.modifier:
        return AddressNode(node.name, node.indices, (), None)
    return node if isinstance(node, AddressNode) else None


def _scalar(binder: Binder, part: syntax.Node) -> VectorOperand:
    """A number or a scalar register within an address."""
    if isinstance(part, AddressPartNode):
        if part.scale is not None or part.offset != 0:
            raise Problem("V051", "this part of the address takes neither scale nor offset", "write V(row,column)")
        return _scalar_register(binder, part.register)
    return binder.packed(part, _written(part))


def _scalar_register(binder: Binder, register: syntax.Node) -> VectorOperand:
    """A scalar register within the address of a matrix: V, V(row,column), or V.column as the reference reads it."""
    if isinstance(register, syntax.RawNode):
        return General(
            binder.symbol(register.name, "V").index, 0, binder.integer(register.offset, 0, 255, "column"), SCALAR
        )
    return binder.packed(register, _written(register))


def _block_offset(binder: Binder, value: syntax.Value, sign: str = "+") -> int:
    """By how many elements or rows a block is moved."""
    limits = enums.OFFSETS_OF_BLOCKS
    number = binder.integer(value, -limits[-1] - 1, -limits[0], "offset of the block")
    if (-number if sign == "-" else number) not in limits:
        raise Problem("V021", f"offset of the block {sign}{number} is outside {limits[0]} to {limits[-1]}")
    return -number if sign == "-" else number


def _moved(binder: Binder, part: syntax.Node) -> tuple[int, syntax.Node]:
    """The offset of ``x+16``, and the rest without it."""
    if isinstance(part, IncreasedNode):
        return _block_offset(binder, part.offset, part.sign), part.number
    if not isinstance(part, AddressPartNode) or part.offset == 0:
        return 0, part
    return _block_offset(binder, part.offset, part.sign), part._replace(sign="+", offset=0)


def _written(node: syntax.Node) -> str:
    """A part of an address as messages show it."""
    if isinstance(node, syntax.NameNode | syntax.VectorNode):
        return node.name
    return f"{node.name}.{node.offset}" if isinstance(node, syntax.RawNode) else ""


def _refuse_surface_by_name(binder: Binder, kind: str, node: syntax.Node) -> None:
    """``bti(T6)``: the binding table has no names, and counts the declared surfaces from 0."""
    found = binder.names.find(node.name) if kind == "bti" and isinstance(node, syntax.NameNode) else None
    if found is not None and found.kind == "T" and found.index >= FIRST_SURFACE:
        number = found.index - FIRST_SURFACE
        raise Problem("V011", f"'{_written(node)}' is a surface variable, expected its number", f"write bti({number})")


def _number(node: syntax.Node) -> syntax.Value | None:
    """A number without a type; None if something else stands there."""
    value = node.value if isinstance(node, syntax.NumberNode) and node.type is None else node
    return value if isinstance(value, syntax.EXPRESSIONS) else None


def _moved_by(offset: int) -> str:
    """What is added to a register within an address; nothing for 0."""
    return f"{'-' if offset < 0 else '+'}{abs(offset):#x}" if offset else ""


class AddressSyntax(OperandSyntax, forms="@address"):
    """``flat[V+0x10]:a64`` and its relatives."""

    what = "an address (flat[V]:a64)"

    def __init__(self, desc: InstructionDesc) -> None:
        super().__init__("address")
        self.desc = desc
        self.fields = desc.by_name
        self.coordinates = [n for n in ("u", "v", "r", "lod") if n in self.fields] if "u" in self.fields else []
        self.is_block = "width" in self.fields
        self.is_plain = "surface" not in self.fields
        self.is_counter = "addr" in self.fields and "imm_scale" not in self.fields and not self.is_plain

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls(desc)

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        node = _address(at)
        kind = (node.kind or "flat") if node else ""
        if (
            node is None
            or kind not in enums.LSC_ADDRESS_TYPES
            or not (node.parts or self.coordinates or self.is_counter)
        ):
            hint = "write flat[V]:a64, bti(n)[V]:a32, ss(V)[V]:a32 or bss(V)[V]:a32"
            raise Problem("V051", f"'{at.text}' is not an LSC address", hint)
        if kind not in ("arg", "flat") and node.surface is None:
            raise Problem("V051", f"'{kind}' needs a surface in parentheses")
        args["addr_type"] = enums.LSC_ADDRESS_TYPES[kind]
        args["addr_size"] = enums.LSC_ADDRESS_SIZES.get(node.size or "a32", 0)
        if not args["addr_size"]:
            raise Problem("V051", f"'{node.size}' is not an address size", "it is a16, a32, a32u, a32s or a64")
        if self.is_plain:
            args["addr"] = self._plain(binder, node, at.text)
            return
        self._bind_surface(binder, kind, node.surface or (), args)
        if self.coordinates:
            self._bind_coordinates(binder, node.parts, args)
        elif self.is_counter:
            args["addr"] = self._counter(binder, node, at.text)
        else:
            self._bind_memory(binder, node.parts, at.text, args)

    def _counter(self, binder: Binder, node: AddressNode, text: str) -> Raw:
        """A surface that has a counter, with ``[%null]`` behind it or nothing."""
        nothing = not node.parts or (len(node.parts) == 1 and self._null(binder, node.parts[0], text))
        if not nothing or node.surface is None or node.size:
            hint = "a counter is that of a surface: bti(3), surf(V), surf(V,1)[%null]"
            raise Problem("V051", f"'{text}' {_NOT_AN_ADDRESS}", hint)
        return NULL

    @staticmethod
    def _null(binder: Binder, part: syntax.Node, text: str) -> bool:
        """Whether ``%null`` stands between the brackets."""
        if not isinstance(part, AddressPartNode) or part.scale is not None or part.offset != 0:
            return False
        return not isinstance(part.register, syntax.VectorNode) and binder.raw(part.register, text) == NULL

    def _plain(self, binder: Binder, node: AddressNode, text: str) -> Raw:
        """``flat[V]``: addresses with nothing around them."""
        part = node.parts[0] if node.parts else None
        if (
            node.kind not in (None, "flat")
            or node.surface
            or len(node.parts) != 1
            or not isinstance(part, AddressPartNode)
        ):
            raise Problem("V051", f"'{text}' {_NOT_AN_ADDRESS}", "write flat[V]:a64")
        if part.scale is not None or part.offset != 0 or isinstance(part.register, syntax.VectorNode):
            raise Problem("V051", f"'{text}' {_NOT_AN_ADDRESS}", "these addresses have neither scale nor offset")
        return binder.raw(part.register, text)

    def _bind_coordinates(self, binder: Binder, parts: tuple[syntax.Node, ...], args: Fields) -> None:
        """Registers with the coordinates of elements of an image, and numbers that are added to them."""
        if len(parts) > len(self.coordinates):
            raise Problem("V051", f"{len(parts)} coordinates, at most {len(self.coordinates)} are allowed here")
        args.update(dict.fromkeys(self.coordinates, NULL))
        offsets = dict.fromkeys((n for n in self.coordinates if f"{n}_offset" in self.fields), 0)
        for name, part in zip(self.coordinates, parts, strict=False):
            if isinstance(part, syntax.NumberNode) and self.is_block:
                # A missing register counts as 0.
                offsets[name] = binder.integer(part.value, -(1 << 31), (1 << 31) - 1, "coordinate")
                continue
            movable = name in offsets
            if not isinstance(part, AddressPartNode) or part.scale is not None or (part.offset != 0 and not movable):
                raise Problem("V051", "a coordinate is a register", "write V, V.offset or V+number")
            args[name] = binder.raw(part.register, _written(part.register))
            if movable:
                offset = binder.integer(part.offset, -(1 << 31) + 1, (1 << 31) - 1, "offset")
                offsets[name] = -offset if part.sign == "-" else offset
        args["moved"] = int(any(offsets.values()))
        if args["moved"]:
            args.update({f"{name}_offset": offset for name, offset in offsets.items()})

    def _bind_memory(self, binder: Binder, parts: tuple[syntax.Node, ...], text: str, args: Fields) -> None:
        """``scale*V+offset``, and a pitch where the message has one."""
        if "pitch" in self.fields:
            args["pitch"] = _scalar(binder, parts[1]) if len(parts) == 2 else Immediate(types.UD, 0)
        if len(parts) != (2 if "pitch" in self.fields and len(parts) == 2 else 1):
            raise Problem("V051", f"'{text}' {_NOT_AN_ADDRESS}")
        part = parts[0]
        if not isinstance(part, AddressPartNode) or isinstance(part.register, syntax.VectorNode):
            raise Problem("V051", f"'{text}' {_NOT_AN_ADDRESS}", "write V, V+offset or scale*V+offset")
        args["imm_scale"] = 1 if part.scale is None else binder.integer(part.scale, 1, 0xFFFF, "scale")
        offset = binder.integer(part.offset, 0, (1 << 32) - 1, "offset")
        offset = -offset if part.sign == "-" else offset
        args["imm_offset"] = offset - (1 << 32) if offset >= 1 << 31 else offset
        args["addr"] = binder.raw(part.register, text)

    def _bind_surface(self, binder: Binder, kind: str, surface: tuple[syntax.Node, ...], args: Fields) -> None:
        """A surface, and the number of one behind it; of flat memory an address to which the others are added."""
        args["surface"], args["surface_index"] = Immediate(types.UD, 0), 0
        if not surface:
            return
        if len(surface) > 2 or (len(surface) == 2 and kind in ("flat", "arg")):
            raise Problem("V051", f"{len(surface)} surfaces, one is allowed here", "write bti(3), ss(V) or surf(V,1)")
        node = surface[0]
        if isinstance(node, syntax.RawNode):
            # The reference assembler takes the number behind the dot as the column.
            column = binder.integer(node.offset, 0, 255, "column")
            args["surface"] = General(binder.symbol(node.name, "V").index, 0, column, SCALAR)
        elif kind in _WIDE and (number := _number(node)) is not None:
            args["surface"] = Immediate(types.UQ, binder.integer(number, 0, (1 << 64) - 1, "address"))
        else:
            _refuse_surface_by_name(binder, kind, node)
            found = args["surface"] = binder.packed(node, _written(node))
            if kind in _WIDE and isinstance(found, Immediate) and found.type is not types.UQ:
                raise Problem("V051", f"an address has type uq, not {found.type}", "leave out the type")
        if len(surface) == 2:
            index = _number(surface[1])
            if index is None:
                raise Problem("V051", "the second part of a surface must be a number", "write surf(V,1)")
            args["surface_index"] = binder.integer(index, 0, 31, "number of a surface")

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        kind = next((k for k, v in enums.LSC_ADDRESS_TYPES.items() if v == args["addr_type"]), "flat")
        if self.is_plain:
            size = next(k for k, v in enums.LSC_ADDRESS_SIZES.items() if v == args["addr_size"])
            return f"{kind}[{printer.bare_raw(args['addr'])}]:{size}"
        index = f",{args['surface_index']:#x}" if args.get("surface_index") else ""
        named = args["surface"]
        wide = kind in _WIDE and isinstance(named, Immediate) and named.type is types.UQ
        surface = f"({hex(named.bits) if wide else printer.bare_scalar(named)}{index})"
        if kind in ("flat", "arg") and args["surface"] == Immediate(types.UD, 0):
            surface = ""
        if self.is_counter:
            return kind + surface
        if self.coordinates:
            parts = self._written_coordinates(printer, args)
            if not parts and "bare-surface" in self.desc.spelling and surface and args["addr_size"] == _A32:
                return kind + surface
            inside = ",".join(parts) or "%null"
        else:
            inside = self._written_memory(printer, args)
        if "addr_size" not in self.fields:
            return f"{kind}{surface}[{inside}]"
        size = next(k for k, v in enums.LSC_ADDRESS_SIZES.items() if v == args["addr_size"])
        return f"{kind}{surface}[{inside}]:{size}"

    def _written_coordinates(self, printer: OperandPrinter, args: Fields) -> list[str]:
        """Registers and the offsets that are added to them, without the null ones at the end."""
        found = [(args[name], args.get(f"{name}_offset", 0)) for name in self.coordinates]
        while found and found[-1] == (NULL, 0):
            found.pop()
        if self.is_block and args.get("moved"):
            found += [(NULL, 0)] * (2 - len(found))
            return [hex(by) if raw == NULL else printer.bare_raw(raw) + _moved_by(by) for raw, by in found]
        return [printer.bare_raw(raw) + _moved_by(offset) for raw, offset in found]

    def _written_memory(self, printer: OperandPrinter, args: Fields) -> str:
        inside = printer.bare_raw(args["addr"])
        if args["imm_scale"] > 1:
            inside = f"{args['imm_scale']}*{inside}"
        if args["imm_offset"]:
            inside += _moved_by(args["imm_offset"])
        return f"{inside},{printer.bare_scalar(args['pitch'])}" if "pitch" in self.fields else inside


class MatrixSyntax(OperandSyntax, forms="@matrix"):
    """``flat[base,width,height,pitch,x+16,y]`` or ``flat[payload+(16,8)]`` of block-2D messages."""

    what = "flat[base,width,height,pitch,x,y] or flat[payload+(0,0)]"
    pure = False
    _names = ("base", "surface_width", "surface_height", "surface_pitch", "x", "y")

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls("base")

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        node = at.node
        parts = node.parts if isinstance(node, AddressNode) and node.kind in (None, "flat") and not node.surface else ()
        if len(parts) == 1 and isinstance(parts[0], MovedNode) and parts[0].sign == "+":
            self._bind_payload(binder, parts[0], args)
        elif len(parts) == len(self._names):
            self._bind_operands(binder, parts, args)
        else:
            raise Problem("V051", f"'{at.text}' is not the address of a two-dimensional block", f"write {self.what}")
        if problem := illegal_matrix(args):
            raise Problem("V051", problem, f"write {self.what}")

    def _bind_payload(self, binder: Binder, part: MovedNode, args: Fields) -> None:
        """A register with all of the address, and offsets."""
        args["addressing"] = enums.MATRIX_OFFSETS
        args["base"] = _scalar_register(binder, part.register)
        args["x_offset"] = _block_offset(binder, part.across)
        args["y_offset"] = _block_offset(binder, part.down)

    def _bind_operands(self, binder: Binder, parts: tuple[syntax.Node, ...], args: Fields) -> None:
        """Six operands; registers in the place of x and y can have an offset."""
        for name, part in zip(self._names, parts, strict=True):
            if name in ("x", "y"):
                args[f"{name}_offset"], part = _moved(binder, part)
            elif isinstance(part, IncreasedNode):
                raise Problem("V051", f"{name} is a number with an offset", "only x and y can have one")
            args[name] = _scalar(binder, part)
        moved = args["x_offset"] or args["y_offset"]
        args["addressing"] = enums.MATRIX_OPERANDS | (enums.MATRIX_OFFSETS if moved else 0)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        if not args["addressing"] & enums.MATRIX_OPERANDS:
            return f"flat[{printer.bare_scalar(args['base'])}+({args['x_offset']},{args['y_offset']})]"
        shown = []
        for name in self._names:
            offset = args.get(f"{name}_offset", 0) if args["addressing"] & enums.MATRIX_OFFSETS else 0
            shown.append(printer.bare_scalar(args[name]) + _moved_by(offset))
        return f"flat[{','.join(shown)}]"
