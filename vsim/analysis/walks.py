"""How lanes go over memory in innermost loops, which decides how many lanes suit a thread.

*Walking* lanes stay in step, and each goes over a separate row, one element after the other, as in ``for (k = 0; k <
n; k++) out[row * n + k] = sum``. The place of a lane is a number from in front of the loop plus a counter. What
distances the lanes have is for others to say: an emission knows it (``memory/pattern.py``).

*Straying* lanes leave the loop one after the other, and each accesses other places, as rows of a sparse matrix, the
neighbours of a node, or codes of other lengths do. A gather is an access for each lane there, and a round that one lane
needs is done for all. So do lanes that *choose*: each goes its own way through a loop of many branches, as state
machines and parsers do, where a thread executes the ways of all its lanes in every round.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import accumulate

from visakit.isa.record import Access, Pipe
from visakit.language.operands import Immediate, Indirect
from visakit.language.program import Instruction
from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.named_registers import variables
from vsim.analysis.read_only_loops import is_increment
from vsim.semantics.registers import Layout

MOST_WORK = 8
"""Instructions for each access of all lanes, up to which a loop does little else."""
MOST_AROUND = 128
"""Instructions of all lanes for each innermost loop that are outside of these, up to which the loops decide."""
LEAST_CHOICES, MOST_OF_A_CHOICE = 8, 16
"""Branches of a loop at which lanes part, from which on they choose; and instructions for each of these at most."""
LANES_THAT_WRITE, LANES_THAT_READ, LEAST_READ = 8, 16, 4
"""Lanes of threads that write separate rows, lanes of threads that read them, and the bytes of an element from which on
this counts: caches hold eight to twelve lines of rows at a distance of a power of two, and a line of smaller elements
serves many rounds.
"""
_HEAVY = 8
"""How many times as much work it is to divide, or to compute a root, a power or a sine."""
_ADDRESSES = ("addr", "offsets", "addresses")
"""The fields of messages with a place for each lane."""
_SUMMING = ("add", "addc", "add3", "and", "mov", "or", "shl")
"""Instructions whose results keep distances of lanes that their operands have."""
_INDEXING = (*_SUMMING, "asr", "mad", "madw", "mul", "mulh")
"""Instructions that make addresses of indices."""
_LARGEST_SHIFT = 4
"""Of a counter, or of a lane's number, to its bytes."""


def lanes_that_walk(flow: ControlFlow, layout: Layout, scattered: Mapping[int, int]) -> int:
    """How many lanes suit threads whose lanes, in step, walk in innermost loops that do little else; 0 if they do not.

    Args:
        scattered: instructions that access a place for each lane, as far as is known, and the bytes of one.
    """
    instructions, found = flow.function.instructions, set[int]()
    for _, places in _innermost(flow):
        body = instructions[places.start : places.stop]
        if _work(body).is_little:
            loop = _Definitions(body, layout)
            found |= {n for n in scattered if n in places and loop.walks(instructions[n])}
    if any(instructions[n].desc.access is Access.STORE for n in found):
        return LANES_THAT_WRITE
    read = [scattered[n] for n in found if instructions[n].desc.access is Access.LOAD]
    return LANES_THAT_READ if read and min(read) >= LEAST_READ else 0


def strays(
    flow: ControlFlow,
    layout: Layout,
    parting: AbstractSet[int],
    scattered: AbstractSet[int],
    ids: AbstractSet[int],
    left_out: AbstractSet[int],
) -> bool:
    """Whether the lanes of a kernel stray in its loops, and do little else.

    Args:
        parting: the branches at which lanes part.
        scattered: instructions that access a place for each lane, as far as is known.
        ids: the variables with local ids. Places at the distances of lanes are next to each other after all.
        left_out: instructions that are part of others.
    """
    instructions = flow.function.instructions
    choosing = _choosing(flow, parting)
    loops = choosing or dict(_innermost(flow))
    inside = {n for places in loops.values() for n in places}
    others = inside | left_out
    around = _work([i for n, i in enumerate(instructions) if n not in others]).instructions
    limit = len(inside) if choosing else MOST_AROUND * len(loops)
    if around > limit or not any(_is_left(flow, places, parting) for places in loops.values()):
        return False
    whole = _Definitions(instructions, layout)
    for places in loops.values():
        apart = [instructions[n] for n in scattered if n in places]
        indexing = whole.indexing(apart)
        body = [i for n in places if n not in left_out for i in (instructions[n],) if id(i) not in indexing]
        if not _do_little(body, len(apart), bool(choosing)) or any(whole.follows(i, ids) for i in apart):
            return False
    return True


def _do_little(body: Sequence[Instruction], apart: int, chooses: bool) -> bool:
    """Whether a loop has few instructions for each access, and most accesses go to separate places.

    Args:
        apart: accesses to memory that do.
        chooses: whether lanes choose in the loop, so that its instructions do not count.
    """
    work, arrays = _work(body), sum(map(_is_in_registers, body))
    return (chooses or work.is_little) and 4 * (apart + arrays) >= 3 * work.accesses


def _is_left(flow: ControlFlow, places: range, parting: AbstractSet[int]) -> bool:
    """Whether a branch at which lanes part leads out of a loop."""
    branches = (pc for pc in parting if pc in places)
    return any(target not in places for pc in branches for target in flow.successors(pc, flow.function.lanes))


def _choosing(flow: ControlFlow, parting: AbstractSet[int]) -> dict[int, range]:
    """The loops that lanes leave one after the other, and in which they choose."""
    found, ordered = {}, sorted(parting)
    works = [_work([i]) for i in flow.function.instructions] if flow.backward else []
    accesses = [0, *accumulate(work.accesses for work in works)]
    others = [0, *accumulate(work.instructions for work in works)]
    for branch, target in flow.backward:
        end, choices = branch + 1, bisect_right(ordered, branch) - bisect_left(ordered, target)
        chooses = choices >= LEAST_CHOICES and others[end] - others[target] <= MOST_OF_A_CHOICE * choices
        if branch in parting and chooses and accesses[end] > accesses[target]:
            found[branch] = range(target, end)
    return found


def _innermost(flow: ControlFlow) -> Iterator[tuple[int, range]]:
    """The branches back of innermost loops, and the instructions of these."""
    return ((places[-1], places) for places, own in flow.loops() if len(own) == len(places))


@dataclass
class _Work:
    """Instructions of several lanes without and with access to memory; each also times its lanes."""

    instructions: int = 0
    accesses: int = 0
    lanes: int = 0
    accessing_lanes: int = 0

    @property
    def is_little(self) -> bool:
        """Whether there are few instructions for each access."""
        return self.lanes <= MOST_WORK * self.accessing_lanes


def _work(body: Sequence[Instruction]) -> _Work:
    found = _Work()
    for i in body:
        lanes = i.args["exec"].size if "exec" in i.args else 1
        if lanes > 1 and (i.desc.access is not Access.NONE or _is_in_registers(i)):
            found.accesses += 1
            found.accessing_lanes += lanes
        elif lanes > 1 and i.desc.semantics != "setp":
            found.instructions += 1
            found.lanes += lanes * (_HEAVY if i.desc.pipe is Pipe.EM else 1)
    return found


def _is_in_registers(i: Instruction) -> bool:
    """Whether an instruction reaches elements of a private array in registers."""
    return any(isinstance(op, Indirect) for op in i.args.values()) and i.args["exec"].size > 1


@dataclass
class _Definitions:
    """Instructions by the registers that they write."""

    body: Sequence[Instruction]
    layout: Layout
    writers: dict[int, list[Instruction]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for i in self.body:
            for root in variables(self.layout, i.args.get("dst"), i.args.get("carry")):
                self.writers.setdefault(root, []).append(i)

    def walks(self, access: Instruction) -> bool:
        """Whether the addresses of an access are sums of loop invariants and counters of the loop."""
        todo = list(variables(self.layout, *(access.args.get(name) for name in _ADDRESSES)))
        known, counts = set(todo), False
        while todo:
            for i in self.writers.get(todo.pop(), ()):
                if is_increment(i):
                    counts = True
                elif not _adds(i):
                    return False
                else:
                    new = variables(self.layout, i.args.get("src0"), i.args.get("src1")) - known
                    known |= new
                    todo += new
        return counts

    def indexing(self, accesses: Iterable[Instruction]) -> set[int]:
        """The instructions, by identity, that multiply and add to find the addresses of accesses."""
        todo = list(variables(self.layout, *(i.args.get(name) for i in accesses for name in _ADDRESSES)))
        known, found = set(todo), set[int]()
        while todo:
            for i in self.writers.get(todo.pop(), ()):
                if i.desc.semantics in _INDEXING and not _is_in_registers(i):
                    found.add(id(i))
                    new = variables(self.layout, *(i.args.get(name) for name in ("src0", "src1", "src2"))) - known
                    known |= new
                    todo += new
        return found

    def follows(self, access: Instruction, ids: AbstractSet[int]) -> bool:
        """Whether the addresses of an access are sums with a part of the lane's number."""
        todo = [(root, 0) for root in variables(self.layout, *(access.args.get(name) for name in _ADDRESSES))]
        known = set(todo)
        while todo:
            root, shift = todo.pop()
            if root in ids:
                return True
            for i in self.writers.get(root, ()):
                if i.desc.semantics not in _SUMMING:
                    continue
                more = shift + (_shift_of(i) if i.desc.semantics == "shl" else 0)
                operands = variables(self.layout, i.args.get("src0"), i.args.get("src1"))
                new = {(operand, more) for operand in operands} - known
                if more <= _LARGEST_SHIFT:
                    known |= new
                    todo += new
        return False


def _shift_of(i: Instruction) -> int:
    """By how many bits an instruction shifts; by many if the number is not in the text."""
    by = i.args.get("src1")
    return by.bits if isinstance(by, Immediate) else _LARGEST_SHIFT + 1


def _adds(i: Instruction) -> bool:
    """Whether an instruction adds, copies, or multiplies by the size of an element."""
    return (i.desc.semantics == "shl" and _shift_of(i) <= _LARGEST_SHIFT) or i.desc.semantics in ("add", "mov")
