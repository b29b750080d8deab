"""Memory of single threads: whether a kernel has to do with scratch, which most leave to spills of the finalizer, and
loads from private memory.
"""

from __future__ import annotations

from collections.abc import Collection

from visakit.isa.record import Access
from visakit.language.program import SCRATCH, Function, Instruction
from visakit.objects.image import LinkedImage
from vsim.analysis.named_registers import computed_from
from vsim.analysis.reachability import reachable
from vsim.analysis.register_accesses import Accesses, Bank, Register
from vsim.analysis.waiting import touches_memory
from vsim.semantics.lsc import address_kind
from vsim.semantics.refused import RAW_MESSAGES
from vsim.semantics.registers import Layout


def touches_scratch(image: LinkedImage, kernel: Function) -> bool:
    """Whether a kernel, or a function that it calls, can read or write scratch memory."""
    return any(_touches(instruction) for _, _, instruction in reachable(image, kernel))


def _touches(instruction: Instruction) -> bool:
    args = instruction.args
    if instruction.desc.semantics in RAW_MESSAGES or args.get("surface") == SCRATCH:
        return True
    return "addr_type" in args and address_kind(instruction) in ("ss", "surf")  # whose handle may be that of scratch


def private_loads(function: Function, layout: Layout, variables: Collection[int]) -> frozenset[int]:
    """The loads of a kernel whose addresses are computed from that of private memory. They are cheap: no other thread's
    accesses drive it out of the cache.

    Args:
        variables: that begin with the address.
    """
    accesses, reads, writes = Accesses(function, layout), list[set[Register]](), list[set[Register]]()
    for i in function.instructions:
        found = list(accesses.of(i))
        reads.append({a.register for a in found if not a.writes})
        writes.append({a.register for a in found if a.writes and not touches_memory(i)})
    addresses = computed_from((Register(Bank.GENERAL, layout.root(v)[0]) for v in variables), reads, writes)
    loads = (n for n, i in enumerate(function.instructions) if i.desc.access is Access.LOAD)
    return frozenset(n for n in loads if not addresses.isdisjoint(reads[n]))
