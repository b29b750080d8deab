"""Programs under construction on the symbolic engine: registers that are symbols, or have the contents of variables."""

import numpy as np
import z3

from support.scalar import DTYPES, SIZES
from visakit.language.platforms import find
from visakit.language.program import FIRST_PREDICATE, FIRST_VARIABLE
from visakit.text.parser import parse_module
from vsim.semantics.registers import layout_of
from vsim.symbolic.registers import PREDICATE_BITS, Piece, SymbolicRegisters, joined, unknown, zeros
from vsim.symbolic.sequence import run_sequence


def unknown_bits(number):
    """The bits of a predicate as symbols."""
    return [z3.Bool(f"p{number}.{k}") for k in range(PREDICATE_BITS)]


class SymbolicProbe:
    """The lines of a :class:`support.probe.Probe` as one sequence of the symbolic engine.

    Args:
        constant: whether variables have their contents before the lines execute; else they are symbols until then.
    """

    def __init__(self, probe, algebra, constant):
        text = [".version 4.1", '.kernel "k"']
        for name, (t, data) in probe.variables.items():
            text.append(f".decl {name} v_type=G type={t} num_elts={data.size // SIZES[t]} align=GRF")
        text += [f".decl {name} v_type=P num_elts={probe.lanes}" for name in probe.predicates]
        text += [f".kernel_attr SimdSize={probe.lanes}", *probe.lines]
        (function,) = parse_module("\n".join(text) + "\n", platform=probe.platform).kernels
        grf_size = find(probe.platform).grf_size
        self.probe = probe
        self.numbers = {v.name: n for n, v in enumerate(function.variables, FIRST_VARIABLE)}
        self.bits = {d.name: n for n, d in enumerate(function.predicates, FIRST_PREDICATE)}
        given = (self._contents, self._predicate) if constant else (_symbols, unknown_bits)
        self.registers = SymbolicRegisters(layout_of(function, grf_size), *given)
        run_sequence(function, grf_size, self.registers, algebra)
        self.assigned = None if constant else self._assignment()

    def _contents(self, root, size):
        if root < FIRST_VARIABLE:
            return zeros(root, size)
        (data,) = (self.probe.variables[name][1] for name, n in self.numbers.items() if n == root)
        return [Piece(int(x), 1, 0) for x in data]

    def _predicate(self, number):
        (bits,) = (self.probe.predicates[name] for name, n in self.bits.items() if n == number)
        return [bool(bits >> k & 1) for k in range(PREDICATE_BITS)]

    def _assignment(self):
        pairs = []
        for name, number in self.numbers.items():
            data = self.probe.variables[name][1]
            symbols = unknown(number, data.size)
            pairs += [(p.whole, z3.BitVecVal(int(x), 8)) for p, x in zip(symbols, data, strict=True)]
        for name, number in self.bits.items():
            given = self.probe.predicates[name]
            pairs += [(b, z3.BoolVal(bool(given >> k & 1))) for k, b in enumerate(unknown_bits(number))]
        return pairs

    def _value(self, x):
        if not isinstance(x, (int, bool)):
            x = z3.simplify(z3.substitute(x, *self.assigned) if self.assigned else x)
            return x.as_long() if z3.is_bv(x) else z3.is_true(x)
        return x

    def found(self, name, count):
        """The first elements of a variable, as an array of its type."""
        t = self.probe.variables[name][0]
        pieces = self.registers.bytes_of(self.numbers[name])
        size = SIZES[t]
        values = [self._value(joined(pieces[k * size : (k + 1) * size])) for k in range(count)]
        return np.frombuffer(b"".join(v.to_bytes(size, "little") for v in values), DTYPES[t])

    def predicate(self, name):
        """The bits of a predicate."""
        bits = self.registers.predicate(self.bits[name])
        return sum(self._value(b) << k for k, b in enumerate(bits[: self.probe.lanes]))


def _symbols(root, size):
    return unknown(root, size) if root >= FIRST_VARIABLE else zeros(root, size)
