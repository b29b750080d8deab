"""Loops in OpenCL C whose work-items go through memory in ways of their own, compiled by ``ocloc``, with a model in numpy.

The territory is that of :mod:`fuzzing.loops`, as a compiler writes it. Signed numbers that would overflow are computed as
unsigned ones. Kernels that store to what they load from have launches of one thread, and no model: lanes go together.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fuzzing.guarded import guard_workers
from fuzzing.launches import Execution, Json, execute, packed
from fuzzing.loops import CPUS, MEMORY_BYTES, SCHEDULES
from fuzzing.target import Target
from vsim.ocloc import compiler_driver

Array = npt.NDArray[np.generic]
PLATFORMS = ("tgllp", "tgllp", "skl", "icllp", "dg2", "dg2")
TYPES = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "long": "i8",
    "ulong": "u8",
}
ITEMS = 256
"""Elements of the table."""
KERNELS, LAUNCHES = 2, 4


@dataclass
class Items:
    """The work-items of a launch, with what a kernel computes for each, by name."""

    values: dict[str, Array]

    def of(self, expression: str) -> Array:
        """An expression that is the same in C and in Python, on numbers that do not wrap around."""
        return eval(expression, {}, self.values)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Load:
    """An access of each round: an array, how far it is from the index, and how the guard is written."""

    array: str
    further: int
    guard: str
    stores: bool


class Kernel:
    """A kernel under a number in a source."""

    def __init__(self, source: random.Random, number: int) -> None:
        r = self.random = source
        self.name = f"k{number}"
        self.simd = r.choice((8, 16, 16, 32))
        self.counter, self.wraps = r.choice(list(TYPES)), r.random() < 0.4
        self.index = r.choice((self.counter, "int", "int", *TYPES))
        if self.wraps:
            self.counter = {"int": "uint", "long": "ulong"}.get(self.counter, self.counter)
            self.index = r.choice(("u", "")) + self.index.removeprefix("u")
        self.elements = {"a": r.choice(list(TYPES)), "b": r.choice(list(TYPES))}
        self.own = r.choice(
            (
                "g * -3 + s",
                "g * -1 + s",
                "s",
                "g * 5 + s",
                "t[g]",
                "t[g]",
                "x * 7 + y * 3 + s",
                "(g & 3) * 16 + s",
                "(g >> 1) * 33 + s",
            )
        )
        self.start = r.choice(("0", "0", "0", "g & 3", "g % 5", "t[g] & 7", "y & 1"))
        self.rounds = r.choice(("17", "23", "1 + g % 7 * 5", "1 + (t[g] & 31)", "40", "1 + (g & 1) * 36"))
        self.step = r.choice(("1", "1", "1", "2", "3"))
        self.control = (
            "fuel"
            if self.wraps and self.step != "1"
            else r.choice(("equal", "fuel") if self.wraps else ("less", "less", "less", "equal", "fuel"))
        )
        if self.control == "fuel" and r.random() < 0.5:
            self.step = r.choice(("1 + (g & 1)", "1 + y % 3", "1 + (t[g] & 1)"))
        if self.control == "equal":
            self.step = "1"
        self.skips = r.choice(("", "", "(k & 3) == 2", "(w & 1) == 1"))
        self.breaks = r.choice(("", "", "(w & 31) == 7"))
        self.outer, self.moved = r.choice((1, 1, 2, 3)), r.choice((0, 1, 16, -3))
        self.stores = r.random() < 0.2
        self.loads = [self._load() for _ in range(r.choice((1, 1, 2, 3)))]

    def _load(self) -> Load:
        r = self.random
        return Load(
            r.choice("aab"),
            r.choice((0, 0, 0, 1, 2, -1, 7)),
            r.choice(("both", "unsigned")),
            self.stores and r.random() < 0.6,
        )

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
                f"void {self.name}(global uint *o, {a}, {b}, global const int *t, int n, int m, int s, ulong far) {{",
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
        """What each work-item leaves in ``o``."""
        size = [*shape, 1, 1][:3]
        count = math.prod(size)
        g = np.arange(count)
        items = Items(
            {"g": g, "x": g % size[0], "y": g // size[0] % size[1], "s": np.int64(s), "t": arrays["t"].astype("i8")}
        )
        k_type, i_type = TYPES[self.counter], TYPES[self.index]
        big = np.array(far % 2**64, "u8")

        def number(expression: str) -> Array:
            return np.broadcast_to(np.asarray(items.of(expression), "i8"), (count,)).astype("u8")

        w = np.full(count, 5, "u4")
        own = (number(self.own) - (big if self.wraps else np.array(0, "u8"))).astype(i_type)
        for _ in range(self.outer):
            k, end = (
                (number(self.start) + big + more).astype(k_type) for more in (np.array(0, "u8"), number(self.rounds))
            )
            left = number(self.rounds)
            active = np.ones(count, bool)
            while True:
                more = {"less": k < end, "equal": k != end, "fuel": left > 0}[self.control]
                active = active & more
                if not active.any():
                    break
                here = active.copy()
                if self.skips:
                    here &= ~eval(self.skips, {}, {"k": k, "w": w})
                for load in self.loads:
                    w = self._loaded(load, w, here, own, k, arrays)
                if self.breaks:
                    active = active & ~(here & eval(self.breaks, {}, {"w": w}))
                k = (k.astype("u8") + number(self.step)).astype(k_type)
                left = left - np.array(1, "u8")
            own = (own.astype("u8") + np.array(self.moved % 2**64, "u8")).astype(i_type)
        return w

    def _loaded(self, load: Load, w: Array, here: Array, own: Array, k: Array, arrays: dict[str, Array]) -> Array:
        array = arrays[load.array]
        at = (own.astype("u8") + k.astype("u8") + np.array(load.further % 2**64, "u8")).astype(TYPES[self.index])
        inside = here & (at >= 0) & (at.astype("u8") < np.array(array.size, "u8"))
        if not array.size:
            return w
        data = array[np.where(inside, at, 0).astype("i8")].astype("u4")
        return np.where(inside, w * np.array(3, "u4") + data, w)  # type: ignore[operator]

    # -- launches ------------------------------------------------------------------------------------------------------

    def shapes(self) -> list[list[int]]:
        """Two shapes of groups."""
        n = self.simd
        if self.stores:
            return [[n], [n - 1]]
        return self.random.sample([[n], [n], [2 * n], [13], [2 * n + 3], [7, 3], [5, 3, 2], [n, 2], [4, 4]], 2)

    def launch(self, local: list[int], schedule: str) -> Json:
        """A launch: sizes, arguments, what is compared, and what is expected."""
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
        return {"kernel": self.name, "global_size": shape, "local_size": local, "arguments": arguments, "compare": compare,
                "schedule": schedule, "host_threads": r.choice((1, 1, 2)), "expected": expected}  # fmt: skip


def make(seed: int) -> bytes:
    """The input of a seed."""
    source = random.Random(f"source {seed}")
    kernels = [Kernel(source, n) for n in range(KERNELS)]
    schedules = source.choice(SCHEDULES)
    launches = []
    with np.errstate(over="ignore"):
        for kernel in kernels:
            shapes = kernel.shapes()
            launches += [kernel.launch(source.choice(shapes), source.choice(schedules)) for _ in range(LAUNCHES)]
    first, *more = launches
    fixed = {
        "source": True,
        "lenient": source.random() < 0.2,
        "cpu": source.choice(CPUS),
        "at_end": source.random() < 0.8,
    }
    text = "\n".join(kernel.text() for kernel in kernels) + "\n"
    return Execution(text, source.choice(PLATFORMS), more=more, **fixed, **first).to_bytes()  # type: ignore[arg-type]


def missing() -> str:
    """Why nothing can be tried here; empty if it can."""
    return "" if compiler_driver() else "the compiler driver ocloc is not installed"


Check = Callable[[bytes], str]
TARGETS = [
    Target(
        "source",
        "such loops in OpenCL C, compiled by ocloc, on both engines, which must do what a model does",
        make,
        execute,
        20,
        guard_workers,
        missing,
    )
]
__all__ = ["TARGETS", "make"]
