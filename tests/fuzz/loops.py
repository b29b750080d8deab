"""Loops in which each lane has its own path through memory: counters of every width with starts, steps and ends for
each lane, that wrap around; guards on the index; lanes that leave, come back, or join in the middle; several loads a round;
stores, in place and through overlapping arguments.

A text is executed with several launches, whose data decide where lanes begin and how many there are. Threads write
no memory that others read: texts that store to the memory of their loads have launches of one thread.
"""

from __future__ import annotations

import random

import numpy as np
from support.scalar import DTYPES, SIZES

from fuzz.guarded import guard_workers
from fuzz.launches import Execution, Json, execute, packed
from fuzz.messages import LSC
from fuzz.records import LANES, Variable, moves, place_of
from fuzz.target import Target
from visakit.language.platforms import find

PLATFORMS = ("tgllp", "tgllp", "skl", "icllp", "xehp", "dg2", "bmg", "bmg", "pvc")
COUNTERS = ("d", "d", "d", "ud", "ud", "w", "uw", "b", "ub", "q", "uq")
LAUNCHES = 10
CPUS = ("", "", "x86-64-v2", "x86-64-v3", "x86-64-v4")
SCHEDULES = (("",), ("",), ("",), ("reverse", "random:1", "random:2"), ("round-robin",))
"""Orders of the launches of a text, for which it is compiled once."""
MEMORY_BYTES = (0, 1, 2, 3, 4, 7, 12, 31, 33, 64, 100, 127, 256, 500, 1023, 1024, *(4096,) * 8, 4099)
INPUTS = ("IN", "OUT", "MEM", "OTHER")
"""Buffers, which are the surfaces from T6 on, too; a scalar is behind them: the threads of a group."""
SCALARS = ("S", "TURN", "BYTES")
"""Numbers that all lanes share, qwords of a record: a counter of the thread, bits that rotate, bytes of the memory."""


class Loop:
    """A text of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"loop {seed}")
        self.platform = self.random.choice(PLATFORMS)
        self.register = find(self.platform).grf_size
        self.simd = self.random.choice((16, 16, 32) if self.register == 64 else (8, 16, 16, 32))
        self.counter, self.index = self.random.choice(COUNTERS), self.random.choice(COUNTERS)
        if self.random.random() < 0.6:
            self.index = self.counter
        self.variables = [
            Variable("K", self.counter), Variable("OWN", self.index), Variable("STEP", self.counter), Variable("LEFT", "d"),
            Variable("BITS", "ud"), Variable("TOTAL", "ud"), Variable("DATA", "ud", 2 * LANES), Variable("AGAIN_LEFT", "d"),
            Variable("TIMES", "d"), Variable("SCALARS", "q", 8),
        ]  # fmt: skip
        self.form = self.random.choice(("own + k", "own + k", "own + k", "own + s", "own + s", "k"))
        """How most accesses of the text count."""
        self.stores = self.random.random() < 0.25
        self.labels = 0
        self.schedules = self.random.choice(SCHEDULES)
        n = self.simd
        of_one_thread = [[1], [3], [n - 1], [n]]
        shapes = [[n], [n], [n], [5], [2 * n], [2 * n + 3], [7, 3], [5, 3, 2], [n, 2], [3, n]]
        self.shapes = self.random.sample(of_one_thread if self.stores else shapes, 2)
        """Groups of the launches: shapes that differ are compiled apart."""

    @property
    def record(self) -> int:
        """Bytes of the variables of a thread."""
        return sum(v.bytes for v in self.variables)

    # -- instructions of all lanes -----------------------------------------------------------------------------

    def place(self, lane: int, size: int) -> str:
        """Row and column of a lane's element."""
        return place_of(lane, size, self.register)

    def all_lanes(self, line: str, widest: int = 4, nm: bool = False) -> list[str]:
        """An instruction for all lanes, in as many pieces as registers of two let it.

        Args:
            line: the instruction, with ``{m}`` for mask and size, and behind the names of its operands the bytes of an
                element, as ``K@4``.
            widest: bytes of the largest element.
            nm: whether lanes that do not run take part.
        """
        each = min(self.simd, 16, 2 * self.register // widest)
        found = []
        for lane in range(0, self.simd, each):
            text = line.replace("{m}", f"(M{1 + lane // 4}{'_NM' if nm else ''}, {each})")
            for size in (1, 2, 4, 8):
                text = text.replace(f"@{size}", self.place(lane, size))
            found.append(text)
        return found

    def convert(self, target: str, to: str, source: str, of: str, shift: int = 0) -> list[str]:
        """Lines that widen or narrow a variable, or copy it, and shift it."""
        size, other = SIZES[to], SIZES[of]
        lines = self.all_lanes(f"mov {{m}} {target}@{size}<1> {source}@{other}<1;1,0>", max(size, other))
        if shift:
            lines += self.all_lanes(f"shl {{m}} {target}@{size}<1> {target}@{size}<1;1,0> {shift}:ud", size)
        return lines

    # -- a round -------------------------------------------------------------------------------------------------

    def at(self) -> list[str]:
        """Lines that compute the index of this access in ``I``, of the index's type, and in ``E``, of dwords."""
        t, r = self.index, self.random
        size = SIZES[t]
        lines, k = [], "K"
        if self.counter != t:
            lines, k = self.convert("KT", t, "K", self.counter), "KT"
        own = f"{r.choice(('OWN', *['ROW'] * 5))}@{size}<1;1,0>"
        form = r.choice(("own + k", "own + k", "k", "own + s", "own + k + s", "own - k", "own + 3 k", *[self.form] * 6))
        if form == "k":
            lines += self.convert("I", t, k, t)
        elif form == "own + s":
            lines += self.all_lanes(f"add {{m}} I@{size}<1> {own} S_{t}(0,0)<0;1,0>", size)
        elif form == "own + 3 k" and size == 4:
            lines += self.all_lanes(f"mul {{m}} I@{size}<1> {k}@{size}<1;1,0> 3:w", size)
            lines += self.all_lanes(f"add {{m}} I@{size}<1> I@{size}<1;1,0> {own}", size)
        else:
            sign = "(-)" if form == "own - k" and t in ("d", "w", "q") else ""
            lines += self.all_lanes(f"add {{m}} I@{size}<1> {own} {sign}{k}@{size}<1;1,0>", size)
            if form == "own + k + s":
                lines += self.all_lanes(f"add {{m}} I@{size}<1> I@{size}<1;1,0> S_{t}(0,0)<0;1,0>", size)
        if r.random() < 0.3:
            lines += self.all_lanes(
                f"add {{m}} I@{size}<1> I@{size}<1;1,0> {r.choice((1, 2, 3, 7))}:{t if size < 8 else 'd'}", size
            )
        return lines + self.convert("E", "d", "I", t)

    def address(self, size: int) -> list[str]:
        """Lines that compute ``OFF`` and ``PLACE`` out of the index."""
        shift, r = size.bit_length() - 1, self.random
        lines = self.convert("OFF", "ud", "E", "d", shift)
        way = r.choice(("offset", "index", "index", "wide"))
        if way == "wide" and self.index in ("q", "uq"):
            lines += self.convert("PLACE", "uq", "I", self.index, shift)
        elif way == "index":
            lines += self.convert("PLACE", "q", "E", "d", shift)
        else:
            lines += self.convert("PLACE", "q", "OFF", r.choice(("d", "ud")))
        return lines + self.all_lanes("add {m} PLACE@8<1> PLACE@8<1;1,0> {memory}(0,0)<0;1,0>", 8)

    def message(self, size: int, memory: str, guard: str, store: bool = False) -> list[str]:
        """Lines that load ``DATA`` at those places, or store ``TOTAL``."""
        r, number = self.random, INPUTS.index(memory)
        data, found = "TOTAL" if store else "DATA", []
        flat, lsc = r.random() < 0.5, self.platform in LSC and r.random() < 0.7
        if lsc and (self.simd < 32 or self.register == 64):
            where = "flat[PLACE]:a64" if flat or store else f"bti({number:#x})[OFF]:a32"
            what = f"{data}:{ {1: 'd8u32', 2: 'd16u32', 4: 'd32', 8: 'd64'}[size] }"
            pair = f"lsc_store.ugm {{}} {where} {what}" if store else f"lsc_load.ugm {{}} {what} {where}"
            return [guard + pair.format(f"(M1, {self.simd})")]
        verb = "scatter" if store else "gather"
        for lane in range(0, self.simd, 16):
            head, values = f"(M{1 + lane // 4}, {min(16, self.simd)})", f"{data}.{max(4, size) * lane}"
            if size == 8 or (flat and size != 2):
                found.append(f"{guard}svm_{verb}.{size}.1 {head} PLACE.{8 * lane} {values}")
            else:
                found.append(f"{guard}{verb}_scaled.{size} {head} T{6 + number} 0x0:ud OFF.{4 * lane} {values}")
        return found

    def guard(self, kind: str, size: int) -> list[str]:
        """Lines that compute ``INSIDE``: the lanes whose index is that of an element of so many bytes, or some of them."""
        r, lines = self.random, []
        if kind != "none":
            wide = SIZES[self.index] == 8
            lines.append(f"shr (M1_NM, 1) LIMIT(0,0)<1> BYTES(0,0)<0;1,0> {size.bit_length() - 1}:ud")
            if r.random() < 0.03:
                lines.append("mov (M1_NM, 1) LIMIT(0,0)<1> 0x1000:ud")
            bits = "I_BITS@8<1;1,0>" if wide else "E_BITS@4<1;1,0>"
            lines += self.all_lanes(f"cmp.lt {{m}} INSIDE {bits} LIMIT(0,0)<0;1,0>", 8 if wide else 4)
        if kind == "signed":
            lines += self.all_lanes("cmp.ge {m} P2 E@4<1;1,0> 0:d")
            lines.append(f"and (M1, {self.simd}) INSIDE INSIDE P2")
        if kind == "none":
            lines += self.some("INSIDE")
        elif r.random() < 0.3:
            lines += [*self.some("P3"), f"and (M1, {self.simd}) INSIDE INSIDE P3"]
        return lines

    def some(self, predicate: str) -> list[str]:
        """Lines that choose some lanes, others in each round."""
        return [
            *self.all_lanes("and {m} PICK@4<1> BITS@4<1;1,0> TURN(0,0)<0;1,0>"),
            *self.all_lanes(f"cmp.ne {{m}} {predicate} PICK@4<1;1,0> 0:ud"),
        ]

    def access(self) -> list[str]:
        """A load under a guard, and what becomes of the data."""
        r = self.random
        size, memory = r.choice((1, 1, 2, 4, 4, 4, 8)), r.choice(("MEM", "MEM", "OTHER"))
        kind = r.choice((*("jump",) * 4, *("predicate",) * 3, *("signed",) * 2, "none"))
        self.labels += 1
        skip, index = f"SKIP{self.labels}", self.at()
        under = "(INSIDE) " if kind == "predicate" else ""
        body = index if r.random() < 0.75 else []  # What one block computes is known better than what another one has.
        body = [*body, *(line.replace("{memory}", memory) for line in self.address(size))]
        body += self.message(size, memory, under)
        body += self.all_lanes(f"mul {{m}} TOTAL@4<1> TOTAL@4<1;1,0> {r.choice((3, 5))}:uw")
        if size == 8:
            body += self.all_lanes("mov {m} LOW@4<1> DATA_Q@8<1;1,0>", 8)
        else:
            body += self.all_lanes(f"and {{m}} LOW@4<1> DATA@4<1;1,0> {(1 << 8 * size) - 1:#x}:ud")
        body += self.all_lanes("add {m} TOTAL@4<1> TOTAL@4<1;1,0> LOW@4<1;1,0>")
        if self.stores and r.random() < 0.5 and size != 2:
            body += self.message(min(size, 4), r.choice(("MEM", memory)), under, store=True)
        lines = [*index, *self.guard(kind, size)]
        if kind == "predicate":
            return lines + body
        body += self.count_up() if r.random() < 0.1 else []
        return [*lines, f"(!INSIDE) goto (M1, {self.simd}) {skip}", *body, f"{skip}:"]

    def count_up(self) -> list[str]:
        """Lines that change the counter."""
        t, r = self.counter, self.random
        size = SIZES[t]
        step = f"{r.choice((1, 1, 1, 1, 2, 4, 8, 3, 16))}:{'w' if size > 1 else 'b'}"
        k = f"K@{size}<1;1,0>"
        way = r.choice(("all", "all", "all", "all", "some", "step", "anyone", "down"))
        if way == "some":
            return [*self.some("P3"), *self.all_lanes(f"(P3) add {{m}} K@{size}<1> {k} {step}", size)]
        if way == "step":
            return self.all_lanes(f"add {{m}} K@{size}<1> {k} STEP@{size}<1;1,0>", size)
        if way == "down":
            return self.all_lanes(f"add {{m}} K@{size}<1> {k} -1:{'w' if size > 1 else 'b'}", size)
        return self.all_lanes(f"add {{m}} K@{size}<1> {k} {step}", size, way == "anyone")

    def round(self, name: str) -> list[str]:
        """A loop with its label."""
        r = self.random
        inside = [line for _ in range(r.choice((1, 1, 1, 2, 3))) for line in self.access()]
        lines = [f"{name}:", *inside]
        if r.random() < 0.15:
            lines.insert(1, f"{name}_MIDDLE:")
        elif r.random() < 0.15:
            lines.append(f"{name}_MIDDLE:")
        before = [f"(P4) goto (M1, {self.simd}) {name}_MIDDLE"] if f"{name}_MIDDLE:" in lines else []
        lines += self.count_up()
        if r.random() < 0.75:
            lines.append(f"add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> {r.choice((1, 1, 2, 4))}:d")
        turn = r.choice((1, 3, 5))
        lines += [
            f"shl (M1_NM, 1) TURNED(0,0)<1> TURN(0,0)<0;1,0> {turn}:ud",
            f"shr (M1_NM, 1) TURN(0,0)<1> TURN(0,0)<0;1,0> {32 - turn}:ud",
            "or (M1_NM, 1) TURN(0,0)<1> TURN(0,0)<0;1,0> TURNED(0,0)<0;1,0>",
        ]
        if r.random() < 0.1:
            lines += ["fence_global.E"]
        return [
            *before,
            *lines,
            *self.all_lanes("add {m} LEFT@4<1> LEFT@4<1;1,0> -1:d"),
            *self.all_lanes("cmp.gt {m} AGAIN LEFT@4<1;1,0> 0:d"),
            f"(AGAIN) goto (M1, {self.simd}) {name}",
        ]

    def body(self) -> list[str]:
        """Loops, perhaps in another one."""
        r = self.random
        size = SIZES[self.index]
        rows = self.all_lanes(f"mov {{m}} ROW@{size}<1> OWN@{size}<1;1,0>", size, r.random() < 0.5)
        outside, inside = (rows, []) if r.random() < 0.5 else ([], rows)
        lines = [*inside, *self.round("ROUND")]
        if r.random() < 0.2:
            lines += [*self.all_lanes("mov {m} LEFT@4<1> AGAIN_LEFT@4<1;1,0>"), *self.round("ROUND2")]
        if r.random() < 0.4:
            return [*outside, *lines]
        again = []
        if r.random() < 0.4:
            again += self.all_lanes(
                f"add {{m}} OWN@{size}<1> OWN@{size}<1;1,0> {r.choice((1, 4, 5))}:{'w' if size > 1 else 'b'}", size
            )
        if r.random() < 0.2:
            again += self.count_up()
        if self.stores:
            again += self.access()
        return [
            *outside,
            "OUTSIDE:",
            *lines,
            *again,
            *self.all_lanes("mov {m} LEFT@4<1> AGAIN_LEFT@4<1;1,0>"),
            *self.all_lanes("add {m} TIMES@4<1> TIMES@4<1;1,0> -1:d"),
            *self.all_lanes("cmp.gt {m} OUTER TIMES@4<1;1,0> 0:d"),
            f"(OUTER) goto (M1, {self.simd}) OUTSIDE",
        ]

    # -- the whole ---------------------------------------------------------------------------------------------

    def declarations(self) -> list[str]:
        """Declarations of all variables."""
        named = [*self.variables, *(Variable(n, t) for n, t in (("KT", self.index), ("ROW", self.index), ("I", self.index), ("E", "d"), ("OFF", "ud"), ("PLACE", "q"),
                                                               ("LOW", "ud"), ("PICK", "ud")))]  # fmt: skip
        found = [v.declaration for v in named]
        found += [f".decl {name} v_type=G type={'uq' if name == 'BYTES' else 'd' if name == 'S' else 'ud'} num_elts=1 alias=<SCALARS, {8 * n}>"
                  for n, name in enumerate(SCALARS)]  # fmt: skip
        found += [f".decl S_{t} v_type=G type={t} num_elts=1 alias=<SCALARS, 0>" for t in dict.fromkeys(COUNTERS)]
        found += [f".decl {name} v_type=G type=uq num_elts=1" for name in (*INPUTS, "AT")]
        found += [
            f".decl {name} v_type=G type=ud num_elts=1" for name in ("THREADS", "TID", "OWORD", "LIMIT", "TURNED")
        ]
        found += [
            ".decl E_BITS v_type=G type=ud num_elts=32 alias=<E, 0>",
            *([".decl I_BITS v_type=G type=uq num_elts=32 alias=<I, 0>"] if SIZES[self.index] == 8 else []),
            ".decl DATA_Q v_type=G type=uq num_elts=32 alias=<DATA, 0>",
        ]
        found += [
            f".decl {name} v_type=P num_elts={self.simd}" for name in ("INSIDE", "P2", "P3", "P4", "AGAIN", "OUTER")
        ]
        return found + [f".decl T{n} v_type=T num_elts=1" for n in range(6, 6 + len(INPUTS))]

    def moves(self, load: bool) -> list[str]:
        """Lines that load or store the record of the thread."""
        place = f"mul (M1_NM, 1) OWORD(0,0)<1> TID(0,0)<0;1,0> {self.record}:ud"
        return [place, *moves(self.variables, load, "OWORD(0,0)<0;1,0>")]

    def text(self) -> str:
        """The text."""
        inputs = [f".input {name} offset={64 + 8 * n} size=8" for n, name in enumerate(INPUTS)]
        head = [
            ".version 4.1", '.kernel "k"', *self.declarations(), *inputs, f".input THREADS offset={64 + 8 * len(INPUTS)} size=4",
            f".kernel_attr SimdSize={self.simd}", "and (M1_NM, 1) TID(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud",
            "mad (M1_NM, 1) TID(0,0)<1> %r0(0,1)<0;1,0> THREADS(0,0)<0;1,0> TID(0,0)<0;1,0>", *self.moves(True),
            *self.all_lanes("and {m} PICK@4<1> BITS@4<1;1,0> 0x80000000:ud"), *self.all_lanes("cmp.ne {m} P4 PICK@4<1;1,0> 0:ud"),
        ]  # fmt: skip
        return "\n".join([*head, *self.body(), *self.moves(False), "ret (M1, 1)"]) + "\n"

    # -- launches ------------------------------------------------------------------------------------------------

    def numbers(self, count: int) -> np.ndarray:
        """First indices of lanes, and other numbers of the loop."""
        r = self.random
        lane, s = np.arange(count, dtype=object), r.choice((0, -1, -5, -9, 3, 40, 100, r.randrange(-50, 600)))
        ways = {
            "same": lambda: 0 * lane + s, "falling": lambda: s - r.choice((1, 2, 3, 5, 17)) * lane, "few": lambda: lane % r.choice((2, 4)) + s,
            "rows": lambda: s + r.choice((1, 4, 5, 16, 32, 63, 100)) * lane, "any": lambda: np.array([r.randrange(-20, 600) for _ in lane], object),
            "pairs": lambda: s + lane // 2 * r.choice((1, 9)),
        }  # fmt: skip
        return np.asarray(r.choice(list(ways.values()))(), object)

    def contents(self, threads: int, size: int) -> bytes:
        """The records of a launch."""
        r, count = self.random, threads * LANES
        largest = 1 << 8 * SIZES[self.counter]
        far = r.choice((0, 0, 0, largest - r.randrange(12), largest // 2 - r.randrange(12)))
        k = self.numbers(count) * r.choice((0, 1, 1))
        k = r.choice((k, k % 8))
        any_rounds = np.array([r.randrange(1, 40) for _ in range(count)], object)
        rounds = r.choice((any_rounds, 0 * k + r.randrange(1, 60), 1 + self.numbers(count) % 30))
        values = {
            "K": k + far, "OWN": self.numbers(count) - far, "STEP": self.numbers(count) % r.choice((2, 3, 5)) + 1,
            "LEFT": rounds, "BITS": np.array([r.getrandbits(32) for _ in range(count)], object), "TOTAL": 0 * k + 5,
            "DATA": np.zeros(2 * count, object), "AGAIN_LEFT": r.choice((rounds, 0 * k + 7, rounds % 6 + 1)), "TIMES": 0 * k + r.randrange(1, 4),
            "SCALARS": np.array([(r.choice((far, far, far + 3, far - 24, 2**31 - 9)), r.getrandbits(32), size, 0, 0, 0, 0, 0) for _ in range(threads)], object),
        }  # fmt: skip
        parts = []
        for v in self.variables:
            bits = 8 * SIZES[v.type]
            wrapped = [int(x) % (1 << bits) for x in values[v.name].reshape(-1)]
            array = np.array(wrapped, f"u{bits // 8}").astype(DTYPES[v.type]).reshape(threads, v.count)
            raw = np.zeros((threads, v.bytes), np.uint8)
            raw[:, : v.count * bits // 8] = array.view(np.uint8).reshape(threads, -1)
            parts.append(raw)
        return np.concatenate(parts, axis=1).tobytes()

    def launch(self) -> Json:
        """One launch: sizes, arguments and buffers to compare."""
        r, local = self.random, self.random.choice(self.shapes)
        groups, threads = (1 if self.stores else r.choice((1, 1, 2, 3))), -(-int(np.prod(local)) // self.simd)
        size = r.choice(MEMORY_BYTES)
        raw = np.frombuffer(self.contents(groups * threads, size), np.uint8)
        other: Json = {"random": [size, 2]}
        if r.random() < 0.3:
            other = {"part": [2, 0, size]}
        arguments: list[Json] = [{"bytes": packed(raw)}, {"bytes": packed(np.zeros_like(raw))}, {"random": [size, r.randrange(99)]}, other,
                                 {"scalar": threads.to_bytes(4, "little").hex()}]  # fmt: skip
        compare: Json = {"1": [self.record, [["<u1", 0, self.record]]]}
        if size and self.stores:
            compare["2"] = [size, [["<u1", 0, size]]]
        return {"global_size": [local[0] * groups, *local[1:]], "local_size": local, "arguments": arguments, "compare": compare,
                "schedule": r.choice(self.schedules), "host_threads": r.choice((1, 1, 2))}  # fmt: skip


def make(seed: int) -> bytes:
    """The input of a seed."""
    loop = Loop(seed)
    text = loop.text()
    first, *more = (loop.launch() for _ in range(LAUNCHES))
    r = loop.random
    fixed = {"kernel": "k", "lenient": r.random() < 0.2, "cpu": r.choice(CPUS), "at_end": r.random() < 0.8}
    return Execution(text, loop.platform, more=more, **fixed, **first).to_bytes()  # type: ignore[arg-type]


TARGETS = [
    Target(
        "loop",
        "loops in which each lane has its own path through memory, on both engines, which must agree",
        make,
        execute,
        50,
        guard_workers,
    )
]
__all__ = ["TARGETS", "make"]
