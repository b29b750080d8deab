"""In which order work-groups and threads run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError
from visakit.usage import whole_number
from vsim.launch.arrays import Offsets

ROUND_ROBIN = "round-robin"
TURN_THREADS, PRIVATE_TURN_THREADS = 2048, 512
"""Hardware threads in flight under round-robin; fewer for kernels with private memory."""
KINDS = ("round-robin", "random:SEED", "reverse")
MAXIMUM_ORDERED = 1 << 26
"""Groups that are put into an order, which is a list of their numbers."""


@dataclass(frozen=True)
class Schedule:
    """An order of groups and threads other than the ascending one.

    ``reverse`` and ``random`` run one thread after the other, from barrier to barrier, in that order. ``round-robin``
    runs every thread in turn up to its next access to memory or barrier, as no other thread sees its work between them.
    It has as many groups in flight as have 2,048 threads.
    """

    kind: str
    seed: int = 0

    @property
    def is_round_robin(self) -> bool:
        """Whether every thread runs up to its next access to memory, in turn."""
        return self.kind == ROUND_ROBIN

    def order(self, count: int) -> Offsets:
        """The numbers from 0 to ``count`` - 1 in their order of execution.

        Raises:
            LaunchError: S002, there are too many.
        """
        if count > MAXIMUM_ORDERED:
            message = f"a schedule orders up to {MAXIMUM_ORDERED} work-groups, the launch has {count}"
            raise LaunchError(Diagnostic("S002", message))
        if self.kind == "random":
            return np.random.default_rng((self.seed, count)).permutation(count)
        ascending = np.arange(count)
        return ascending[::-1].copy() if self.kind == "reverse" else ascending


def parse_schedule(text: str) -> Schedule:
    """A schedule as the command line names it.

    Raises:
        LaunchError: there is no such schedule.
    """
    kind, _, seed = text.partition(":")
    if text in ("round-robin", "reverse"):
        return Schedule(text)
    number = whole_number(seed)
    if kind == "random" and number is not None:
        return Schedule(kind, number)
    raise LaunchError(Diagnostic("S002", f"there is no schedule '{text}'", None, f"schedules are {', '.join(KINDS)}"))
