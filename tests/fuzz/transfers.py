"""Vector kernels whose registers also go through memory and local memory, and subroutines.

Messages have masks, predicates and branches as all other lines; their lanes may write to one place. The model knows memory
as bytes, and that lanes act in ascending order, the first elements of all lanes before the second ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from support.scalar import INTEGERS, bits_of

from fuzz.guarded import guard_workers
from fuzz.launches import execute
from fuzz.messages import LSC
from fuzz.programs import Line
from fuzz.target import Target
from fuzz.vectors import BYTES, MEMORY, ROOTS, Act, Call, Machine, Place, Statement, Vector, made

WITHOUT_SCALED = ("pvc", "bmg")
"""Platforms that have load and store messages in place of scaled ones."""
LOCAL = "local"
ELEMENTS = {"d8u32": (1, 4), "d16u32": (2, 4), "d32": (4, 4), "d64": (8, 8)}
"""Bytes in memory and in registers of an element of load and store messages."""
ATOMICS: dict[str, tuple[int, Callable[[int, int, int], int]]] = {
    "iadd": (1, lambda old, x, _: old + x), "isub": (1, lambda old, x, _: old - x),
    "iinc": (0, lambda old, _, __: old + 1), "idec": (0, lambda old, _, __: old - 1), "load": (0, lambda old, _, __: old),
    "store": (1, lambda _, x, __: x), "icas": (2, lambda old, x, y: y if old == x else old),
    "umin": (1, lambda old, x, _: min(old, x)), "umax": (1, lambda old, x, _: max(old, x)),
    "smin": (1, lambda old, x, _: min(old, x)), "smax": (1, lambda old, x, _: max(old, x)),
    "and": (1, lambda old, x, _: old & x), "or": (1, lambda old, x, _: old | x), "xor": (1, lambda old, x, _: old ^ x),
}  # fmt: skip
"""Sources, and the new number at a place."""
TO_FAR = "add (M1_NM, 32) FAR(0,0)<1> MEM(0,0)<0;1,0> WHERE(0,0)<1;1,0>"
SPACES = (
    ("ugm", "flat[FAR]:a64", "global"),
    ("ugm", "bti(0x2)[WHERE]:a32", "global"),
    ("slm", "flat[WHERE]:a32", LOCAL),
)
"""Functions of load and store messages with the addresses that they take, and the memory that is meant."""


def prepared(*texts: str) -> list[Statement]:
    """Lines whose results messages alone use."""
    return [Act(Line(text), lambda _, __: None) for text in texts]


class Transfers(Vector):
    """A program of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, "transfer")
        self.has_lsc, self.has_scaled = self.platform in LSC, self.platform not in WITHOUT_SCALED
        self.is_subroutine = False

    def straight(self) -> list[Statement]:
        """A statement, behind its preparations."""
        kind = self.random.random()
        if kind < 0.05 and not self.is_subroutine:
            return [self.call()]
        if kind > 0.4:
            return super().straight()
        forms = [self.elements, self.elements, self.block, self.atomic] if self.has_lsc else []
        return self.random.choice([*forms, self.pointers, *[self.scaled] * self.has_scaled])()

    def call(self) -> Call:
        """A call of a new subroutine, or of one that is there."""
        width = self._branch_width()
        known = [s for s in self.subroutines if s.width == width]
        if known and self.random.random() < 0.5:
            return self.random.choice(known)
        self.is_subroutine = True
        body = self._inside(lambda: self.body(1, self.random.randrange(1, 5)), width)
        self.is_subroutine = False
        self.subroutines.append(Call(f"routine_{len(self.subroutines)}", width, body))
        return self.subroutines[-1]

    # -- parts of messages -----------------------------------------------------------------------------------------

    def payload(self, size: int) -> Place:
        """Registers in a row for so many bytes."""
        return self.random.choice(ROOTS), self.random.randrange(0, BYTES - size + 1, self.grf)

    def offsets(self, size: int) -> tuple[list[Statement], Callable[[Machine], list[int]]]:
        """Offsets of 32 lanes, multiples of a size: in a row, or as a register says."""
        r = self.random
        if r.random() < 0.4:
            stride, start = size * r.choice((1, 1, 2)), r.randrange(0, 128, size)
            texts = (
                f"mul (M1_NM, 32) WHERE(0,0)<1> LANE(0,0)<1;1,0> {stride}:uw",
                f"add (M1_NM, 32) WHERE(0,0)<1> WHERE(0,0)<1;1,0> {start}:uw",
            )
            return prepared(*texts, TO_FAR), lambda _: [n * stride + start for n in range(32)]
        source, mask = self.direct("ud", 32), r.choice((511, 511, 63, 15)) & -size
        lines = prepared(f"and (M1_NM, 32) WHERE(0,0)<1> {source.text} {mask:#x}:ud", TO_FAR)
        return lines, lambda m: [source.read(m, lane) & mask for lane in range(32)]

    def masked(self, sizes: tuple[int, ...]) -> tuple[str, str, int, Callable[[Machine, int], list[int]]]:
        """Predicate, mask and size in the text, the size, and which lanes of the message run."""
        head, size, first, no_mask = self.lanes(sizes)
        guard, holds = self.guard(first, size)

        def running(m: Machine, lanes: int) -> list[int]:
            return [lane for lane in range(size) if (no_mask or lanes >> first + lane & 1) and holds(m, lane)]

        return guard, head, size, running

    # -- messages --------------------------------------------------------------------------------------------------

    def elements(self) -> list[Statement]:
        """``lsc_load`` and ``lsc_store``."""
        name, (sfid, address, space) = self.random.choice(list(ELEMENTS)), self.random.choice(SPACES)
        count = self.random.choice((1, 1, 2, 3, 4)) if name in ("d32", "d64") else 1
        data = f"{{1}}:{name}" + (f"x{count}" if count > 1 else "")
        texts = f"lsc_load.{sfid} {{0}} {data} {address}", f"lsc_store.{sfid} {{0}} {address} {data}"
        return self.transfer((1, 2, 4, 8, 16, 32)[: 5 + (self.grf == 64)], *ELEMENTS[name], count, space, texts)

    def pointers(self) -> list[Statement]:
        """``svm_gather`` and ``svm_scatter``."""
        size, count = self.random.choice((4, 8)), self.random.choice((1, 2, 4))
        texts = f"svm_gather.{size}.{count} {{0}} FAR.0 {{1}}", f"svm_scatter.{size}.{count} {{0}} FAR.0 {{1}}"
        return self.transfer((8, 16), size, size, count, "global", texts)

    def scaled(self) -> list[Statement]:
        """``gather_scaled`` and ``scatter_scaled``."""
        size, (surface, space) = self.random.choice((1, 2, 4)), self.random.choice((("T8", "global"), ("%slm", LOCAL)))
        form = f"_scaled.{size} {{0}} {surface} 0x0:ud WHERE.0 {{1}}"
        return self.transfer((8, 16), size, 4, 1, space, (f"gather{form}", f"scatter{form}"))

    def transfer(
        self, sizes: tuple[int, ...], here: int, there: int, count: int, space: str, texts: tuple[str, str]
    ) -> list[Statement]:
        """Elements of lanes that move: ``here`` bytes of memory and ``there`` ones of registers, ``count`` of each lane.

        Args:
            texts: how a load and a store are written, with places for mask and size and for the registers.
        """
        guard, head, size, running = self.masked(tuple(n for n in sizes if n * there * count <= BYTES))
        step, is_store = -(-size * there // self.grf) * self.grf, self.random.random() < 0.5
        register, first = self.payload(step * count)
        lines, offsets = self.offsets(here)

        def effect(m: Machine, lanes: int) -> None:
            starts, chosen, memory, data = offsets(m), running(m, lanes), m.memory[space], m.registers[register]
            for part, lane in itertools.product(range(count), chosen):
                at, own = starts[lane] + part * here, first + part * step + lane * there
                if is_store:
                    memory[at : at + here] = data[own : own + here]
                else:
                    data[own : own + there] = memory[at : at + here] + bytes(there - here)

        text = guard + texts[is_store].format(head, f"{register}_UD.{first}")
        return [*lines, Act(Line(text, True), effect)]

    def block(self) -> list[Statement]:
        """Elements in a row at the address of the first lane."""
        (name, size), (sfid, address, space) = self.random.choice((("d32", 4), ("d64", 8))), self.random.choice(SPACES)
        count, is_store = self.random.choice((1, 2, 4, 8, 16, 32)), self.random.random() < 0.5
        register, first = self.payload(count * size)
        lines, offsets = self.offsets(8)

        def effect(m: Machine, _: int) -> None:
            memory, data = slice(at := offsets(m)[0], at + count * size), slice(first, first + count * size)
            if is_store:
                m.memory[space][memory] = m.registers[register][data]
            else:
                m.registers[register][data] = m.memory[space][memory]

        data = f"{register}_UD.{first}:{name}x{count}t"
        texts = f"lsc_load.{sfid} (M1_NM, 1) {data} {address}", f"lsc_store.{sfid} (M1_NM, 1) {address} {data}"
        return [*lines, Act(Line(texts[is_store], True), effect)]

    def atomic(self) -> list[Statement]:
        """``lsc_atomic`` on integers, with the old numbers or without."""
        r, (sfid, address, space) = self.random, self.random.choice(SPACES)
        (name, bits), operation = r.choice((("d32", 32), ("d32", 32), ("d64", 64))), r.choice(list(ATOMICS))
        guard, head, size, running = self.masked((1, 2, 4, 8) if bits == 64 and self.grf == 32 else (1, 2, 4, 8, 16))
        t = f"{'' if operation in ('smin', 'smax') else 'u'}{'d' if bits == 32 else 'q'}"
        count, compute = ATOMICS[operation]
        places = [self.payload(size * bits // 8) for _ in range(3)]
        shown = [f"{register}_UD.{at}" for register, at in places]
        keeps_old = operation == "load" or r.random() < 0.7
        lines, offsets = self.offsets(bits // 8)

        def effect(m: Machine, lanes: int) -> None:
            starts, memory = offsets(m), m.memory[space]
            chosen = {
                lane: [(register, at + lane * bits // 8) for register, at in places] for lane in running(m, lanes)
            }
            given = {lane: [m.load(place, t) for place in own[:2]] for lane, own in chosen.items()}
            for lane, (_, _, old_place) in chosen.items():
                own = slice(starts[lane], starts[lane] + bits // 8)
                old = int.from_bytes(memory[own], "little", signed=INTEGERS[t][1])
                memory[own] = bits_of(compute(old, *given[lane]), bits).to_bytes(bits // 8, "little")
                if keeps_old:
                    m.store(old_place, t, old)

        data, sources = shown[2] if keeps_old else "%null", " ".join([*shown[:count], "%null", "%null"][:2])
        text = f"{guard}lsc_atomic_{operation}.{sfid} {head} {data}:{name} {address} {sources}"
        return [*lines, Act(Line(text, True), effect)]

    # -- the text --------------------------------------------------------------------------------------------------

    def declarations(self) -> list[str]:
        """Offsets and addresses of lanes, and the third buffer."""
        words = [f".decl {n} v_type=G type=ud num_elts=32 align=GRF" for n in ("LANE", "WHERE")]
        words += [
            ".decl FAR v_type=G type=uq num_elts=32 align=GRF",
            ".decl MEM v_type=G type=uq num_elts=1 align=qword",
        ]
        words += [f".decl T{n} v_type=T num_elts=1" for n in range(6, 9)]
        return [*words, ".input MEM offset=80 size=8", ".kernel_attr SLMSize=1"]

    def before(self) -> Iterator[Line]:
        """Numbers of lanes; local memory begins as the second part of the buffer."""
        yield Line("mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv")
        for first in (8, 16):
            row, column = divmod(first * 4, self.grf)
            yield Line(f"add (M1_NM, {first}) LANE({row},{column // 4})<1> LANE(0,0)<1;1,0> {first}:uw")
        yield from self._copy(True)

    def behind(self) -> Iterator[Line]:
        """Local memory goes back there."""
        yield from self._copy(False)

    def _copy(self, load: bool) -> Iterator[Line]:
        if self.has_scaled:
            local = f"{'scatter' if load else 'gather'}_scaled.4 (M1_NM, 16) %slm 0x0:ud WHERE.0 BITS.0"
        else:
            data = "flat[WHERE]:a32 BITS.0:d32" if load else "BITS.0:d32 flat[WHERE]:a32"
            local = f"lsc_{'store' if load else 'load'}.slm (M1_NM, 16) {data}"
        for at in range(0, MEMORY, 64):
            yield Line(f"add (M1_NM, 1) AT(0,0)<1> MEM(0,0)<0;1,0> {MEMORY + at}:ud")
            yield Line("mul (M1_NM, 16) WHERE(0,0)<1> LANE(0,0)<1;1,0> 4:uw")
            yield Line(f"add (M1_NM, 16) WHERE(0,0)<1> WHERE(0,0)<1;1,0> {at}:uw")
            block = Line(f"svm_block_{'ld' if load else 'st'} (4) AT(0,0)<0;1,0> BITS.0")
            yield from (block, Line(local)) if load else (Line(local), block)


TARGETS = [
    Target(
        "transfer",
        "vector kernels that load, store and call, on both engines, against a model in Python's integers",
        lambda seed: made(Transfers(seed), ("global", LOCAL)),
        execute,
        50,
        guard_workers,
    )
]
__all__ = ["TARGETS"]
