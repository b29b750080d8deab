"""Kernels in OpenCL C whose work-items go over memory each by itself, look up small tables, and compute with 64 bits
under masks; compiled by ``ocloc``.

The fast engine gives their threads fewer lanes, loads whole tables, and joins instructions that the compiler has split.
Each work-item writes to its own places, and reads what no other one writes, so that all orders give the same.
"""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Callable

import numpy as np

from fuzz.launches import PLAIN, Execution, Json, packed
from fuzz.loops import CPUS
from fuzz.sources import TYPES, source_target
from visakit.compiler.devices import known_devices
from visakit.language.platforms import find

PLATFORMS = ("tgllp", "tgllp", "skl", "icllp", "dg2", "dg2", "pvc", "bmg", "bmg", "bmg")
NUMBERS, ROWS, OWN, TABLE = 1024, 257, 64, 300
"""Elements: of the data, of the starts of rows, of each work-item's part of an output, of a table."""
LAUNCHES = 4
HEAD = """kernel __attribute__((intel_reqd_sub_group_size(SIMD)))
void k(global uint *o, global const uint *in, global const uint *idx, global const uint *row, global const uint *place,
       global const ELEMENT *t0, global ulong *big, uint n) {
uint x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);
uint g = x + width * (y + get_global_size(1) * get_global_id(2)), v = g, w = n;
"""
WIDE = """v = in[g & 511];
ulong q = v * 0x9E3779B97F4A7C15ul, p = ((ulong)in[(g * 7) & 511] << 32) | idx[g & 255];
"""


class Kernel:
    """A kernel of a seed."""

    def __init__(self, seed: int) -> None:
        r = self.random = random.Random(f"lane {seed}")
        self.simd = r.choice((8, 16, 16, 32))
        self.element, self.shift = r.choice(list(TYPES)), r.choice((0, 0, 0, 3, 40))
        self.loops = 0
        forms: list[Callable[[], list[str]]] = [
            *[self.row] * 2, self.chain, self.walk, self.columns, *[self.table] * 2, *[self.wide] * 2, self.copy, self.stack,
        ]  # fmt: skip
        main, count = r.choice(forms), r.choice((1, 1, 1, 1, 1, 2, 4))
        self.lines = [line for _ in range(count) for line in r.choice((main, main, r.choice(forms)))()]

    # -- expressions -------------------------------------------------------------------------------------------------

    def number(self) -> str:
        """A number of 32 bits."""
        literal = f"{self.random.getrandbits(self.random.choice((3, 8, 32)))}u"
        return self.random.choice(("v", "v", "w", "g", "x", "y", "n", literal))

    def sum(self) -> str:
        """An expression of 32 bits."""
        a, b = self.number(), self.number()
        forms = (a, f"({a} + {b})", f"({a} ^ {b} * 5)", f"({a} >> 3)", f"({a} - {b})", f"min({a}, {b})", f"({a} | {b})")
        return self.random.choice(forms)

    def condition(self) -> str:
        """Lanes differ in it."""
        r = self.random
        bit = f"{self.sum()} & {1 << r.randrange(6)}"
        return r.choice((bit, f"{self.sum()} < {self.number()}", f"(int){self.sum()} > 5"))

    # -- loops -------------------------------------------------------------------------------------------------------

    def change(self) -> str:
        """A statement in a loop."""
        r = self.random
        simple = f"v += {self.sum()};", f"w ^= {self.sum()};", f"if ({self.condition()}) w += {self.sum()};"
        chosen = f"v = {self.condition()} ? {self.sum()} : v;"
        return r.choice((*simple, chosen, self.wide()[0], self.table()[0]))

    def loop(self, limit: int) -> tuple[str, str]:
        """The counter of a loop from a row's start to its end, which lanes leave one by one, and the loop's head."""
        self.loops += 1
        i = f"i{self.loops}"
        rows, counts = (
            (("row[g]", "row[g + 1]"), ("row[y]", "row[y + 1]")),
            (f"row[g] % {limit}", f"1 + (v & {limit - 1})"),
        )
        start, end = self.random.choice((*rows, *(("0", count) for count in counts)))
        return i, f"for (uint {i} = {start}, e = min({end}, {i} + {limit}); {i} < e; {i}++)"

    def row(self) -> list[str]:
        """A row of a sparse matrix."""
        r = self.random
        i, head = self.loop(r.choice((8, 32, OWN)))
        at = r.choice((f"idx[{i}]", f"idx[{i} & 511] * 2", f"idx[idx[{i}]]", i, f"({i} * 16 + x) & 511"))
        leave = r.choice(("", "", f"if ({self.condition()}) break;"))
        more = r.choice(("", "", "", "", self.change(), f"o[own + ({i} & {OWN - 1})] = v;"))
        return [f"{head} {{ v {r.choice('+^')}= in[{at}] * {r.choice((f'in[{i}]', '3', 'w'))}; {more} {leave} }}"]

    def chain(self) -> list[str]:
        """A list whose elements say which one is next."""
        more = self.random.choice(("", self.change(), "o[own + k] = at;"))
        head = f"uint at = idx[g & 255], k = 0; while (k < {OWN} && (in[at] & 7) != {self.random.randrange(8)})"
        return [f"{{ {head} {{ at = idx[at]; v += at; {more} k++; }} w += k; }}"]

    def walk(self) -> list[str]:
        """Each work-item writes a row, element by element."""
        r = self.random
        count = r.choice(("n % 60", "60", "17", "64", "n & 31"))
        data = ("v += in[k]", "v + k", "in[k * 8 + (g & 7)] + w", "v = v * 3 + in[(g + k) & 511]", self.sum())
        return [f"for (uint k = 0; k < {count}; k++) o[own + k{r.choice(('', '', ' % 48'))}] = {r.choice(data)};"]

    def columns(self) -> list[str]:
        """Work-items go through a row together, each in its column."""
        r = self.random
        i, head = self.loop(32)
        factor, more = r.choice(("v", i, f"in[{i}]")), r.choice(("", self.change()))
        return [f"{head} {{ w += in[idx[{i}] / 16 * 16 + (x & 15)] {r.choice('*+^')} {factor}; {more} }}"]

    def copy(self) -> list[str]:
        """Elements that a work-item has stored itself, as of an LZ77 code."""
        r = self.random
        far, more = r.choice(("1 + (in[k] & 3)", "1", "4", "1 + (v & 7)")), r.choice(("1", "k", "in[idx[k]]"))
        head = "for (uint k = 8, e = 8 + (idx[g & 255] & 31); k < e; k++)"
        return [f"{head} o[own + k] = o[own + k - ({far})] + {more};", *r.choice(([], ["w += o[own + 9];"]))]

    def stack(self) -> list[str]:
        """A search with a stack in a private array, which each work-item goes through by itself."""
        r = self.random
        self.loops += 1
        d, left, s, depth = f"d{self.loops}", f"left{self.loops}", f"s{self.loops}", r.choice((4, 8, 16))
        kind = r.choice(("uint", "uint", "uint", "int", "float", "ushort", "uchar", "ulong"))
        pop = r.choice((f"({self.sum()} >> {r.randrange(4)}) & 1", f"({s}_top & 3) == 0", self.condition()))
        push = r.choice((f"{s}_top >> 1", f"{s}_top * 3 + v", f"in[{s}_top & 511]", self.sum()))
        more = r.choice(
            ("", "", self.change(), f"{s}[{r.randrange(depth)}] = {d};", f"v += {s}[{self.sum()} & {depth - 1}];")
        )
        return [
            f"{kind} {s}[{depth}]; for (int k = 0; k < {depth}; k++) {s}[k] = k; {s}[0] = v; int {d} = 0;",
            f"for (uint {left} = idx[g & 255] & 63; {d} >= 0 && {left}; {left}--) {{",
            f"uint {s}_top = {s}[{d}]; if ({pop}) {{ {d}--; w += {s}_top; continue; }} {s}[{d}] = {s}_top >> 1; {more}",
            f"if ({d} < {depth - 1}) {s}[++{d}] = {push}; else w ^= {s}_top; }}",
        ]

    # -- straight lines ----------------------------------------------------------------------------------------------

    def table(self) -> list[str]:
        """Elements of a table."""
        r, a = self.random, self.sum()
        mask = r.choice((1, 3, 7, 15, 31, 63, 63, 127, 255))
        ands = f"{a} & {mask}", f"({a} & {mask}) + {r.choice((1, 8, 40))}", f"w * {r.choice((3, 5))} & {mask}"
        others = f"{a} >> {r.choice((24, 26, 28, 30))}", f"(uchar){a}", f"{a} % {mask + 1}", f"min({a}, {mask}u)"
        found = f"(uint){r.choice(('t', 't', 'c', 'in'))}[{r.choice((*ands, *others))}]"
        line = f"{r.choice('vw')} = {r.choice('vw')} {r.choice(('* 3 +', '^', '+', '<< 1 |'))} {found};"
        line = f"if ({self.condition()}) {line}" if r.random() < 0.3 else line
        return [line, *r.choice(([], [f"v ^= t[(w >> {r.choice((0, 6, 12))}) & 63];"]))]

    def wide(self) -> list[str]:
        """Numbers of 64 bits: products, carries and halves."""
        r, s = self.random, self.sum()
        q, p = r.choice((("q", "p"), ("p", "q"), ("q", "q")))
        results = [
            f"mul_hi({q}, {p}) + {s}", f"{q} * {p} + {s}", f"{q} + {p}", f"{q} - ({p} ^ {s})", f"({q} << 32) | {s}",
            f"({q} & 0xFFFFFFFF00000000ul) | {s}", f"({q} & 0xFFFFFFFFul) | ((ulong)({s}) << 32)",
            f"as_ulong(as_uint2({p}).yx)", f"({q} >> ({s} & 63)) | {p}", f"{q} < {p} ? {p} - {q} : {q} + {s}",
            f"mad_hi({q}, {p}, {q})", f"(long){q} >> 7",
        ]  # fmt: skip
        narrow = f"v += (uint)({q} >> 32);", f"w = as_uint2({q}).x + as_uint2({p}).y;", f"v = {q} > {p};"
        line = r.choice((*(f"{q} = {result};" for result in results), *narrow))
        if r.random() < 0.4:
            line = f"if ({self.condition()}) {line}"
        return [f"for (uint k = 0; k < (v & 7); k++) {{ {line} v = v * 5 + 1; }}" if r.random() < 0.15 else line]

    def text(self) -> str:
        """The kernel."""
        constants = ", ".join(str(self.random.getrandbits(8)) for _ in range(TABLE))
        has_wide = any(re.search(r"\b[pq]\b", line) for line in self.lines)
        return "\n".join(
            [
                f"constant uchar c[{TABLE}] = {{ {constants} }};",
                HEAD.replace("SIMD", str(self.simd)).replace("ELEMENT", self.element),
                f"global const {self.element} *t = t0 + {self.shift};",
                f"uint own = {self.random.choice((f'g * {OWN}', 'place[g]', 'place[g]'))};",
                WIDE if has_wide else "",
                *self.lines,
                "big[g] = q ^ p * 3;" if has_wide else "",
                f"o[own + {OWN - 1}] = v ^ w * 3; }}",
            ]
        )

    # -- launches ----------------------------------------------------------------------------------------------------

    def launch(self, local: list[int], groups: int) -> Json:
        """A launch: its sizes, arguments and compared arrays."""
        r, source = self.random, np.random.default_rng(self.random.getrandbits(32))
        shape = [local[0] * groups, *local[1:]]
        items = math.prod(shape)
        rows = np.cumsum(source.integers(0, r.choice((2, 5, 20)), ROWS)) % 900
        elements = r.choice((*[TABLE] * 5, *(self.shift + count for count in (64, 65, 48, 16))))
        arrays = [
            np.zeros(items * OWN, "u4"), source.integers(0, 1 << r.choice((4, 32)), NUMBERS, "u4"),
            source.integers(0, NUMBERS // 2, NUMBERS, "u4"), rows.astype("u4"),
            source.permutation(items).astype("u4") * OWN,
            np.frombuffer(source.bytes(elements * np.dtype(TYPES[self.element]).itemsize), "u1"), np.zeros(items, "u8"),
        ]  # fmt: skip
        arguments: list[Json] = [{"bytes": packed(a)} for a in arrays]
        arguments.append({"scalar": r.choice((0, 1, 5, 31, 1000)).to_bytes(4, "little").hex()})
        compare: Json = {str(n): [arrays[n].nbytes, [["<u1", 0, arrays[n].nbytes]]] for n in (0, 6)}
        return {"global_size": shape, "local_size": local, "arguments": arguments, "compare": compare,
                "host_threads": r.choice((1, 1, 2))}  # fmt: skip


@functools.cache
def platforms(simd: int) -> list[str]:
    """Those that the installed compiler has, with threads of so many lanes."""
    known = {found.name for device in known_devices() if (found := find(device))}
    return [name for name in PLATFORMS if name in known and (simd > 8 or find(name).grf_size == 32)]


def make(seed: int) -> bytes:
    """The input of a seed."""
    kernel = Kernel(seed)
    r, n, text = kernel.random, kernel.simd, kernel.text()
    shapes = [[n], [2 * n], [13], [3], [2 * n + 3], [7, 3], [5, 3, 2], [8, 4], [16, 2], [8, 2, 2], [4, 8]]
    shapes = r.sample(shapes, 2)
    first, *more = (kernel.launch(r.choice(shapes), r.choice((1, 2, 3))) for _ in range(LAUNCHES))
    fixed = {"kernel": "k", "source": True, "cpu": r.choice(CPUS), "at_end": r.random() < 0.8}
    fixed["options"] = r.choice(("", "", "", PLAIN))
    return Execution(text, r.choice(platforms(n)), more=more, **fixed, **first).to_bytes()  # type: ignore[arg-type]


TARGETS = [
    source_target(
        "lane",
        "kernels in OpenCL C whose lanes stray, walk, look up tables and carry, on both engines, which must agree",
        make,
    )
]
__all__ = ["TARGETS", "make"]
