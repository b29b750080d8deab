"""What one lane gets, in Python integers and fractions: written for the tests from the manual, without the simulator's code.

Integers are Python integers, floats of every width are Python floats (which hold hf, bf, f and df exactly).
"""

import math
from fractions import Fraction

import numpy as np

INTEGERS = {
    "ub": (8, False),
    "b": (8, True),
    "uw": (16, False),
    "w": (16, True),
    "ud": (32, False),
    "d": (32, True),
    "uq": (64, False),
    "q": (64, True),
}
FLOATS = {"hf": (11, -14, 15), "bf": (8, -126, 127), "f": (24, -126, 127), "df": (53, -1022, 1023)}
NARROW = {"e5m2": (3, -14, 15), "e4m3": (4, -6, 8), "tf32": (11, -126, 127)}
"""Precision, smallest and largest exponent."""
DTYPES = {
    "ub": "u1",
    "b": "i1",
    "uw": "u2",
    "w": "i2",
    "ud": "u4",
    "d": "i4",
    "uq": "u8",
    "q": "i8",
    "hf": "f2",
    "f": "f4",
    "df": "f8",
    "bf": "u2",
}
SIZES = {t: np.dtype(d).itemsize for t, d in DTYPES.items()}


def wrap(x, t):
    """The low bits of an integer as a type."""
    bits, signed = INTEGERS[t]
    x &= (1 << bits) - 1
    return x - ((x & 1 << bits - 1) << 1) if signed else x


def clamp(x, t):
    bits, signed = INTEGERS[t]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return max(low, min(high, x))


def bits_of(x, width):
    return x & ((1 << width) - 1)


def round_to(x, t, sign=1.0, mode="nearest"):
    """A fraction rounded as a float type, to nearest even, up, down or to zero; ``sign`` is that of a zero."""
    precision, smallest, largest = FLOATS.get(t) or NARROW[t]
    if x == 0:
        return math.copysign(0.0, sign)
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    quantum = Fraction(2) ** (max(exponent, smallest) - precision + 1)
    steps = size / quantum
    outward = mode == ("up" if x > 0 else "down")
    rounded = (round(steps) if mode == "nearest" else math.ceil(steps) if outward else math.floor(steps)) * quantum
    if rounded >= Fraction(2) ** (largest + 1):
        if mode != "nearest" and not outward:
            rounded = Fraction(2) ** (largest + 1) - Fraction(2) ** (largest + 1 - precision)
        else:
            return math.inf if x > 0 else -math.inf
    return math.copysign(float(rounded), 1 if x > 0 else -1)


def narrow(x, t):
    """A Python float as a float type."""
    return round_to(Fraction(x), t, x) if math.isfinite(x) else x


def _sum(exact, addends, t, mode):
    """A sum of numbers of which all are finite; the sign of a zero is that of the addends, if they have one."""
    negative = [math.copysign(1, x) < 0 for x in addends]
    same = all(negative) or not any(negative)
    return round_to(exact, t, -1.0 if (negative[0] and same) or (mode == "down" and any(negative)) else 1.0, mode)


def add(x, y, t, mode="nearest"):
    if not (math.isfinite(x) and math.isfinite(y)):
        return x + y
    return _sum(Fraction(x) + Fraction(y), (x, y), t, mode)


def mul(x, y, t, mode="nearest"):
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y
    return round_to(Fraction(x) * Fraction(y), t, math.copysign(1, x) * math.copysign(1, y), mode)


def fma(x, y, z, t, mode="nearest"):
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    sign = math.copysign(1, x) * math.copysign(1, y)
    return _sum(Fraction(x) * Fraction(y) + Fraction(z), (sign, z), t, mode)


def div(x, y, t, mode="nearest"):
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if y == 0:
        return math.nan if x == 0 else math.copysign(math.inf, math.copysign(1, x) * math.copysign(1, y))
    if not (math.isfinite(x) and math.isfinite(y)):
        return x / y
    return round_to(Fraction(x) / Fraction(y), t, math.copysign(1, x) * math.copysign(1, y), mode)


def inv(x, t, mode="nearest"):
    return div(1.0, x, t, mode)


def sqrt(x, t, mode="nearest"):
    if x != x or x < 0:
        return math.nan
    if x == 0 or x == math.inf:
        return x
    scaled = Fraction(x) * 4**1200
    root = math.isqrt(scaled.numerator // scaled.denominator)
    sticky = Fraction(1, 4) if root * root != scaled else 0
    return round_to((root + sticky) / Fraction(2**1200), t, 1.0, mode)


def frc(x, t, mode="nearest"):
    return add(x, -float(math.floor(x)) if x else -x, t, mode) if math.isfinite(x) else math.nan


def lrp(x, y, z, t, mode="nearest"):
    return fma(x, y, mul(add(1.0, -x, t, mode), z, t, mode), t, mode)


ROUNDED = {"add": add, "mul": mul, "mad": fma, "div": div, "divm": div, "inv": inv, "sqrt": sqrt, "sqrtm": sqrt,
           "frc": frc, "lrp": lrp}  # fmt: skip
"""Instructions on floats that round as the mode says, once: sources, type of the result, mode."""


def saturated(x):
    """A float between 0 and 1."""
    return 0.0 if x != x or x <= 0 else min(x, 1.0)


def convert(x, source, target, saturate=False, mode="nearest"):
    """The result of a conversion by ``mov``."""
    if target in INTEGERS:
        if source in INTEGERS:
            return clamp(x, target) if saturate else wrap(x, target)
        return 0 if x != x else clamp(math.trunc(x) if math.isfinite(x) else (1 if x > 0 else -1) << 70, target)
    if source in FLOATS and not math.isfinite(x):
        return saturated(x) if saturate else x
    found = round_to(Fraction(x), target, x if source in FLOATS else 1.0, mode)
    return saturated(found) if saturate else found


def result(name, types, values, dst, saturate=False, mode="nearest", modified=False):
    """The value of one lane in the type of the destination.

    ``values`` are the sources as exact numbers, behind their modifiers; of a selection the chosen one alone.
    ``modified``: one has a modifier.
    """
    name, _, suffix = name.partition(".")
    if name in ("mov", "sel"):
        return convert(values[0], types[0], dst, saturate, mode)
    t = execution_type(types, dst)
    if name in ("div", "mod") and t in INTEGERS and (modified or len({INTEGERS[s][1] for s in types}) > 1):
        t = "q"  # where a division by zero has the ends of the range
    if t in FLOATS and name in ROUNDED:
        found = ROUNDED[name](*values, dst, mode)
        return saturated(found) if saturate else found
    if name in SHIFTS:
        return convert(shift(name, types[0], dst, *values), "q", dst, saturate)
    if name == "cbit":
        exact = count_bits(types[0], values[0])
    elif name == "lzd":
        exact = _leading(values[0], max(32, 8 * SIZES[types[0]]))
    elif name == "bfn":
        exact = boolean(int(suffix[1:], 16), *values)
    else:
        exact = LANEWISE[name](t, *values)
    return convert(exact, t, dst, saturate, mode)


def decode(array, t):
    """Numbers of an array of a type."""
    if t == "bf":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return [float(v) for v in array] if t in FLOATS else [int(v) for v in array]


def encode(x, t):
    """The bytes of a number."""
    if t == "bf":
        return (np.array([x], np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    with np.errstate(over="ignore"):
        return np.array([x], DTYPES[t]).tobytes()


def agree(a, b, t, ulps=0):
    """Whether two numbers of a type are the same, NaNs being equal, or some units in the last place apart."""
    if t in INTEGERS:
        return a == b
    if a != a or b != b:
        return a != a and b != b
    if a == b:
        return math.copysign(1, a) == math.copysign(1, b) or ulps > 0
    if not ulps or not (math.isfinite(a) and math.isfinite(b)):
        return False
    precision, smallest, _ = FLOATS[t]
    unit = 2.0 ** (max(math.frexp(b)[1] - 1, smallest) - precision + 1)
    return abs(a - b) <= ulps * unit


def narrow_floats(precision):
    """The numbers of a format by their code: sign, exponent and fraction, as fractions."""
    exponent, fraction, bias = {"hf8": (4, 3, 7), "bf8": (5, 2, 15), "e2m1": (2, 1, 1)}[precision]
    found = {}
    for code in range(1 << 1 + exponent + fraction):
        e, f = code >> fraction & (1 << exponent) - 1, code & (1 << fraction) - 1
        if (precision == "bf8" and e == 31) or (precision == "hf8" and (e, f) == (15, 7)):
            continue
        size = Fraction(f, 1 << fraction) + (1 if e else 0)
        found[code] = size * Fraction(2) ** (max(e, 1) - bias) * (-1 if code >> exponent + fraction else 1)
    return found


def packed(codes, bits):
    """Dwords of so many bits each."""
    per = 32 // bits
    return [sum(c << bits * k for k, c in enumerate(codes[i : i + per])) for i in range(0, len(codes), per)]


# -- one instruction -------------------------------------------------------------------------------------------
# Each function takes the execution type and the sources as exact numbers, and gives the exact or rounded result.


def execution_type(sources, dst):
    """Floats: the widest; integers: 32 bits, or 64 if anything has them, signed if a source is."""
    floats = [t for t in sources if t in FLOATS]
    if floats:
        return "df" if "df" in floats else "hf" if set(floats) == {"hf"} and dst not in ("f", "df") else "f"
    wide = any(SIZES[t] == 8 for t in (*sources, dst) if t in INTEGERS)
    signed = any(INTEGERS[t][1] for t in sources)
    return ("q" if signed else "uq") if wide else ("d" if signed else "ud")


def _divide(t, x, y):
    if y == 0:
        bits, signed = INTEGERS[t]
        return (
            ((-(1 << (bits - 1)) if x < 0 else (1 << (bits - 1)) - 1), -1)
            if signed
            else ((1 << bits) - 1, (1 << bits) - 1)
        )
    q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return q, x - q * y


def _extreme(t, x, y, pick):
    if t in FLOATS and (x != x or y != y):
        return y if x != x else x
    # Of equal numbers (zeros) the second source stays.
    return x if x != y and pick(x, y) == x else y


def _leading(x, width):
    return width - bits_of(x, width).bit_length()


def _bfe(width, offset, x, signed):
    width, offset = width & 31, offset & 31
    up = (32 - width) & 31
    if not width:
        return 0
    if signed:
        return wrap(wrap(x, "d") >> offset << up, "d") >> up
    return bits_of(bits_of(x, 32) >> offset << up, 32) >> up


def _bfi(width, offset, x, base):
    field = bits_of((1 << (width & 31)) - 1 << (offset & 31), 32)
    return bits_of(x << (offset & 31), 32) & field | bits_of(base, 32) & ~field


def boolean(table, *sources):
    out = 0
    for bit in range(32):
        x, y, z = (s >> bit & 1 for s in sources)
        out |= (table >> (4 * z + 2 * y + x) & 1) << bit
    return out


def _rounded(function):
    def apply(t, x):
        return math.copysign(float(function(x)), x) if math.isfinite(x) else x

    return apply


def _real(function, at_zero=None):
    """A transcendental function in double precision; results outside its domain are NaN."""

    def apply(t, *values):
        try:
            return narrow(function(*values), t)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan if at_zero is None or values[0] != 0 else at_zero

    return apply


def _pow(x, y):
    if y == 0 or x == 1:
        return 1.0
    if x != x or y != y or x < 0:
        return math.nan
    if x == 0:
        return 0.0 if y > 0 else math.inf
    if y in (math.inf, -math.inf):
        return math.inf if (x > 1) == (y > 0) else 0.0
    return math.pow(x, y)


LANEWISE = {
    "add": lambda t, x, y: x + y,
    "mul": lambda t, x, y: x * y,
    "mad": lambda t, x, y, z: x * y + z,
    "add3": lambda t, x, y, z: x + y + z,
    "avg": lambda t, x, y: (x + y + 1) >> 1,
    "div": lambda t, x, y: _divide(t, x, y)[0],
    "mod": lambda t, x, y: _divide(t, x, y)[1],
    "rsqrt": lambda t, x: div(1.0, sqrt(x, t), t),
    "rndd": _rounded(math.floor),
    "rndu": _rounded(math.ceil),
    "rnde": _rounded(round),
    "rndz": _rounded(math.trunc),
    "exp": _real(lambda x: math.inf if x > 1100 else 0.0 if x < -1100 else 2.0**x),
    "log": _real(math.log2, -math.inf),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "pow": _real(_pow),
    "mulh": lambda t, x, y: (x * y) >> 32,
    "and": lambda t, x, y: x & y,
    "or": lambda t, x, y: x | y,
    "xor": lambda t, x, y: x ^ y,
    "not": lambda t, x: ~x,
    "min": lambda t, x, y: _extreme(t, x, y, min),
    "max": lambda t, x, y: _extreme(t, x, y, max),
    "bfe": lambda t, width, offset, x: _bfe(width, offset, x, INTEGERS[t][1]),
    "bfi": lambda t, width, offset, x, base: _bfi(width, offset, x, base),
    "bfrev": lambda t, x: sum((x >> k & 1) << (31 - k) for k in range(32)),
    "fbl": lambda t, x: (1 << 32) - 1 if not x else (x & -x).bit_length() - 1,
    "fbh": lambda t, x: (lambda v: (1 << 32) - 1 if not v else _leading(v, 32))(~x if INTEGERS[t][1] and x < 0 else x),
}
"""Instructions whose lanes do not see each other, beside ROUNDED ones: execution type and sources, the exact result."""


SHIFTS = ("shl", "shr", "asr", "rol", "ror")


def shift(name, source, dst, x, y):
    """Shifts, by 6 bits of the count where source or destination have 64 bits, else by 5; rotations in the source."""
    own = 8 * SIZES[source]
    if name in ("rol", "ror"):
        width = max(16, own)
        n = y & (width - 1)
        n = n if name == "rol" else (width - n) % width
        x = bits_of(x, width)
        return bits_of(x << n | x >> (width - n), width)
    width = 64 if 8 in (SIZES[source], SIZES[dst]) else 32
    n = y & (width - 1)
    return x << n if name == "shl" else bits_of(x, width) >> n if name == "shr" else x >> n


def count_bits(source, x):
    return bits_of(x, 8 * SIZES[source]).bit_count()
