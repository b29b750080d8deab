"""Branches that became masks (:mod:`vsim.analysis.if_conversion`): which lanes run at each place of a block.

Where a goto parts the lanes that run, the two halves are remembered: where they meet again, the mask is the one from
before, under the same name, and registers that both halves write are selected by the goto's condition alone. So a
condition that is the same in all lanes selects scalars, and proofs about addresses hold.
"""

from __future__ import annotations

from dataclasses import replace

from vsim.engines.llvm.ir.constant_masks import constant_mask
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.byte_ranges import Halves
from vsim.engines.llvm.lower.state import FunctionState, Position


class MaskedBranches:
    """The lanes that wait for others in the block that is lowered."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.waiting: list[tuple[int, Mask]] = []
        """Where they wait, the last ones at the end."""
        self.places: dict[str, Position] = {}
        """A place for each mask that lanes have run under in the block, with the parts that are known of it."""

    def part(self, target: int, condition: Value | None) -> None:
        """The lanes for which a condition holds (None: all) wait at a place further down."""
        state, at = self.state, self.state.at
        before = at.running
        if condition is None:
            self.waiting.append((target, before))
            self._run(constant_mask(state.b, 0, state.lanes), at)
            return
        others = ~condition
        taken, rest = (condition, others) if before is True else (condition & before, others & before)
        halves = state.registers.halves
        halves[taken.text, rest.text] = Halves(before, condition)
        halves[rest.text, taken.text] = Halves(before, others)
        self.waiting.append((target, taken))
        self._run(rest, at)

    def meet(self, pc: int) -> None:
        """The lanes that wait here run again."""
        if not self.waiting or not any(target == pc for target, _ in self.waiting):
            return
        at, coming = self.state.at, [mask for target, mask in self.waiting if target == pc]
        self.waiting = [(target, mask) for target, mask in self.waiting if target != pc]
        if not self.waiting:
            assert at.whole
            self._return_to(at.whole)
            at.whole = None
            self.places = {}
            return
        running = at.running
        for mask in reversed(coming):
            running = self._union(running, mask)
        self._run(running, at.whole)

    def _union(self, one: Mask, other: Mask) -> Mask:
        if one is True or other is True:
            return True
        if one.text == constant_mask(self.state.b, 0, self.state.lanes).text:
            return other
        halves = self.state.registers.halves.get((one.text, other.text))
        if halves is not None:
            return halves.whole
        return (one | other).with_facts(implies=one.facts.implies & other.facts.implies)

    def _run(self, running: Mask, around: Position | None) -> None:
        """From here on these lanes run in the block, which all ran at another place of it."""
        at = self.state.at
        before = replace(at, whole=None)
        if at.whole is None:
            at.whole = before
        self.places[_name(at.running)] = before
        known = self.places.get(_name(running))
        if known is not None:
            self._return_to(known)
        else:
            at.running, at.running_parts, at.around = running, {}, before if around is at else around

    def _return_to(self, place: Position) -> None:
        at = self.state.at
        at.running, at.running_parts, at.around = place.running, place.running_parts, place.around


def _name(mask: Mask) -> str:
    return "" if mask is True else mask.text
