"""Changes of texts and bytes: words, numbers, lines; bits, bytes, fields, pieces."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_NUMBERS = (
    "0", "1", "-1", "31", "32", "127", "128", "255", "256", "32767", "32768", "65535", "65536", "0x7fffffff", "0xffffffff",
    "4294967296", "0xffffffffffffffff", "1e400", "nan", "07", "0x", "1.5", "~1", "(1<<200)", "9" * 40,
)  # fmt: skip
_PIECES = (
    "{", "}", '"', "\\x00", "\\xff", "\\u202e", "\u202e", "\0", "%null", "%arg", "%r0", "V21", "S31", "T6", "(", ")", "<", ">", ";", ",", ":ud", ":df",
    ":vf", "(M5, 32)", "(M8_NM, 1)", "(!P1.any)", ".sat", "(-)", "(abs)", "<0;1,0>", "<32;16,4>", "<1>", "r[A0(0),-1]<1;1,0>:ud", "alias=<V32, 4>",
    "attrs={Input}", "&V32", "/*", "//", "\r", "\t", ".kernel_attr OutputAsmPath=\"\\xff\"", "align=32word", "[", "]",
)  # fmt: skip
_TOKEN = re.compile(r"%?\w+|\s+|.", re.DOTALL)


def mutate_text(source: random.Random, data: bytes, donors: Sequence[bytes]) -> bytes:
    """A few changes of words, numbers and lines; some lines come from the other texts."""
    lines = data.decode("utf-8", "replace").split("\n")
    others = source.choice(donors).decode("utf-8", "replace").split("\n")
    for _ in range(source.choice((1, 1, 2, 3, 8))):
        at = source.randrange(len(lines))
        what = source.randrange(8)
        if what == 0:
            lines.insert(at, source.choice(lines if source.random() < 0.5 else others))
        elif what == 1 and len(lines) > 2:
            del lines[at]
        elif what == 2:
            other = source.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            tokens = _TOKEN.findall(lines[at]) or [""]
            n = source.randrange(len(tokens))
            if what == 3:
                tokens[n] = source.choice(_NUMBERS)
            elif what == 4:
                tokens[n] = source.choice(_TOKEN.findall(source.choice(lines)) or [""])
            elif what == 5:
                tokens.insert(n, source.choice(_PIECES))
            elif what == 6:
                numbers = [k for k, t in enumerate(tokens) if t[0:1].isdigit()] or [n]
                tokens[source.choice(numbers)] = source.choice(_NUMBERS)
            else:
                tokens[n : n + source.randrange(4)] = []
            lines[at] = "".join(tokens)
    return "\n".join(lines).encode("utf-8", "replace")


def mutate_bytes(source: random.Random, data: bytes) -> bytes:
    """A few bytes, numbers of two and four bytes, pieces."""
    out = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        at = source.randrange(len(out) or 1)
        what = source.randrange(8)
        if what <= 2:
            out[at : at + 1] = bytes([source.randrange(256)])
        elif what == 3 and out:
            out[at] ^= 1 << source.randrange(8)
        elif what == 4:
            size = source.choice((1, 2, 4, 8))
            value = source.choice(
                (0, 1, -1, 127, 128, 255, 256, 0x7FFF, 0x8000, 1 << 31, 1 << 63, source.randrange(64))
            )
            out[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        elif what == 5:
            del out[at : at + source.choice((1, 2, 5, 20))]
        elif what == 6:
            out[at:at] = out[source.randrange(len(out) or 1) :][: source.choice((1, 2, 5, 20))]
        elif out:
            out[at] = (out[at] + source.choice((1, 255, 2, 16, 240))) & 255
    return bytes(out)
