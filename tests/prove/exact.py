"""Exact integers of which only a range is known, on which the scalar model runs as on Python's own.

An :class:`Exact` is a bit-vector of the solver that is wide enough for its range, so that nothing wraps around. Where
the model asks ``if``, :func:`for_all` runs it again for the other answer, and puts the results together.
"""

from functools import partial

import z3


def _width(low, high):
    """Bits of a two's complement that holds all of a range."""
    return max((high if high >= 0 else 0).bit_length(), (~low if low < 0 else 0).bit_length()) + 1


class Exact:
    """An integer between two numbers."""

    __hash__ = None

    def __init__(self, term, low, high):
        self.low, self.high = low, high
        self.term = _resize(term, max(_width(low, high), _ABSTRACT[-1].least if _ABSTRACT else 0))

    @staticmethod
    def of(x):
        return x if isinstance(x, Exact) else Exact(z3.BitVecVal(x, _width(x, x)), x, x)

    def _pair(self, other, low, high):
        """Both numbers in a width that holds them and a range."""
        width = max(_width(low, high), self.term.size(), other.term.size())
        return _resize(self.term, width), _resize(other.term, width)

    def _combine(self, other, operator, ends):
        other = Exact.of(other)
        low, high = min(ends(other)), max(ends(other))
        return Exact(operator(*self._pair(other, low, high)), low, high)

    def __add__(self, other):
        return self._combine(other, lambda x, y: x + y, lambda o: (self.low + o.low, self.high + o.high))

    def __sub__(self, other):
        return self._combine(other, lambda x, y: x - y, lambda o: (self.low - o.high, self.high - o.low))

    def __mul__(self, other):
        is_plain = isinstance(other, int) or not _ABSTRACT
        other = Exact.of(other)
        ends = [x * y for x in (self.low, self.high) for y in (other.low, other.high)]
        limits = (min(ends), max(ends))
        operator = (lambda x, y: x * y) if is_plain else partial(_ABSTRACT[-1].product, limits=limits)
        return self._combine(other, operator, lambda _: ends)

    def __rsub__(self, other):
        return Exact.of(other) - self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return 0 - self

    def __invert__(self):
        return -1 - self

    def __abs__(self):
        if self.low >= 0:
            return self
        high = max(-self.low, self.high, 0)
        (x, _), zero = self._pair(self, -high, high), 0
        return Exact(z3.If(x < zero, -x, x), 0, high)

    def _bits(self, other, operator):
        other = Exact.of(other)
        width = max(self.term.size(), other.term.size())
        return Exact(operator(*self._pair(other, 0, 0)), -(1 << width - 1), (1 << width - 1) - 1)

    def __and__(self, other):
        found, limits = self._bits(other, lambda x, y: x & y), [o.high for o in (self, Exact.of(other)) if o.low >= 0]
        return Exact(found.term, 0, min(limits)) if limits else found

    def _within(self, other, operator):
        found = self._bits(other, operator)
        if self.low >= 0 and Exact.of(other).low >= 0:
            return Exact(found.term, 0, (1 << max(self.high, Exact.of(other).high).bit_length()) - 1)
        return found

    def __or__(self, other):
        return self._within(other, lambda x, y: x | y)

    def __xor__(self, other):
        return self._within(other, lambda x, y: x ^ y)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, count):
        count = Exact.of(count)
        assert count.low >= 0
        ends = [x << n for x in (self.low, self.high) for n in (count.low, count.high)]
        return self._combine(count, lambda x, n: x << n, lambda _: ends)

    def __rlshift__(self, other):
        return Exact.of(other) << self

    def __rshift__(self, count):
        count = Exact.of(count)
        assert count.low >= 0
        ends = [x >> n for x in (self.low, self.high) for n in (count.low, count.high)]
        return self._combine(count, lambda x, n: x >> n, lambda _: ends)

    def __rrshift__(self, other):
        return Exact.of(other) >> self

    def __floordiv__(self, other):
        """The quotient of a number that is not negative by a positive one."""
        other = Exact.of(other)
        assert self.low >= 0 and other.low >= 0
        x, y = self._pair(other, 0, self.high)
        return Exact((_ABSTRACT[-1].quotient if _ABSTRACT else z3.UDiv)(x, y), 0, self.high)

    def __mod__(self, other):
        """The remainder by a power of two."""
        assert other & (other - 1) == 0
        return self & (other - 1)

    def bit_count(self):
        assert self.low >= 0
        return sum((self >> k & 1 for k in range(self.term.size() - 1)), Exact.of(0))

    def bit_length(self):
        assert self.low >= 0
        found = z3.BitVecVal(0, 9)
        for k in range(self.term.size() - 1):
            found = z3.If(z3.Extract(k, k, self.term) == 1, z3.BitVecVal(k + 1, 9), found)
        return Exact(found, 0, self.term.size() - 1)

    def _compare(self, other, operator):
        return Truth(operator(*self._pair(Exact.of(other), 0, 0)))

    def __eq__(self, other):
        return self._compare(other, lambda x, y: x == y)

    def __ne__(self, other):
        return self._compare(other, lambda x, y: x != y)

    def __lt__(self, other):
        return self._compare(other, lambda x, y: x < y)

    def __le__(self, other):
        return self._compare(other, lambda x, y: x <= y)

    def __gt__(self, other):
        return self._compare(other, lambda x, y: x > y)

    def __ge__(self, other):
        return self._compare(other, lambda x, y: x >= y)

    def __bool__(self):
        return bool(self != 0)

    def low_bits(self, count):
        """The low bits, as a bit-vector."""
        return z3.Extract(count - 1, 0, _resize(self.term, max(count, self.term.size())))


class Abstract:
    """Products and quotients as functions of magnitudes of 64 bits, of which nothing but their range is known.

    Whatever holds for all such functions holds for products and quotients; of others nothing is said. Within it
    :class:`Exact` numbers, and an algebra that asks for :meth:`product` and :meth:`quotient`, use them.
    """

    least = 0
    """Bits that numbers have at least."""
    has_functions = True

    def __init__(self):
        self.facts = []

    def __enter__(self):
        _ABSTRACT.append(self)
        return self

    def __exit__(self, *_):
        _ABSTRACT.pop()

    def product(self, x, y, signed=True, limits=None):
        """The product of two bit-vectors of a size, in that size; ``limits``: the range in which it is."""
        minus_x, minus_y = (e < 0 if signed else z3.BoolVal(False) for e in (x, y))
        found = self._product(_fitted(z3.If(minus_x, -x, x), 64), _fitted(z3.If(minus_y, -y, y), 64))
        size, below_zero = _fitted(found, x.size()), z3.Xor(minus_x, minus_y)
        if limits is not None:
            largest = z3.If(below_zero, z3.BitVecVal(max(-limits[0], 0), 128), z3.BitVecVal(max(limits[1], 0), 128))
            self.facts.append(z3.ULE(found, largest))
        return z3.If(below_zero, -size, size)

    def _product(self, x, y):
        found = z3.Function("product", z3.BitVecSort(64), z3.BitVecSort(64), z3.BitVecSort(128))(x, y)
        for limit in (8, 16, 32):
            self.facts.append(
                z3.Implies(z3.And(z3.ULE(x, 1 << limit), z3.ULE(y, 1 << limit)), z3.ULE(found, 1 << 2 * limit))
            )
        self.facts.append(z3.Implies(z3.Or(x == 0, y == 0), found == 0))
        return found

    def quotient(self, x, y):
        """The unsigned quotient of two bit-vectors of a size, in that size; the divisor is not zero."""
        size, x, y = x.size(), _fitted(x, 64), _fitted(y, 64)
        found = z3.Function("quotient", *[z3.BitVecSort(64)] * 3)(x, y)
        product, dividend = self._product(found, y), z3.ZeroExt(64, x)
        rest = z3.And(z3.ULE(product, dividend), z3.ULT(dividend - product, z3.ZeroExt(64, y)))
        self.facts += [z3.ULE(found, x), z3.Implies(y != 0, rest)]
        return _fitted(found, size)


class LowBits(Abstract):
    """Products whose lowest ``least`` bits are a function of those of both factors; their other bits are open."""

    def __init__(self, least):
        super().__init__()
        self.least = least

    def product(self, x, y, signed=True, limits=None):
        size, least = x.size(), self.least
        lows = [z3.Extract(least - 1, 0, e) for e in (x, y)]
        low = z3.Function(f"low {least}", *[z3.BitVecSort(least)] * 3)(*lows)
        if size == least:
            return low
        above = z3.Function(f"above {size}", *[z3.BitVecSort(size)] * 2, z3.BitVecSort(size - least))
        return z3.Concat(above(x, y), low)


class SmallProducts(LowBits):
    """Products of factors of 9 bits are any numbers, but for equal factors the same ones. The solver says whether factors
    are so small, and always equal; other products keep their exact meaning.
    """

    has_functions = False

    def __init__(self, least):
        super().__init__(least)
        self.known = []

    def product(self, x, y, signed=True, limits=None):
        low, above = [z3.Extract(8, 0, e) for e in (x, y)], x.size() - 9
        if not all(_always(z3.SignExt(above, small) == e) for small, e in zip(low, (x, y), strict=True)):
            return x * y
        found = next((p for own, p in self.known if all(_always(a == b) for a, b in zip(own, low, strict=True))), None)
        if found is None:
            found = z3.BitVec(f"product {len(self.known)}", 18)
            self.known.append((low, found))
        return z3.SignExt(above - 9, found)


def _always(condition):
    """Whether the solver finds at once that a condition holds for all inputs."""
    solver = z3.Then("simplify", "bit-blast", "sat").solver()
    solver.set("rlimit", 200_000)
    solver.add(z3.Not(condition))
    return solver.check() == z3.unsat


_ABSTRACT = []


def _fitted(x, size):
    """The low bits of a number that is not negative, or zeros above it."""
    return z3.ZeroExt(size - x.size(), x) if size > x.size() else z3.Extract(size - 1, 0, x)


def _resize(term, width):
    """A term in so many bits, of which it needs no more."""
    size = term.size()
    return z3.SignExt(width - size, term) if width > size else z3.Extract(width - 1, 0, term)


class Truth:
    """Whether something holds: Python's ``if`` chooses an answer, and :func:`for_all` the other one later."""

    def __init__(self, condition):
        self.condition = z3.simplify(condition)

    def __bool__(self):
        return _RUNS[-1].answer(self.condition)

    def __eq__(self, other):
        return bool(self) == other

    def __ne__(self, other):
        return bool(self) != other

    def __int__(self):
        return int(bool(self))

    __hash__ = None


class _Run:
    def __init__(self, answers):
        self.answers, self.asked, self.conditions = answers, 0, []

    def answer(self, condition):
        if z3.is_true(condition) or z3.is_false(condition):
            return z3.is_true(condition)
        for known in self.conditions:
            if known.eq(condition):
                return True
            if known.eq(z3.simplify(z3.Not(condition))):
                return False
        if self.asked == len(self.answers):
            self.answers.append(True)
        found = self.answers[self.asked]
        self.asked += 1
        self.conditions.append(condition if found else z3.simplify(z3.Not(condition)))
        return found


_RUNS = []


def for_all(function):
    """Every way through a function: pairs of the condition under which it goes so, and its result."""
    answers, found = [], []
    while True:
        run = _Run(answers)
        _RUNS.append(run)
        try:
            result = function()
        finally:
            _RUNS.pop()
        found.append((z3.And(*run.conditions) if run.conditions else z3.BoolVal(True), result))
        while answers and not answers[-1]:
            answers.pop()
        if not answers:
            return found
        answers[-1] = False
