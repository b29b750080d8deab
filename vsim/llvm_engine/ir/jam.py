"""Unroll-and-jam of the loop over the threads of a group: two threads in flight.

A thread whose loop is one chain of dependent instructions waits for each of them; the instructions of a second thread
fill these gaps. The text of ``group`` (``lower/assembly.py``) gets a second body, for two threads ``a`` and ``b``, in
which everything stands twice but the branches between blocks:

* Where one way leads to a fault, the first of the threads that takes it goes there.
* What stands between a branch and the block at which its ways meet again is run for ``a``, then for ``b``.
* Branches of the loops that are worth it are taken together while both threads go the same way. Where they part, ``a``
  goes on alone in the body for one thread, to its end; then ``b`` does, from the place that it had reached.

What is live at such a place goes through stack slots, of which LLVM makes SSA values again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple

from vsim.llvm_engine.ir.blocks import (
    BRANCH,
    JUMP,
    NAME,
    RESULT,
    SELDOM,
    Block,
    bits_of,
    blocks_of,
    innermost_loops,
    postdominators,
    reaching,
    result_type,
)
from vsim.llvm_engine.ir.recurrence import bounds

LEAST_WAITING = 0.3
"""Of the time that a loop's instructions take what its recurrences must take, so that two threads run at once."""
MAXIMUM_LINES = 2000
"""Lines of a thread's code, of which three copies are compiled."""
MOST_VECTORS = 8
"""What a thread may hold in a loop, in vectors of the processor, so that two are run at once."""
_NEXT = "next"
"""The label behind the code of a thread (``runtime/driver.ll``)."""
_ALLOCA = re.compile(r"  (%[\w.]+) = alloca (.*), align \d+")
_ARRAY = re.compile(r"\[(\d+) x i8\]")
_TARGET = re.compile(r"label %([\w.]+)")
_ORDERED = re.compile(r"  (?:%[\w.]+ = )?(?:atomicrmw|cmpxchg|fence|call [^@]*@function\d)")
"""What two threads must not do in another order, or is too much to do twice."""
_COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def jammed(text: str, bits: int) -> str:
    """A module whose ``group`` runs two threads at once, if that may pay; else the text as it is.

    Args:
        bits: of the processor's vectors.
    """
    lines = text.split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("define void @group("))
    begin, end = lines.index("begin:", start), lines.index(f"{_NEXT}:", start)
    if end - begin > MAXIMUM_LINES or any(_ORDERED.match(line) for line in lines[begin:end]):
        return text
    blocks = blocks_of([lines[begin], *lines[begin + 2 : end]])  # without the thread's number
    if blocks is None:
        return text
    head = lines[start + 2 : begin]
    headers = _worthy(blocks, {m[1] for line in head if (m := _ALLOCA.fullmatch(line))}, bits)
    if not headers:
        return text
    jam = _Jam(head, blocks, headers)
    if not jam.is_possible:
        return text
    found = "\n".join([*lines[: start + 2], *jam.lines(), *lines[end:]])
    found = found.replace("  %t1 = add i64 %t, 1\n", "  %t1 = add i64 %t, %t.step\n")
    return found if _COPY in found else f"{_COPY}\n{found}"


def _worthy(blocks: Mapping[str, Block], slots: Set[str], bits: int) -> set[str]:
    """Headers of the innermost loops that two threads run at once: all that hold little, if one of them waits."""
    headers, waits = set[str](), False
    for header, loop in innermost_loops({name: block.likely_successors() for name, block in blocks.items()}).items():
        found = bounds((line for name in loop for line in blocks[name].body), slots, bits)
        if found.vectors <= MOST_VECTORS:
            headers.add(header)
            waits |= found.recurrence >= LEAST_WAITING * found.resources
    return headers if waits else set()


class _End(NamedTuple):
    """How a block ends for two threads: its lines, and the labels by which blocks behind it are reached."""

    lines: Sequence[str]
    ways: Mapping[str, str]
    parts: bool = False
    """Whether the threads may part here."""
    fault: str = ""
    """A block from which no way leads to the next thread, which one of the two enters alone."""
    inside: Set[str] = frozenset()
    """Blocks that are run for one thread, then for the other, before both go on."""


class _Jam:
    """Both bodies.

    Args:
        head: lines in front of the loop over threads.
        blocks: those of a thread, whose number is ``%t``.
        headers: of loops that two threads are to run at once.
    """

    def __init__(self, head: list[str], blocks: dict[str, Block], headers: Set[str]) -> None:
        self.head, self.blocks, self.headers = head, blocks, headers
        self.first = next(iter(blocks))
        self.types: dict[str, str | None] = {}
        """Of what is computed in the code of a thread."""
        self.home: dict[str, str] = {}
        """The block in which each of these is computed."""
        self.slots: dict[str, int] = {}
        """Stack slots with their bytes."""
        self.own: set[str] = set()
        """Names in front of the loop that are of one thread: slots, and pointers into them."""
        self._find_names()
        self.used = {name: self._used(block) for name, block in blocks.items()}
        self.live = self._live()
        self.fatal = blocks.keys() - reaching(blocks, _NEXT)
        """Blocks from which no way leads to the next thread."""
        self.meeting = postdominators(blocks, _NEXT, self.fatal)
        self.ends = {name: self._end(block) for name, block in blocks.items()}
        self.together = self._reached_together()
        """Blocks that two threads reach together."""
        targets = [other for name in self.together if self.ends[name].parts for other in blocks[name].successors()]
        self.targets = {name: number for number, name in enumerate(dict.fromkeys(targets), 1)}
        """Blocks at which the body for one thread is entered, by numbers from 1."""
        self.kept = sorted(set[str]().union(*(self.live[name] for name in self.targets)))
        """What is live where a thread enters."""

    # -- what is known of the code -------------------------------------------------------------------------

    def _find_names(self) -> None:
        for line in self.head:
            if slot := _ALLOCA.fullmatch(line):
                array = _ARRAY.fullmatch(slot[2])
                self.slots[slot[1]] = int(array[1]) if array else -(-bits_of(slot[2]) // 8)
                self.own.add(slot[1])
            elif (result := RESULT.fullmatch(line)) and self.own.intersection(NAME.findall(result[2])):
                self.own.add(result[1])
        for block in self.blocks.values():
            for name, (kind, _) in block.phis.items():
                self.types[name], self.home[name] = kind, block.name
            for line in block.body:
                if result := RESULT.fullmatch(line):
                    self.types[result[1]], self.home[result[1]] = result_type(result[2]), block.name

    def _used(self, block: Block) -> set[str]:
        """What of the thread a block uses, for the phis of those behind it, too."""
        texts = [*block.body, block.end]
        texts += [values[block.name] for other in block.successors() for _, values in self._phis_of(other)]
        return {name for text in texts for name in NAME.findall(text) if name in self.home}

    def _phis_of(self, block: str) -> list[tuple[str, dict[str, str]]]:
        return list(self.blocks[block].phis.values()) if block in self.blocks else []

    def _live(self) -> dict[str, set[str]]:
        """What of the thread is live in front of each block, behind its phis."""
        live = {block: {name for name in used if self.home[name] != block} for block, used in self.used.items()}
        changed = True
        while changed:
            changed = False
            for block in reversed(self.blocks):
                behind = set[str]().union(*(live.get(other, ()) for other in self.blocks[block].successors()))
                new = {name for name in behind - live[block] if self.home[name] != block}
                live[block] |= new
                changed |= bool(new)
        return live

    def _reached_together(self) -> list[str]:
        reached, waiting = {self.first}, [self.first]
        while waiting:
            for other in self.ends[waiting.pop()].ways:
                if other != _NEXT and other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return [name for name in self.blocks if name in reached]

    @property
    def is_possible(self) -> bool:
        """Whether two threads run anything together, slots are only made, not used, in front of the loop, no pointer to
        one is kept, and the types of what is kept are known.
        """
        if (
            not self.targets
            or self._faults_otherwise()
            or any(not RESULT.fullmatch(x) and self.own & set(NAME.findall(x)) for x in self.head)
        ):
            return False
        inner = set(self.own)
        for block in self.blocks.values():
            for line in block.body:
                result = RESULT.fullmatch(line)
                if result and self.types[result[1]] == "ptr" and inner.intersection(NAME.findall(result[2])):
                    inner.add(result[1])
        return not inner.intersection(self.kept) and all(self.types[name] for name in self.kept)

    def _faults_otherwise(self) -> bool:
        """Whether a branch leads to a fault if its condition does not hold, which none does that the engine makes."""
        return any(
            name not in self.fatal and block.successors()[1:2] and block.successors()[1] in self.fatal
            for name, block in self.blocks.items()
        )

    def _inside(self, block: Block) -> set[str]:
        """What stands between a branch and the block at which its ways meet; nothing if that is entered elsewhere, or
        has a loop that both threads are to run at once.
        """
        meeting = self.meeting.get(block.name, _NEXT)
        if meeting == _NEXT:
            return set()
        inside, waiting = set[str](), block.successors()
        while waiting:
            name = waiting.pop()
            if name != meeting and name not in self.fatal and name not in inside:
                inside.add(name)
                waiting += self.blocks[name].successors()
        entered = {other for name in inside for other in self.blocks[name].before}
        possible = block.name not in inside and not inside & self.headers and entered <= inside | {block.name}
        return inside if possible else set()

    # -- names ---------------------------------------------------------------------------------------------

    def _renamed(self, text: str, thread: str) -> str:
        """A text for one of two threads."""

        def name(found: re.Match[str]) -> str:
            old = found[0]
            if old in self.home or (thread == "b" and old in self.own):
                return f"%{thread}.{old[1:]}"
            return "%t.b" if old == "%t" and thread == "b" else old

        return NAME.sub(name, text)

    def _alone_label(self, block: str) -> str:
        return "alone" if block == self.first else block

    # -- the text ------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """What stands in front of ``%next``, where ``%t.step`` threads lie behind."""
        return [
            *self._slots_and_head(),
            "begin:",
            "  %t = phi i64 [ 0, %group ], [ %t1, %next ]",
            "  %t.b = add i64 %t, 1",
            "  %t.two = icmp ult i64 %t.b, %threads",
            "  %t.step = select i1 %t.two, i64 2, i64 1",
            "  store i32 0, ptr %t.waits, align 4",
            f"  br i1 %t.two, label %two.{self.first}, label %{self._alone_label(self.first)}",
            *self._two_threads(),
            *self._one_thread(),
            *self._change_of_threads(),
        ]

    def _slots_and_head(self) -> list[str]:
        """Slots of what is kept, and what stood in front of the loop, with slots of a second thread.

        ``%t.waits`` is the number of the place at which the second thread waits, 0 if it does not.
        """
        lines = ["  %t.waits = alloca i32, align 4"]
        for slot, kind in self._keeping():
            lines += [f"  {slot} = alloca {kind}, align 64", f"  {slot}.b = alloca {kind}, align 64"]
        for line in self.head:
            lines.append(line)
            if (result := RESULT.fullmatch(line)) and result[1] in self.own:
                lines.append(self._renamed(line, "b"))
        return lines

    def _keeping(self) -> list[tuple[str, str]]:
        """Slots of what is live where a thread enters, and of phis there, with their types."""
        phis = [
            (f"{name}.phi", kind) for target in self.targets for name, (kind, _) in self.blocks[target].phis.items()
        ]
        return [(f"{name}.kept", self.types[name] or "") for name in self.kept] + phis

    # .. one thread

    def _one_thread(self) -> list[str]:
        """The body for one thread, which can be entered at the targets."""
        lines: list[str] = []
        kept = frozenset(self.kept)
        loaded = {
            here: {name: f"{name}.{here}" for name in sorted(used & kept) if self.home[name] != here}
            for here, used in self.used.items()
        }

        def local(text: str, here: str) -> str:
            return NAME.sub(lambda m: loaded[here].get(m[0], m[0]), text)

        def keep(name: str) -> list[str]:
            return [f"  store {self.types[name]} {name}, ptr {name}.kept, align 64"] if name in kept else []

        for here, block in self.blocks.items():
            lines.append(f"{self._alone_label(here)}:")
            for phi, (kind, values) in block.phis.items():
                ways = ", ".join(f"[ {local(values[b], b)}, %{self._alone_label(b)} ]" for b in block.before)
                value = f"load {kind}, ptr {phi}.phi, align 64" if here in self.targets else f"phi {kind} {ways}"
                lines.append(f"  {phi} = {value}")
            for phi in block.phis:
                lines += keep(phi)
            lines += [f"  {new} = load {self.types[n]}, ptr {n}.kept, align 64" for n, new in loaded[here].items()]
            for line in block.body:
                lines.append(local(line, here))
                if result := RESULT.fullmatch(line):
                    lines += keep(result[1])
            for other in block.successors():
                if other in self.targets:
                    lines += self._stored_phis(other, here, "", partial(local, here=here))
            lines.append(local(block.end, here).replace(f"label %{_NEXT}", "label %t.over"))
        return lines

    def _stored_phis(self, target: str, before: str, suffix: str, renamed: Callable[[str], str]) -> list[str]:
        """What the phis of a target are to be for a thread that comes from a block."""
        return [
            f"  store {kind} {renamed(values[before])}, ptr {phi}.phi{suffix}, align 64"
            for phi, (kind, values) in self.blocks[target].phis.items()
        ]

    def _change_of_threads(self) -> list[str]:
        """Behind the body for one thread: of two that parted the second one goes on, if it still waits."""
        places = " ".join(f"i32 {number}, label %{self._alone_label(t)}" for t, number in self.targets.items())
        copies = [
            f"  call void @llvm.memcpy.p0.p0.i64(ptr align 1 {slot}, ptr align 1 %b.{slot[1:]}, i64 {size}, i1 false)"
            for slot, size in self.slots.items()
        ]
        for slot, kind in self._keeping():
            copies.append(f"  {slot}.again = load {kind}, ptr {slot}.b, align 64")
            copies.append(f"  store {kind} {slot}.again, ptr {slot}, align 64")
        return [
            "t.over:",
            "  %t.place = load i32, ptr %t.waits, align 4",
            "  %t.none = icmp eq i32 %t.place, 0",
            f"  br i1 %t.none, label %{_NEXT}, label %t.change",
            "t.change:",
            "  store i32 0, ptr %t.waits, align 4",
            *copies,
            f"  switch i32 %t.place, label %{_NEXT} [ {places} ]",
        ]

    # .. two threads

    def _two_threads(self) -> list[str]:
        """The body for two threads."""
        lines: list[str] = []
        for name in self.together:
            block, end = self.blocks[name], self.ends[name]
            lines.append(f"two.{name}:")
            for thread in "ab":
                lines += self._phis_of_two(block, thread)
            for thread in "ab":
                lines += [self._renamed(line, thread) for line in block.body]
            lines += end.lines
            if end.parts:
                lines += self._parting(block)
            if end.inside:
                lines += self._in_turn(block)
        return lines + self._faults()

    def _end(self, block: Block) -> _End:
        """How a block ends for two threads."""
        here = f"two.{block.name}"
        found = BRANCH.fullmatch(block.end)
        if not found:
            jump = JUMP.fullmatch(block.end)
            if not jump:
                return _End([block.end], {})
            target = _NEXT if jump[1] == _NEXT else f"two.{jump[1]}"
            return _End([f"  br label %{target}"], {jump[1]: here})
        condition, one, other, weights = found.groups()
        a, b = self._renamed(condition, "a"), self._renamed(condition, "b")
        apart, parting = f"apart.{block.name}", f"parting.{block.name}"
        all_of, any_of = f"  %both.{block.name} = and i1 {a}, {b}", f"  %some.{block.name} = or i1 {a}, {b}"
        both, some = f"  br i1 %both.{block.name}, label ", f"  br i1 %some.{block.name}, label "
        if one in self.fatal:
            lines = [
                any_of, f"{some}%{apart}, label %two.{other}{weights}",
                f"{apart}:", f"  br i1 {a}, label %fault.a.{block.name}, label %fault.b.{block.name}",
                f"fault.a.{block.name}:", f"  br label %a.{one}",
                f"fault.b.{block.name}:", f"  br label %b.{one}",
            ]  # fmt: skip
            return _End(lines, {other: here}, fault=one)
        if condition not in self.home:  # the same for both
            return _End(
                [f"  br i1 {condition}, label %two.{one}, label %two.{other}{weights}"], {one: here, other: here}
            )
        if inside := self._inside(block):
            return _End([], {self.meeting[block.name]: f"both.{block.name}"}, inside=inside)
        if weights == SELDOM:
            lines = [any_of, f"{some}%{apart}, label %two.{other}{weights}",
                     f"{apart}:", all_of, f"{both}%two.{one}, label %{parting}"]  # fmt: skip
            return _End(lines, {one: apart, other: here}, parts=True)
        lines = [all_of, f"{both}%two.{one}, label %{apart}{weights}",
                 f"{apart}:", any_of, f"{some}%{parting}, label %two.{other}"]  # fmt: skip
        return _End(lines, {one: here, other: apart}, parts=True)

    def _phis_of_two(self, block: Block, thread: str) -> list[str]:
        """A thread's phis; behind what was run for one and then the other they are joined there."""
        lines = []
        ways = [(name, end) for name in self.together if block.name in (end := self.ends[name]).ways]
        for phi, (kind, values) in block.phis.items():
            arms = []
            for before, end in ways:
                value = f"%{thread}.{phi[1:]}.{before}" if end.inside else self._renamed(values[before], thread)
                arms.append(f"[ {value}, %{end.ways[block.name]} ]")
            lines.append(f"  %{thread}.{phi[1:]} = phi {kind} {', '.join(arms)}")
        return lines

    def _parting(self, block: Block) -> list[str]:
        """Where the threads part behind a block: what they have goes to slots, the first one goes on."""
        one, other = block.successors()
        lines = [f"parting.{block.name}:"]
        for thread, suffix in ("a", ""), ("b", ".b"):
            lines += [
                f"  store {self.types[name]} {self._renamed(name, thread)}, ptr {name}.kept{suffix}, align 64"
                for name in sorted(self.live[one] | self.live[other])
            ]
            for target in one, other:
                lines += self._stored_phis(target, block.name, suffix, partial(self._renamed, thread=thread))
        a, b = (f"  br i1 {self._renamed(_condition(block), thread)}" for thread in "ab")
        choice = b.replace("  br", f"  %place.{block.name} = select", 1)
        return [
            *lines,
            f"{choice}, i32 {self.targets[one]}, i32 {self.targets[other]}",
            f"  store i32 %place.{block.name}, ptr %t.waits, align 4",
            f"{a}, label %{self._alone_label(one)}, label %{self._alone_label(other)}",
        ]

    def _in_turn(self, block: Block) -> list[str]:
        """What stands between a branch and the block at which its ways meet: for the one thread, then for the other."""
        here, inside = block.name, self.ends[block.name].inside
        meeting = self.meeting[here]
        lines: list[str] = []
        for thread, enter, leave in ("a", f"two.{here}", f"second.{here}"), ("b", f"second.{here}", f"both.{here}"):
            labels = {here: enter} | {name: f"{thread}.{name}" for name in inside}
            lines.append(self._solo_end(block.end, thread, {meeting: leave}))
            for name, inner in self.blocks.items():
                if name in inside:
                    lines += self._solo(inner, thread, labels, {meeting: leave})
            lines.append(f"{leave}:")
            for phi, (kind, values) in self.blocks[meeting].phis.items():
                arms = [
                    f"[ {self._renamed(values[b], thread)}, %{label} ]" for b, label in labels.items() if b in values
                ]
                lines.append(f"  %{thread}.{phi[1:]}.{here} = phi {kind} {', '.join(arms)}")
        return [*lines, f"  br label %two.{meeting}"]

    def _solo(self, block: Block, thread: str, before: Mapping[str, str], labels: Mapping[str, str]) -> list[str]:
        """A block for one of two threads.

        Args:
            before: labels of blocks in front.
            labels: of blocks behind that are not the thread's own.
        """
        lines = [f"{thread}.{block.name}:"]
        for phi, (kind, values) in block.phis.items():
            arms = [f"[ {self._renamed(values[b], thread)}, %{before[b]} ]" for b in block.before if b in before]
            lines.append(f"  %{thread}.{phi[1:]} = phi {kind} {', '.join(arms)}")
        lines += [self._renamed(line, thread) for line in block.body]
        return [*lines, self._solo_end(block.end, thread, labels)]

    def _solo_end(self, text: str, thread: str, labels: Mapping[str, str]) -> str:
        return _TARGET.sub(lambda m: f"label %{labels.get(m[1], f'{thread}.{m[1]}')}", self._renamed(text, thread))

    def _faults(self) -> list[str]:
        """The blocks from which no way leads to the next thread, for each of the two that enters them alone."""
        solo = {inner for name in self.together for inner in self.ends[name].inside}
        entries = {name: self.ends[name].fault for name in self.together if self.ends[name].fault}
        reached, waiting = set[str](), [*entries.values()]
        waiting += [other for name in solo for other in self.blocks[name].successors() if other in self.fatal]
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += self.blocks[name].successors()
        lines: list[str] = []
        for thread in "ab":
            for name in self.blocks:
                if name in reached:
                    labels = {other: f"{thread}.{other}" for other in solo | reached}
                    labels |= {other: f"fault.{thread}.{other}" for other, entry in entries.items() if entry == name}
                    lines += self._solo(self.blocks[name], thread, labels, {})
        return lines


def _condition(block: Block) -> str:
    found = BRANCH.fullmatch(block.end)
    assert found
    return found[1]
