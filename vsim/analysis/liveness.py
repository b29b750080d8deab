"""Liveness: what later blocks may read, by backward data flow.

Sets are integers, a bit for each thing that can be live.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Liveness:
    """What is live where control enters and where it leaves each block."""

    live_in: dict[int, int]
    live_out: dict[int, int]


def liveness(
    blocks: Iterable[int],
    successors: Mapping[int, Iterable[int]],
    exposed: Mapping[int, int],
    killed: Mapping[int, int],
    passes_to: Mapping[int, int],
) -> Liveness:
    """Solve the data flow equations.

    Args:
        blocks: in the order of the text.
        exposed: reads of a block before its writes.
        killed: full overwrites of a block.
        passes_to: successor of each block that control may skip.
    """
    backward = list(blocks)[::-1]
    live_in, live_out = dict.fromkeys(backward, 0), dict.fromkeys(backward, 0)
    changed = True
    while changed:
        changed = False
        for n in backward:
            out = 0
            for s in successors[n]:
                out |= live_in[s]
            into = exposed[n] | (out & ~killed[n])
            if n in passes_to:
                into |= live_in[passes_to[n]]
            if into != live_in[n] or out != live_out[n]:
                live_in[n], live_out[n], changed = into, out, True
    return Liveness(live_in, live_out)
