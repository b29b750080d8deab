"""Thread coarsening: kernels with barriers whose coroutine runs several threads at once.

A kernel with barriers is a coroutine for each thread, resumed in turn (``lower/assembly.py``). This pass makes a second
form, a coroutine for several threads that stop at barriers together (:mod:`thread_copies`), line by line: the chains of
dependent instructions of one thread fill the gaps of another's, and a barrier costs one return for all of them. If
a thread could wait in serialised code, there is no second form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set

from vsim.engines.llvm.passes.blocks import ENDS, blocks_of, likely_blocks, loops_of
from vsim.engines.llvm.passes.thread_copies import ORDERED, Impossible, ThreadCode, ThreadCopies

MAXIMUM_LINES = {2: 1700, 4: 1300}
"""Lines of a thread's code up to which so many threads are coarsened: all lines may be compiled so many times."""
LINES_PER_BARRIER, LINES_WITH_CLOSE_BARRIERS = 240, 20_000
"""Lines for each barrier, of a thread's code or of a loop around barriers, and lines of the code in all, up to which
two threads are coarsened in spite of private loops and of ``MAXIMUM_LINES``: resuming takes much of the time then, as
in functions of work-groups and in reductions. Cold lines of loops do not count.
"""
LINES_PER_INSTRUCTION = 14
"""Lines of a thread's code for each instruction of the kernel. Where there are more, most are those of lanes that are
accessed one by one, of which several threads are no faster, and an instruction takes a millisecond to compile.
"""
SERIAL_LINES = 60
"""Serialised lines for each barrier up to which more than two threads are coarsened: serialised
lines gain nothing from the other threads.
"""
MOST_VECTORS = 8
"""What a value of all lanes may take, for all threads, in vectors of the processor."""
_EXIT, _STOP = "exit", "stop"
"""The label behind the code of a thread, and a name for it where a fault leads there."""
_SUSPEND = re.compile(r"  (%[\w.]+) = call i8 @llvm\.coro\.suspend\(token none, i1 false\)")
_RESUMED = re.compile(r"  switch i8 %[\w.]+, label %suspend \[ i8 0, label %([\w.]+) i8 1, label %cleanup \]")


class PhasedThread(ThreadCode):
    """The code of a thread that waits at barriers.

    Args:
        head: lines in front of it.
        lines: the code, from its first label on.
        may_loop: whether private loops are allowed.
    """

    def __init__(self, head: Sequence[str], lines: Sequence[str], may_loop: bool) -> None:
        self.waits: set[str] = set()
        """Blocks that end with a barrier."""
        self.may_loop = may_loop
        blocks = blocks_of(self._plain(lines))
        if blocks is None:
            raise Impossible
        super().__init__(head, blocks, "%thread", (_EXIT, _STOP))

    @property
    def serial_lines(self) -> int:
        """Lines that are run for one thread after the other."""
        return sum(len(self.blocks[name].body) for name in self.inside)

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

    def diverge(self, name: str) -> None:
        """Serialise the blocks behind a branch that threads may take differently.

        Raises:
            Impossible: a thread could wait there, or the blocks have another entry.
        """
        postdominator = self.postdominator.get(name, _EXIT)
        inside = self.between(name, postdominator)
        if name in inside:  # A loop, each of whose rounds may be the last one of a thread: all of it.
            entries = self.entered(inside) - inside
            name = entries.pop()
            if entries or len(self.blocks[name].successors) != 1:
                raise Impossible
        if not self.entered(inside) <= inside | {name} or inside & self.waits or name in inside or name in self.waits:
            raise Impossible
        if not self.may_loop and self.has_loop(inside):
            raise Impossible
        self.add_region(name, postdominator, inside)

    def has_loop(self, inside: Set[str]) -> bool:
        """Whether blocks have a loop: the time of a thread is spent in it then, and not at barriers."""
        ways = {name: [o for o in self.blocks[name].end.likely_targets() if o in inside] for name in inside}
        while ends := [name for name, others in ways.items() if not others]:
            for name in ends:
                del ways[name]
            ways = {name: [o for o in others if o not in ends] for name, others in ways.items()}
        return bool(ways)


class CoarsenedKernel(ThreadCopies):
    """The text of a coroutine for several threads."""

    code: PhasedThread

    def lines(self) -> list[str]:
        """The code of all threads."""
        lines: list[str] = []
        converged = [block.name for block in self.code.without_faults() if block.name not in self.code.inside]
        for name in converged:
            self.edges[name] = self.edges_of(name)
        for name in converged:
            lines += self._block(name)
        return [*lines, *self.faults(converged)]

    def numbers(self) -> list[str]:
        """The numbers of the other threads."""
        return [f"  %thread.t{thread} = add i64 %thread, {thread}" for thread in self.threads[1:]]

    def head(self) -> list[str]:
        """The lines in front of the code."""
        return [new for line in self.code.head for new in self.line(line)]

    def _block(self, name: str) -> list[str]:
        block = self.blocks[name]
        lines = [f"w.{name}:"]
        for phi in block.phis:
            lines += self.phi(block, phi)
        for _, copies in self.body(block):
            lines += copies
        if name in self.code.regions:
            return lines + self.serialised(block)
        if name in self.code.waits:
            (other,) = self.edges[name]
            return [
                *lines,
                f"  %s.{name} = call i8 @llvm.coro.suspend(token none, i1 false)",
                f"  switch i8 %s.{name}, label %suspend [ i8 0, label %w.{other} i8 1, label %cleanup ]",
            ]
        return lines + self.end(block)


def _waits_often(lines: Sequence[str]) -> bool:
    """Whether barriers are close to each other in the code of a thread, or in a loop of it."""
    sizes, waits, outline, here = Counter[str](), Counter[str](), list[str](), ""
    for line in lines:
        here = line[:-1] if line.endswith(":") else here
        sizes[here] += 1
        waits[here] += bool(_SUSPEND.fullmatch(line))
        if line.endswith(":") or line.startswith(ENDS):
            outline.append(line)
    if len(lines) <= LINES_PER_BARRIER * waits.total():
        return True
    blocks = blocks_of(outline, switches=True)
    if not blocks:
        return False
    hot = likely_blocks(blocks)
    loops = loops_of({name: block.successors for name, block in blocks.items() if name in hot})
    return any(
        sum(sizes[b] for b in loop) <= LINES_PER_BARRIER * sum(waits[b] for b in loop) for loop in loops.values()
    )


def coarsen(text: str, most: int, vectors: int, instructions: int) -> tuple[str, int]:
    """A module whose ``kernel``, a coroutine, runs several threads from one on, and their number; the unchanged text
    and 1 if that is impossible or too large.

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
    waits_often = len(code_lines) <= LINES_WITH_CLOSE_BARRIERS and _waits_often(code_lines)
    maximum = MAXIMUM_LINES | ({2: LINES_WITH_CLOSE_BARRIERS} if waits_often else {})
    count = most
    while count > 1 and (len(code_lines) > maximum[count] or count * vectors > MOST_VECTORS):
        count //= 2
    if (
        count == 1
        or len(code_lines) > LINES_PER_INSTRUCTION * instructions
        or any(ORDERED.match(line) for line in code_lines)
    ):
        return text, 1
    try:
        code = PhasedThread(lines[setup:begun], code_lines, waits_often)
    except Impossible:
        return text, 1
    if code.serial_lines > SERIAL_LINES * len(code.waits):
        count = 2
    form = CoarsenedKernel(code, count)
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
