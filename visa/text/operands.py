"""Operand tokens to operands: names are looked up in the scopes of a function, regions and immediates are checked and coded."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from visa import types
from visa.diagnostics import did_you_mean
from visa.operands import (
    ABS,
    NEG,
    NEG_ABS,
    NO_MODIFIER,
    NOT,
    NULL,
    SAMPLER,
    SCALAR,
    SURFACE,
    Address,
    General,
    Immediate,
    Indirect,
    Predicate,
    Raw,
    Region,
    State,
    VectorOperand,
)  # fmt: skip
from visa.program import (
    FIRST_PREDICATE,
    FIRST_SURFACE,
    FIRST_VARIABLE,
    NAMED_SAMPLER,
    PREDEFINED_SURFACES,
    PREDEFINED_VARIABLES,
    Function,
    predefined_names,
)
from visa.text.expressions import ExpressionError, evaluate
from visa.text.scanner import Token

MODIFIERS = {None: NO_MODIFIER, "abs": ABS, "-": NEG, "-abs": NEG_ABS, "~": NOT}
_VECTOR = re.compile(r"(?:\((?P<mod>-|abs|-abs|~)\))?(?P<name>%?\w+)(?:\((?P<place>.*)\))?(?:<(?P<region>[^>]*)>)?$")
_INDIRECT = re.compile(
    r"(?:\((?P<mod>-|abs|-abs|~)\))?r\[\s*(?P<name>\w+)\s*\((?P<element>.*?)\)\s*(?:,\s*(?P<offset>.*?))?\s*\](?:<(?P<region>[^>]*)>)?(?::(?P<type>\w+))?$"
)
_ADDRESS_OF = re.compile(r"&(?P<name>%?\w+)(?:\[(?P<offset>.*)\]|\+(?P<plus>.*))?$")
_RAW = re.compile(r"(?P<name>%?\w+)(?:\.(?P<offset>.+))?$")
_REGION = re.compile(r"\s*(?:(?:(?P<v>\d*)\s*;)?\s*(?P<w>\d+)\s*,)?\s*(?P<h>\d+)\s*$")
_KIND_NAMES = {
    "V": "a general variable",
    "A": "an address variable",
    "P": "a predicate variable",
    "S": "a sampler variable",
    "T": "a surface variable",
}


class Problem(Exception):
    """What is wrong with a token; the statement that holds it turns this into a diagnostic."""

    def __init__(self, code: str, message: str, hint: str = "", token: Token | None = None) -> None:
        self.code, self.message, self.hint, self.token = code, message, hint, token
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a name stands for: class letter (V, A, P, S, T) and index."""

    kind: str
    index: int


class Names:
    """Nested scopes of one function."""

    def __init__(self, version: tuple[int, int]) -> None:
        outer: dict[str, Symbol] = {}
        for index, name in enumerate(predefined_names(version)):
            outer[f"V{index}"] = outer[name] = Symbol("V", index)
        for index, name in enumerate(PREDEFINED_SURFACES):
            outer[name] = Symbol("T", index)
        outer["S31"] = Symbol("S", NAMED_SAMPLER)
        self.predefined = frozenset(outer)
        self._scopes: list[dict[str, Symbol]] = [outer]
        self._lines: list[dict[str, int]] = [{}]
        self._all = outer

    @property
    def depth(self) -> int:
        return len(self._scopes)

    def open(self) -> None:
        self._scopes.append({})
        self._lines.append({})

    def close(self) -> None:
        self._scopes.pop()
        self._lines.pop()
        self._all = {name: symbol for scope in self._scopes for name, symbol in scope.items()}

    def declared_here(self, name: str) -> int | None:
        """Line of a declaration of the name in the innermost scope, 0 for a predefined one."""
        if name in self.predefined:
            return 0
        return self._lines[-1].get(name)

    def define(self, name: str, symbol: Symbol, line: int) -> None:
        self._scopes[-1][name] = symbol
        self._lines[-1][name] = line
        self._all[name] = symbol

    def find(self, name: str) -> Symbol | None:
        return self._all.get(name)

    def similar(self, name: str, kind: str | None = None) -> str:
        return did_you_mean(name, (n for n, s in self._all.items() if kind is None or s.kind == kind))


def split_list(text: str) -> list[str]:
    """Split at commas outside parentheses and brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return parts


class OperandReader:
    """Reads the operands of one function. ``grf_size`` is in bytes; it turns byte offsets of ``&V[n]`` into rows."""

    def __init__(self, function: Function, grf_size: int) -> None:
        self.function, self.grf_size = function, grf_size
        self.names = Names(function.version)
        self._cache: dict[tuple[str, str], VectorOperand | Raw] = {}

    def forget(self) -> None:
        """Names changed their meaning (a scope was opened or closed)."""
        self._cache.clear()

    # -- names and numbers ---------------------------------------------------------------------------------

    def symbol(self, name: str, kinds: str = "VAPST") -> Symbol:
        found = self.names.find(name)
        wanted = " or ".join(_KIND_NAMES[k] for k in kinds)
        if found is None:
            raise Problem("V010", f"'{name}' is not declared", self.names.similar(name) or f"expected {wanted}")
        if found.kind not in kinds:
            raise Problem("V011", f"'{name}' is {_KIND_NAMES[found.kind]}, expected {wanted}")
        return found

    def size_of(self, name: str) -> int | None:
        if name == "GRF":
            return self.grf_size
        symbol = self.names.find(name)
        if symbol is None or symbol.kind != "V":
            return None
        if symbol.index < FIRST_VARIABLE:
            _, data_type, count = PREDEFINED_VARIABLES[symbol.index]
            return data_type.size * count
        return self.function.variables[symbol.index - FIRST_VARIABLE].size

    def integer(self, text: str, low: int = -(1 << 63), high: int = (1 << 64) - 1, what: str = "value") -> int:
        """Value of an integer expression that must lie in a range."""
        try:
            value = evaluate(text, self.size_of, lambda: self.function.integer_attribute("SimdSize", 0))
        except ExpressionError as error:
            raise Problem("V020", str(error)) from None
        if not low <= value <= high:
            raise Problem("V021", f"{what} {value} is outside {low} to {high}")
        return value

    # -- operands ------------------------------------------------------------------------------------------

    def vector(self, token: Token, destination: bool) -> VectorOperand:
        """A vector operand of any class."""
        key = ("d" if destination else "s", token[1])
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._read_vector(token, destination)
        assert not isinstance(found, Raw)
        return found

    def raw(self, token: Token) -> Raw:
        """A raw operand: ``V.offset`` or, in LSC messages, the bare name."""
        return self.raw_text(token[1])

    def raw_text(self, text: str) -> Raw:
        found = self._cache.get(("r", text))
        if found is None:
            found = self._cache["r", text] = self._read_raw(text)
        assert isinstance(found, Raw)
        return found

    def _read_raw(self, text: str) -> Raw:
        m = _RAW.match(text)
        if not m:
            raise Problem("V012", f"'{text}' is not a message operand", "write V.offset, the offset in bytes")
        index = self.symbol(m["name"], "V").index
        offset = self.integer(m["offset"], 0, 0xFFFF, "byte offset") if m["offset"] else 0
        size = self.size_of(m["name"])
        if index >= FIRST_VARIABLE and size is not None and offset >= max(size, 1):
            raise Problem("V030", f"byte offset {offset} lies outside '{m['name']}', which has {size} bytes")
        return Raw(index, offset) if index or offset else NULL

    def _read_vector(self, token: Token, destination: bool) -> VectorOperand:
        kind, text, _ = token
        if kind == "IMMEDIATE":
            if destination:
                raise Problem("V013", "an immediate cannot be a destination")
            return self.immediate(text)
        if kind == "VECTOR":
            return self._region_operand(text, destination)
        if kind == "INDIRECT":
            return self._indirect(text, destination)
        if kind == "NAME":
            symbol = self.symbol(text, "PTS" if text not in self.names.predefined else "PTSV")
            if symbol.kind == "P":
                return Predicate(symbol.index)
            if symbol.kind == "V":
                raise Problem(
                    "V014", f"'{text}' needs a region", f"write {text}(0,0)<{'1' if destination else '1;1,0'}>"
                )
            return State(SURFACE if symbol.kind == "T" else SAMPLER, symbol.index, 0)
        if kind == "ADDRESS_OF" and not destination:
            m = _ADDRESS_OF.match(text)
            assert m
            return self.scalar_at(m["name"], self.integer(m["offset"] or m["plus"] or "0", 0, 0xFFFF, "byte offset"))
        if kind == "RAW":
            name = text.split(".")[0]
            raise Problem(
                "V014",
                f"'{text}' is a message operand, this instruction takes a region",
                f"write {name}(0,0)<{'1' if destination else '1;1,0'}>",
            )
        raise Problem("V012", f"'{text}' is not an operand that can stand here")

    def scalar_at(self, name: str, offset: int) -> General:
        """One element of a variable at a byte offset, as a scalar region."""
        index = self.symbol(name, "V").index
        row, rest = divmod(offset, self.grf_size)
        return General(index, row, rest // self.function.variable_type(index).size, SCALAR)

    def region(self, text: str, destination: bool, multi_address: bool = False) -> Region:
        m = _REGION.match(text)
        if not m:
            raise Problem("V015", f"<{text}> is not a region", "write <h> for a destination, <v;w,h> for a source")
        v, w, h = m["v"], m["w"], m["h"]
        stride = int(h)
        if stride not in (0, 1, 2, 4):
            raise Problem("V016", f"horizontal stride {stride} does not exist", "it is 0, 1, 2 or 4")
        if destination:
            if w is not None:
                raise Problem("V017", "a destination has only a horizontal stride", f"write <{stride or 1}>")
            if stride == 0:
                raise Problem("V016", "the horizontal stride of a destination cannot be 0", "write <1>")
            return None, None, stride
        if w is None:
            if multi_address:
                return None, None, stride
            raise Problem(
                "V017", f"a source needs the whole region, <{text}> has only a stride", f"write <{stride};1,0>"
            )
        width = int(w)
        if width not in (1, 2, 4, 8, 16):
            raise Problem("V016", f"region width {width} does not exist", "it is 1, 2, 4, 8 or 16")
        if not v:
            if multi_address:
                return None, width, stride
            raise Problem(
                "V017", f"the region <{text}> has no vertical stride", f"write <{width * stride};{width},{stride}>"
            )
        vertical = int(v)
        if vertical not in (0, 1, 2, 4, 8, 16, 32):
            raise Problem("V016", f"vertical stride {vertical} does not exist", "it is 0, 1, 2, 4, 8, 16 or 32")
        return vertical, width, stride

    def _region_operand(self, text: str, destination: bool) -> VectorOperand:
        m = _VECTOR.match(text)
        if m is None:
            raise Problem("V012", f"'{text}' is not an operand that can stand here")
        modifier = MODIFIERS[m["mod"]]
        if destination and modifier:
            raise Problem("V018", "a destination takes no modifier")
        symbol = self.symbol(m["name"])
        place = split_list(m["place"]) if m["place"] is not None else []
        region = m["region"]
        if symbol.kind == "V":
            row, col = self._place(place)
            if region is None:
                raise Problem("V014", f"'{text}' needs a region", f"write {text}<{'1' if destination else '1;1,0'}>")
            return General(symbol.index, row, col, self.region(region, destination), modifier)
        if len(place) > 1:
            raise Problem("V019", f"'{m['name']}' is {_KIND_NAMES[symbol.kind]} and takes one index")
        offset = self.integer(place[0], 0, 255, "element") if place else 0
        if symbol.kind == "A":
            width = self.integer(region or "1", 1, 32, "width")
            if width not in (1, 2, 4, 8, 16, 32):
                raise Problem(
                    "V016", f"width {width} of an address operand does not exist", "it is 1, 2, 4, 8, 16 or 32"
                )
            return Address(symbol.index, offset, width, modifier)
        if symbol.kind == "P":
            raise Problem("V019", f"'{m['name']}' is a predicate and takes neither index nor region")
        return State(SURFACE if symbol.kind == "T" else SAMPLER, symbol.index, offset, modifier)

    def _place(self, place: list[str]) -> tuple[int, int]:
        if not place:
            return 0, 0
        if len(place) != 2:
            raise Problem("V019", "a general variable takes a row and a column", "write V(row,column)")
        return self.integer(place[0], 0, 255, "row"), self.integer(place[1], 0, 255, "column")

    def bare_region(self, token: Token, region: Region) -> VectorOperand:
        """``V(r,c)`` without a region (or an immediate or number), as some messages have it."""
        kind, text, _ = token
        if kind == "IMMEDIATE":
            return self.immediate(text)
        if kind in ("NUMBER", "EXPRESSION"):
            return Immediate(types.UD, self.integer(text, -(1 << 31), (1 << 32) - 1) & 0xFFFFFFFF)
        m = _VECTOR.match(text) if kind in ("VECTOR", "NAME") else None
        if m is None:
            raise Problem("V012", f"'{text}' is not an operand that can stand here", "write V(row,column)")
        if m["mod"]:
            raise Problem("V037", f"this operand takes no ({m['mod']})", "write V(row,column)")
        row, col = self._place(split_list(m["place"]) if m["place"] is not None else [])
        index = self.symbol(m["name"], "V").index
        if m["region"] is not None:
            region = self.region(m["region"], False)
        return General(index, row, col, region)

    def _indirect(self, text: str, destination: bool) -> Indirect:
        m = _INDIRECT.match(text)
        if not m:
            raise Problem("V012", f"'{text}' is not an indirect operand", "write r[A(element),offset]<v;w,h>:type")
        if m["type"] is None or m["region"] is None:
            raise Problem("V014", f"'{text}' needs a region and a type", "write r[A(element),offset]<v;w,h>:type")
        symbol = self.symbol(m["name"], "A")
        element = self.integer(m["element"], 0, 255, "element")
        offset = self.integer(m["offset"] or "0", -(1 << 15), (1 << 15) - 1, "offset")
        region = self.region(m["region"], destination, multi_address=True)
        return Indirect(symbol.index, element, offset, region, self.data_type(m["type"]), MODIFIERS[m["mod"]])

    def data_type(self, name: str) -> types.DataType:
        found = types.BY_NAME.get(name.lower())
        if found is None:
            raise Problem(
                "V022",
                f"'{name}' is not a data type",
                did_you_mean(name, types.BY_NAME) or "types are " + " ".join(types.BY_NAME),
            )
        return found

    # -- immediates ----------------------------------------------------------------------------------------

    def immediate(self, text: str) -> Immediate:
        """``number:type``; what does not fit into the type is an error."""
        number, _, suffix = text.rpartition(":")
        data_type = self.data_type(suffix)
        if data_type.is_float:
            return Immediate(data_type, self._float_bits(number, data_type))
        value = self.integer(number, what="immediate")
        return Immediate(data_type, self._integer_bits(value, data_type, number))

    def _integer_bits(self, value: int, data_type: types.DataType, text: str) -> int:
        stored = 64 if data_type.size == 8 and data_type.is_integer else 32
        if data_type.is_integer:
            bits = data_type.bits
            # The compiler prints narrow immediates sign-extended to 32 bits, in hex.
            extended = stored == 32 and bits < 32 and (1 << 32) - (1 << (bits - 1)) <= value < 1 << 32
            if not (-(1 << (bits - 1)) <= value < 1 << bits or extended):
                raise Problem(
                    "V021",
                    f"{text} does not fit into type {data_type}",
                    f"{data_type} holds {data_type.minimum} to {data_type.maximum}",
                )
        elif not -(1 << 31) <= value < 1 << 32:
            raise Problem("V021", f"{text} does not fit into the 32 bits of type {data_type}")
        return value & (1 << stored) - 1

    def _float_bits(self, text: str, data_type: types.DataType) -> int:
        if re.fullmatch(r"[-~!]*(?:0[xX][0-9a-fA-F]+|\d+|\(.*\))", text):
            value = self.integer(text, what="immediate")
            limit = 32 if data_type is types.F else data_type.bits
            if not -(1 << (limit - 1)) <= value < 1 << limit:
                raise Problem("V021", f"the bits {text} do not fit into type {data_type}")
            return value & ((1 << 64) - 1 if data_type is types.DF else 0xFFFFFFFF)
        try:
            number = float.fromhex(text) if "x" in text.lower() else float(text)
            if data_type is types.BF:
                bits: int = struct.unpack("<I", struct.pack("<f", number))[0]
                return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
            fmt, raw = {types.F: ("<f", "<I"), types.DF: ("<d", "<Q"), types.HF: ("<e", "<H")}[data_type]
            return int(struct.unpack(raw, struct.pack(fmt, number))[0])
        except (ValueError, OverflowError):
            raise Problem("V021", f"{text} does not fit into type {data_type}") from None


def unescape(token_text: str) -> str:
    """The contents of a string literal."""
    function = token_text[1:-1]
    if "\\" not in function:
        return function
    simple = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

    def one(m: re.Match[str]) -> str:
        c = m[1]
        if c[0] == "x":
            return chr(int(c[1:], 16))
        if c[0] in "01234567":
            return chr(int(c, 8) & 255)
        if c in simple:
            return simple[c]
        if c in "'\"?\\":
            return c
        raise Problem("V023", f"'\\{c}' is not an escape sequence")

    return re.sub(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", one, function)


__all__ = ["FIRST_PREDICATE", "FIRST_SURFACE", "Names", "OperandReader", "Problem", "Symbol", "split_list", "unescape"]
