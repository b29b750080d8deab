"""Values live across barriers: spilled to shared slots, or rematerialised, before LLVM splits a coroutine.

LLVM's split spills such values to slots of their own in the coroutine's frame, and rematerialises chains of casts,
comparisons, selections, addresses and operations on two operands behind each suspension, however long they are. Here
vectors and long chains are spilled, to slots that values share if they are never live together, as the frames of a
group's threads should fit into the first cache; short chains are rematerialised once in each block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from vsim.engines.llvm.ir.emitter import NAME
from vsim.engines.llvm.passes.blocks import ENDS, FUNCTION
from vsim.engines.llvm.passes.lines import ARM, LABEL, TARGET, TYPE, bytes_of, result_type

MOST_OPERATIONS = 5
"""Operations up to which a value is rematerialised; one that several use counts for each of them."""
_DEFINITION = re.compile(rf"  ({NAME.pattern}) = (.*)")
_SUSPENSION, _BEGIN = "@llvm.coro.suspend(", "@llvm.coro.begin("
_REMATERIALISED = re.compile(
    r"(?:add|sub|mul|[us]div|[us]rem|and|or|xor|shl|lshr|ashr|f(?:add|sub|mul|div|rem)|select|[if]cmp|[sz]ext|trunc"
    r"|bitcast|fpext|fptrunc|[us]itofp|fpto[us]i|ptrtoint|inttoptr|getelementptr(?!.*<)) "
    # What gives all lanes the same value.
    r"|insertelement <.*> poison, .*, i64 0$|shufflevector .* x i32> zeroinitializer$"
)
_SPILLED = re.compile(r"<\d+ x (?:i\d+|half|float|double|ptr)>|i\d+|half|float|double|ptr")
"""Types of slots."""
_PHI = re.compile(rf"phi {TYPE} ")
_SLOT = re.compile(rf"({NAME.pattern})\.in\.frame\b")
"""The slot of a value, as long as it has no number."""


def _type(operation: str) -> str:
    """The type of what can be rematerialised; empty for other operations."""
    return (result_type(operation) or "") if _REMATERIALISED.match(operation) else ""


def _kept_type(operation: str) -> str:
    """The type of a value that can be spilled; empty if it is not known."""
    phi = _PHI.match(operation)
    kind = phi[1] if phi else result_type(operation) or ""
    return kind if _SPILLED.fullmatch(kind) else ""


def _alignment(kind: str) -> int:
    """The alignment of a value in its slot."""
    size = bytes_of(kind)
    return min(size & -size, 64)


def with_kept_values(text: str) -> str:
    """A module whose coroutines spill vectors and long chains of operations to shared slots."""
    return FUNCTION.sub(lambda found: _Coroutine(found[0]).text(), text) if _SUSPENSION in text else text


class _Coroutine:
    """A function, and its values that are live across suspensions."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.blocks: list[str] = []
        """The block of each line."""
        self.home: dict[str, str] = {}
        """The block of each value behind the coroutine's beginning."""
        self.operations: dict[str, str] = {}
        self.waits: set[str] = set()
        """Blocks that end with a suspension."""
        self.before: dict[str, set[str]] = {}
        """The predecessors of each block."""
        self.read: dict[tuple[str, str], str] = {}
        """The name of a value in a block behind a suspension: of its copy or of its load."""
        self.readers: dict[str, set[str]] = {}
        """The blocks that load each spilled value."""
        block = ""
        for line in self.lines:
            if label := LABEL.match(line):
                block = label[1]
            self.blocks.append(block)
            if _BEGIN in line:
                self.home.clear()
            elif found := _DEFINITION.match(line):
                self.home[found[1]], self.operations[found[1]] = block, found[2]
            if _SUSPENSION in line:
                self.waits.add(block)
            for target in TARGET.findall(line):
                self.before.setdefault(target, set()).add(block)
        self.number = {block: n for n, block in enumerate(dict.fromkeys(self.blocks))}
        self.ways, self.crossed = dict.fromkeys(self.number, 0), dict.fromkeys(self.number, 0)
        """Of each block, as bits: the blocks on a way to its beginning, and those behind which the way is suspended."""
        self.long: set[str] = set()
        """Values that take too many operations to be rematerialised."""

    def text(self) -> str:
        """The function, in which values behind suspensions are rematerialised or loaded."""
        if not self.waits:
            return "\n".join(self.lines)
        self._follow_ways()
        self.long = self._long()
        changed, front = self._changed()
        return "\n".join(self._with_slots(changed, front, self._slots()))

    # -- uses behind suspensions ---------------------------------------------------------------------------

    def _follow_ways(self) -> None:
        changed = True
        while changed:
            changed = False
            for block in self.number:
                for other in self.before.get(block, ()):
                    ways = self.ways[block] | self.ways[other] | 1 << self.number[other]
                    crossed = self.crossed[block] | self._behind(other)
                    changed |= (ways, crossed) != (self.ways[block], self.crossed[block])
                    self.ways[block], self.crossed[block] = ways, crossed

    def _behind(self, block: str) -> int:
        """The blocks behind which a way to the end of one is suspended."""
        own = 1 << self.number[block]
        return self.crossed[block] | self.ways[block] | own if block in self.waits else self.crossed[block] & ~own

    def _crosses(self, name: str, block: str, at_end: bool) -> bool:
        """Whether a suspension may be between a value and its use in a block, or at the end of that."""
        home = self.home.get(name)
        if home is None or (home == block and not at_end):
            return False
        return bool((self._behind(block) if at_end else self.crossed[block]) >> self.number[home] & 1)

    def _uses(self) -> Iterator[tuple[str, str, bool]]:
        """Each use of a value: its name, the block, and whether that is at its end."""
        for line, block in zip(self.lines, self.blocks, strict=True):
            found = _DEFINITION.match(line)
            if found and found[2].startswith("phi "):
                yield from ((arm[1], arm[2], True) for arm in ARM.finditer(found[2]))
            else:
                yield from ((used, block, False) for used in NAME.findall(found[2] if found else line))

    def _long(self) -> set[str]:
        """Values used behind suspensions that take too many operations to be rematerialised."""
        crossing = {name for name, block, at_end in self._uses() if self._crosses(name, block, at_end)}
        operations, found = dict[str, int](), set[str]()
        for name, operation in self.operations.items():
            if _type(operation):
                count = 1 + sum(operations.get(used, 0) for used in set(NAME.findall(operation)))
                if count > MOST_OPERATIONS and name in crossing:
                    found.add(name)
                    count = 0
                operations[name] = count
        return found

    # -- copies and loads ----------------------------------------------------------------------------------

    def _changed(self) -> tuple[list[str], dict[int, list[str]]]:
        """The lines, which use copies and loads; and lines that make these, by the number of the line behind them."""
        changed, front, last = list(self.lines), dict[int, list[str]](), dict[str, int]()
        phis = []
        for n, (line, block) in enumerate(zip(self.lines, self.blocks, strict=True)):
            found = _DEFINITION.match(line)
            if line.startswith(ENDS):
                last[block] = n
            if found and found[2].startswith("phi "):
                phis.append(n)
            elif not LABEL.match(line):
                own, begin = list[str](), found.start(2) if found else 0
                changed[n] = line[:begin] + self._renamed(line[begin:], block, False, own)
                if own:
                    front[n] = own
        for n in phis:
            changed[n] = ARM.sub(
                lambda arm: f"[ {self._name(arm[1], arm[2], True, front.setdefault(last[arm[2]], []))}, %{arm[2]} ]",
                self.lines[n],
            )
        return changed, front

    def _renamed(self, text: str, block: str, at_end: bool, lines: list[str]) -> str:
        return NAME.sub(lambda used: self._name(used[0], block, at_end, lines), text)

    def _name(self, name: str, block: str, at_end: bool, lines: list[str]) -> str:
        """The name of a value in a block, or at its end; lines that copy or load it are appended."""
        if not self._crosses(name, block, at_end):
            return name
        if known := self.read.get((name, block)):
            return known
        operation = self.operations[name]
        kind = _kept_type(operation)
        new = f"%again.{len(self.read)}"
        if _type(operation) and name not in self.long:
            self.read[name, block] = new
            lines.append(f"  {new} = {self._renamed(operation, block, at_end, lines)}")
        elif name in self.long or kind.startswith("<"):
            self.read[name, block] = new
            self.readers.setdefault(name, set()).add(block)
            lines.append(f"  {new} = load {kind}, ptr {name}.in.frame, align {_alignment(kind)}")
        else:
            return name  # LLVM keeps it.
        return new

    # -- slots ---------------------------------------------------------------------------------------------

    def _slots(self) -> dict[str, tuple[str, str]]:
        """The slot of each spilled value, and the type that the slot is made for."""
        slots: list[tuple[str, str]] = []
        taken: list[int] = []
        found = {}
        for name in filter(self.readers.__contains__, self.operations):
            kind, alive = _kept_type(self.operations[name]), self._alive(name)
            free = (n for n, (_, k) in enumerate(slots) if bytes_of(k) == bytes_of(kind) and not taken[n] & alive)
            n = next(free, len(slots))
            if n == len(slots):
                slots.append((f"%slot.{n}", kind))
                taken.append(0)
            taken[n] |= alive
            found[name] = slots[n]
        return found

    def _alive(self, name: str) -> int:
        """The blocks, as bits, in which a value is live."""
        home, ahead = self.home[name], [*self.readers[name]]
        seen = {home}
        while ahead:
            block = ahead.pop()
            if block not in seen:
                seen.add(block)
                ahead += self.before.get(block, ())
        return sum(1 << self.number[block] for block in seen)

    def _with_slots(
        self, changed: Sequence[str], front: Mapping[int, Sequence[str]], slots: Mapping[str, tuple[str, str]]
    ) -> Iterator[str]:
        """The lines, with slots where the coroutine begins, and stores behind the spilled values."""
        stores: list[str] = []
        for n, line in enumerate(changed):
            found = _DEFINITION.match(line)
            is_phi = found is not None and found[2].startswith("phi ")
            if not is_phi:
                yield from stores
                stores = []
            yield from (_SLOT.sub(lambda used: slots[used[1]][0], own) for own in front.get(n, ()))
            yield line
            if found and found[1] in slots:
                kind = _kept_type(found[2])
                stores.append(f"  store {kind} {found[1]}, ptr {slots[found[1]][0]}, align {_alignment(kind)}")
            if _BEGIN in line:
                made = dict(slots.values())
                yield from (f"  {slot} = alloca {kind}, align {_alignment(kind)}" for slot, kind in made.items())
