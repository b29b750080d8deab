"""The definitions that an image contains."""

from __future__ import annotations

from collections.abc import Collection

from vlink.symbols import Definition, References


def live_definitions(
    definitions: list[Definition], references: References, entries: Collection[str], pinned: Collection[str]
) -> set[Definition]:
    """The definitions that the entries reach; without entries, all kernels are; ``pinned`` functions live in any case.

    Without a kernel there is nothing to begin with, and everything lives.
    """
    kernels = [d for d in definitions if d.function.is_kernel]
    work = [d for d in kernels if not entries or d.function.name in entries] or list(definitions)
    work += [d for d in definitions if not d.function.is_kernel and d.function.name in pinned]
    live = set(work)
    while work:
        for reference in references[work.pop()]:
            target = reference.target
            if target is not None and target not in live:
                live.add(target)
                work.append(target)
    return live
