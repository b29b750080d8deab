"""Order of lanes: whether it counts that all lanes of a thread are past one access before any is at the next one.

Texts of some compilers do not show barriers of sub-groups, which may stand between any two accesses of such a text.

Example: in ``y[i] = sum + y[i]`` each lane loads and stores an element of its own, and a barrier between both changes
nothing. In ``y[i] = y[i ^ 1]`` a lane loads what another one stores.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from visakit.isa.record import Access
from visakit.language.operands import SURFACE, Immediate
from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import control_flow
from vsim.analysis.named_registers import variables
from vsim.analysis.register_accesses import Accesses, Bank
from vsim.semantics.lsc import address_kind
from vsim.semantics.registers import Layout

_PLACES = ("exec", "sfid", "global_offset", "addr_type", "addr_size", "imm_scale", "imm_offset", "addr", "offsets")
"""The fields of messages that say, with the surface, where their lanes go."""


def order_may_count(kernel: Function, layout: Layout, apart: Container[int] = (), own: Container[int] = ()) -> bool:
    """Whether results may depend on all lanes of a thread being past one access before any lane is at the next one.

    An element that one lane stores, another lane may load, or may store by another instruction or in another round of
    a loop; and a barrier that left no instruction may stand between both accesses.

    Args:
        apart: surfaces, by number, that share no memory: no element stored to one is in another.
        own: accesses whose lanes do not overlap. Two of them to the same places, which no loop repeats, are in each
            lane's order.
    """
    surfaces = {n: number for n, number in surface_numbers(kernel).items() if number in apart} if apart else {}
    accesses = {n: i.desc.access for n, i in enumerate(kernel.instructions) if i.desc.access is not Access.NONE}
    backward = control_flow(kernel).backward
    repeated = {n for n in accesses if any(target <= n < branch for branch, target in backward)}
    single = {n for n in accesses if n in own and n not in repeated}
    registers = Accesses(kernel, layout)

    def counts(store: int) -> bool:
        others = _may_meet(store, accesses, surfaces)
        if store in repeated or not (others | {store} <= single or not others):
            return True
        same = _SamePlaces(kernel, registers, surfaces, store)
        return not all(same.reaches(n) for n in others)

    return any(counts(n) for n, access in accesses.items() if access is not Access.LOAD)


def _may_meet(store: int, accesses: Iterable[int], surfaces: Mapping[int, int]) -> set[int]:
    """The other accesses that may go to the memory of one."""
    mine = surfaces.get(store)
    return {n for n in accesses if n != store and (mine is None or surfaces.get(n) in (None, mine))}


class _SamePlaces(NamedTuple):
    """The places of an access that no loop repeats, in a kernel without subroutines."""

    kernel: Function
    registers: Accesses
    surfaces: Mapping[int, int]
    access: int

    def reaches(self, other: int) -> bool:
        """Whether each lane reaches the same place by another such access."""
        first, last = sorted((self.access, other))
        i, j = (self.kernel.instructions[n] for n in (first, last))
        if i.desc.payload is not j.desc.payload or any(i.args.get(name) != j.args.get(name) for name in _PLACES):
            return False
        if self.surfaces.get(first) != self.surfaces.get(last) or not (first in self.surfaces or _is_flat(i)):
            return False
        addresses = variables(self.registers.layout, *(i.args.get(name) for name in _PLACES))
        between = (a for k in self.kernel.instructions[first:last] for a in self.registers.of(k) if a.writes)
        return not any(a.register.file is Bank.GENERAL and a.register.number in addresses for a in between)


def _is_flat(message: Instruction) -> bool:
    """Whether a message goes to the flat address space."""
    return "addr_type" in message.args and address_kind(message) == "flat"


def surface_numbers(kernel: Function) -> dict[int, int]:
    """The surfaces of messages, by number of the instruction, that name one by its number, or whose block has put that
    into the variable.
    """
    found, starts = dict[int, int](), set(control_flow(kernel).starts)
    known: dict[int, int] = {}
    for n, i in enumerate(kernel.instructions):
        if n in starts:
            known.clear()
        if i.desc.moves_states:
            target, number = i.args["dst"], i.args["src0"]
            known.pop(target.var, None)
            if (
                (target.kind, target.offset) == (SURFACE, 0)
                and i.args["exec"].no_mask
                and isinstance(number, Immediate)
            ):
                known[target.var] = number.bits
        elif i.desc.access is not Access.NONE:
            surface = i.args.get("surface")
            if surface in known:
                found[n] = known[surface]
            elif isinstance(surface, Immediate) and address_kind(i) == "bti":
                found[n] = surface.bits
    return found
