"""Groups of processors, each with one program counter, step by step.

docs/ctm.md describes the machine; the points that no public text settles are options (D1 to D8). Groups at the
same place (a cohort) take a step together, in operations on the values of all their processors; where their
decisions differ, the cohort parts, and where they meet again, it is one again. What comes out is what each group by
itself would give.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import visakit.ctm.table as table
from visakit.ctm.cohort import Cohort, LoopFrame, Waiting
from visakit.ctm.processors import GroupFault, Options, Processors
from visakit.ctm.program import IntConstant, ShaderModule
from vsim.launch.arrays import Array, Bools


@dataclass
class Step:
    """One executed instruction, as the trace shows it: state afterwards."""

    pc: int
    line: int
    words: tuple[int, ...]
    jumped: bool | None
    active: list[bool]
    counts: list[int]
    loops: list[tuple[int, int]]


class LoopMasks(NamedTuple):
    """Processors of the loops at one depth: those in the loop, out of it, and in its next turn."""

    entered: Bools
    broken: Bools
    continued: Bools


class Deadline(NamedTuple):
    """When a launch is given up: after so many seconds, which is ``at`` by ``time.monotonic``."""

    seconds: float
    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now."""
        return cls(seconds, time.monotonic() + seconds)


class Ballot(NamedTuple):
    """The state that an FC instruction finds on the processors of a cohort: branch counters behind ``else``, active
    processors and processors that wish to jump; and whether each group jumps.
    """

    counts: Array
    active: Bools
    wish: Bools
    jumps: Bools


class ProcessorGroups(Processors):
    """Groups of processors, run side by side.

    Args:
        module: the program.
        inputs: arrays of (height, width, 4) by number.
        groups: how many there are; P = groups * options.group processors.
        code_offset: the program's place in the machine's slots (US_CODE_OFFSET).
        trace: is called with every step of a single group; None without a trace.
        deadline: when to give up; None for never.
    """

    def __init__(
        self,
        module: ShaderModule,
        options: Options | None = None,
        inputs: Mapping[int, Array] | None = None,
        groups: int = 1,
        code_offset: int = 0,
        trace: Callable[[Step], None] | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        super().__init__(module, options or Options(), inputs or {}, groups)
        self.code_offset, self.trace, self.deadline = code_offset, trace, deadline
        self.masks: list[LoopMasks] = []
        self.waiting = Waiting(self.options.group, groups, self.options.max_steps)
        self.failure: GroupFault | None = None

    # -- running -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """All groups, from slot 0 to the end of the program.

        Raises:
            SimulationError: the program did something undefined, or did not end: that of the first group that did.
        """
        self.waiting.push(self.waiting.all_groups())
        with np.errstate(all="ignore"):
            while self.waiting:
                cohort = self._unaffected(self.waiting.pop())
                if cohort is not None:
                    self._go_on(cohort)
        if self.failure is not None:
            raise self.failure.error from None

    def _unaffected(self, cohort: Cohort) -> Cohort | None:
        """The groups before the first one that failed: one after the other, the others would not run at all."""
        if self.failure is None or cohort.groups[-1] < self.failure.group:
            return cohort
        before = cohort.groups < self.failure.group
        return self.waiting.part(cohort, before) if before.any() else None

    def _go_on(self, cohort: Cohort) -> None:
        """Steps of a cohort, until it ends, parts, or others may come first."""
        while True:
            at = cohort.pc
            parts = self._step(cohort)
            if len(parts) != 1 or self.failure is not None:
                break
            if self.waiting and (self.code[at].kind == table.FC or self.waiting.meets(parts[0])):
                break
            cohort = parts[0]
        for part in parts:
            if 0 <= part.pc < len(self.code):
                self.waiting.push(part)
            else:
                self._step(part)  # Where there is no instruction, it fails.

    def _step(self, cohort: Cohort) -> list[Cohort]:
        """One instruction; the groups that go on, in one cohort or two."""
        try:
            self._begin_step(cohort)
            instruction = self.code[cohort.pc]
            if instruction.kind == table.FC:
                return self._flow(cohort, instruction.fields)
            if instruction.kind == table.TEX:
                self.texture(cohort, instruction.fields)
            else:
                self.arithmetic(cohort, instruction)
        except GroupFault as fault:
            return self._failed(cohort, fault)
        at, cohort.pc = cohort.pc, cohort.pc + 1
        self._note(cohort, at, None)
        return [cohort] if at != self.end else []

    def _failed(self, cohort: Cohort, fault: GroupFault) -> list[Cohort]:
        """Remember the first group's fault; those of a cohort that go on."""
        if self.failure is None or fault.group < self.failure.group:
            self.failure = fault
        rest = self._unaffected(cohort)
        return [] if rest is None else [rest]

    def _begin_step(self, cohort: Cohort) -> None:
        if not 0 <= cohort.pc < len(self.code):
            message = f"the program counter is {cohort.pc}, the program has {len(self.code)} slots"
            self.fault("T030", message, cohort, cohort.last)
        cohort.steps += 1
        if cohort.steps > cohort.limit:
            limit = self.options.max_steps
            slow = cohort.groups[cohort.steps - self.waiting.lag[cohort.groups] > limit]
            cohort.steps -= 1  # Those before the slow ones have this step before them.
            self.fault("T040", f"the program did not end within {limit} instructions", cohort, group=int(slow[0]))
        if self.deadline is not None and time.monotonic() > self.deadline.at:
            raise self.error(
                "T040", f"the program did not end within {self.deadline.seconds:g} seconds", cohort.pc, cohort.pc
            )

    def _note(self, cohort: Cohort, at: int, jumped: bool | None) -> None:
        """A step of a single group, for those who look."""
        cohort.last = at
        if self.trace is not None:
            loops = [(frame.count, frame.al) for frame in cohort.frames]
            slot, active, counts = self.module.slots[at], self.active(cohort).tolist(), self.counts.tolist()
            self.trace(Step(at, slot.line, slot.words, jumped, active, counts, loops))

    # -- flow control --------------------------------------------------------------------------------------

    def _flow(self, cohort: Cohort, f: table.Values) -> list[Cohort]:
        """One FC instruction."""
        self._check_mode(cohort, f)
        ballot = self._ballot(cohort, f)
        if ballot.jumps.all() or not ballot.jumps.any():
            parts = [(cohort, ballot)]
        else:
            halves = [self.waiting.part(cohort, ballot.jumps), self.waiting.part(cohort, ~ballot.jumps)]
            parts = [(half, self._ballot(half, f)) for half in halves]
        going = []
        for part, votes in parts:
            at, jump = part.pc, bool(votes.jumps[0])
            moved = [part]
            try:
                self._move(part, f, votes, jump)
            except GroupFault as fault:
                moved = self._failed(part, fault)
            else:
                self._note(part, at, jump)
            if at != self.end:
                going += moved
        return going

    def _ballot(self, cohort: Cohort, f: table.Values) -> Ballot:
        """What the groups of a cohort decide; changes nothing."""
        op, here = f.get("op", 0), cohort.here
        counts: Array = self.counts[here].copy()
        off: Bools = self.disabled[here]
        if f.get("b_else"):
            was_active, was_zero = ~off & (counts < 0), ~off & (counts == 0)
            counts[was_active], counts[was_zero] = 0, -1
        frame = self._frame(cohort, op, f) if op not in (table.JUMP, table.LOOP, table.REP) else None
        if frame and op in (table.ENDLOOP, table.ENDREP):
            off = self._disabled_by(cohort, len(cohort.frames) - 1)
            off |= self.masks[len(cohort.frames) - 1].broken[here]
        active, wish = (counts < 0) & ~off & ~self.dead[here], self._wish(cohort, f)
        wishers = active & wish
        groups = (-1, self.options.group)
        jumps: Bools
        if op in (table.LOOP, table.REP) and self._constant(f.get("int", 0))[0] == 0:
            jumps = np.ones(len(cohort.groups), bool)
        elif frame and op in (table.ENDLOOP, table.ENDREP) and frame.count == 1:
            jumps = np.zeros(len(cohort.groups), bool)
        elif f.get("any"):
            jumps = np.any(wishers.reshape(groups), axis=1)
        else:
            stay = self._voters(cohort, op, frame, active) & ~wishers
            jumps = ~np.any(stay.reshape(groups), axis=1)
        return Ballot(counts, active, wish, jumps)

    def _move(self, cohort: Cohort, f: table.Values, votes: Ballot, jump: bool) -> None:
        """What an FC instruction changes where all groups of a cohort jump, or none does."""
        self._loop(cohort, f, jump, votes)
        counts = votes.counts
        self._branch(cohort, f.get("b_op1" if jump else "b_op0", 0), f.get("pop", 0), votes, jump)
        self.counts[cohort.here] = counts
        cohort.result_valid = False
        at, cohort.pc = cohort.pc, self._target(cohort, f) if jump else cohort.pc + 1
        limit = 31 if self.module.full or self.options.allow_partial else 3
        if counts.max() > limit:
            deep = (counts > limit).reshape(-1, self.options.group).any(axis=1)
            error = self.error("T041", f"branches are nested more than {limit + 1} deep", at, at)
            raise GroupFault(int(cohort.groups[deep][0]), error)

    def _voters(self, cohort: Cohort, op: int, frame: LoopFrame | None, active: Bools) -> Bools:
        """Who must wish to jump where all must (D1)."""
        if frame is None or op in (table.ENDLOOP, table.ENDREP) or self.options.break_rule != "frame":
            return active
        # Who has gone on to the loop's next turn still counts in it: a BREAK of all others must not take it along.
        masks, here = self.masks[len(cohort.frames) - 1], cohort.here
        voters: Bools = masks.entered[here] & ~masks.broken[here] & ~self.dead[here]
        return voters & ~masks.continued[here] if op == table.CONTINUE else voters

    def _target(self, cohort: Cohort, f: table.Values) -> int:
        """Where the groups jump; calls and returns use the address stack."""
        if f.get("a_op") == table.A_POP:
            if not cohort.addresses:
                self.fault("T032", "a return with an empty address stack", cohort)
            back = cohort.addresses[-1]
            cohort.addresses = cohort.addresses[:-1]
            return back
        if f.get("a_op") == table.A_PUSH:
            if len(cohort.addresses) >= self.options.address_depth:
                self.fault("T033", f"calls are nested more than {self.options.address_depth} deep", cohort)
            cohort.addresses += (cohort.pc + 1,)
        # The program counter counts from the program's first slot, wherever that lies.
        return f.get("jump", 0) - (self.code_offset if f.get("jump_global") else 0)

    def _check_mode(self, cohort: Cohort, f: table.Values) -> None:
        """Partial mode has neither loops nor subroutines (D4)."""
        if not self.module.full and not self.options.allow_partial and (f.get("op", 0) != table.JUMP or f.get("a_op")):
            self.fault("T034", "partial mode has no loops and no subroutines", cohort)

    def _frame(self, cohort: Cohort, op: int, f: table.Values) -> LoopFrame:
        if not cohort.frames:
            self.fault("T035", f"{table.FC_OPS[op]} with an empty loop stack", cohort)
        frame = cohort.frames[-1]
        loop = frame.op == table.LOOP
        if (op in (table.ENDLOOP, table.BREAKLOOP) and not loop) or (op in (table.ENDREP, table.BREAKREP) and loop):
            self.fault("T036", f"{table.FC_OPS[op]} inside a {table.FC_OPS[frame.op]}", cohort)
        if op in (table.ENDLOOP, table.ENDREP) and f.get("int", 0) != frame.integer and not self.options.mixed_loops:
            begins, ends = table.FC_OPS[frame.op], table.FC_OPS[op]
            self.fault("T037", f"{ends} names i{f.get('int', 0)}, its {begins} named i{frame.integer}", cohort)
        return frame

    def _wish(self, cohort: Cohort, f: table.Values) -> Bools:
        func, here = f.get("func", 0), cohort.here
        if table.depends(func, "alu") and not cohort.result_valid and not self.options.stale_result:
            message = "the ALU result is read, but none was written since the last flow-control instruction"
            self.fault("T031", message, cohort)
        select = f.get("rgb_pred", 0)
        if select == table.PRED_PER_CHANNEL:
            self.fault("T038", "a flow-control instruction cannot select a predicate per channel", cohort)
        if select > table.PRED_SELECTS["a"]:
            self.fault("T038", f"predicate selection {select} does not exist", cohort)
        result = self.result[here]
        predicate = (
            self.predicates[select - 2][here] if select else np.full(len(result), self.options.predicate_default)
        )
        if f.get("rgb_pred_inv"):
            predicate = ~predicate
        boolean = int(self.module.booleans.get(f.get("bool", 0), False))
        index = result.astype(int) << 2 | predicate.astype(int) << 1 | boolean
        return (func >> index & 1).astype(bool)

    def _constant(self, number: int) -> IntConstant:
        """The integer constant of a loop."""
        return self.module.integers.get(number, (0, 0, 0))

    def _disabled_by(self, cohort: Cohort, depth: int) -> Bools:
        """Processors of a cohort that the outermost ``depth`` loops have switched off."""
        off = np.zeros(len(cohort.groups) * self.options.group, bool)
        for masks in self.masks[:depth]:
            off |= masks.broken[cohort.here] | masks.continued[cohort.here]
        return off

    def _loop(self, cohort: Cohort, f: table.Values, jump: bool, votes: Ballot) -> None:
        """What the loop instructions do to the loop stack."""
        op = f.get("op", 0)
        if op in (table.LOOP, table.REP):
            if not jump:
                self._enter(cohort, f, votes.active)
            return
        if op == table.JUMP:
            return
        depth, here = len(cohort.frames), cohort.here
        frame, masks = cohort.frames[-1], self.masks[depth - 1]
        if op in (table.ENDLOOP, table.ENDREP):
            masks.continued[here] = False
            if jump:
                al = frame.al
                if op == table.ENDLOOP:
                    al += self._constant(frame.integer)[2]
                    al = al & 255 if self.options.wrap_al else al
                cohort.frames = (*cohort.frames[:-1], replace(frame, count=frame.count - 1, al=al))
            else:
                self._leave(cohort)
        elif op == table.CONTINUE:
            if not jump:
                masks.continued[here] |= votes.active & votes.wish
        elif jump:
            self._leave(cohort)
        else:
            masks.broken[here] |= votes.active & votes.wish
        self.disabled[here] = self._disabled_by(cohort, len(cohort.frames))

    def _enter(self, cohort: Cohort, f: table.Values, active: Bools) -> None:
        """Push a frame."""
        depth = len(cohort.frames)
        if depth >= self.options.loop_depth:
            self.fault("T039", f"loops are nested more than {self.options.loop_depth} deep", cohort)
        if depth == len(self.masks):
            entered, broken, continued = np.zeros((3, self.counts.size), bool)
            self.masks.append(LoopMasks(entered, broken, continued))
        self.masks[depth].entered[cohort.here] = active
        count, start, _ = self._constant(f.get("int", 0))
        outer = cohort.frames[-1].al if depth else 0
        op = f.get("op", 0)
        frame = LoopFrame(op, cohort.pc, f.get("int", 0), count, start if op == table.LOOP else outer)
        cohort.frames += (frame,)

    def _leave(self, cohort: Cohort) -> None:
        """Pop a frame: all processors that left the loop are active again."""
        masks = self.masks[len(cohort.frames) - 1]
        masks.broken[cohort.here] = False
        masks.continued[cohort.here] = False
        cohort.frames = cohort.frames[:-1]

    def _branch(self, cohort: Cohort, op: int, pop: int, votes: Ballot, jump: bool) -> None:
        free, counts = ~self.disabled[cohort.here], votes.counts
        inactive = free & (counts >= 0)
        if op == table.B_DECR:
            counts[inactive] = np.maximum(counts[inactive] - pop, -1)
        elif op == table.B_INCR:
            counts[inactive] += 1
            counts[free & votes.active & (votes.wish != jump)] = 0


class ProcessorGroup(ProcessorGroups):
    """A single group, whose stacks can be looked at when it has run."""

    def __init__(
        self,
        module: ShaderModule,
        options: Options | None = None,
        inputs: Mapping[int, Array] | None = None,
        code_offset: int = 0,
        trace: Callable[[Step], None] | None = None,
    ) -> None:
        super().__init__(module, options, inputs, 1, code_offset, trace)
        self.frames: tuple[LoopFrame, ...] = ()
        self.addresses: tuple[int, ...] = ()

    def _note(self, cohort: Cohort, at: int, jumped: bool | None) -> None:
        super()._note(cohort, at, jumped)
        self.frames, self.addresses = cohort.frames, cohort.addresses
