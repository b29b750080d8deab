"""Control-flow analysis of a function: blocks, places where lanes wait for each other, and where all lanes are known to be together."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from visa.operands import SCALAR, General, Immediate, Predicate
from visa.program import Function, Instruction

_ENDING = ("goto", "jmp", "switchjmp", "ret", "fret", "call")


@dataclass
class Flow:
    """Blocks by their first instruction. ``joins`` are places at which lanes may wait; ``together`` those where all lanes run."""

    function: Function
    labels: dict[int, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    joins: list[int] = field(default_factory=list)
    together: set[int] = field(default_factory=set)
    regions: list[int] = field(default_factory=list)
    uniform_predicates: set[int] = field(default_factory=set)
    backward: list[tuple[int, int]] = field(default_factory=list)

    def region_of(self, place: int) -> int:
        """Start of the subroutine that holds an instruction (0 for the function's main part)."""
        at = bisect_right(self.regions, place)
        return self.regions[at - 1] if at else 0

    def region_end(self, place: int) -> int:
        at = bisect_right(self.regions, place)
        return self.regions[at] if at < len(self.regions) else len(self.function.instructions)

    def next_join(self, place: int) -> int | None:
        """The next waiting place behind an instruction, in its subroutine."""
        at = bisect_right(self.joins, place)
        return self.joins[at] if at < len(self.joins) and self.joins[at] < self.region_end(place) else None


def is_uniform(function: Function, instruction: Instruction, uniform: set[int]) -> bool:
    """Whether all active lanes of a jump go the same way."""
    args = instruction.args
    pred = args.get("pred")
    if pred is None:
        return True
    return instruction.desc.mnemonic == "jmp" or args["exec"].size == 1 or pred.var in uniform or bool(pred.mode)


def ends_lanes(instruction: Instruction) -> bool:
    """Whether lanes leave the function here: by a return, or with a thread's last message."""
    return instruction.desc.mnemonic in ("ret", "fret") or bool(instruction.desc.fixed.get("eot"))


def _scalar(op: object) -> bool:
    return isinstance(op, Immediate) or (isinstance(op, General) and op.region == SCALAR)


def uniform_predicates(function: Function) -> set[int]:
    """Predicates whose every write gives all lanes the same bit, whatever lanes are active."""
    writes: dict[int, list[Instruction]] = {}
    for i in function.instructions:
        dst = i.args.get("dst")
        if isinstance(dst, Predicate):
            writes.setdefault(dst.var, []).append(i)
        if i.desc.mnemonic == "add3.o" and i.args.get("pred"):
            writes.setdefault(i.args["pred"].var, []).append(i)
    found = set(writes)
    changed = True
    while changed:
        changed = False
        for var in list(found):
            for i in writes[var]:
                args = i.args
                whole = (
                    args["exec"].no_mask
                    and args["exec"].offset == 0
                    and args["exec"].size >= min(32, function.predicates[var - 1].elements)
                )
                if i.desc.mnemonic == "cmp":
                    good = whole and _scalar(args["src0"]) and _scalar(args["src1"])
                elif i.desc.mnemonic in ("and", "or", "xor", "not") and args.get("pred") is None:
                    operands = [args[s] for s in ("src0", "src1") if s in args]
                    good = whole and all(isinstance(o, Predicate) and o.var in found for o in operands)
                else:
                    good = False
                if not good:
                    found.discard(var)
                    changed = True
                    break
    return found


def analyse(function: Function, starts_full: bool) -> Flow:
    """Blocks, joins and the places where all lanes are together; ``starts_full``: all lanes run at the beginning."""
    flow = Flow(function, uniform_predicates=uniform_predicates(function))
    instructions = function.instructions
    for n, i in enumerate(instructions):
        if i.desc.mnemonic in (".label", ".function"):
            flow.labels[i.args["label"]] = n
    called = {
        flow.labels[i.args["label"]]
        for i in instructions
        if i.desc.mnemonic == "call" and i.args["label"] in flow.labels
    }
    flow.regions = sorted(called)
    starts, joins = {0} | called, set()
    sources: list[tuple[int, int]] = []  # (place of a jump that may split lanes, place at which some of them wait)
    uniform_gotos: list[tuple[int, int]] = []
    for n, i in enumerate(instructions):
        name = i.desc.mnemonic
        if name not in _ENDING and not ends_lanes(i):
            continue
        starts.add(n + 1)
        if name in ("goto", "jmp"):
            target = flow.labels[i.args["label"]]
            starts.add(target)
            if target <= n:
                flow.backward.append((n, target))
            if is_uniform(function, i, flow.uniform_predicates):
                uniform_gotos.append((n, target))
                if target > n:
                    joins.add(target)
            else:
                waiting = target if target > n else n + 1
                joins.add(waiting)
                sources.append((n, waiting))
        elif name == "switchjmp":
            for label in i.args["labels"]:
                target = flow.labels[label]
                starts.add(target)
                if target > n:
                    joins.add(target)
                else:
                    flow.backward.append((n, target))
                uniform_gotos.append((n, target))
        elif name in ("ret", "fret") and i.args.get("pred") is not None:
            sources.append((n, len(instructions)))
    flow.starts = sorted(s for s in starts if s < len(instructions))
    flow.joins = sorted(j for j in joins if j < len(instructions))
    _find_together(flow, sources, uniform_gotos, starts_full, called)
    return flow


def may_go_back(function: Function) -> bool:
    """Whether instructions may run more than once: there is a jump backwards, or a call of whatever kind."""
    flow = analyse(function, starts_full=False)
    return bool(flow.backward or flow.regions) or any(
        i.desc.mnemonic in ("fcall", "ifcall") for i in function.instructions
    )


def _elsewhere(flow: Flow, place: int, source: int, waiting: int) -> bool:
    """Whether lanes that a jump made wait may still wait when the place runs."""
    if waiting == place:
        return False
    if source < place < waiting:
        return True
    # A loop can come back to the place while lanes wait behind it.
    return waiting > place and any(
        target <= place and edge >= source for edge, target in flow.backward if source >= place
    )


def _find_together(
    flow: Flow, sources: list[tuple[int, int]], uniform: list[tuple[int, int]], starts_full: bool, called: set[int]
) -> None:
    if not starts_full:
        return
    main_end = min(called, default=len(flow.function.instructions))
    ends = {n for n, i in enumerate(flow.function.instructions) if ends_lanes(i)}
    together: set[int] = set()
    while True:

        def start_of(place: int) -> int:
            return flow.starts[bisect_right(flow.starts, place) - 1]

        splitting = list(sources)
        splitting += [(n, t) for n, t in uniform if start_of(n) not in together and t > n]
        # Lanes that end while others go on never come back.
        splitting += [
            (n, len(flow.function.instructions)) for n in ends if n < main_end and start_of(n) not in together
        ]
        found = {p for p in flow.starts if p < main_end and not any(_elsewhere(flow, p, s, w) for s, w in splitting)}
        if found == together or not found - together:
            break
        together |= found
    flow.together = together


class Dominators:
    """Which blocks every way from the entry to a block leads through (Cooper, Harvey and Kennedy: a simple, fast dominance algorithm)."""

    def __init__(self, edges: dict[int, set[int]], entry: int) -> None:
        order = _postorder(edges, entry)
        number = {n: i for i, n in enumerate(order)}
        before: dict[int, list[int]] = {n: [] for n in order}
        for n in order:
            for target in edges[n]:
                before[target].append(n)
        above = {entry: entry}
        changed = True
        while changed:
            changed = False
            for n in reversed(order[:-1]):
                common = -1
                for p in before[n]:
                    if p in above:
                        p = number[p]
                        while common not in (-1, p):
                            if p < common:
                                p = number[above[order[p]]]
                            else:
                                common = number[above[order[common]]]
                        common = p
                if above.get(n) != order[common]:
                    above[n], changed = order[common], True
        below: dict[int, list[int]] = {n: [] for n in order}
        for n in order[:-1]:
            below[above[n]].append(n)
        # A block dominates those whose numbers in a walk over the tree lie between its own first and last.
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        work = [(entry, False)]
        while work:
            n, done = work.pop()
            if done:
                self.last[n] = len(self.first)
                continue
            self.first[n] = len(self.first)
            work += [(n, True), *((m, False) for m in below[n])]

    def dominates(self, block: int, place: int) -> bool:
        """Whether every way to ``place`` leads through ``block``; true where no way leads to ``place``."""
        if place not in self.first:
            return True
        return block in self.first and self.first[block] <= self.first[place] < self.last[block]


def _postorder(edges: dict[int, set[int]], entry: int) -> list[int]:
    """Blocks that the entry reaches, each behind those that it was left for."""
    found, seen = [], {entry}
    work = [(entry, iter(edges[entry]))]
    while work:
        n, targets = work[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                work.append((target, iter(edges[target])))
                break
        else:
            found.append(n)
            work.pop()
    return found
