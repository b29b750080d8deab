"""Code for several threads at once, made from one thread's text: shared by ``unroll_and_jam.py`` and ``coarsen.py``.

What is the same for all threads of a group (arguments, limits, counters of loops, what lies at such addresses) stands
once; anything else once for each of them. All of them go the same way from block to block:

* Where one way of a branch leads to a fault, the first of the threads that takes it goes there.
* What stands between a branch that threads may take differently and the block at which its ways meet again is run for
  one after the other: a *region*.
* What happens at any other such branch is up to those who use this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from vsim.engines.llvm.ir.emitter import NAME, UNLIKELY
from vsim.engines.llvm.passes.blocks import Block, postdominators, reaching
from vsim.engines.llvm.passes.lines import End, Line, jump, read_end

ORDERED = re.compile(r"  (?:%[\w.]+ = )?(?:atomicrmw|cmpxchg|fence|call [^@]*@function\d)")
"""What threads must not do in another order, or is too much to do several times."""


@dataclass
class Region:
    """What is run for one thread after the other: the blocks behind one, up to the block at which all ways meet."""

    postdominator: str
    inside: Set[str]


class Impossible(Exception):
    """Several threads cannot run at once."""


class ThreadCode:
    """The code of a thread, as blocks, and its analyses.

    Args:
        head: lines in front of it.
        blocks: of the thread.
        number: the name of the thread's number.
        exits: labels behind it, first the one at which a thread ends.
    """

    def __init__(self, head: Sequence[str], blocks: dict[str, Block], number: str, exits: Sequence[str]) -> None:
        self.head, self.exits = [Line(text) for text in head], exits
        self.exit = exits[0]
        self.blocks = _with_edges_split(blocks)
        self.first = next(iter(self.blocks))
        allocated = {line.result for line in self.head if line.is_slot}
        self.slots = allocated.difference(*(line.names for line in (*self.head, *self.lines())))
        """Stack slots that are only loaded and stored."""
        self._drop_unused()
        self.fatal = self.blocks.keys() - reaching(self.blocks, self.exit)
        """Blocks from which no way leads to the end of a thread."""
        if any(not self.fatal.isdisjoint(block.successors[1:]) for block in self.without_faults()):
            raise Impossible  # A branch leads to a fault if its condition does not hold, which none does here.
        self.postdominator = postdominators(self.blocks, self.exit, self.fatal | {*exits[1:]})
        self.regions: dict[str, Region] = {}
        """Where threads may take different ways, by the block in front."""
        self.inside: set[str] = set()
        """Blocks of regions."""
        self.varying = {number} | (allocated - self.slots)
        """What is of one thread: values that another may have otherwise, and slots with such."""
        self._find_varying()

    def without_faults(self) -> list[Block]:
        """The blocks that are on a way to the end of a thread."""
        return [block for name, block in self.blocks.items() if name not in self.fatal]

    def lines(self) -> Iterator[Line]:
        """The lines of all blocks."""
        return chain.from_iterable(block.body for block in self.blocks.values())

    def _drop_unused(self) -> None:
        """Leave out what nothing needs: results that are not used, and slots that only keep such.

        What a loop adds to a slot that is read nowhere else is of no use, though each round reads it.
        """
        needed, worklist = set[str](), list[str]()
        sources: dict[str, list[str]] = {}
        """The names that a name, or a slot's contents, depend on."""
        for block in self.blocks.values():
            worklist += NAME.findall(block.end.text)
            for phi, (_, values) in block.phis.items():
                sources[phi] = list(values.values())
            for line in block.body:
                if target := self._only_sets(line):
                    sources.setdefault(target, []).extend(line.names if line.is_store else line.uses)
                else:
                    worklist += line.uses
        while worklist:
            name = worklist.pop()
            if name not in needed:
                needed.add(name)
                worklist += sources.get(name, ())
        for block in self.blocks.values():
            block.phis = {phi: values for phi, values in block.phis.items() if phi in needed}
            block.body = [x for x in block.body if not (target := self._only_sets(x)) or target in needed]

    def _only_sets(self, line: Line) -> str:
        """The name or slot that a line sets and does nothing else; none if it does."""
        if line.is_store:
            return line.place if line.place in self.slots else ""
        return line.result if line.is_repeatable and not line.operation.startswith("load volatile ") else ""

    # -- varying values ------------------------------------------------------------------------------------

    def _find_varying(self) -> None:
        before = -1
        while before != self._progress():
            before = self._progress()
            for line in self.head:
                self._look_at(line, False)
            for name, block in self.blocks.items():
                self._look_into(name, block)

    def _progress(self) -> int:
        return len(self.varying) + len(self.regions) + len(self.inside)

    def _look_into(self, name: str, block: Block) -> None:
        """What of a block is of one thread, and whether threads may go different ways behind it."""
        parted = name in self.inside or name in self.fatal
        joined = any(region.postdominator == name for region in self.regions.values())
        for phi, (_, values) in block.phis.items():
            if parted or joined or not self.varying.isdisjoint(values.values()):
                self.varying.add(phi)
        for line in block.body:
            self._look_at(line, parted)
        if not parted and block.end.condition in self.varying and self.fatal.isdisjoint(block.successors):
            self.diverge(name)

    def _look_at(self, line: Line, parted: bool) -> None:
        if line.is_store:
            if line.place in self.slots and (parted or not self.varying.isdisjoint(line.names)):
                self.varying.add(line.place)
        elif line.result and line.result not in self.varying:
            differs = parted or not line.is_repeatable or line.place in self.varying
            if differs or not self.varying.isdisjoint(line.names):
                self.varying.add(line.result)

    def varies(self, line: Line) -> bool:
        """Whether a line has to do with something of one thread."""
        return line.result in self.varying or line.place in self.varying or not self.varying.isdisjoint(line.names)

    def diverge(self, name: str) -> None:
        """Threads may take different ways behind a block."""
        raise NotImplementedError

    def add_region(self, name: str, postdominator: str, inside: Set[str]) -> None:
        """Run the blocks behind a branch for one thread after the other, up to the postdominator."""
        self.inside |= inside
        self.regions[name] = Region(postdominator, inside)
        for other in self.regions.keys() & self.inside:
            del self.regions[other]

    def between(self, name: str, postdominator: str) -> set[str]:
        """The blocks behind a branch, up to its postdominator."""
        inside, worklist = set[str](), [*self.blocks[name].successors]
        while worklist:
            other = worklist.pop()
            if other != postdominator and other not in self.fatal and other not in inside and other in self.blocks:
                inside.add(other)
                worklist += self.blocks[other].successors
        return inside

    def entered(self, inside: Iterable[str]) -> set[str]:
        """The blocks from which some are reached."""
        return {other for block in inside for other in self.blocks[block].before}


def _with_edges_split(blocks: dict[str, Block]) -> dict[str, Block]:
    """The blocks, with critical edges split."""
    found: dict[str, Block] = {}
    for name, block in blocks.items():
        found[name] = block
        edges = {target: target for target in block.successors}
        for target in block.successors if block.end.condition else ():
            other = blocks.get(target)
            if other is None or len(other.before) == 1:
                continue
            edge = edges[target] = f"{name}.to.{target}"
            found[edge] = Block(edge, end=jump(target), before=[name])
            other.before[other.before.index(name)] = edge
            for _, values in other.phis.values():
                values[edge] = values.pop(name)
        block.end = read_end(block.end.renamed(str, edges.__getitem__))
    return found


class ThreadCopies:
    """The text of a thread's code for several threads.

    Args:
        named: values that have another name for the first thread, as the text also has the code of a single thread.
    """

    def __init__(self, code: ThreadCode, count: int, named: Set[str] = frozenset()) -> None:
        self.code, self.count, self.named = code, count, named
        self.threads = range(count)
        self.blocks = code.blocks
        self.edges: dict[str, dict[str, str]] = {}
        """Of each block that is run together: the labels by which blocks behind it are reached."""

    # -- names ---------------------------------------------------------------------------------------------

    def renamed(self, text: str, thread: int) -> str:
        """A text for one of the threads."""
        varying, named = self.code.varying, self.named
        if not thread and not named:
            return text

        def name(found: re.Match[str]) -> str:
            old = found[0]
            number = thread if old in varying else 0
            return f"{old}.t{number}" if number or old in named else old

        return NAME.sub(name, text)

    def line(self, line: Line) -> list[str]:
        """A line for all threads."""
        return [self.renamed(line.text, thread) for thread in (self.threads if self._is_repeated(line) else (0,))]

    def body(self, block: Block) -> Iterator[tuple[Line, list[str]]]:
        """The lines of a block, each for all threads; the three that add to a counter are one."""
        lines = iter(block.body)
        for line in lines:
            if line.is_counter:
                text = "\n".join(part.text for part in (line, next(lines), next(lines)))
                yield line, [self.renamed(text, thread) for thread in self.threads]
            else:
                yield line, self.line(line)

    def _is_repeated(self, line: Line) -> bool:
        """Whether a line is of one thread, or does something each time."""
        return self.code.varies(line) or (not line.result and line.place not in self.code.slots)

    def label(self, name: str) -> str:
        """The label of a block that threads run together."""
        return self.code.exit if name == self.code.exit else f"w.{name}"

    # -- blocks that are run together ----------------------------------------------------------------------

    def edges_of(self, name: str) -> dict[str, str]:
        """Blocks behind one that is run together, with the labels by which they are reached."""
        if region := self.code.regions.get(name):
            return {region.postdominator: f"joined.{name}"}
        return {other: f"w.{name}" for other in self.blocks[name].successors if other not in self.code.fatal}

    def phi(self, block: Block, phi: str) -> list[str]:
        """A phi, for each thread if it is of one."""
        kind, values = block.phis[phi]
        lines = []
        for thread in self.threads if phi in self.code.varying else (0,):
            arms = []
            for before, ways in self.edges.items():
                if label := ways.get(block.name):
                    joined = before in self.code.regions
                    value = f"{phi}.{before}.t{thread}" if joined else self.renamed(values[before], thread)
                    arms.append(f"[ {value}, %{label} ]")
            lines.append(f"  {self.renamed(phi, thread)} = phi {kind} {', '.join(arms)}")
        return lines

    def end(self, block: Block) -> list[str]:
        """The end of a block behind which all threads go the same way, or one to a fault."""
        here, condition = block.name, block.end.condition
        if not condition or block.successors[0] not in self.code.fatal:
            return [block.end.renamed(lambda text: self.renamed(text, 0), self.label)]
        one, good, weights = block.successors[0], self.label(block.successors[1]), block.end.weights
        if condition not in self.code.varying:
            first = self.renamed(condition, 0)
            return [f"  br i1 {first}, label %f0.{here}, label %{good}{weights}", *self._to_fault(here, one, 0)]
        lines, any_of = self.over_threads("or", condition, f"any{{}}.{here}")
        lines.append(f"  br i1 {any_of}, label %which0.{here}, label %{good}{weights}")
        for thread in self.threads[:-1]:
            behind = f"which{thread + 1}" if thread + 2 < self.count else f"f{thread + 1}"
            lines.append(f"which{thread}.{here}:")
            lines.append(f"  br i1 {self.renamed(condition, thread)}, label %f{thread}.{here}, label %{behind}.{here}")
        return lines + [line for thread in self.threads for line in self._to_fault(here, one, thread)]

    def over_threads(self, operation: str, condition: str, names: str) -> tuple[list[str], str]:
        """The conjunction or disjunction of the threads' conditions: its lines, and its name."""
        lines, found = list[str](), self.renamed(condition, 0)
        for thread in self.threads[1:]:
            name = f"%{names.format(thread)}"
            lines.append(f"  {name} = {operation} i1 {found}, {self.renamed(condition, thread)}")
            found = name
        return lines, found

    def _to_fault(self, here: str, fault: str, thread: int) -> list[str]:
        return [f"f{thread}.{here}:", f"  br label %t{thread}.{fault}"]

    # -- blocks that are run for one thread ----------------------------------------------------------------

    def serialised(self, block: Block) -> list[str]:
        """The blocks from a branch to its postdominator, for one thread after the other."""
        here, region = block.name, self.code.regions[block.name]
        around = self._way_around(block, region)
        lines: list[str] = []
        label, last, suffix = f"w.{here}", f"joined.{here}", ""
        if around:
            some, any_of = self.over_threads("or", block.end.condition, f"any{{}}.{here}")
            lines += [*some, f"  br i1 {any_of}, label %rare.{here}, label %{last}{UNLIKELY}", f"rare.{here}:"]
            label, last, suffix = f"rare.{here}", f"turned.{here}", ".rare"
        phis = self.blocks[region.postdominator].phis if region.postdominator != self.code.exit else {}
        for thread in self.threads:
            leave = f"turn{thread + 1}.{here}" if thread + 1 < self.count else last
            labels = {here: label} | {name: f"t{thread}.{name}" for name in self.blocks if name in region.inside}
            lines.append(self._serial_end(block.end, thread, {region.postdominator: leave}))
            for name, inner in self.blocks.items():
                if name in region.inside:
                    lines += self._serial_block(inner, thread, labels, {region.postdominator: leave})
            lines.append(f"{leave}:")
            for phi, (kind, values) in phis.items():
                arms = [f"[ {self.renamed(values[b], thread)}, %{at} ]" for b, at in labels.items() if b in values]
                lines.append(f"  {phi}.{here}.t{thread}{suffix} = phi {kind} {', '.join(arms)}")
            label = leave
        if around:
            lines += [f"  br label %joined.{here}", f"joined.{here}:"]
            for phi, (kind, values) in phis.items():
                for thread in self.threads:
                    name, plain = f"{phi}.{here}.t{thread}", self.renamed(values[around], thread)
                    lines.append(f"  {name} = phi {kind} [ {name}.rare, %{last} ], [ {plain}, %w.{here} ]")
        return [*lines, f"  br label %{self.label(region.postdominator)}"]

    def _way_around(self, block: Block, region: Region) -> str:
        """The empty block that leads around a region which hardly any thread enters; else nothing. One test serves all
        threads there, so that their code in front of it stays in one block.
        """
        way, behind = block.end.likely_targets()[-1], (region.postdominator,)
        leads = block.end.weights == UNLIKELY and way in region.inside
        return way if leads and not self.blocks[way].body and self.blocks[way].successors == behind else ""

    def _serial_block(
        self, block: Block, thread: int, before: Mapping[str, str], labels: Mapping[str, str]
    ) -> list[str]:
        """A block for one of the threads.

        Args:
            before: labels of blocks in front.
            labels: of blocks behind that are not the thread's own.
        """
        lines = [f"t{thread}.{block.name}:"]
        for phi, (kind, values) in block.phis.items():
            arms = [f"[ {self.renamed(values[b], thread)}, %{before[b]} ]" for b in block.before if b in before]
            lines.append(f"  {self.renamed(phi, thread)} = phi {kind} {', '.join(arms)}")
        lines += [self.renamed(line.text, thread) for line in block.body]
        return [*lines, self._serial_end(block.end, thread, labels)]

    def _serial_end(self, end: End, thread: int, labels: Mapping[str, str]) -> str:
        def label(target: str) -> str:
            return labels.get(target, self.code.exit if target in self.code.exits else f"t{thread}.{target}")

        return end.renamed(lambda text: self.renamed(text, thread), label)

    def _entries(self, converged: Sequence[str], thread: int) -> dict[str, str]:
        """The blocks from which a thread goes to a fault while others are with it, and where to."""
        found = {}
        for name in converged:
            end = self.blocks[name].end
            leaves = end.condition and end.targets[0] in self.code.fatal and name not in self.code.regions
            if leaves and (thread == 0 or end.condition in self.code.varying):
                found[name] = end.targets[0]
        return found

    def faults(self, converged: Sequence[str]) -> list[str]:
        """The blocks from which no way leads to the end of a thread, for each one that enters them."""
        lines: list[str] = []
        serial = {name for before in converged if (r := self.code.regions.get(before)) for name in r.inside}
        for thread in self.threads:
            entries = self._entries(converged, thread)
            worklist = list(entries.values())
            worklist += [b for name in serial for b in self.blocks[name].successors if b in self.code.fatal]
            reached: set[str] = set()
            while worklist:
                name = worklist.pop()
                if name in self.blocks and name not in reached:
                    reached.add(name)
                    worklist += self.blocks[name].successors
            for name in self.blocks:
                if name in reached:
                    labels = {other: f"t{thread}.{other}" for other in serial | reached}
                    labels |= {other: f"f{thread}.{other}" for other, entry in entries.items() if entry == name}
                    lines += self._serial_block(self.blocks[name], thread, labels, {})
        return lines
