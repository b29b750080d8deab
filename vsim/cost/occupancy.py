"""Occupancy: how many threads of a kernel an EU holds, and how many work-groups a core, and what limits them."""

from __future__ import annotations

from typing import NamedTuple

from visakit.language.platforms import Platform
from vsim.cost.constants import constant

THREADS, LOCAL_MEMORY, BARRIERS = "threads", "local memory", "barriers"


class GroupNeeds(NamedTuple):
    """What a work-group takes: hardware threads, bytes of local memory, and whether its threads meet at barriers."""

    threads: int
    local_memory: int
    has_barrier: bool


class Occupancy(NamedTuple):
    """How a platform is filled.

    Attributes:
        threads: of an EU, as its register mode allows.
        limits: groups that a core can hold by each of its resources; None where the resource is not published.
        groups: that a core holds at most; None if not a single limit is known.
        share: of a core's threads that these groups take, from 0 to 1; None where the EUs are not known.
    """

    threads: int
    limits: dict[str, int | None]
    groups: int | None
    share: float | None

    @property
    def limited_by(self) -> str:
        """The resource that limits the groups; empty if none is known."""
        return next((name for name, limit in self.limits.items() if limit == self.groups), "")


def occupancy(platform: Platform, threads: int, group: GroupNeeds) -> Occupancy:
    """How many groups of a kernel a core holds.

    Args:
        threads: of an EU, as the kernel's registers allow.

    Raises:
        CostError: Q001, the table has no constants of the platform.
    """
    units = constant(platform, "EUs a core").value
    slots = None if units is None else int(units) * threads
    limits: dict[str, int | None] = {THREADS: None if slots is None else slots // group.threads}
    if group.local_memory:
        limits[LOCAL_MEMORY] = _fitting(platform, "local memory of a core", group.local_memory)
    if group.has_barrier and group.threads > 1:
        limits[BARRIERS] = _fitting(platform, "barriers of a core", 1)
    known = [limit for limit in limits.values() if limit is not None]
    groups = min(known, default=None)
    share = None if groups is None or slots is None else groups * group.threads / slots
    return Occupancy(threads, limits, groups, share)


def _fitting(platform: Platform, name: str, size: int) -> int | None:
    room = constant(platform, name).value
    return None if room is None else int(room) // size
