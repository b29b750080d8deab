"""Whether memory decides which lanes execute which instructions, or only ids, sizes and arguments do."""

from __future__ import annotations

from visakit.language.program import Function
from vsim.analysis.active_lanes import lane_rules
from vsim.analysis.named_registers import computed_from
from vsim.analysis.register_accesses import Accesses, Bank, Register
from vsim.analysis.waiting import touches_memory
from vsim.semantics.registers import layout_of


def memory_decides_lanes(function: Function, grf_size: int, lanes: int) -> bool:
    """Whether branches of a function, or predicates that switch lanes off, may depend on values from memory.

    Args:
        grf_size: bytes of a register.
        lanes: of a thread.
    """
    accesses, rules = Accesses(function, layout_of(function, grf_size)), lane_rules(function, lanes)
    reads, writes = list[set[Register]](), list[set[Register]]()
    for i in function.instructions:
        found = list(accesses.of(i))
        reads.append({a.register for a in found if not a.writes})
        writes.append({a.register for a in found if a.writes})
    messages = [touches_memory(i) for i in function.instructions]
    results_of_messages = (r for message, results in zip(messages, writes, strict=True) if message for r in results)
    loaded = computed_from(results_of_messages, reads, writes)
    for message, rule, sources, results in zip(messages, rules, reads, writes, strict=True):
        if rule.predicate is not None and Register(Bank.PREDICATE, rule.predicate.var) in loaded:
            return True
        branches = not message and not results  # or writes %cr0 or a state
        if branches and sources & loaded:
            return True
    return False
