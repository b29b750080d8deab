"""Dominators: which nodes of a graph every way from the entry leads through.

The algorithm is that of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm"): immediate dominators are
intersected along the reverse postorder until nothing changes. Queries are constant time: a node dominates those whose
preorder number in the dominator tree lies within its own range.
"""

from __future__ import annotations

Graph = dict[int, set[int]]
"""The successors of each node."""


class Dominators:
    """The dominator tree of the nodes that the entry reaches."""

    def __init__(self, graph: Graph, entry: int) -> None:
        immediate = immediate_dominators(graph, entry)
        children: Graph = {n: set() for n in immediate}
        for n, above in immediate.items():
            if n != entry:
                children[above].add(n)
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        work = [(entry, False)]
        while work:
            n, done = work.pop()
            if done:
                self.last[n] = len(self.first)
                continue
            self.first[n] = len(self.first)
            work += [(n, True), *((m, False) for m in children[n])]

    def dominates(self, node: int, other: int) -> bool:
        """Whether every way to ``other`` leads through ``node``; true where no way leads to ``other``."""
        if other not in self.first:
            return True
        return node in self.first and self.first[node] <= self.first[other] < self.last[node]


def immediate_dominators(graph: Graph, entry: int) -> dict[int, int]:
    """The immediate dominator of each node that the entry reaches; the entry's own is itself."""
    order = _postorder(graph, entry)
    number = {n: i for i, n in enumerate(order)}
    predecessors: dict[int, list[int]] = {n: [] for n in order}
    for n in order:
        for target in graph[n]:
            predecessors[target].append(number[n])
    last = len(order) - 1
    immediate = {last: last}
    changed = True
    while changed:
        changed = False
        for i in range(last - 1, -1, -1):
            known = [p for p in predecessors[order[i]] if p in immediate]
            common = known[0]
            for p in known[1:]:
                common = _common(immediate, common, p)
            if immediate.get(i) != common:
                immediate[i], changed = common, True
    return {order[i]: order[above] for i, above in immediate.items()}


def _common(immediate: dict[int, int], a: int, b: int) -> int:
    """The nearest node above two others in the tree, by postorder number."""
    while a != b:
        if a < b:
            a = immediate[a]
        else:
            b = immediate[b]
    return a


def _postorder(graph: Graph, entry: int) -> list[int]:
    """The nodes that the entry reaches, in postorder."""
    found, seen = [], {entry}
    work = [(entry, iter(graph[entry]))]
    while work:
        n, targets = work[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                work.append((target, iter(graph[target])))
                break
        else:
            found.append(n)
            work.pop()
    return found
