"""Kernels in OpenCL C of the forms that a pass of the fast engine is for: many functions of floats; lanes that leave
loops one by one, with and without threads of one lane; state machines; elements by the number of the group; rotations
and operations on qwords that compilers write for each half; long code on words; private loops between close barriers.

Each text has one form, as the passes look at whole kernels. Each work-item writes to its own places alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np

from fuzz.lanes import platforms
from fuzz.launches import PLAIN, Execution, Json, packed
from fuzz.sources import source_target

CPUS = ("x86-64-v3", "x86-64-v3", "x86-64-v4", "x86-64-v4", "")
NUMBERS, OWN, ROWS = 1024, 32, 600
"""Elements: of the data, of each work-item's part of an output, of the starts of rows."""
LAUNCHES = 3
STANDARD = "-cl-std=CL2.0"
HEAD = """kernel __attribute__((intel_reqd_sub_group_size({simd}))) {size}
void k(global uint *o, global const uint *in, global const uint *idx, global const uint *row, global ulong *big,
       uint n) {{
uint x = get_global_id(0), lx = get_local_id(0), width = get_global_size(0);
uint g = x + width * (get_global_id(1) + get_global_size(1) * get_global_id(2));
uint own = g * {own}, v = in[g & 511], w = n;
"""


class Form:
    """A text of a seed.

    Attributes:
        platform, cpu: whose code mostly has the form; empty for any.
        local: the size of work-groups in every launch; empty for any.
        is_fixed: whether the text says this size.
        groups: how many there are.
    """

    def __init__(self, seed: int) -> None:
        r = self.random = random.Random(f"form {seed}")
        self.simd = r.choice((8, 16, 16, 16, 32))
        self.platform = self.cpu = ""
        self.is_fixed = False
        self.local: list[int] = []
        self.groups: tuple[int, ...] = (1, 2, 5)
        forms = (
            self.functions, self.leaving, self.leaving, self.choosing, self.streaming, self.streaming,
            *[self.halves] * 3, *[self.words] * 2, self.meeting,
        )  # fmt: skip
        self.lines = r.choice(forms)()

    def pick(self, *choices: str) -> str:
        """One of these."""
        return self.random.choice(choices)

    def literal(self, bits: int = 32) -> str:
        """A number."""
        return f"{self.random.getrandbits(self.random.choice((3, bits)))}u"

    def statements(self, make: Callable[[], str], least: int, most: int) -> list[str]:
        """So many of them."""
        return [make() for _ in range(self.random.randrange(least, most))]

    # -- floats --------------------------------------------------------------------------------------------------

    def functions(self) -> list[str]:
        """Many powers, logarithms and sines, equal ones among them."""
        names = self.random.sample(("exp2", "log2", "sin", "cos", "powr", "rsqrt", "exp", "log"), 3)

        def call() -> str:
            name, a, to = self.pick(*names), self.pick("p", "q", "p * q", "s", "p + 0.5f"), self.pick("p", "q", "s")
            given = f"{a}, {self.pick('p', 'q', '2.5f')}" if name == "powr" else a
            line = f"{to} {self.pick('=', '+=', '-=')} native_{name}({given});"
            return line if self.random.random() < 0.85 else f"if (v & {1 << self.random.randrange(5)}) {line}"

        least, self.cpu = 2800 // self.simd, CPUS[0]  # With wider vectors, twice as many are many.
        body = self.statements(call, least, 2 * least)
        return [
            "float p = (int)v * 0x1p-28f, q = as_float(in[(g + 3) & 511] & 0x7FFFFFFF), s = 1;",
            *body,
            *(f"if (!isnan({a})) {to} ^= as_uint({a});" for a, to in ("pv", "qw", "sw")),  # Signs of NaN are any.
        ]

    # -- lanes that stray ----------------------------------------------------------------------------------------

    def leaving(self) -> list[str]:
        """A loop that lanes leave one by one; perhaps of loads from the memory that it stores to."""
        r = self.random
        back = r.random() < 0.7
        self.platform = "tgllp" if back else ""
        source = (
            self.pick("o[own + (c & 31)]", "o[own + (i & 31)]") if back else self.pick("in[c]", "in[(c * 7) & 511]")
        )
        kinds = [f"o[own + (c & 31)] = {source} + i;", f"v += {source};", "v ^= in[c];", "c = idx[c];"]
        kinds += [
            f"if (v & {1 << r.randrange(4)}) o[own + (i & 31)] = c;",
            "((global uchar *)o)[own * 4 + (c & 127)] = i;",
        ]
        body = r.sample(kinds, r.choice((2, 3, 3)))
        end = self.pick("row[g + 1]", "row[g] + (v & 15)", "row[g] + (idx[g & 255] & 31)")
        leave = self.pick("", "", f"if ((v & 15) == {r.randrange(16)}) break;")
        return [f"for (uint i = row[g], e = {end}; i < e; i++) {{ uint c = idx[i & 511]; {' '.join(body)} {leave} }}"]

    def choosing(self) -> list[str]:
        """A state machine, in which each lane goes its own way."""
        r, states = self.random, self.random.choice((8, 9, 12))

        def case() -> str:
            steps = (
                f"v = v * {self.literal(8)} + c;", f"state = (c >> 2) % {states};", "at += c & 3;",
                "w ^= in[(v >> 3) & 511];",
                "o[own + (k & 31)] = v;", f"state = v & 1 ? {r.randrange(states)} : {r.randrange(states)};", "k++;",
            )  # fmt: skip
            return " ".join(r.sample(steps, r.randrange(1, 4)))

        cases = [f"case {n}: {case()} break;" for n in range(states)]
        return [
            "uint at = row[g], k = 0, state = v & 7;",
            f"for (uint e = at + (idx[g & 255] & {self.pick('31', '63')}), left = 80; at < e && left; left--) {{",
            f"uint c = in[at & 511]; at++; switch (state) {{ {' '.join(cases)} default: state = 0; }} }}",
            "w += state + k * 5;",
        ]

    # -- addresses and qwords ------------------------------------------------------------------------------------

    def streaming(self) -> list[str]:
        """Elements at the number of the group, many groups of them."""
        r = self.random
        self.groups, self.platform = (40, 70), "bmg"
        self.local = r.choice(([16], [32], [64]))
        kinds = (
            "ulong at = get_group_id(0) * (ulong)get_local_size(0) + lx;", "size_t at = get_global_id(0);",
            f"long at = (long)get_group_id(0) * {self.local[0]} + lx;",
            "ulong at = (ulong)(get_group_id(0) * n & 255) + lx;",
        )  # fmt: skip
        load = self.pick("in[at & 1023]", "vload2(at & 255, in).y", "in[min((ulong)at, 1023ul)]", "in[at % 1000]")
        return [
            f"{{ {r.choice(kinds)} v += {load}; w ^= row[at % {ROWS}]; o[own] = (uint)(at >> 32) + idx[at & 511]; }}"
        ]

    def halves(self) -> list[str]:
        """Bits of qwords: operations that compilers write for each half, and rotations by any counts."""
        r = self.random
        names, self.platform = ["a", "b", "c", "d"], self.pick("bmg", "bmg", "")
        stored = r.random() < 0.4

        def line() -> str:
            to, x, y, z = (r.choice([*names, "m[k & 7]", "m[v & 7]"] if stored else names) for _ in range(4))
            count = self.pick("v", "n", "lx", f"{r.randrange(64)}", "row[g]", "-v")
            forms = (
                f"{x} ^ {y}", f"{x} & ~{y}", f"{x} | {y}", f"({x} & {y}) ^ ({x} & {z})",
                f"rotate({x}, (ulong)({count}))",
                f"({x} << ({count} & 63)) | ({x} >> (64 - ({count} & 63) & 63))", f"v & 1 ? {x} : {y}",
                f"{x} ^ {self.literal(64)}l", f"bitselect({x}, {y}, {z})", f"as_ulong(as_uint2({x}).yx) ^ {y}",
                f"(ulong)rotate((uint){x}, (uint)({count})) | {y} << 32", f"{x} < {y} ? {x} : {z}", f"~{x}",
                f"{x} + {y}",
            )  # fmt: skip
            found = f"{to} = {r.choice(forms)};"
            return f"if (v & {1 << r.randrange(4)}) {found}" if r.random() < 0.15 else found

        body = " ".join(self.statements(line, 4, 25))
        loop = f"for (uint k = 0; k < {self.pick('(n & 7) + 1', '5', '(v & 7)')}; k++) {{ {body} v = v * 5 + 1; }}"
        return [
            "ulong a = v * 0x9E3779B97F4A7C15ul, b = ((ulong)in[(g * 7) & 511] << 32) | idx[g & 255], c = g, d = ~0ul;",
            *(["ulong m[8]; for (uint k = 0; k < 8; k++) m[k] = a * k ^ b;"] if stored else []),
            loop,
            f"big[g] = {self.pick('a ^ b', 'a + b * 3', 'b & ~c')}; v ^= (uint)(c >> 32);",
            "w ^= (uint)(a >> 17) + (uint)d;",
            *(["big[g] ^= m[3] + m[7];"] if stored else []),
        ]

    # -- long code on words, and barriers --------------------------------------------------------------------------

    def words(self) -> list[str]:
        """Long straight code on words and bytes: quotients by constants, saturation, choices."""
        r, signed = self.random, self.random.random() < 0.25
        t, count = self.pick("ushort", "ushort", "uchar"), r.choice((1, 3))
        t = t[1:] if signed else t
        names, factors = [f"a{n}" for n in range(24)], r.sample((3, 5, 7, 10, 15, 17, 100, 127, 251, 255), 3)

        def line() -> str:
            to, x, y, z = r.sample(names, 4)
            forms = (
                f"{x} / ({t}){r.choice(factors)}", f"{x} % ({t}){r.choice(factors)}", f"add_sat({x}, {y})",
                f"sub_sat({x}, {y})",
                f"{x} > {y} ? {z} : {x}", f"max({x}, {y})", f"abs_diff({x}, {y})", f"({x} * {y} + 127) / 255",
                f"{x} * {z} + {y}", f"{x} >> {r.randrange(8)}", f"{x} ^ {y}", f"rhadd({x}, {y})", f"mul_hi({x}, {y})",
            )  # fmt: skip
            found = f"{to} = ({t})({r.choice(forms)});"
            return f"if (v & {1 << r.randrange(4)}) {found}" if r.random() < 0.01 else found

        loads = [f"{t} {name} = ({t})(in[(g + {n}) & 511] >> {n});" for n, name in enumerate(names)]
        rounds = self.statements(line, 50, 100 * count)
        return [
            *loads,
            *rounds,
            *(f"v = v * 31 + {a};" for a in names[::2]),
            *(f"w ^= {a} << {n};" for n, a in enumerate(names)),
        ]

    def meeting(self) -> list[str]:
        """Functions of work-groups, and sums by way of local memory, with many barriers and private loops."""
        r, lanes = self.random, self.random.choice((2, 2, 4, 4, 8)) * self.simd
        self.is_fixed = True
        self.local = [lanes] if r.random() < 0.7 or lanes < 32 else [lanes // 2, 2]
        place = "get_local_linear_id()"
        steps: list[Callable[[], str]] = [
            lambda: f"v ^= work_group_{self.pick('reduce_add', 'scan_inclusive_add', 'reduce_max')}(v + w);",
            lambda: f"w += work_group_{self.pick('scan_exclusive_add', 'reduce_min', 'scan_inclusive_max')}(v & 0xFF);",
            lambda: f"l[{place}] = v; barrier(CLK_LOCAL_MEM_FENCE); w ^= l[({place} + {r.randrange(1, 40)}) % {lanes}];"
                    " barrier(CLK_LOCAL_MEM_FENCE);",
            lambda: f"v ^= work_group_broadcast(w, {r.randrange(4)}{', 0' if len(self.local) > 1 else ''});",
            lambda: f"for (uint k = 0; k < (v & {self.pick('3', '15')}); k++) w = w * 3 + in[(w + k) & 511];",
            lambda: f"if (v & {1 << r.randrange(4)}) v = v * 7 + w;",
            lambda: f"for (uint s = {lanes // 2}; s > 0; s >>= 1) {{ l[{place}] = w; barrier(CLK_LOCAL_MEM_FENCE); "
                    f"if ({place} < s) w += l[{place} + s]; barrier(CLK_LOCAL_MEM_FENCE); }}",
            lambda: "for (uint k = 0; k < (n & 7); k++) { v = v * 5 + k; barrier(CLK_LOCAL_MEM_FENCE); }",
        ]  # fmt: skip
        return [f"local uint l[{lanes}];", *self.statements(lambda: r.choice(steps)(), 3, 14)]

    # -- the whole ------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The kernel."""
        sizes = [*self.local, 1, 1][:3]
        fixed = f"__attribute__((reqd_work_group_size({', '.join(map(str, sizes))})))" if self.is_fixed else ""
        head = HEAD.format(simd=self.simd, own=OWN, size=fixed)
        return "\n".join([head, *self.lines, f"o[own + {OWN - 1}] = v ^ w * 3; }}"])

    def launch(self, local: list[int], groups: int) -> Json:
        """A launch: its sizes, arguments and compared arrays."""
        r, source = self.random, np.random.default_rng(self.random.getrandbits(32))
        shape = [local[0] * groups, *local[1:]]
        items = math.prod(shape)
        rows = np.minimum(np.cumsum(source.integers(0, r.choice((2, 5, 20)), max(ROWS, items + 1))) % 900, 1000)
        arrays = [
            np.zeros(items * OWN, "u4"), source.integers(0, 1 << r.choice((4, 32)), NUMBERS, "u4"),
            source.integers(0, NUMBERS // 2, NUMBERS, "u4"), rows.astype("u4"), np.zeros(items, "u8"),
        ]  # fmt: skip
        arguments: list[Json] = [{"bytes": packed(a)} for a in arrays]
        arguments.append({"scalar": r.choice((0, 1, 5, 31, 64, 1000)).to_bytes(4, "little").hex()})
        compare: Json = {str(n): [arrays[n].nbytes, [["<u1", 0, arrays[n].nbytes]]] for n in (0, 4)}
        return {"global_size": shape, "local_size": local, "arguments": arguments, "compare": compare,
                "host_threads": r.choice((1, 1, 2))}  # fmt: skip


def make(seed: int) -> bytes:
    """The input of a seed."""
    form = Form(seed)
    r, n, text = form.random, form.simd, form.text()
    shapes = [form.local] if form.local else r.sample(([n], [n], [2 * n], [13], [2 * n + 3], [7, 3], [8, 4]), 2)
    first, *more = (form.launch(r.choice(shapes), r.choice(form.groups)) for _ in range(LAUNCHES))
    fixed = {"kernel": "k", "source": True, "cpu": form.cpu or r.choice(CPUS), "at_end": r.random() < 0.8}
    fixed["options"] = r.choice((STANDARD, STANDARD, STANDARD, STANDARD, f"{STANDARD} {PLAIN}"))
    known = platforms(n)
    platform = form.platform if form.platform in known and r.random() < 0.8 else r.choice(known)
    return Execution(text, platform, more=more, **fixed, **first).to_bytes()  # type: ignore[arg-type]


TARGETS = [
    source_target(
        "form",
        "kernels in OpenCL C of the forms that passes of the fast engine are for, on both engines, which must agree",
        make,
    )
]
__all__ = ["TARGETS", "make"]
