"""Values as a directive of C's ``printf`` writes them (C11, 7.21.6.1); Python's ``%`` differs in the details."""

from __future__ import annotations

import math
from typing import NamedTuple


class Directive(NamedTuple):
    """What stands between the percent sign and the conversion, and the conversion.

    Attributes:
        flags: some of ``-+ #0``.
        width: the fewest characters.
        precision: what follows the point; None without one.
        bits: bits of an integer.
        kind: the letter of the conversion.
    """

    flags: str
    width: int
    precision: int | None
    bits: int
    kind: str

    def padded(self, prefix: str, digits: str, zeros: bool) -> str:
        """A prefix and digits, padded to the width: behind, with zeros between, or in front."""
        missing = self.width - len(prefix) - len(digits)
        if missing <= 0:
            return prefix + digits
        if "-" in self.flags:
            return prefix + digits + " " * missing
        if zeros and "0" in self.flags:
            return prefix + "0" * missing + digits
        return " " * missing + prefix + digits

    def sign(self, negative: bool) -> str:
        """What a signed number begins with."""
        return "-" if negative else "+" if "+" in self.flags else " " if " " in self.flags else ""


def character(directive: Directive, value: int) -> str:
    """A character by its number (``c``)."""
    return directive.padded("", chr(value & 255), False)


def text(directive: Directive, value: str) -> str:
    """A text, as much of it as the precision says (``s``)."""
    return directive.padded("", value[: directive.precision], False)


def integer(directive: Directive, value: int) -> str:
    """A whole number, reduced to the bits of its type (``d i o u x X p``)."""
    kind, size = directive.kind, 1 << directive.bits
    value %= size
    if kind in "di":
        value -= size if value >= size // 2 else 0
        prefix, digits = directive.sign(value < 0), str(abs(value))
    else:
        prefix, digits = "", format(value, {"u": "d", "p": "x"}.get(kind, kind))
        if kind == "p" or ("#" in directive.flags and kind in "xX" and value):
            prefix = "0X" if kind == "X" else "0x"
    if directive.precision == 0 and not value:
        digits = ""
    digits = digits.rjust(directive.precision or 0, "0")
    if kind == "o" and "#" in directive.flags and not digits.startswith("0"):
        digits = "0" + digits
    return directive.padded(prefix, digits, directive.precision is None)


def real(directive: Directive, value: float) -> str:
    """A number with a point (``f F e E g G a A``)."""
    kind, prefix, size = (
        directive.kind.lower(),
        directive.sign(math.copysign(1, value) < 0 and value == value),
        abs(value),
    )
    if not math.isfinite(size):
        digits = "nan" if math.isnan(size) else "inf"
    elif kind == "a":
        prefix, digits = prefix + "0x", _hexadecimal(size, directive.precision, "#" in directive.flags)
    else:
        precision = 6 if directive.precision is None else directive.precision
        digits = f"%{'#' if '#' in directive.flags else ''}.{precision}{kind}" % size
    if directive.kind.isupper():
        prefix, digits = prefix.upper(), digits.upper()
    return directive.padded(prefix, digits, math.isfinite(size))


def _hexadecimal(value: float, precision: int | None, point: bool) -> str:
    """A finite number from 0 on with hexadecimal digits and a power of two, without ``0x``."""
    head, _, power = value.hex()[2:].partition("p")
    whole, _, fraction = head.partition(".")
    if precision is None:
        fraction = fraction.rstrip("0")
    elif precision < len(fraction):
        dropped = 4 * (len(fraction) - precision)
        number = int(whole + fraction, 16)
        kept, rest, half = number >> dropped, number & (1 << dropped) - 1, 1 << dropped - 1
        kept += rest > half or (rest == half and kept & 1)
        digits = format(kept, "x").rjust(precision + 1, "0")
        whole, fraction = digits[: len(digits) - precision], digits[len(digits) - precision :]
    else:
        fraction = fraction.ljust(precision, "0")
    return f"{whole}{'.' if fraction or point else ''}{fraction}p{power}"
