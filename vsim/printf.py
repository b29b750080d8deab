"""Decodes the printf buffer that kernels fill: records of a format string's address and typed values."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from vsim.memory import AddressSpace, Buffer

_CODES = {1: "<bxxx", 2: "<hxx", 3: "<i", 4: "<f", 5: "<Q", 6: "<q", 7: "<Q", 8: "<d"} | dict.fromkeys(range(9, 15), "")
"""How a value is stored, by the code of its type."""
_STRING = 5
_DIRECTIVE = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>(?:\.\d*)?)(?P<vector>(?:v\d+)?)(?P<length>hh|hl|h|ll|l|)"
    r"(?P<kind>[diouxXfFeEgGaAcsp%])"
)


def _string(memory: AddressSpace, address: int) -> str:
    buffer = memory.slots.get(address >> 32)
    if buffer is None or not buffer.address <= address < buffer.address + buffer.size:
        return f"<no string at {address:#x}>"
    data = buffer.data[address - buffer.address :]
    end = bytes(data[:65536]).find(b"\0")
    return bytes(data[: end if end >= 0 else 65536]).decode("utf-8", "replace")


def _format(text: str, values: list[object]) -> str:
    rest = iter(values)

    def one(m: re.Match[str]) -> str:
        kind = m["kind"]
        if kind == "%":
            return "%"
        value = next(rest, 0)
        head = f"%{m['flags']}{m['width']}{m['precision']}"
        if kind == "s":
            return (head + "s") % str(value)
        if kind == "c":
            return chr(int(value) & 255)  # type: ignore[call-overload]
        if kind == "p":
            return f"{int(value):#x}"  # type: ignore[call-overload]
        if kind in "aA":
            return float(value).hex()  # type: ignore[arg-type]
        if kind in "uoxX":
            number = int(value)  # type: ignore[call-overload]
            number = number if number >= 0 else number + (1 << (64 if m["length"] == "l" else 32))
            return str((head + ("d" if kind == "u" else kind)) % number)
        return str((head + kind) % value)

    return _DIRECTIVE.sub(one, text)


@dataclass(frozen=True)
class PrintfRecords:
    """What a launch printed: records of a format string's address and typed values, and the memory of the strings."""

    data: bytes
    memory: AddressSpace

    @classmethod
    def of(cls, buffer: Buffer, memory: AddressSpace) -> PrintfRecords:
        """The records in a printf buffer, which begins with the place of the next one, as bytes from its beginning."""
        end = int(buffer.data[:4].view("<u4")[0])
        return cls(bytes(buffer.data[: min(buffer.size, end)]), memory)

    def text(self) -> str:
        """What they say, in their order."""
        data = self.data
        position, out = 4, []
        while position + 8 <= len(data):
            (address,) = struct.unpack_from("<Q", data, position)
            position += 8
            text = _string(self.memory, address)
            values: list[object] = []
            for m in _DIRECTIVE.finditer(text):
                if m["kind"] == "%" or position + 8 > len(data):
                    continue
                (code,) = struct.unpack_from("<I", data, position)
                position += 4
                fmt = _CODES.get(code, "<i")
                (value,) = struct.unpack_from(fmt, data, position)
                position += struct.calcsize(fmt)
                values.append(_string(self.memory, value) if code == _STRING else value)
            out.append(_format(text, values))
        return "".join(out)
