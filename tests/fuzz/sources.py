"""Loops in OpenCL C with one path through memory for each work-item, compiled by ``ocloc``, and a model in numpy.

The territory is that of :mod:`fuzz.loops`, as a compiler writes it. Signed numbers that would overflow are computed as
unsigned ones. Kernels that store to the memory of their loads have launches of one thread and no model.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fuzz.guarded import guard_workers
from fuzz.launches import PLAIN, Execution, Json, execute, packed
from fuzz.loops import CPUS, MEMORY_BYTES, SCHEDULES
from fuzz.target import Target
from visakit.compiler.ocloc import compiler_driver

Array = npt.NDArray[np.generic]
PLATFORMS = ("tgllp", "tgllp", "skl", "icllp", "dg2", "dg2")
TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8"}  # fmt: skip
ITEMS = 256
"""Elements of the table."""
LAUNCHES = 5
OWN = ("g * -3 + s", "g * -1 + s", "s", "g * 5 + s", "t[g]", "t[g]", "x * 7 + y * 3 + s", "(g & 3) * 16 + s", "(g >> 1) * 33 + s")  # fmt: skip
STARTS = ("0", "0", "g & 3", "g & 3", "g % 5", "t[g] & 7", "y & 1")
ROUNDS = ("17", "23", "40", "1 + g % 7 * 5", "1 + (t[g] & 31)", "1 + (g & 1) * 36")
"""What a work-item's index, its counter and its rounds begin with, in C and in Python."""


@dataclass(frozen=True)
class Load:
    """An access of each round: an array, how far it is from the index, and how the guard is written."""

    array: str
    further: int
    guard: str
    stores: bool


class Kernel:
    """A kernel of a seed."""

    def __init__(self, seed: int) -> None:
        r = self.random = random.Random(f"source {seed}")
        self.simd = r.choice((8, 16, 16, 32))
        self.counter, self.wraps = r.choice(("int", "int", "int", *TYPES)), r.random() < 0.4
        self.index = r.choice((self.counter, "int", "int", "int", "int", *TYPES))
        if self.wraps:
            self.counter = {"int": "uint", "long": "ulong"}.get(self.counter, self.counter)
            self.index = r.choice(("u", "")) + self.index.removeprefix("u")
        self.elements = {"a": r.choice(list(TYPES)), "b": r.choice(list(TYPES))}
        self.own, self.start, self.rounds = r.choice(OWN), r.choice(STARTS), r.choice(ROUNDS)
        self.step = r.choice(("1", "1", "1", "2", "3"))
        self.control = r.choice(("equal", "fuel") if self.wraps else ("less", "less", "less", "equal", "fuel"))
        if self.wraps and self.step != "1":  # It may never be equal.
            self.control = "fuel"
        if self.control == "fuel" and r.random() < 0.5:
            self.step = r.choice(("1 + (g & 1)", "1 + y % 3", "1 + (t[g] & 1)"))
        if self.control == "equal":
            self.step = "1"
        self.skips = r.choice(("", "", "", "", "(k & 3) == 2", "(w & 1) == 1"))
        self.breaks = r.choice(("", "", "", "(w & 31) == 7"))
        self.outer, self.moved = r.choice((1, 1, 2, 3)), r.choice((0, 1, 16, -3))
        self.stores = r.random() < 0.2
        self.loads = [self._load() for _ in range(r.choice((1, 1, 2, 3)))]

    def _load(self) -> Load:
        r, stores = self.random, self.stores and self.random.random() < 0.6
        return Load(r.choice("aab"), r.choice((0, 0, 0, 1, 2, -1, 7)), r.choice(("both", "unsigned")), stores)

    # -- C -----------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The kernel."""
        k, i = self.counter, self.index
        wide = "ulong" if i in ("long", "ulong") else "uint"
        own = f"({i})(({wide})({self.own}) - ({wide})far)" if self.wraps else f"({i})({self.own})"
        loads = [line for load in self.loads for line in self._lines(load, wide)]
        head = {
            "less": f"for ({k} k = start; k < end; k += {self.step})", "equal": f"for ({k} k = start; k != end; k++)",
            "fuel": f"{k} k = start; for (uint r = 0; r < ({self.rounds}); r++, k = ({k})((ulong)k + ({self.step})))",
        }[self.control]  # fmt: skip
        a, b = (f"global {'' if self.stores else 'const '}{self.elements[name]} *{name}" for name in "ab")
        body = [f"if ({self.skips}) continue;"] if self.skips else []
        body += [*loads, *([f"if ({self.breaks}) break;"] if self.breaks else [])]
        return "\n".join(
            [
                f"kernel __attribute__((intel_reqd_sub_group_size({self.simd})))",
                f"void k(global uint *o, {a}, {b}, global const int *t, int n, int m, int s, ulong far) {{",
                "int x = get_global_id(0), y = get_global_id(1), g = x + get_global_size(0) * (y + get_global_size(1) * get_global_id(2));",
                f"uint w = 5; {i} own = {own};",
                f"for (int q = 0; q < {self.outer}; q++) {{",
                f"{k} start = ({k})(({self.start}) + far), end = ({k})(({self.start}) + far + ({self.rounds}));",
                f"{head} {{",
                *body,
                "}",
                *([f"own = ({i})(({wide})own + ({wide}){self.moved}); o[g] = w;"] if self.moved else []),
                "}",
                "o[g] = w; }",
            ]
        )

    def _lines(self, load: Load, wide: str) -> list[str]:
        i, size = self.index, "n" if load.array == "a" else "m"
        sum_of = (
            f"({wide})own + ({wide})k + ({wide}){load.further}"
            if self.wraps or i != "int"
            else f"own + (int)k + {load.further}"
        )
        both = (
            f"i >= 0 && i < {size}" if not i.startswith("u") else f"i < ({'ulong' if i == 'ulong' else 'uint'}){size}"
        )
        guard = both if load.guard == "both" else f"(ulong)i < (ulong){size}"
        act = f"w = w * 3 + (uint){load.array}[i];"
        if load.stores:
            act = f"{{ {act} {load.array}[i] = w; }}"
        return [f"{{ {i} i = ({i})({sum_of}); if ({guard}) {act} }}"]

    # -- the model ---------------------------------------------------------------------------------------------------

    def model(self, shape: list[int], arrays: dict[str, Array], s: int, far: int) -> Array:
        """The results of all work-items in ``o``."""
        width, height, depth = [*shape, 1, 1][:3]
        g = np.arange(width * height * depth)
        names = {"g": g, "x": g % width, "y": g // width % height, "s": np.int64(s), "t": arrays["t"].astype("i8")}
        k_type, i_type, big = TYPES[self.counter], TYPES[self.index], np.uint64(far % 2**64)

        def number(expression: str) -> Array:
            """The value of an expression, which is the same in C and in Python, for each work-item; modulo 2**64."""
            return (eval(expression, {}, names) + 0 * g).astype("u8")  # type: ignore[no-any-return]

        w = np.full(g.size, 5, "u4")
        own = (number(self.own) - (big if self.wraps else np.uint64(0))).astype(i_type)
        start, rounds, step = map(number, (self.start, self.rounds, self.step))
        for _ in range(self.outer):
            k, end = ((start + big + more).astype(k_type) for more in (np.uint64(0), rounds))
            left, active = rounds, np.ones(g.size, bool)
            while (active := active & {"less": k < end, "equal": k != end, "fuel": left > 0}[self.control]).any():
                here = active & ~eval(self.skips, {}, {"k": k, "w": w}) if self.skips else active
                for load in self.loads:
                    w = self._loaded(load, w, here, own, k, arrays)
                if self.breaks:
                    active = active & ~(here & eval(self.breaks, {}, {"w": w}))
                k = (k.astype("u8") + step).astype(k_type)
                left = left - np.uint64(1)
            own = (own.astype("u8") + np.uint64(self.moved % 2**64)).astype(i_type)
        return w

    def _loaded(self, load: Load, w: Array, here: Array, own: Array, k: Array, arrays: dict[str, Array]) -> Array:
        array = arrays[load.array]
        at = (own.astype("u8") + k.astype("u8") + np.uint64(load.further % 2**64)).astype(TYPES[self.index])
        inside = here & (at >= 0) & (at.astype("u8") < np.uint64(array.size))
        if not array.size:
            return w
        data = array[np.where(inside, at, 0).astype("i8")].astype("u4")
        return np.where(inside, w * np.uint32(3) + data, w)  # type: ignore[operator]

    # -- launches ------------------------------------------------------------------------------------------------------

    def shapes(self) -> list[list[int]]:
        """Two shapes of groups."""
        n = self.simd
        if self.stores:
            return [[n], [n - 1]]
        return self.random.sample([[n], [n], [2 * n], [13], [2 * n + 3], [7, 3], [5, 3, 2], [n, 2], [4, 4]], 2)

    def launch(self, local: list[int], schedule: str) -> Json:
        """A launch: sizes, arguments, buffers to compare, and their expected contents."""
        r = self.random
        groups = 1 if self.stores else r.choice((1, 2, 3))
        shape = [local[0] * groups, *local[1:]]
        source = np.random.default_rng(r.getrandbits(32))
        arrays: dict[str, Array] = {}
        for name in "ab":
            dtype = np.dtype(TYPES[self.elements[name]])
            arrays[name] = source.integers(0, 256, r.choice(MEMORY_BYTES), "u1")
            arrays[name] = arrays[name][: arrays[name].size // dtype.itemsize * dtype.itemsize].view(dtype)
        falling, rows = (40 - r.choice((1, 3)) * np.arange(ITEMS)), r.choice((4, 31, 33)) * np.arange(ITEMS)
        arrays["t"] = r.choice((source.integers(-20, 500, ITEMS), falling, rows)).astype("i4")
        s = r.choice((0, -1, -5, -9, 3, 40, 200))
        bits = 8 * np.dtype(TYPES[self.counter]).itemsize
        far = r.choice((0, (1 << bits) - r.randrange(12), (1 << bits - 1) - r.randrange(12))) if self.wraps else 0
        same = self.elements["a"] == self.elements["b"] and r.random() < 0.5
        arrays |= {"b": arrays["a"]} if same else {}
        items = math.prod(shape)
        second: Json = {"part": [1, 0, arrays["a"].nbytes]} if same else {"bytes": packed(arrays["b"])}
        scalars: list[Json] = [
            {"scalar": int(x).to_bytes(size, "little", signed=x < 0).hex()}
            for x, size in ((arrays["a"].size, 4), (arrays["b"].size, 4), (s, 4), (far % 2**64, 8))
        ]
        arguments: list[Json] = [
            {"bytes": packed(np.zeros(items, "u4"))},
            {"bytes": packed(arrays["a"])},
            second,
            {"bytes": packed(arrays["t"])},
            *scalars,
        ]
        compare: Json = {
            str(n): [size, [["<u1", 0, size]]] for n, size in ((0, 4 * items), (1, arrays["a"].nbytes)) if size
        }
        expected = {} if self.stores else {"0": packed(self.model(shape, arrays, s, far))}
        return {"global_size": shape, "local_size": local, "arguments": arguments, "compare": compare,
                "schedule": schedule, "host_threads": r.choice((1, 1, 2)), "expected": expected}  # fmt: skip


def make(seed: int) -> bytes:
    """The input of a seed."""
    kernel = Kernel(seed)
    r, shapes = kernel.random, kernel.shapes()
    schedules = r.choice(SCHEDULES)
    first, *more = (kernel.launch(r.choice(shapes), r.choice(schedules)) for _ in range(LAUNCHES))
    fixed = {
        "kernel": "k",
        "source": True,
        "lenient": r.random() < 0.2,
        "cpu": r.choice(CPUS),
        "at_end": r.random() < 0.8,
        "options": r.choice(("", "", "", PLAIN)),
    }
    return Execution(kernel.text(), r.choice(PLATFORMS), more=more, **fixed, **first).to_bytes()  # type: ignore[arg-type]


def missing() -> str:
    """Why nothing can be tried here; empty if it can."""
    return "" if compiler_driver() else "the compiler driver ocloc is not installed"


def source_target(name: str, what: str, make: Callable[[int], bytes]) -> Target:
    """A target whose inputs are in OpenCL C and run on both engines."""
    return Target(name, what, make, execute, 20, guard_workers, missing)


TARGETS = [
    source_target(
        "source", "such loops in OpenCL C, compiled by ocloc, on both engines, which must agree with a model", make
    )
]
__all__ = ["TARGETS", "make"]
