"""Control flow of one function: basic blocks, labels, subroutines, and the successors of an instruction.

An instruction is named by its number, its *pc*. Its record in the instruction table defines its control flow
(:class:`visakit.isa.record.Flow`); nothing here knows a mnemonic. A block is named by the pc of its first instruction,
a subroutine (the target of ``call``) by that of its mark.

Example, with the numbers in front::

    0 cmp.lt (M1, 16) P1 ...       blocks 0, 2, 3; the goto ends block 0 and names block 3
    1 (P1) goto (M1, 16) DONE      successors of 1: 3, where lanes take the jump, and 2, where they do not
    2 add (M1, 16) ...             successor of 2: 3
    3 DONE:
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from visakit.forks import cached_property
from visakit.isa.record import Flow
from visakit.language.program import Function, Instruction


@dataclass(frozen=True)
class ControlFlow:
    """The blocks of a function and how control goes between them."""

    function: Function
    labels: dict[int, int]
    """Where each label stands, by its index in the function."""
    starts: tuple[int, ...]
    """The first instruction of each block, ascending."""
    subroutines: tuple[int, ...]
    """Where the subroutines of the function begin, ascending."""
    backward: tuple[tuple[int, int], ...]
    """Branches that go back, with their targets."""
    return_sites: dict[int, tuple[int, ...]]
    """For each subroutine the instructions behind its calls, in the order of these."""
    masked: frozenset[int] = frozenset()
    """Gotos that do not end blocks: their lanes leave the mask up to the target (:mod:`if_conversion`)."""

    def ends_block(self, pc: int) -> bool:
        """Whether a block ends with an instruction because of what that does."""
        return self.function.instructions[pc].desc.flow.is_terminator and pc not in self.masked

    @property
    def end(self) -> int:
        """The number of instructions: where control is when it has left the last one."""
        return len(self.function.instructions)

    def blocks(self) -> list[tuple[int, int]]:
        """First instruction of each block and of what follows it."""
        return list(pairwise([*self.starts, self.end]))

    def blocks_by_subroutine(self) -> dict[int, list[tuple[int, int]]]:
        """The blocks of each subroutine, and those of the main part."""
        found = {s: list[tuple[int, int]]() for s in (0, *self.subroutines)}
        for start, end in self.blocks():
            found[self.subroutine_of(start)].append((start, end))
        return found

    def called(self, pc: int) -> list[int]:
        """The subroutine that an instruction calls; none without a call."""
        instruction = self.function.instructions[pc]
        return self.targets(instruction) if instruction.desc.flow is Flow.CALL else []

    def block_of(self, pc: int) -> int:
        """The block that holds an instruction."""
        return self.starts[bisect_right(self.starts, pc) - 1]

    def subroutine_of(self, pc: int) -> int:
        """The subroutine that holds an instruction; 0 for the function's main part."""
        at = bisect_right(self.subroutines, pc)
        return self.subroutines[at - 1] if at else 0

    def subroutine_end(self, pc: int) -> int:
        """Where the subroutine (or main part) that holds an instruction ends."""
        at = bisect_right(self.subroutines, pc)
        return self.subroutines[at] if at < len(self.subroutines) else self.end

    @property
    def main_end(self) -> int:
        """Where the first subroutine begins."""
        return min(self.subroutines, default=self.end)

    @cached_property
    def reached(self) -> dict[int, frozenset[int]]:
        """For each subroutine the subroutines that it calls, directly or indirectly."""
        calls: dict[int, set[int]] = {}
        for target, after in self.return_sites.items():
            for site in after:
                calls.setdefault(self.subroutine_of(site - 1), set()).add(target)
        found = {}
        for subroutine in self.subroutines:
            seen: set[int] = set()
            ahead = [subroutine]
            while ahead:
                new = calls.get(ahead.pop(), set()) - seen
                seen |= new
                ahead += new
            found[subroutine] = frozenset(seen)
        return found

    @cached_property
    def recursive(self) -> frozenset[int]:
        """The subroutines that may call themselves, by way of others or not."""
        return frozenset(s for s, called in self.reached.items() if s in called)

    def recursive_with(self, subroutine: int) -> frozenset[int]:
        """The subroutines that may be called again by one that they call, as this one may: itself among them."""
        return frozenset(s for s in self.reached[subroutine] if subroutine in self.reached[s])

    def leaves_subroutine(self, lanes: int) -> bool:
        """Whether control can go from one subroutine (or the main part) into another, or beyond the end of the function
        in a subroutine, without a call or return.

        Args:
            lanes: of a thread.
        """
        if not self.subroutines:
            return False
        for _, end in self.blocks():
            last = end - 1
            calls = self.function.instructions[last].desc.flow is Flow.CALL
            following = [last + 1] if calls else self.successors(last, lanes)
            if any((self.subroutine_of(s) if s < self.end else 0) != self.subroutine_of(last) for s in following):
                return True
        return False

    def loops(self) -> Iterator[tuple[range, list[int]]]:
        """The loops between backward branches and their targets, short ones first; with each, those of its instructions
        that are in no loop before it.
        """
        following = list(range(self.end + 1))
        """Of each instruction the next one that was in no loop, or one on the way there."""

        def free(n: int) -> int:
            found = n
            while following[found] != found:
                found = following[found]
            while following[n] != found:
                following[n], n = found, following[n]
            return found

        for branch, target in sorted(self.backward, key=lambda way: way[0] - way[1]):
            own, n = list[int](), free(target)
            while n <= branch:
                own.append(n)
                following[n] = n + 1
                n = free(n)
            yield range(target, branch + 1), own

    def targets(self, instruction: Instruction) -> list[int]:
        """Where the labels of a branch or call stand."""
        return [self.labels[n] for n in target_labels(instruction)]

    def successors(self, pc: int, lanes: int) -> list[int]:
        """Where the lanes of a thread can be after an instruction, in the same function; ``end`` where they can run off
        it.

        A call of a function leads to the next instruction, one of a subroutine to that too, by way of the subroutine's
        return.

        Args:
            lanes: of a thread: what takes all of them, unpredicated, leaves none behind.
        """
        instruction = self.function.instructions[pc]
        if pc in self.masked:
            return [pc + 1]
        flow = instruction.desc.flow
        leaves_none = (flow.is_branch or flow.ends_lanes) and flow is not Flow.SWITCH and takes_all(instruction, lanes)
        return [*self.targets(instruction), *([] if leaves_none else [pc + 1])]


def target_labels(instruction: Instruction) -> tuple[int, ...]:
    """The labels of a branch or call, by their indices in the function; none of anything else."""
    flow, args = instruction.desc.flow, instruction.args
    if flow is Flow.SWITCH:
        labels: tuple[int, ...] = args["labels"]
        return labels
    return (args["label"],) if flow.is_branch or flow is Flow.CALL else ()


def takes_all(instruction: Instruction, lanes: int) -> bool:
    """Whether a jump or return takes every active lane; one of exec size 1 without a predicate does."""
    return instruction.args.get("pred") is None and covers_all(instruction, lanes)


def covers_all(instruction: Instruction, lanes: int) -> bool:
    """Whether a jump, call or return is about every lane of a thread, as one of exec size 1 always is."""
    execution = instruction.args.get("exec")
    flow = instruction.desc.flow
    if execution is None or flow.is_scalar_jump or flow is Flow.END or execution.size == 1:
        return True
    return bool(execution.offset == 0 and execution.size >= lanes)


def control_flow(function: Function, masked: frozenset[int] = frozenset()) -> ControlFlow:
    """The control flow of a function; the work is linear in its instructions.

    Args:
        masked: gotos that change masks alone.
    """
    instructions = function.instructions
    labels = {i.args["label"]: n for n, i in enumerate(instructions) if i.desc.flow.is_label}
    sites: dict[int, list[int]] = {}
    starts, backward = {0}, []
    for n, i in enumerate(instructions):
        flow = i.desc.flow
        if n in masked:
            continue
        if flow.is_terminator:
            starts.add(n + 1)
        if flow is Flow.CALL:
            sites.setdefault(labels[i.args["label"]], []).append(n + 1)
        elif flow.is_branch:
            targets = [labels[label] for label in target_labels(i)]
            starts.update(targets)
            backward += [(n, target) for target in targets if target <= n]
    starts.update(sites)
    return ControlFlow(
        function,
        labels,
        tuple(sorted(s for s in starts if s < len(instructions))),
        tuple(sorted(sites)),
        tuple(backward),
        {entry: tuple(after) for entry, after in sites.items()},
        masked,
    )


def may_repeat(function: Function) -> bool:
    """Whether instructions may run more than once: there is a branch backwards, or a call of whatever kind."""
    found = control_flow(function)
    return bool(found.backward or found.subroutines) or any(i.desc.flow.calls_function for i in function.instructions)
