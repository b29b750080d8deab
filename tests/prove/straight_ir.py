"""Straight LLVM IR on integers, as the fast engine emits it, as terms of the solver."""

import re

import z3

TOKEN = re.compile(r"[%@][\w.]+|[<>(),]|[\w.\-]+")


def quotient(x, y):
    """A function of which nothing is known but that equal operands have equal results."""
    return z3.Function(f"quotient {x.size()}", *[x.sort()] * 3)(x, y)


FLAGS = ("nuw", "nsw", "disjoint", "exact", "nneg")
BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << y,
    "lshr": z3.LShR,
    "ashr": lambda x, y: x >> y,
    "udiv": quotient,
}
COMPARED = {
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "ult": z3.ULT, "ule": z3.ULE, "ugt": z3.UGT, "uge": z3.UGE,
    "slt": lambda x, y: x < y, "sle": lambda x, y: x <= y, "sgt": lambda x, y: x > y, "sge": lambda x, y: x >= y,
}  # fmt: skip


def _ends(bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return low, high


def _saturated(operator, signed):
    """A sum or difference that stays at the ends of its type."""

    def compute(x, y):
        bits = x.size()
        wide = z3.SignExt if signed else z3.ZeroExt
        exact, (low, high) = operator(wide(2, x), wide(2, y)), _ends(bits, signed)
        low, high = (z3.BitVecVal(end, bits + 2) for end in (low, high))
        return z3.Extract(bits - 1, 0, z3.If(exact < low, low, z3.If(exact > high, high, exact)))

    return compute


def _ones(x):
    bits = x.size()
    return sum(z3.ZeroExt(bits - 1, z3.Extract(k, k, x)) for k in range(bits))


def _leading_zeros(x, *_):
    bits = x.size()
    found = z3.BitVecVal(bits, bits)
    for k in range(bits):
        found = z3.If(z3.Extract(k, k, x) == 1, z3.BitVecVal(bits - 1 - k, bits), found)
    return found


def _funnel(left):
    def compute(x, y, count):
        bits, pair = x.size(), z3.Concat(x, y)
        by = z3.ZeroExt(bits, z3.URem(count, z3.BitVecVal(bits, bits)))
        return z3.Extract(2 * bits - 1, bits, pair << by) if left else z3.Extract(bits - 1, 0, z3.LShR(pair, by))

    return compute


INTRINSICS = {
    "smin": lambda x, y: z3.If(x < y, x, y),
    "smax": lambda x, y: z3.If(x > y, x, y),
    "umin": lambda x, y: z3.If(z3.ULT(x, y), x, y),
    "umax": lambda x, y: z3.If(z3.UGT(x, y), x, y),
    "sadd.sat": _saturated(BINARY["add"], True),
    "uadd.sat": _saturated(BINARY["add"], False),
    "ssub.sat": _saturated(BINARY["sub"], True),
    "usub.sat": _saturated(BINARY["sub"], False),
    "abs": lambda x, _: z3.If(x < 0, -x, x),
    "ctpop": _ones,
    "ctlz": _leading_zeros,
    "bitreverse": lambda x: z3.Concat(*[z3.Extract(k, k, x) for k in range(x.size())]),
    "fshl": _funnel(True),
    "fshr": _funnel(False),
}


OTHERS = ("load", "icmp", "select", "zext", "sext", "trunc", "bitcast", "shufflevector", "extractelement",
          "insertelement", "call")  # fmt: skip


class NotRead(Exception):
    """A line that is no straight arithmetic on integers."""


class StraightIR:
    """The values of the lines of a block, each a list of elements; a scalar has one.

    Args:
        loads: the elements that the loads of vectors give, in their order: bit-vectors of their size.
    """

    def __init__(self, loads):
        self.loads = list(loads)
        self.names = {}
        self.stored = []
        """What was stored in memory: lists of elements."""
        self.poison = []
        """Lanes, and conditions under which they have no defined result."""

    def read(self, text):
        """Read the function of a module. Values that depend on memory, on calls or on the way through the function,
        as addresses do, are left out.
        """
        for line in text[text.index("define") :].splitlines():
            self.tokens, self.at = TOKEN.findall(line.partition(", !")[0]), 0
            if line.startswith("  %"):
                self._assign()
            elif re.match(r"  store <\d+ x i(?!1>)", line):
                self._next("store")
                self.stored.append(self._typed())

    def _assign(self):
        name, known = self._next(), len(self.poison)
        try:
            self.names[name] = self._result(self._next())
        except NotRead:
            del self.poison[known:]

    # -- tokens --------------------------------------------------------------------------------------------

    def _peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self, wanted=None):
        found = self._peek()
        if wanted not in (None, found):
            raise NotRead(f"'{found}' instead of '{wanted}' in {' '.join(self.tokens)}")
        self.at += 1
        return found

    def _type(self):
        """How many elements of how many bits."""
        count = 1
        if is_vector := self._peek() == "<":
            self._next()
            count = int(self._next())
            self._next("x")
        name = self._next()
        if is_vector:
            self._next(">")
        if not re.fullmatch(r"i\d+", name):
            raise NotRead(f"type {name}")
        return count, int(name[1:])

    def _value(self, count, bits):
        word = self._next()
        if word.startswith("%"):
            if word not in self.names:
                raise NotRead(f"{word} of {' '.join(self.tokens)}")
            return self.names[word]
        if word == "<":
            found = []
            while self._peek() != ">":
                found += self._value(*self._type())
                if self._peek() == ",":
                    self._next()
            self._next()
            return found
        numbers = {"true": 1, "false": 0, "zeroinitializer": 0}
        if word == "poison":
            return [_any_number(bits) for _ in range(count)]
        return [z3.BitVecVal(numbers[word] if word in numbers else int(word), bits)] * count

    def _typed(self):
        count, bits = self._type()
        return self._value(count, bits)

    def _pair(self):
        """Two operands of one type."""
        count, bits = self._type()
        first = self._value(count, bits)
        self._next(",")
        return first, self._value(count, bits)

    def _more(self):
        self._next(",")
        return self._typed()

    # -- instructions --------------------------------------------------------------------------------------

    def _result(self, op):
        if op in BINARY:
            return self._binary(op)
        if op not in OTHERS:
            raise NotRead(op)
        return getattr(self, f"_{op}")()

    def _binary(self, op):
        flags = []
        while self._peek() in FLAGS:
            flags.append(self._next())
        found = []
        for lane, (x, y) in enumerate(zip(*self._pair(), strict=True)):
            found.append(BINARY[op](x, y))
            if op in ("shl", "lshr", "ashr"):
                self.poison.append((lane, z3.UGE(y, z3.BitVecVal(x.size(), x.size()))))
            if op == "udiv":
                self.poison.append((lane, y == 0))
            self.poison += [(lane, _breaks(flag, op, x, y)) for flag in flags]
        return found

    def _load(self):
        count, bits = self._type()
        self._next(",")
        self._next("ptr")
        if count == 1 or not self._next().startswith("%v"):
            raise NotRead("a scalar of the launch, or a register on the stack")
        given = regrouped(self.loads.pop(0), bits)
        assert len(given) == count
        return given

    def _icmp(self):
        compare = COMPARED[self._next()]
        return [
            z3.If(compare(x, y), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)) for x, y in zip(*self._pair(), strict=True)
        ]

    def _select(self):
        conditions, x, y = self._typed(), self._more(), self._more()
        conditions = conditions * (len(x) // len(conditions))
        return [z3.If(c == 1, e, f) for c, e, f in zip(conditions, x, y, strict=True)]

    def _converted(self, convert):
        given = self._typed()
        self._next("to")
        _, bits = self._type()
        return [convert(x, bits) for x in given]

    def _zext(self):
        if self._peek() == "nneg":
            raise NotRead("zext nneg")
        return self._converted(lambda x, bits: z3.ZeroExt(bits - x.size(), x))

    def _sext(self):
        return self._converted(lambda x, bits: z3.SignExt(bits - x.size(), x))

    def _trunc(self):
        return self._converted(lambda x, bits: z3.Extract(bits - 1, 0, x))

    def _bitcast(self):
        given = self._typed()
        self._next("to")
        _, bits = self._type()
        return regrouped(given, bits)

    def _shufflevector(self):
        first, second, places = self._typed(), self._more(), self._more()
        both = first + second
        return [both[place.as_long()] if z3.is_bv_value(place) else _any_number(both[0].size()) for place in places]

    def _extractelement(self):
        given, (place,) = self._typed(), self._more()
        return [given[place.as_long()]]

    def _insertelement(self):
        given, (x,), (place,) = self._typed(), self._more(), self._more()
        return [x if k == place.as_long() else e for k, e in enumerate(given)]

    def _call(self):
        count, _ = self._type()
        name = re.fullmatch(r"@(?:llvm\.([\w.]+?)\.(v\d+)?i\d+|quotients[\w.]*)", self._next())
        if not name or (name[1] and name[1] not in INTRINSICS):
            raise NotRead(" ".join(self.tokens))
        self._next("(")
        operands = [self._typed()]
        while self._peek() == ",":
            operands.append(self._more())
        operands = [x * (count // len(x)) for x in operands]
        if name[1]:
            return [INTRINSICS[name[1]](*lane) for lane in zip(*operands, strict=True)]
        self.poison += [(lane, y == 0) for lane, y in enumerate(operands[1])]
        return [quotient(x, y) for x, y in zip(*operands, strict=True)]


def regrouped(given, bits):
    """The same bits in elements of another size."""
    own = given[0].size()
    if own == bits:
        return given
    if own > bits:
        return [z3.Extract(low + bits - 1, low, x) for x in given for low in range(0, own, bits)]
    parts = bits // own
    return [_joined(given[k : k + parts]) for k in range(0, len(given), parts)]


def _joined(parts):
    """Bit-vectors end to end, the lowest first; the parts of one vector are that vector again."""
    first = parts[0]
    if z3.is_app_of(first, z3.Z3_OP_EXTRACT) and first.arg(0).size() == first.size() * len(parts):
        whole = first.arg(0)
        if all(x.eq(part) for x, part in zip(regrouped([whole], first.size()), parts, strict=True)):
            return whole
    return z3.Concat(*reversed(parts))


def _any_number(bits):
    """An element of which nothing is known."""
    return z3.FreshConst(z3.BitVecSort(bits), "poison")


def _breaks(flag, op, x, y):
    """The condition under which a flag makes the result of an operation undefined."""
    if flag == "disjoint":
        return x & y != 0
    if flag in ("nuw", "nsw") and op in ("add", "sub", "mul"):
        extend = z3.SignExt if flag == "nsw" else z3.ZeroExt
        bits = x.size()
        return extend(bits, BINARY[op](x, y)) != BINARY[op](extend(bits, x), extend(bits, y))
    raise NotRead(f"{op} {flag}")
