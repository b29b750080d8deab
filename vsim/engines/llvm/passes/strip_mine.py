"""Strip-mining of long straight code: lanes pass through it in strips, in a loop.

A value of 32 dwords takes four vectors of 256 bits. Code with more live values than the processor has registers
is full of spills, and four times as long as necessary, which costs time in the instruction cache and in the compiler.
The lane-wise part of a long block (``shl``, ``add``, ``select``...) becomes a loop over strips; code in front of it and
behind it exchanges values with it through memory. A strip has two vectors, as the instructions of one fill the latency
of the other; it has one vector where two would not nearly fit into registers. Where most values are words, a vector has
twice as many lanes.

Compilers split instructions of 32 lanes for processors without them: two instructions of 16 lanes follow each other,
which differ in their operands alone. If all lines of a block form such isomorphic pairs, each pair becomes one line.

Only integers: they do not depend on the rounding mode, which a block may change.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from vsim.engines.llvm.ir.emitter import NAME
from vsim.engines.llvm.passes.blocks import Block, blocks_of
from vsim.engines.llvm.passes.lines import VECTOR, Line, bits_of, bytes_of, result_type
from vsim.engines.llvm.passes.recurrence import REGISTERS

LEAST_LINES = 300
"""Lines of a part, from which on it is worth a loop."""
LEAST_LANES = 8
"""Lanes of a strip at least, so that its part of a mask begins at a byte."""
MOST_LANES = 32
"""Lanes of a thread at most."""
PROBED_LINES = 200
"""Lines of a part, a fourth of which must form isomorphic pairs before the others are paired."""
ATTEMPTS = 4
"""How often lines without an isomorphic pair are removed from a part."""
_GROUP = "define void @group("
_EQUAL = re.compile(r"<(\w+ [^,<>]+)(?:, \1)+>")
"""A constant whose elements are equal."""
_SPLATS = r"splat (\1)"
_LANEWISE = re.compile(
    r"(?:add|sub|mul|and|or|xor|shl|lshr|ashr|icmp|select(?= <)|zext|sext|trunc|bitcast|freeze"
    r"|call <\d+ x \w+> @llvm\.(?:fsh[lr]|[us]m(?:in|ax)|[us](?:add|sub)\.sat|ctpop|bswap|bitreverse))\b"
)
_SPLAT = re.compile(r"insertelement <\d+ x \w+> poison, \w+ \S+, i64 0$|shufflevector .* zeroinitializer$")
_FLOATS = re.compile(r" x (?:half|bfloat|float|double|ptr)>")
_OPERAND = re.compile(r"(%[\w.]+|<(?:\w+ [\w.+-]+, )+\w+ [\w.+-]+>)")
_MEMORY = re.compile(r"load|store|call(?! \w+ @llvm\.[us](?:min|max|add|sub))|fence|atomic|cmpxchg")


def strip_mine(text: str, bits: int) -> str:
    """A module in which long straight code of ``group`` runs in strips, where that pays; else the unchanged text.

    Args:
        bits: of the processor's vectors.
    """
    start = text.find(_GROUP)
    if start < 0 or "@llvm.coro.suspend(" in text:
        return text
    longest = _longest_block(text[start : text.index("\n}", start)])
    part = _Part(longest) if longest is not None else None
    strip = part.strip(bits) if part is not None else 0
    if longest is None or part is None or not strip:
        return text
    lines = _EQUAL.sub(_SPLATS, text).split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith(_GROUP))
    blocks = blocks_of(lines[start + 1 : lines.index("}", start)])
    if blocks is None:
        return text
    loop = _Loop(part, strip, _used_elsewhere(blocks, longest.name))
    first = lines.index(f"{longest.name}:", start) + 1 + len(longest.phis)
    last = first + len(longest.body)
    head, tail = lines[:first], lines[last:]
    head[start + 2 : start + 2] = loop.slots_in_memory()
    arm, new = f", %{longest.name} ]", f", %{longest.name}.behind ]"
    head, tail = ([x.replace(arm, new) if " = phi " in x else x for x in some] for some in (head, tail))
    return "\n".join([*_declared(text, part.lanes, strip), *head, *loop.lines(), *tail])


def _longest_block(function: str) -> Block | None:
    """The block with the longest body, if that is long enough and ends with a branch or return."""
    sections = function.split(":\n")
    lengths = [section.count("\n") - section.count(" = phi ") for section in sections]
    lengths[-1] += 1  # No label follows.
    number = max(range(len(sections)), key=lambda n: lengths[n])
    if lengths[number] < LEAST_LINES:
        return None
    name = sections[number - 1].rpartition("\n")[2]
    lines = _EQUAL.sub(_SPLATS, sections[number]).split("\n")
    blocks = blocks_of([f"{name}:", *(lines if number == len(sections) - 1 else lines[:-1])])
    return blocks[name] if blocks else None


def _used_elsewhere(blocks: Mapping[str, Block], name: str) -> set[str]:
    """Names that other blocks, phis and the end of a block use."""
    found = set[str]()
    for other in blocks.values():
        found.update(NAME.findall(other.end.text), *(values.values() for _, values in other.phis.values()))
        if other.name != name:
            found.update(*(line.uses for line in other.body))
    return found


def _declared(text: str, lanes: int, strip: int) -> list[str]:
    """Declarations for a strip of the intrinsics of vectors of ``lanes`` lanes."""
    found = re.findall(rf"^declare <{lanes} x .*@llvm\..*", text, re.MULTILINE)
    return [new for line in found if (new := _of_lanes(line, lanes, strip)) not in text]


def _of_lanes(line: str, lanes: int, strip: int) -> str:
    return line.replace(f"<{lanes} x ", f"<{strip} x ").replace(f".v{lanes}", f".v{strip}")


def _element(kind: str) -> str:
    return kind.split(" x ")[1][:-1]


@dataclass
class _LanewiseLine:
    """A line of a part: its text behind ``=``, of which every other piece is an operand that may differ from lane to
    lane.
    """

    name: str
    kind: str
    pieces: list[str]
    uniform: bool
    """Whether all lanes have the same."""
    pair: str = ""
    """The line for the other half of the lanes, of the first of both."""

    @property
    def sources(self) -> list[str]:
        return self.pieces[1::2]


class _Part:
    """What of a block treats all lanes alike."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.values: dict[str, _LanewiseLine] = {}
        """Lines of the part by name, in their order."""
        self.uniform: set[str] = set()
        """Names of the lines that are the same in all lanes."""
        self.before: list[Line] = []
        self.after: list[Line] = []
        """The other lines of the block."""
        self.lanes = self._most_lanes()
        self._divide(set())
        self.leaders: dict[str, str] = {}
        """The first line of each isomorphic pair by the second."""
        self.width = 2 if self.lanes < MOST_LANES and self._has_isomorphic_pairs() else 1

    def _most_lanes(self) -> int:
        """The number of lanes of most lines."""
        counts: dict[int, int] = defaultdict(int)
        for line in self.block.body:
            if found := VECTOR.search(line.text):
                counts[int(found[1])] += 1
        return max(counts, key=lambda n: counts[n], default=0)

    def _divide(self, without: set[str]) -> None:
        """Divide the block into the part, the lines in front of it, and the lines that must follow it.

        Accesses to memory keep their order. Those of the part have none.

        Args:
            without: what does not belong to it.
        """
        self.values, self.uniform, self.before, self.after = {}, set(), [], []
        late, touched = set[str](), False
        for line in self.block.body:
            names = line.uses
            is_late = not late.isdisjoint(names)
            taken = line.result and not is_late and line.result not in without
            if taken and (value := self._value(line)):
                self.values[value.name] = value
                if value.uniform:
                    self.uniform.add(value.name)
                continue
            memory = bool(_MEMORY.match(line.operation))
            if is_late or not self.values.keys().isdisjoint(names) or (memory and touched):
                self.after.append(line)
                touched |= memory
                if line.result:
                    late.add(line.result)
            else:
                self.before.append(line)

    def _value(self, line: Line) -> _LanewiseLine | None:
        """A line that treats lanes alike."""
        name, text = line.result, line.operation
        splat = text.startswith(("insert", "shuffle"))
        if not (_SPLAT if splat else _LANEWISE).match(text) or _FLOATS.search(text):
            return None
        if text.count("<") != text.count(f"<{self.lanes} x ") + text.count("<i"):
            return None
        kind = result_type(text)
        if kind is None or kind[0] != "<":
            return None
        pieces = _OPERAND.split(text)
        if not splat and "<" not in pieces[0]:
            return None
        if not splat:
            return _LanewiseLine(name, kind, pieces, self.uniform.issuperset(pieces[1::2]))
        if text.startswith("shuffle"):
            element = self.values.get(pieces[1])
            if element is None or not element.pieces[0].startswith("insert"):
                return None
        elif pieces[1] in self.values:
            return None
        return _LanewiseLine(name, kind, pieces, True)

    def _has_isomorphic_pairs(self) -> bool:
        """Whether all lines form isomorphic pairs, or all but a few, which leave the part then."""
        without = set[str]()
        for _ in range(ATTEMPTS):
            unpaired = self._pair_isomorphic()
            if not unpaired:
                for second, first in self.leaders.items():
                    self.values[first].pair = second
                return bool(self.leaders)
            if len(unpaired) > len(self.leaders) // 4:
                break
            without |= unpaired
            self._divide(without)
        if without:
            self._divide(set())
        self.leaders = {}
        return False

    def _pair_isomorphic(self) -> set[str]:
        """Pair lines with lines of the other half of the lanes; the names of unpaired lines."""
        worklist: dict[tuple[str, ...], list[_LanewiseLine]] = defaultdict(list)
        varying = [value for value in self.values.values() if not value.uniform]
        self.leaders = {}
        for n, value in enumerate(varying):
            if n == PROBED_LINES and 4 * len(self.leaders) < n:
                return {value.name for value in varying}
            if found := worklist.get(self._key(value, True)):
                self.leaders[value.name] = found.pop(0).name
            else:
                worklist[self._key(value, False)].append(value)
        return {value.name for values in worklist.values() for value in values}

    def _key(self, value: _LanewiseLine, second: bool) -> tuple[str, ...]:
        """The key that both lines of an isomorphic pair have.

        Args:
            second: take the value as the second of two.
        """
        found = list(value.pieces)
        for n in range(1, len(found), 2):
            inner = self.values.get(found[n])
            if inner is None:
                found[n] = "from outside"
            elif second and not inner.uniform:
                found[n] = self.leaders.get(inner.name, "none")
        return tuple(found)

    def strip(self, bits: int) -> int:
        """Lanes of a strip; 0 if the block stays unchanged."""
        register_bits, all_lanes = REGISTERS[bits] * bits, self.lanes * self.width
        if len(self.values) < LEAST_LINES * self.width:
            return 0
        vector = bits // self._element_bits()
        if all_lanes % vector or all_lanes % LEAST_LANES:
            return 0
        live = self._live_bits()
        if live <= register_bits:
            return 0
        one, two = max(vector, LEAST_LANES), min(2 * vector, all_lanes)
        lanes = one if live * two > 2 * register_bits * all_lanes else two
        return 0 if (self.width, lanes) == (1, all_lanes) else lanes

    def _element_bits(self) -> int:
        """The size of most elements, masks apart; that of dwords at most."""
        counts: dict[str, int] = defaultdict(int)
        for value in self.values.values():
            counts[_element(value.kind)] += not value.uniform and value.kind[-3:] != "i1>"
        return min(int(max(counts, key=lambda element: counts[element])[1:]), 32)

    def _live_bits(self) -> int:
        """The most bits that values of the part take at once, in its order."""
        sizes = {kind: bits_of(kind) for kind in {value.kind for value in self.values.values()}}
        bits = {value.name: sizes[value.kind] for value in self.values.values() if not value.uniform}
        live = most = 0
        alive = set[str]()
        for value in reversed(self.values.values()):
            if value.name in alive:
                live -= bits[value.name]
                alive.remove(value.name)
            for x in value.sources:
                if x in bits and x not in alive:
                    alive.add(x)
                    live += bits[x]
            most = max(most, live)
        return most


@dataclass
class _Slot:
    """Memory for values of all lanes: of one name, or of an isomorphic pair."""

    address: str
    kind: str
    names: tuple[str, ...]


class _Loop:
    """The loop over the strips of a part.

    Args:
        strip: lanes.
        used: names that stand outside of the block.
    """

    def __init__(self, part: _Part, strip: int, used: set[str]) -> None:
        self.part, self.strip = part, strip
        self.slots: dict[tuple[str, ...], _Slot] = {}
        self.wanted = used | {name for line in part.after for name in line.uses}
        """Names that are used behind the loop."""
        self.body: list[str] = []
        self.loads: list[str] = []
        """Lines behind the loop that read its results."""
        for value in self._in_order():
            self._emit(value)
            names = (value.name, value.pair) if value.pair else (value.name,)
            if not self.wanted.isdisjoint(names):
                self._store_result(value, names)

    def slots_in_memory(self) -> list[str]:
        """Lines for the beginning of the function."""
        lanes = self.part.lanes * self.part.width
        return [f"  {s.address} = alloca <{lanes} x {_element(s.kind)}>, align 64" for s in self.slots.values()]

    def lines(self) -> list[str]:
        """The new body of the block."""
        part, name = self.part, self.part.block.name
        count = part.lanes * part.width // self.strip
        if count == 1:
            around = ["  %strip = add i64 0, 0"], [f"  br label %{name}.behind", f"{name}.behind:"]
        else:
            around = (
                [
                    f"  br label %{name}.strips",
                    f"{name}.strips:",
                    f"  %strip = phi i64 [ 0, %{name} ], [ %strip.next, %{name}.strips ]",
                ],
                [
                    "  %strip.next = add i64 %strip, 1",
                    f"  %strip.more = icmp ult i64 %strip.next, {count}",
                    f"  br i1 %strip.more, label %{name}.strips, label %{name}.behind",
                    f"{name}.behind:",
                ],
            )
        before, after = ([line.text for line in lines] for lines in (part.before, part.after))
        return [*before, *self._stores(), *around[0], *self.body, *around[1], *self.loads, *after]

    def _in_order(self) -> Iterable[_LanewiseLine]:
        """Lines for one strip: the first line of each pair, at the place of the second."""
        part = self.part
        for value in part.values.values():
            if part.width == 1 or value.uniform:
                yield value
            elif value.name in part.leaders:
                yield part.values[part.leaders[value.name]]

    def _emit(self, value: _LanewiseLine) -> None:
        """A line for the lanes of a strip, with loads of what comes from outside."""
        part, pieces = self.part, list(value.pieces)
        pair = part.values[value.pair].sources if value.pair else []
        for n in range(1, len(pieces), 2):
            source = pieces[n]
            if source in part.values:
                pieces[n] = f"{source}.s"
            elif not pieces[0].startswith("insert"):
                kind = [m[0] for m in VECTOR.finditer("".join(value.pieces[:n]))][-1]
                names = (source, *islice(pair, n // 2, n // 2 + 1))
                address = f"{value.name}.from{n}"
                self.body += [
                    self._place(self._slot(names, kind), address),
                    f"  {address}.s = load {self._kind(kind)}, ptr {address}, align 1",
                ]
                pieces[n] = f"{address}.s"
        self.body.append(f"  {value.name}.s = {_of_lanes(''.join(pieces), part.lanes, self.strip)}")

    def _store_result(self, value: _LanewiseLine, names: tuple[str, ...]) -> None:
        """Keep a value for code behind the loop."""
        slot, address = self._slot(names, value.kind), f"{value.name}.to"
        self.body += [
            self._place(slot, address),
            f"  store {self._kind(value.kind)} {value.name}.s, ptr {address}, align 1",
        ]
        for half, name in enumerate(names):
            line, address = self._half(slot, half)
            self.loads += [line, f"  {name} = load {slot.kind}, ptr {address}, align 1"]

    def _stores(self) -> list[str]:
        """Lines in front of the loop that write its inputs."""
        found = []
        for names, slot in self.slots.items():
            if names[0] not in self.part.values:
                for half, name in enumerate(names):
                    line, address = self._half(slot, half)
                    found += [line, f"  store {slot.kind} {name}, ptr {address}, align 1"]
        return found

    def _kind(self, kind: str) -> str:
        return f"<{self.strip} x {_element(kind)}>"

    def _slot(self, names: Sequence[str], kind: str) -> _Slot:
        key = tuple(names)
        if key not in self.slots:
            self.slots[key] = _Slot(f"%strip.slot{len(self.slots)}", kind, key)
        return self.slots[key]

    def _place(self, slot: _Slot, name: str) -> str:
        """The address of a strip in a slot."""
        return f"  {name} = getelementptr [{bytes_of(self._kind(slot.kind))} x i8], ptr {slot.address}, i64 %strip"

    def _half(self, slot: _Slot, half: int) -> tuple[str, str]:
        """The address of one of the values in a slot, and its name."""
        name = f"{slot.address}.half{half}"
        return f"  {name} = getelementptr i8, ptr {slot.address}, i64 {half * bits_of(slot.kind) // 8}", name
