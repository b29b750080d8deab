"""Threads of a group abreast: kernels with barriers whose coroutine runs several threads at once.

A kernel with barriers is a coroutine for each thread, resumed in turn (``lower/assembly.py``). Here it gets a second
form, a coroutine for several threads that stop at barriers together:

* What is the same for all threads of a group (arguments, limits, counters of loops, what lies at such addresses) stands
  once; anything else once for each of them, line by line. So the chains of dependent instructions of one thread fill
  the gaps of another's, and a barrier costs one return for all of them.
* Where one way of a branch leads to a fault, the first of the threads that takes it goes there.
* What stands between a branch that threads may take differently and the block at which its ways meet again is run for
  one after the other. Where a thread could wait there, there is no second form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from vsim.llvm_engine.ir.blocks import BRANCH, JUMP, NAME, RESULT, Block, blocks_of, postdominators, reaching

MAXIMUM_LINES = {2: 1700, 4: 1300}
"""Lines of a thread's code up to which so many threads run abreast: all of it may be compiled so many times."""
LINES_FOR_EACH = 14
"""Lines of a thread's code for each instruction of the kernel. Where there are more, most are those of lanes that are
accessed one by one, of which several threads are no faster, and an instruction takes a millisecond to compile.
"""
LINES_IN_TURN = 60
"""Lines for each barrier that are run for one thread after the other, up to which more than two threads run abreast:
such lines gain nothing from the others.
"""
MOST_VECTORS = 8
"""What a value of all lanes may take, for all threads, in vectors of the processor."""
_EXIT, _STOP = "exit", "stop"
"""The label behind the code of a thread, and a name for it where a fault leads there."""
_SUSPEND = re.compile(r"  (%[\w.]+) = call i8 @llvm\.coro\.suspend\(token none, i1 false\)")
_RESUMED = re.compile(r"  switch i8 %[\w.]+, label %suspend \[ i8 0, label %([\w.]+) i8 1, label %cleanup \]")
_TARGET = re.compile(r"label %([\w.]+)")
_STORE = re.compile(r"  store (?:volatile )?\S.* (\S+), ptr (%[\w.]+), align \d+")
_LOAD = re.compile(r"load (?:volatile )?(?:<\d+ x \w+>|\w+), ptr (%[\w.]+), align \d+.*")
_ALLOCA = re.compile(r"  (%[\w.]+) = alloca .*")
_PURE_CALL = re.compile(r"call (?:<\d+ x \w+>|\{[^{}]*\}|\w+) @llvm\.(?!masked)[^(]*\((?!.*\bptr\b)")
_ORDERED = re.compile(r"  (?:%[\w.]+ = )?(?:atomicrmw|cmpxchg|fence|call [^@]*@function\d)")
"""What threads must not do in another order, or is too much to do several times."""


@dataclass
class Region:
    """What is run for one thread after the other: the blocks behind one, up to the block at which all ways meet."""

    meeting: str
    inside: Set[str]


class Impossible(Exception):
    """Threads cannot run abreast."""


class Code:
    """The code of a thread, as blocks, and what is known of it.

    Args:
        head: lines in front of it.
        lines: the code, from its first label on.
    """

    def __init__(self, head: Sequence[str], lines: Sequence[str]) -> None:
        self.head = head
        self.waits: set[str] = set()
        """Blocks that end with a barrier."""
        blocks = blocks_of(self._plain(lines))
        if blocks is None:
            raise Impossible
        self.blocks = _with_edges_split(blocks)
        self.first = next(iter(self.blocks))
        self.slots = self._slots()
        """Stack slots that are only loaded and stored."""
        self.fatal = self.blocks.keys() - reaching(self.blocks, _EXIT)
        """Blocks from which no way leads to the end of a thread."""
        if any(block.successors()[1:2] and block.successors()[1] in self.fatal for block in self.without_faults()):
            raise Impossible  # A branch leads to a fault if its condition does not hold, which none does here.
        self.meeting = postdominators(self.blocks, _EXIT, self.fatal | {_STOP})
        self.regions: dict[str, Region] = {}
        """Where threads may part, by the block in front."""
        self.inside: set[str] = set()
        """Blocks of regions."""
        self.own = {"%thread"}
        """What is of one thread: values that another may have otherwise, and slots with such."""
        self._find_own()

    @property
    def lines_in_turn(self) -> int:
        """Lines that are run for one thread after the other."""
        return sum(len(self.blocks[name].body) for name in self.inside)

    def without_faults(self) -> list[Block]:
        """The blocks that are on a way to the end of a thread."""
        return [block for name, block in self.blocks.items() if name not in self.fatal]

    def _plain(self, lines: Sequence[str]) -> list[str]:
        """Barriers as jumps, and faults that lead elsewhere than where a thread ends."""
        found, here = list[str](), ""
        for line in lines:
            if line.endswith(":"):
                here = line[:-1]
            if resumed := _RESUMED.fullmatch(line):
                if not _SUSPEND.fullmatch(found.pop()):
                    raise Impossible
                self.waits.add(here)
                line = f"  br label %{resumed[1]}"
            elif here == "faults" and line == f"  br label %{_EXIT}":
                line = f"  br label %{_STOP}"
            found.append(line)
        return found

    def _slots(self) -> set[str]:
        slots = {slot[1] for line in self.head if (slot := _ALLOCA.fullmatch(line))}
        for line in [*self.head, *(line for block in self.blocks.values() for line in block.body)]:
            slots -= _used_otherwise(line)
        return slots

    # -- what is of one thread -----------------------------------------------------------------------------

    def _find_own(self) -> None:
        before = -1
        self.own |= {slot[1] for line in self.head if (slot := _ALLOCA.fullmatch(line))} - self.slots
        while before != len(self.own) + len(self.regions) + len(self.inside):
            before = len(self.own) + len(self.regions) + len(self.inside)
            for line in self.head:
                self._look_at(line, False)
            for name, block in self.blocks.items():
                self._look_into(name, block)

    def _look_into(self, name: str, block: Block) -> None:
        """What of a block is of one thread, and whether threads may part behind it."""
        parted = name in self.inside or name in self.fatal
        joined = any(region.meeting == name for region in self.regions.values())
        for phi, (_, values) in block.phis.items():
            if parted or joined or not self.own.isdisjoint(values.values()):
                self.own.add(phi)
        for line in block.body:
            self._look_at(line, parted)
        branch = BRANCH.fullmatch(block.end)
        if parted or not branch or branch[1] not in self.own or not self.fatal.isdisjoint(block.successors()):
            return
        self._part_behind(name)

    def _look_at(self, line: str, parted: bool) -> None:
        if store := _STORE.fullmatch(line):
            if store[2] in self.slots and (parted or store[1] in self.own):
                self.own.add(store[2])
        elif result := RESULT.fullmatch(line):
            differs = parted or not _is_repeatable(result[2]) or not self.own.isdisjoint(NAME.findall(result[2]))
            if differs:
                self.own.add(result[1])

    def _part_behind(self, name: str) -> None:
        """Threads may take another way behind a block.

        Raises:
            Impossible: one could wait there, or what stands there is entered elsewhere, too.
        """
        meeting = self.meeting.get(name, _EXIT)
        inside = self._between(name, meeting)
        if name in inside:  # A loop, each of whose rounds may be the last one of a thread: all of it.
            entries = {other for block in inside for other in self.blocks[block].before if other not in inside}
            name = entries.pop()
            if entries or not JUMP.fullmatch(self.blocks[name].end):
                raise Impossible
        entered = {other for block in inside for other in self.blocks[block].before}
        if not entered <= inside | {name} or inside & self.waits or name in inside or name in self.waits:
            raise Impossible
        if self.has_loop(inside):
            raise Impossible
        self.inside |= inside
        self.regions[name] = Region(meeting, inside)
        for other in self.regions.keys() & self.inside:
            del self.regions[other]

    def has_loop(self, inside: Set[str]) -> bool:
        """Whether blocks have a loop: the time of a thread is spent in it then, and not at barriers."""
        ways = {name: [o for o in self.blocks[name].likely_successors() if o in inside] for name in inside}
        while ends := [name for name, others in ways.items() if not others]:
            for name in ends:
                del ways[name]
            ways = {name: [o for o in others if o not in ends] for name, others in ways.items()}
        return bool(ways)

    def _between(self, name: str, meeting: str) -> set[str]:
        """The blocks behind one, up to a meeting."""
        inside, waiting = set[str](), self.blocks[name].successors()
        while waiting:
            other = waiting.pop()
            if other != meeting and other not in self.fatal and other not in inside and other in self.blocks:
                inside.add(other)
                waiting += self.blocks[other].successors()
        return inside


def _with_edges_split(blocks: dict[str, Block]) -> dict[str, Block]:
    """The blocks, with one of its own between a branch and a block that is reached from elsewhere, too."""
    found: dict[str, Block] = {}
    for name, block in blocks.items():
        found[name] = block
        branch = BRANCH.fullmatch(block.end)
        if not branch:
            continue
        for n in 2, 3:
            other = blocks.get(branch[n])
            if other is None or len(other.before) == 1:
                continue
            edge = f"{name}.to.{branch[n]}"
            block.end = re.sub(rf"label %{re.escape(branch[n])}\b(?![\w.])", f"label %{edge}", block.end)
            found[edge] = Block(edge, end=f"  br label %{branch[n]}", before=[name])
            other.before[other.before.index(name)] = edge
            for _, values in other.phis.values():
                values[edge] = values.pop(name)
    return found


def _used_otherwise(line: str) -> set[str]:
    """What a line uses in another way than as a place that is loaded or stored."""
    if store := _STORE.fullmatch(line):
        return {store[1]}
    if result := RESULT.fullmatch(line):
        if _LOAD.fullmatch(result[2]):
            return set()
        return set(NAME.findall(result[2]))
    return set(NAME.findall(line))


def _is_repeatable(text: str) -> bool:
    """Whether an instruction has one result for all threads with the same operands."""
    return not text.startswith("call ") or bool(_PURE_CALL.match(text))


class Abreast:
    """The text of a coroutine for several threads."""

    def __init__(self, code: Code, count: int) -> None:
        self.code, self.count = code, count
        self.threads = range(count)
        self.blocks = code.blocks
        self.ways: dict[str, dict[str, str]] = {}
        """Of each block that is run together: the labels by which blocks behind it are reached."""

    # -- names ---------------------------------------------------------------------------------------------

    def _renamed(self, text: str, thread: int) -> str:
        """A text for one of the threads; the first one's names in front of the code stay."""
        if not thread:
            return text

        def name(found: re.Match[str]) -> str:
            return f"{found[0]}.t{thread}" if found[0] in self.code.own else found[0]

        return NAME.sub(name, text)

    def _line(self, line: str) -> list[str]:
        """A line for all threads."""
        own = self.code.own
        if not own.isdisjoint(NAME.findall(line)) or self._must_repeat(line):
            return [self._renamed(line, thread) for thread in self.threads]
        return [line]

    def _must_repeat(self, line: str) -> bool:
        """Whether a line does something each time."""
        store = _STORE.fullmatch(line)
        return not RESULT.fullmatch(line) and not (store and store[2] in self.code.slots)

    # -- the text ------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """The code of all threads."""
        lines: list[str] = []
        together = self._together()
        for name in together:
            self.ways[name] = self._ways(name)
        for name in together:
            lines += self._block(name)
        return [*lines, *self._faults(together)]

    def numbers(self) -> list[str]:
        """The numbers of the other threads."""
        return [f"  %thread.t{thread} = add i64 %thread, {thread}" for thread in self.threads[1:]]

    def head(self) -> list[str]:
        """What stands in front of the code."""
        return [new for line in self.code.head for new in self._line(line)]

    def _together(self) -> list[str]:
        return [block.name for block in self.code.without_faults() if block.name not in self.code.inside]

    def _ways(self, name: str) -> dict[str, str]:
        if region := self.code.regions.get(name):
            return {region.meeting: f"joined.{name}"}
        return {other: f"w.{name}" for other in self.blocks[name].successors() if other not in self.code.fatal}

    def _block(self, name: str) -> list[str]:
        block = self.blocks[name]
        lines = [f"w.{name}:"]
        for phi in block.phis:
            lines += self._phi(block, phi)
        for line in block.body:
            lines += self._line(line)
        if name in self.code.regions:
            return lines + self._in_turn(block)
        if name in self.code.waits:
            (other,) = self.ways[name]
            return [
                *lines,
                f"  %s.{name} = call i8 @llvm.coro.suspend(token none, i1 false)",
                f"  switch i8 %s.{name}, label %suspend [ i8 0, label %w.{other} i8 1, label %cleanup ]",
            ]
        return lines + self._end(block)

    def _phi(self, block: Block, phi: str) -> list[str]:
        """A phi, for each thread if it is of one."""
        kind, values = block.phis[phi]
        lines = []
        for thread in self.threads if phi in self.code.own else (0,):
            arms = []
            for before, ways in self.ways.items():
                if label := ways.get(block.name):
                    joined = before in self.code.regions
                    value = f"{phi}.{before}.t{thread}" if joined else self._renamed(values[before], thread)
                    arms.append(f"[ {value}, %{label} ]")
            lines.append(f"  {self._renamed(phi, thread)} = phi {kind} {', '.join(arms)}")
        return lines

    def _label(self, name: str) -> str:
        return name if name == _EXIT else f"w.{name}"

    def _end(self, block: Block) -> list[str]:
        """The end of a block behind which all threads go the same way, or one to a fault."""
        branch = BRANCH.fullmatch(block.end)
        if not branch:
            return [_TARGET.sub(lambda m: f"label %{self._label(m[1])}", block.end)]
        condition, one, other, weights = branch.groups()
        if one not in self.code.fatal:
            return [f"  br i1 {condition}, label %{self._label(one)}, label %{self._label(other)}{weights}"]
        here, good = block.name, self._label(other)
        if condition not in self.code.own:
            return [f"  br i1 {condition}, label %f0.{here}, label %{good}{weights}", *self._to_fault(here, one, 0)]
        lines, any_of = [], condition
        for thread in self.threads[1:]:
            lines.append(f"  %any{thread}.{here} = or i1 {any_of}, {self._renamed(condition, thread)}")
            any_of = f"%any{thread}.{here}"
        lines.append(f"  br i1 {any_of}, label %which0.{here}, label %{good}{weights}")
        for thread in self.threads[:-1]:
            behind = f"which{thread + 1}" if thread + 2 < self.count else f"f{thread + 1}"
            lines.append(f"which{thread}.{here}:")
            lines.append(f"  br i1 {self._renamed(condition, thread)}, label %f{thread}.{here}, label %{behind}.{here}")
        return lines + [line for thread in self.threads for line in self._to_fault(here, one, thread)]

    def _to_fault(self, here: str, fault: str, thread: int) -> list[str]:
        return [f"f{thread}.{here}:", f"  br label %t{thread}.{fault}"]

    def _in_turn(self, block: Block) -> list[str]:
        """What stands between a block and the one at which the ways behind it meet: for one thread after the other."""
        here, region = block.name, self.code.regions[block.name]
        lines: list[str] = []
        label = f"w.{here}"
        for thread in self.threads:
            leave = f"turn{thread + 1}.{here}" if thread + 1 < self.count else f"joined.{here}"
            labels = {here: label} | {name: f"t{thread}.{name}" for name in region.inside}
            lines.append(self._solo_end(block.end, thread, {region.meeting: leave}))
            for name, inner in self.blocks.items():
                if name in region.inside:
                    lines += self._solo(inner, thread, labels, {region.meeting: leave})
            lines.append(f"{leave}:")
            if region.meeting != _EXIT:
                for phi, (kind, values) in self.blocks[region.meeting].phis.items():
                    arms = [f"[ {self._renamed(values[b], thread)}, %{at} ]" for b, at in labels.items() if b in values]
                    lines.append(f"  {phi}.{here}.t{thread} = phi {kind} {', '.join(arms)}")
            label = leave
        return [*lines, f"  br label %{self._label(region.meeting)}"]

    def _solo(self, block: Block, thread: int, before: Mapping[str, str], labels: Mapping[str, str]) -> list[str]:
        """A block for one of the threads.

        Args:
            before: labels of blocks in front.
            labels: of blocks behind that are not the thread's own.
        """
        lines = [f"t{thread}.{block.name}:"]
        for phi, (kind, values) in block.phis.items():
            arms = [f"[ {self._renamed(values[b], thread)}, %{before[b]} ]" for b in block.before if b in before]
            lines.append(f"  {self._renamed(phi, thread)} = phi {kind} {', '.join(arms)}")
        lines += [self._renamed(line, thread) for line in block.body]
        return [*lines, self._solo_end(block.end, thread, labels)]

    def _solo_end(self, text: str, thread: int, labels: Mapping[str, str]) -> str:
        def label(found: re.Match[str]) -> str:
            name = _EXIT if found[1] in (_STOP, _EXIT) else f"t{thread}.{found[1]}"
            return f"label %{labels.get(found[1], name)}"

        return _TARGET.sub(label, self._renamed(text, thread))

    def _entries(self, together: Sequence[str], thread: int) -> dict[str, str]:
        """The blocks from which a thread goes to a fault while others are with it, and where to."""
        found = {}
        for name in together:
            branch = BRANCH.fullmatch(self.blocks[name].end)
            leaves = branch and branch[2] in self.code.fatal and name not in self.code.regions
            if branch and leaves and (thread == 0 or branch[1] in self.code.own):
                found[name] = branch[2]
        return found

    def _faults(self, together: Sequence[str]) -> list[str]:
        """The blocks from which no way leads to the end of a thread, for each one that enters them."""
        lines: list[str] = []
        for thread in self.threads:
            entries = self._entries(together, thread)
            waiting = list(entries.values())
            waiting += [b for name in self.code.inside for b in self.blocks[name].successors() if b in self.code.fatal]
            reached: set[str] = set()
            while waiting:
                name = waiting.pop()
                if name in self.blocks and name not in reached:
                    reached.add(name)
                    waiting += self.blocks[name].successors()
            for name in self.blocks:
                if name in reached:
                    labels = {other: f"t{thread}.{other}" for other in self.code.inside | reached}
                    labels |= {other: f"f{thread}.{other}" for other, entry in entries.items() if entry == name}
                    lines += self._solo(self.blocks[name], thread, labels, {})
        return lines


def abreast(text: str, most: int, vectors: int, instructions: int) -> tuple[str, int]:
    """A module whose ``kernel``, a coroutine, runs several threads from one on, and how many; the text as it is and 1
    if that is not possible, or would be too much.

    Args:
        most: threads; fewer are a divisor of it.
        vectors: of the processor, that a value of all lanes takes.
        instructions: of the kernel.
    """
    lines = text.split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("define ptr @kernel("))
    setup = next(n for n in range(start, len(lines)) if lines[n].startswith("  %handle = call")) + 1
    begun = next(n for n in range(setup, len(lines)) if lines[n].startswith("  %begin = call i8 @llvm.coro.suspend("))
    first, end = lines.index("started:", begun), lines.index(f"{_EXIT}:", begun)
    behind = lines.index("  ret ptr %handle", end) + 1
    finish = lines.index("}", behind)
    code_lines = [*lines[first:end], *lines[behind:finish]]
    count = most
    while count > 1 and (len(code_lines) > MAXIMUM_LINES[count] or count * vectors > MOST_VECTORS):
        count //= 2
    if (
        count == 1
        or len(code_lines) > LINES_FOR_EACH * instructions
        or any(_ORDERED.match(line) for line in code_lines)
    ):
        return text, 1
    try:
        code = Code(lines[setup:begun], code_lines)
    except Impossible:
        return text, 1
    if code.lines_in_turn > LINES_IN_TURN * len(code.waits):
        count = 2
    form = Abreast(code, count)
    body = form.lines()
    found = [
        *lines[: start + 2],
        *form.numbers(),
        *lines[start + 2 : setup],
        *form.head(),
        *lines[begun : first + 1],
        f"  br label %w.{code.first}",
        *body,
        *lines[end:behind],
        *lines[finish:],
    ]
    return "\n".join(found), count
