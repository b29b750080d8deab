"""Control-flow analysis of a body: blocks, places where lanes wait for each other, and where all lanes are known to be together."""

from __future__ import annotations

from dataclasses import dataclass, field

from visa.operands import SCALAR, General, Immediate, Predicate
from visa.program import Body, Instruction

_ENDING = ("goto", "jmp", "switchjmp", "ret", "fret", "call")


@dataclass
class Flow:
    """Blocks by their first instruction. ``joins`` are places at which lanes may wait; ``together`` those where all lanes run."""

    body: Body
    labels: dict[int, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    joins: list[int] = field(default_factory=list)
    together: set[int] = field(default_factory=set)
    regions: list[int] = field(default_factory=list)
    uniform_predicates: set[int] = field(default_factory=set)
    backward: list[tuple[int, int]] = field(default_factory=list)

    def region_of(self, place: int) -> int:
        """Start of the subroutine that holds an instruction (0 for the body's main part)."""
        return max((r for r in self.regions if r <= place), default=0)

    def region_end(self, place: int) -> int:
        return min((r for r in self.regions if r > place), default=len(self.body.instructions))

    def next_join(self, place: int) -> int | None:
        """The next waiting place behind an instruction, in its subroutine."""
        end = self.region_end(place)
        return min((j for j in self.joins if place < j < end), default=None)


def is_uniform(body: Body, instruction: Instruction, uniform: set[int]) -> bool:
    """Whether all active lanes of a jump go the same way."""
    args = instruction.args
    pred = args.get("pred")
    if pred is None:
        return True
    return instruction.form.mnemonic == "jmp" or args["exec"].size == 1 or pred.var in uniform or bool(pred.mode)


def ends_lanes(instruction: Instruction) -> bool:
    """Whether lanes leave the body here: by a return, or with a thread's last message."""
    return instruction.form.mnemonic in ("ret", "fret") or bool(instruction.form.fixed.get("eot"))


def _scalar(op: object) -> bool:
    return isinstance(op, Immediate) or (isinstance(op, General) and op.region == SCALAR)


def uniform_predicates(body: Body) -> set[int]:
    """Predicates whose every write gives all lanes the same bit, whatever lanes are active."""
    writes: dict[int, list[Instruction]] = {}
    for i in body.instructions:
        dst = i.args.get("dst")
        if isinstance(dst, Predicate):
            writes.setdefault(dst.var, []).append(i)
        if i.form.mnemonic == "add3.o" and i.args.get("pred"):
            writes.setdefault(i.args["pred"].var, []).append(i)
    found = set(writes)
    changed = True
    while changed:
        changed = False
        for var in list(found):
            for i in writes[var]:
                args = i.args
                whole = args["exec"].no_mask and args["exec"].offset == 0 and args["exec"].size >= min(32, body.predicates[var - 1].elements)
                if i.form.mnemonic == "cmp":
                    good = whole and _scalar(args["src0"]) and _scalar(args["src1"])
                elif i.form.mnemonic in ("and", "or", "xor", "not") and args.get("pred") is None:
                    operands = [args[s] for s in ("src0", "src1") if s in args]
                    good = whole and all(isinstance(o, Predicate) and o.var in found for o in operands)
                else:
                    good = False
                if not good:
                    found.discard(var)
                    changed = True
                    break
    return found


def analyse(body: Body, starts_full: bool) -> Flow:
    """Blocks, joins and the places where all lanes are together; ``starts_full``: all lanes run at the beginning."""
    flow = Flow(body, uniform_predicates=uniform_predicates(body))
    instructions = body.instructions
    for n, i in enumerate(instructions):
        if i.form.mnemonic in (".label", ".function"):
            flow.labels[i.args["label"]] = n
    called = {flow.labels[i.args["label"]] for i in instructions if i.form.mnemonic == "call" and i.args["label"] in flow.labels}
    flow.regions = sorted(called)
    starts, joins = {0} | called, set()
    sources: list[tuple[int, int]] = []  # (place of a jump that may split lanes, place at which some of them wait)
    uniform_gotos: list[tuple[int, int]] = []
    for n, i in enumerate(instructions):
        name = i.form.mnemonic
        if name not in _ENDING and not ends_lanes(i):
            continue
        starts.add(n + 1)
        if name in ("goto", "jmp"):
            target = flow.labels[i.args["label"]]
            starts.add(target)
            if target <= n:
                flow.backward.append((n, target))
            if is_uniform(body, i, flow.uniform_predicates):
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


def _elsewhere(flow: Flow, place: int, source: int, waiting: int) -> bool:
    """Whether lanes that a jump made wait may still wait when the place runs."""
    if waiting == place:
        return False
    if source < place < waiting:
        return True
    # A loop can come back to the place while lanes wait behind it.
    return waiting > place and any(target <= place and edge >= source for edge, target in flow.backward if source >= place)


def _find_together(flow: Flow, sources: list[tuple[int, int]], uniform: list[tuple[int, int]], starts_full: bool, called: set[int]) -> None:
    if not starts_full:
        return
    main_end = min(called, default=len(flow.body.instructions))
    ends = {n for n, i in enumerate(flow.body.instructions) if ends_lanes(i)}
    together: set[int] = set()
    while True:
        block_of: dict[int, int] = {}
        ordered = flow.starts

        def start_of(place: int, cache: dict[int, int] = block_of, blocks: list[int] = ordered) -> int:
            if place not in cache:
                cache[place] = max(b for b in blocks if b <= place)
            return cache[place]

        splitting = list(sources)
        splitting += [(n, t) for n, t in uniform if start_of(n) not in together and t > n]
        # Lanes that end while others go on never come back.
        splitting += [(n, len(flow.body.instructions)) for n in ends if n < main_end and start_of(n) not in together]
        found = {p for p in flow.starts if p < main_end and not any(_elsewhere(flow, p, s, w) for s, w in splitting)}
        if found == together or not found - together:
            break
        together |= found
    flow.together = together


def dominators(edges: dict[int, set[int]], entry: int) -> dict[int, frozenset[int]]:
    """For each block the blocks through which every way from the entry to it leads, itself included; all blocks for one that no way leads to."""
    nodes = list(edges)
    bit = {n: 1 << i for i, n in enumerate(nodes)}
    before: dict[int, list[int]] = {n: [] for n in nodes}
    for n, targets in edges.items():
        for target in targets:
            before[target].append(n)
    everything = (1 << len(nodes)) - 1
    found = dict.fromkeys(nodes, everything)
    found[entry] = bit[entry]
    changed = True
    while changed:
        changed = False
        for n in nodes:
            if n == entry:
                continue
            common = everything
            for p in before[n]:
                common &= found[p]
            common |= bit[n]
            if common != found[n]:
                found[n], changed = common, True
    return {n: frozenset(m for m in nodes if found[n] & bit[m]) for n in nodes}
