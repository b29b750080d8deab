"""Messages to memory for generated programs. Nothing that a thread does is seen by another but through barriers.

Each lane owns LANE_BYTES of the second buffer (``AT`` addresses, ``OFF`` offsets, surface T8) and of local memory
(``SLM_OFF``), each thread BLOCK_BYTES in the third (``BLOCK``, surface T9). All may read the first 4096 bytes of the fourth
(``SHARED``, T10), and add to the fifth (``SUM``, T11) what does not depend on the order. Data are integers: which NaN is open.
Floats have separate memory, the sixth (T12) for lanes and the seventh (T13) for all, and are read into ``REAL``.
"""

from __future__ import annotations

from random import Random

from visakit.language.platforms import find, since

LANE_BYTES, BLOCK_BYTES, SHARED_BYTES, SUM_BYTES = 64, 1024, 4096, 256
SCRATCH_BYTES = 32 * LANE_BYTES
REAL_PARTS = (("<f4", 0, 4), ("<f2", 16, 8), ("<f8", 32, 4))
"""The floats that each lane has in memory: type, offset and how many."""
EXTREMES = ("max", "min", "add")
EXTREME_BYTES = 64
"""Bytes of the places where all lanes leave the greatest and smallest numbers and sums."""
DATA, REAL = ("DATA_0", "DATA_1"), ("REAL_0", "REAL_1")
DATA_BYTES = 512
CHANNELS = ("R", "G", "RG", "RGBA", "RA", "B", "GBA")
LSC, NAMED = since("dg2"), since("pvc")
"""Platforms with load and store messages, and those with named barriers, too."""
HARMLESS = ("fence_global.E", "fence_local", "fence_sw", "yield", "wait 0:ub", "sampler_cache_flush", "lsc_fence.ugm.none.group",
            "lsc_fence.slm.none.local", "lsc_fence.ugm.evict.gpu")  # fmt: skip


class Messages:
    """Gives lines for a platform and so many lanes of a thread."""

    def __init__(self, random: Random, platform: str, simd: int) -> None:
        self.random, self.platform, self.simd = random, platform, simd
        self.has_lsc = platform in LSC
        self.has_pointers = True
        """Whether the body has the addresses of its places; functions have but surfaces."""

    def _data(self) -> str:
        return self.random.choice(DATA)

    def _head(self) -> str:
        """Mask and execution size: most often those of the thread."""
        if self.random.random() < 0.2:
            size = self.random.choice([n for n in (1, 2, 4, 8, 16) if n <= self.simd])
            return f"(M1{self.random.choice(('', '_NM'))}, {size})"
        return f"(M1{self.random.choice(('', '', '_NM'))}, {self.simd})"

    def _guard(self) -> str:
        if self.random.random() < 0.75:
            return ""
        return f"({self.random.choice(('', '!'))}P{self.random.randrange(1, 5)}) "

    # -- of lanes ----------------------------------------------------------------------------------------------

    def own(self) -> list[str]:
        """A load or store in the places of the lanes."""
        head, data, guard = self._head(), self._data(), self._guard()
        load = self.random.random() < 0.5
        verb, other = ("gather", "load") if load else ("scatter", "store")
        channels = self.random.choice(CHANNELS)
        count = self.random.choice((1, 2, 4, 8))
        size = self.random.choice((1, 2, 4))
        kind = self.random.randrange(7 if self.has_lsc else 5)
        if not self.has_pointers and kind in (0, 1, 4):
            kind = 2
        if kind == 0:
            return [f"{guard}svm_{verb}.4.{count} {head} AT.0 {data}.0"]
        if kind == 1:
            return [f"{guard}svm_{verb}.8.{min(count, 4)} {head} AT.0 {data}.0"]
        surface = self.random.choice(
            ("T8 0:ud OFF.0", f"T8 {self.random.choice((4, 16))}:ud OFF.0", "%slm 0:ud SLM_OFF.0")
        )
        if kind == 2:
            return [f"{guard}{verb}_scaled.{size} {head} {surface} {data}.0"]
        if kind == 3:
            return [f"{guard}{verb}4_scaled.{channels} {head} {surface} {data}.0"]
        if kind == 4:
            return [f"{guard}svm_{verb}4scaled.{channels} {head} LANES(0,0)<0;1,0> OFF_Q.0 {data}.0"]
        shape = self.random.choice(
            ("d8c32", "d16c32", "d32", "d64", "d32x2", "d32x3", "d32x4", "d32x8", "d64x2", "d64x4")
        )
        far = self.random.choice(("", "", "+0x8", "+0x20" if "x" not in shape else ""))
        place, where = self.random.choice(
            ((f"flat[AT{far}]:a64", "ugm"), (f"bti(0x2)[OFF{far}]:a32", "ugm"), (f"flat[SLM_OFF{far}]:a32", "slm"))[
                0 if self.has_pointers else 1 :
            ]
        )
        if kind == 6:
            shape = f"d32.{self.random.choice(('x', 'xy', 'xyzw', 'yw', 'z'))}"
            other += "_quad"
        pair = f"{data}:{shape} {place}" if load else f"{place} {data}:{shape}"
        return [f"{guard}lsc_{other}.{where} {head} {pair}"]

    def shared(self) -> list[str]:
        """A load of read-only memory at computed offsets."""
        head, data, guard = self._head(), self._data(), self._guard()
        offsets = [
            f"and (M1_NM, {n}) ANY({row},0)<1> UD_0({row},0)<1;1,0> {SHARED_BYTES - 64:#x}:ud"
            for n, row in self._rows(4)
        ]
        if self.random.random() < 0.02:  # Outside of the buffer: a fault on both engines.
            offsets.append(f"add (M1_NM, 1) ANY(0,{self.random.randrange(8)})<1> ANY(0,0)<0;1,0> {SHARED_BYTES}:ud")
        kind = self.random.randrange(3 if self.has_lsc else 2)
        if kind == 0:
            return [*offsets, f"{guard}gather_scaled.{self.random.choice((1, 2, 4))} {head} T10 0:ud ANY.0 {data}.0"]
        if kind == 1:
            return [*offsets, f"{guard}gather4_scaled.{self.random.choice(CHANNELS)} {head} T10 0:ud ANY.0 {data}.0"]
        return [
            *offsets,
            f"{guard}lsc_load.ugm {head} {data}:{self.random.choice(('d32', 'd64', 'd32x4', 'd8c32'))} bti(0x4)[ANY]:a32",
        ]

    def _rows(self, size: int) -> list[tuple[int, int]]:
        """Execution sizes and rows of registers that hold a value of so many bytes for each lane."""
        each = min(self.simd, find(self.platform).grf_size // size)
        return [(each, row) for row in range(self.simd // each)]

    # -- atomics -----------------------------------------------------------------------------------------------

    def atomic(self) -> list[str]:
        """An atomic operation in the places of the lanes, or one whose order does not matter in a place of all."""
        own = self.random.random() < 0.6
        ops = ("inc", "dec", "add", "sub", "min", "max", "minsint", "maxsint", "and", "or", "xor") + (
            ("cmpxchg", "xchg") if own else ()
        )
        op = self.random.choice(ops)
        sources = 0 if op in ("inc", "dec") else 2 if op == "cmpxchg" else 1
        operands = [f"{self._data()}.0" for _ in range(sources)] + ["%null.0"] * (2 - sources)
        if op in ("min", "max", "minsint", "maxsint", "and", "or", "xor") and not own:
            op = self.random.choice(("add", "sub", "inc"))  # Those of one place may be mixed: they are sums.
            operands = ["%null.0"] * 2 if op == "inc" else [f"{self._data()}.0", "%null.0"]
        result = f"{self._data()}.0" if own else "%null.0"
        head, guard = self._head(), self._guard()
        if self.has_lsc and self.random.random() < 0.6:
            return self._lsc_atomic(own, head, guard)
        if own and self.has_pointers and self.random.random() < 0.5:
            wide = self.random.choice(("", ".64", ".16"))
            return [f"{guard}svm_atomic.{op}{wide} {head} AT.0 {result} {' '.join(operands)}"]
        place, wide = ("T8 OFF.0", self.random.choice(("", "", ".16", ".64"))) if own else ("T11 SUM_OFF.0", "")
        return [f"{guard}dword_atomic.{op}{wide} {head} {place} {' '.join(operands)} {result}"]

    def _lsc_atomic(self, own: bool, head: str, guard: str) -> list[str]:
        ops = {"iinc": 0, "idec": 0, "load": 0, "store": 1, "iadd": 1, "isub": 1, "smin": 1, "smax": 1, "umin": 1, "umax": 1,
               "icas": 2, "and": 1, "or": 1, "xor": 1}  # fmt: skip
        op = self.random.choice(list(ops) if own else ["iinc", "iadd", "isub"])
        wide = self.random.choice(("d32", "d32", "d64", "d16c32")) if own else "d32"
        result = f"{self._data()}:{wide}" if own or op == "load" else f"%null:{wide}"
        places = ("bti(0x2)[OFF]:a32", "flat[AT]:a64")[: 1 + self.has_pointers]
        place = self.random.choice(places) if own else "bti(0x5)[SUM_OFF]:a32"
        operands = [self._data() for _ in range(ops[op])] + ["%null"] * (2 - ops[op])
        return [f"{guard}lsc_atomic_{op}.ugm {head} {result} {place} {' '.join(operands)}"]

    # -- of threads --------------------------------------------------------------------------------------------

    def block(self) -> list[str]:
        """A block of the thread's own, or a load of a shared one."""
        load = self.random.random() < 0.5
        count = self.random.choice((1, 2, 4, 8))
        at = 16 * self.random.randrange((BLOCK_BYTES - 128) // 16)
        data, row = self._data(), self.random.choice((0, 0, 64, 384))
        kind = self.random.randrange(5 if self.has_lsc else 4)
        if not self.has_pointers and kind in (0, 4):
            kind = 1
        verb = "ld" if load else "st"
        address = f"add (M1_NM, 1) PLACE(0,0)<1> BLOCK(0,0)<0;1,0> {at}:ud"
        if kind == 0:
            return [address, f"svm_block_{verb} ({count}) PLACE(0,0)<0;1,0> {data}.{row}"]
        if kind == 1:
            taken = f"add (M1_NM, 1) OWORD(0,0)<1> BLOCK_OFF(0,0)<0;1,0> {at}:ud"
            return [
                taken,
                "shr (M1_NM, 1) OWORD(0,0)<1> OWORD(0,0)<0;1,0> 4:ud",
                f"oword_{verb} ({count}) T9 OWORD(0,0)<0;1,0> {data}.{row}",
            ]
        if kind == 2:
            return [f"oword_ld_unaligned ({count}) T10 {at + self.random.choice((0, 4, 12))}:ud {data}.{row}"]
        if kind == 3:
            return [f"oword_ld ({count}) T10 {self.random.randrange(SHARED_BYTES // 16 - 8)}:ud {data}.{row}"]
        shape = self.random.choice(("d32x4t", "d32x16t", "d64x16t", "d64x4t", "d64x8t"))
        other = "load" if load else "store"
        pair = f"{data}:{shape} flat[PLACE]:a64" if load else f"flat[PLACE]:a64 {data}:{shape}"
        guard = self._guard()
        return [address, f"{guard}lsc_{other}.ugm (M1{'' if guard else '_NM'}, 1) {pair}"]

    # -- others ------------------------------------------------------------------------------------------------

    def floats(self) -> list[str]:
        """A move or an atomic operation of floats, in the places of the lanes, or one whose order does not matter in those of all."""
        head, guard, data, other = self._head(), self._guard(), *self.random.sample(REAL, 2)
        if self.random.random() < 0.25:
            return self._extreme(head, guard, data)
        kind = self.random.randrange(5 if self.has_lsc else 2)
        operation = self.random.choice(("fmax", "fmin", "fcmpwr", "fadd", "fsub"))
        second = self.random.choice((data, other)) if operation == "fcmpwr" else "%null"
        if kind == 0:
            verb = self.random.choice(("gather", "scatter"))
            return [f"{guard}{verb}_scaled.4 {head} T12 0:ud OFF.0 {data}.0"]
        if kind == 1:
            return [f"{guard}dword_atomic.{operation} {head} T12 OFF.0 {other}.0 {second}.0 {data}.0"]
        operation, at = operation.replace("cmpwr", "cas"), self.random.choice(("", "+0x4", "+0xc"))
        if kind == 2:
            return [f"{guard}lsc_atomic_{operation}.ugm {head} {data}:d32 bti(0x6)[OFF{at}]:a32 {other} {second}"]
        if kind == 3:
            return [f"{guard}lsc_load.ugm {head} {data}:{self.random.choice(('d32', 'd32x4'))} bti(0x6)[OFF]:a32"]
        size, at = self.random.choice((("d16c32", "+0x10"), ("d16c32", "+0x1e"), ("d64", "+0x20"), ("d64", "+0x38")))
        second = "%null" if second == "%null" else "DATA_1"
        return [f"{guard}lsc_atomic_{operation}.ugm {head} %null:{size} bti(0x6)[OFF{at}]:a32 DATA_0 {second}"]

    def _extreme(self, head: str, guard: str, data: str) -> list[str]:
        """The greatest, smallest or sum of small whole numbers, which no order of the lanes changes."""
        number = self.random.randrange(len(EXTREMES))
        start = number * EXTREME_BYTES
        lines = [f"and (M1_NM, {n}) ANY({row},0)<1> UD_0({row},0)<1;1,0> 0xff:ud" for n, row in self._rows(4)]
        lines += [f"mov (M1_NM, {n}) {data}({row},0)<1> ANY({row},0)<1;1,0>" for n, row in self._rows(4)]
        lines += [
            f"and (M1_NM, {n}) ANY({row},0)<1> SUM_OFF({row},0)<1;1,0> {EXTREME_BYTES - 4:#x}:ud"
            for n, row in self._rows(4)
        ]
        lines += [f"add (M1_NM, {n}) ANY({row},0)<1> ANY({row},0)<1;1,0> {start}:ud" for n, row in self._rows(4)]
        if self.has_lsc and self.random.random() < 0.6:
            return [
                *lines,
                f"{guard}lsc_atomic_f{EXTREMES[number]}.ugm {head} %null:d32 bti(0x7)[ANY]:a32 {data} %null",
            ]
        return [*lines, f"{guard}dword_atomic.f{EXTREMES[number]} {head} T13 ANY.0 {data}.0 %null.0 %null.0"]

    def older(self) -> list[str]:
        """Messages with offsets in elements, and those of qwords."""
        head, guard, data = self._head(), self._guard(), self._data()
        kind = self.random.randrange(4)
        if kind == 0:
            return [
                f"{guard}qw_{self.random.choice(('gather', 'scatter'))}.{self.random.choice((1, 2, 4, 8))} {head} T8 OFF.0 {data}.0"
            ]
        size, unit = self.random.choice(((1, 0), (2, 1), (4, 2)))
        surface = "T8" if kind > 1 else "T10"
        mask = "" if surface == "T8" else f" {SHARED_BYTES // size - 64:#x}:ud"
        operation = ("shr", "OFF", f" {unit}:ud") if surface == "T8" else ("and", "UD_1", mask)
        lines = [
            f"{operation[0]} (M1_NM, {n}) ANY({row},0)<1> {operation[1]}({row},0)<1;1,0>{operation[2]}"
            for n, row in self._rows(4)
        ]
        verb = self.random.choice(("gather", "scatter")) if surface == "T8" else "gather"
        lanes = self.random.choice([n for n in (1, 8, 16) if n <= self.simd])
        return [
            *lines,
            f"{verb}.{size} (M1{self.random.choice(('', '_NM'))}, {lanes}) {surface} {self.random.choice((0, 0, 3))}:ud ANY.0 {data}.0",
        ]

    def scratch(self) -> list[str]:
        """Scratch memory of the thread: places of lanes, and owords."""
        data, load = self._data(), self.random.random() < 0.5
        lines = [f"mul (M1_NM, {n}) ANY({row},0)<1> LANE({row},0)<1;1,0> {LANE_BYTES}:ud" for n, row in self._rows(4)]
        if self.random.random() < 0.3:
            count, at = self.random.choice((1, 2, 4, 8)), self.random.randrange(SCRATCH_BYTES // 16 - 8)
            return [f"oword_{'ld' if load else 'st'} ({count}) %scratch {at}:ud {data}.0"]
        if self.random.random() < 0.5:
            return [
                *lines,
                f"{self._guard()}{'gather' if load else 'scatter'}_scaled.4 {self._head()} %scratch 0:ud ANY.0 {data}.0",
            ]
        channels = self.random.choice(CHANNELS)
        return [
            *lines,
            f"{self._guard()}{'gather4' if load else 'scatter4'}_scaled.{channels} {self._head()} %scratch 0:ud ANY.0 {data}.0",
        ]

    def unusual(self) -> list[str]:
        """Strides, states of pages, surfaces that a variable says, and what only takes time."""
        head, guard, data = self._head(), self._guard(), self._data()
        kind = self.random.randrange(5 if self.has_lsc and self.has_pointers else 2)
        if kind == 0:
            return [self.random.choice(HARMLESS if self.has_lsc else HARMLESS[:6])]
        if kind == 1:
            (number, offsets), form = self.random.choice(((2, "OFF"), (4, "SUM_OFF"))), self.random.choice((1, 2, 4))
            return [
                f"movs (M1_NM, 1) T16(0) {number}:ud",
                f"{guard}gather_scaled.{form} {head} T16 0:ud {offsets}.0 {data}.0",
            ]
        if kind == 2:
            load, pitch = self.random.random() < 0.5, self.random.choice((4, 8, 12, 28))
            operands = [f"flat[BLOCK,{pitch}]:a64", f"{data}:d32"]
            return [
                f"{guard}lsc_{'load' if load else 'store'}_strided.ugm {head} {' '.join(operands[::-1] if load else operands)}"
            ]
        if kind == 3:
            return [f"{guard}lsc_load_status.ugm {head} {data}:d32 flat[AT]:a64"]
        return [f"{guard}lsc_store_uncompressed.ugm {head} flat[AT]:a64 {data}:d32"]

    def line(self) -> list[str]:
        """One of these."""
        kinds = [
            *[self.own] * 4,
            *[self.shared] * 2,
            *[self.atomic] * 2,
            *[self.block] * 2,
            *[self.floats] * 2,
            self.older,
            self.scratch,
            self.unusual,
        ]
        return self.random.choice(kinds)()

    def exchange(self, threads: int) -> list[str]:
        """What threads leave in local memory for each other: only where all of them come along, all lanes."""
        meetings = [["barrier"], ["sbarrier.signal", "sbarrier.wait"]]
        if self.platform in NAMED:
            meetings.append([f"nbarrier.signal {self.random.randrange(1, 32)}:ub {threads}:ub"])
        first, second = (self._met(self.random.choice(meetings)) for _ in range(2))
        data, size = self._data(), min(self.simd, 16)
        parts = [(f"(M{1 + lane // 4}, {size})", f"{4 * lane}") for lane in range(0, self.simd, size)]
        write = [f"scatter_scaled.4 {head} %slm 0:ud SLM_OFF.{at} {data}.{at}" for head, at in parts]
        read = [f"gather_scaled.4 {head} %slm 0:ud TURNED.{at} {data}.{at}" for head, at in parts]
        return [*write, *first, *read, *second]

    def _met(self, lines: list[str]) -> list[str]:
        """A named barrier is waited for by its number."""
        named = lines[0].split()
        return [*lines, f"nbarrier.wait {named[1]}"] if named[0] == "nbarrier.signal" else lines
