"""Runs a few lines on one hardware thread: registers filled before, read afterwards."""

import functools
import itertools

import numpy as np

from support.programs import build_text
from support.scalar import DTYPES, encode
from support.strategies import ENGINES
from visakit import SimulationError
from visakit.language.platforms import find
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import BufferArgument, Launch
from vsim.program import Program

LANES = 16


class Probe:
    """A kernel of one thread under construction.

    Variables are declared with their contents; :meth:`run` executes the lines and gives the contents of all variables afterwards.
    Contents, predicates and the lanes that run are data of the kernel, so that examples which differ in nothing else share one image.
    """

    def __init__(self, platform="xehp", lanes=LANES, running=None, group=None):
        """``running``: the lanes that run the lines, as bits; all by default. ``group``: the shape of the only work-group; one row by default."""
        self.platform, self.lanes, self.running, self.group = platform, lanes, running, group or (lanes,)
        self.variables, self.predicates, self.declarations, self.lines = {}, {}, [], []
        self.buffers, self.arguments, self.attributes, self.subroutines, self.functions = {}, [], [], [], []
        self.keeps_denormals = True
        """Whether the program begins with a write of %cr0, or never has one."""
        self.named = {}
        """Arrays that the launch knows by a name of the kernel's, such as ``%urb``."""

    def variable(self, name, t, values):
        """Declare a variable of a type; ``values`` are its bytes or its numbers, padded to whole registers."""
        data = np.frombuffer(values if isinstance(values, bytes) else b"".join(encode(x, t) for x in values), np.uint8)
        data = np.concatenate([data, np.zeros(-data.size % 64, np.uint8)])
        self.variables[name] = (t, data)
        return name

    def fill(self, **variables):
        """Declare variables given as type and values."""
        for name, (t, values) in variables.items():
            self.variable(name, t, values)

    def addresses(self, name, buffer, offsets):
        """A variable with the addresses of places in a buffer, one for each lane."""
        self.fill(**{name: ("uq", [0] * self.lanes), f"{name}_OFFSETS": ("uq", offsets)})
        half, grf = self.lanes // 2, find(self.platform).grf_size
        for lane in (0, half):
            place = f"({lane * 8 // grf},{lane * 8 % grf // 8})"
            self.lines.append(
                f"add (M{1 + lane // 4}_NM, {half}) {name}{place}<1> {name}_OFFSETS{place}<1;1,0> {buffer}(0,0)<0;1,0>"
            )

    def buffer(self, name, contents):
        """A buffer of bytes: a pointer of this name, and the surface T8 for the first, T9 for the second, ..."""
        self.buffers[name] = np.frombuffer(bytes(contents), np.uint8).copy()
        self.declarations += [
            f".decl {name} v_type=G type=uq num_elts=1",
            f".decl T{len(self.buffers) + 7} v_type=T num_elts=1",
        ]

    def image(self, argument):
        """An image behind the buffers: the next surface."""
        self.arguments.append(argument)
        self.declarations.append(f".decl T{len(self.buffers) + len(self.arguments) + 7} v_type=T num_elts=1")

    def predicate(self, name, bits):
        self.predicates[name] = bits

    def _text(self):
        out = [".version 4.1", '.kernel "k"', *(f".decl {n} v_type=G type=uq num_elts=1" for n in ("IN", "OUT", "AT"))]
        for name, (t, data) in self.variables.items():
            out.append(f".decl {name} v_type=G type={t} num_elts={data.size // np.dtype(DTYPES[t]).itemsize} align=GRF")
        out += [f".decl {name} v_type=P num_elts={self.lanes}" for name in self.predicates]
        out += [
            ".decl RUNNING v_type=P num_elts=32",
            ".decl BITS v_type=G type=ud num_elts=1",
            ".decl T6 v_type=T num_elts=1",
        ]
        out += [f".decl BITS_OF_ALL v_type=G type=ud num_elts={self._bits.size // 4} align=GRF"]
        out += [".decl T7 v_type=T num_elts=1", *self.declarations]
        out += [f".input {name} offset={64 + 8 * n} size=8" for n, name in enumerate(["IN", "OUT", *self.buffers])]
        out += [f".kernel_attr SimdSize={self.lanes}", *self.attributes]
        if self.keeps_denormals:
            out.append("or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud")
        out += self._moves("svm_block_ld", "IN")
        out += self._move("svm_block_ld", "IN", "BITS_OF_ALL", self.size, self._bits.size)
        names, row = [*self.predicates, "RUNNING"], find(self.platform).grf_size // 4
        out += [
            f"setp (M1_NM, {self.lanes}) {name} BITS_OF_ALL({n // row},{n % row})<0;1,0>"
            for n, name in enumerate(names if self.running is not None else self.predicates)
        ]
        if self.running is not None:
            out.append(f"(!RUNNING) goto (M1, {self.lanes}) behind")
        out += [*self.lines, "behind:", *self._moves("svm_block_st", "OUT")]
        at = self.size
        for name in self.predicates:
            out += [
                f"mov (M1_NM, 1) BITS(0,0)<1> {name}",
                f"add (M1_NM, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {at}:ud",
                "svm_block_st (1) AT(0,0)<0;1,0> BITS.0",
            ]
            at += 16
        return "\n".join([*out, "ret (M1, 1)", *self.subroutines, *self.functions]) + "\n"

    @property
    def size(self):
        return sum(data.size for _, data in self.variables.values())

    @property
    def _bits(self):
        """A dword for each predicate and one for the lanes that run, in whole registers."""
        bits = np.array([*self.predicates.values(), self.running or 0], "u4")
        return np.concatenate([bits, np.zeros(-bits.size % 16, "u4")]).view(np.uint8)

    def _moves(self, op, pointer):
        ends = itertools.accumulate(data.size for _, data in self.variables.values())
        moves = (
            self._move(op, pointer, n, end - d.size, d.size)
            for (n, (_, d)), end in zip(self.variables.items(), ends, strict=True)
        )
        return [*itertools.chain.from_iterable(moves)]

    def _move(self, op, pointer, name, at, size):
        """Lines that load or store all of a variable, whose bytes lie at an offset from a pointer."""
        for start in range(0, size, 128):
            yield f"add (M1_NM, 1) AT(0,0)<1> {pointer}(0,0)<0;1,0> {at + start}:ud"
            yield f"{op} ({min(size - start, 128) // 16}) AT(0,0)<0;1,0> {name}.{start}"

    def run(self, engine, check=None, observers=()):
        """Contents of the variables, as arrays of their types, of the predicates, as bits, and of the buffers, as bytes."""
        data = np.concatenate([*(d for _, d in self.variables.values()), self._bits])
        out = np.zeros(self.size + 16 * len(self.predicates) + 64, np.uint8)
        buffers = {name: contents.copy() for name, contents in self.buffers.items()}
        arguments = [data, out, *buffers.values(), *self.arguments]
        program = Program(
            image_of(self._text(), self.platform)
        )  # with a new address space, so that addresses do not depend on earlier runs
        if self.named:
            named = {name: BufferArgument(array.copy()) for name, array in self.named.items()}
            given = [BufferArgument(a) if isinstance(a, np.ndarray) else a for a in arguments] + [*named.values()]
            program.run(Launch("k", self.group, self.group, args=given, names=named), engine=engine)
            buffers |= {name: argument.array.view(np.uint8) for name, argument in named.items()}
        else:
            program.launch("k", self.group, self.group, arguments, engine=engine, check=check, observers=observers)
        found, at = dict(buffers), 0
        for name, (t, d) in self.variables.items():
            found[name] = out[at : at + d.size].view(DTYPES[t])
            at += d.size
        for name in self.predicates:
            found[name] = int(out[at : at + 4].view("u4")[0])
            at += 16
        return found


@functools.lru_cache(16)
def image_of(text, platform):
    """The image of a text, which the engines and examples of a test share; native code of it is cached in files."""
    return build_text(text, platform)


def translated(program, arguments, items=LANES, kernel="k"):
    """The fast engine's IR of a launch of one group of whole threads."""
    return translate(program.bind(Launch(kernel, (items,), (items,), args=arguments)), full=True).text


def run_on_both_engines(probe):
    """The contents of a probe's variables and buffers, which are the same on both engines."""
    one, other = (probe.run(engine) for engine in ENGINES)
    assert all(np.array_equal(one[name], other[name]) for name in one)
    return one


def same_on_both_engines(probe):
    """Both engines leave the same variables and buffers of a probe, or the same error."""
    outcomes = []
    for engine in ENGINES:
        try:
            found = probe.run(engine)
            outcomes.append([found[name].tolist() for name in ("DATA", "MEM", "OTHER")])
        except SimulationError as problem:
            outcomes.append(problem.diagnostics)
    assert outcomes[0] == outcomes[1]
