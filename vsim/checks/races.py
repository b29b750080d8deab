"""The race check: which accesses of a launch conflict and are not ordered. Both engines end here.

Two accesses conflict if they touch a byte in common, one of them writes, and not both are atomic. They are ordered
within a thread by its program, and between threads of a group by its barrier: an access after ``s`` arrivals comes
before one of another thread after ``w`` departures if ``s < w``. Remaining conflicts that fences and atomics or named
barriers may order go through :mod:`vsim.checks.happens_before`.

All work is done on columns: accesses are cut into units that no access splits, and sorted by place; of equal ones two
of different threads (or groups) stay, which is enough to find a conflict with them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vsim.checks.accesses import ATOMIC, ATOMIC_READ, GLOBAL, KINDS, LOCAL, NO_LANE, READ, WHOLE, WRITE, Records
from vsim.checks.findings import MAPPED, Finding, Findings, OtherSide, Site, Who
from vsim.checks.happens_before import may_order, unordered
from vsim.checks.names import RACE, RACE_ITEMS
from vsim.checks.queued import hint
from vsim.launch.dispatch import Dispatch
from vsim.memory.images import SurfaceImage

IN_GROUP, OF_LANES, ACROSS_GROUPS, OF_LAUNCHES, OF_ITEMS = "K001", "K002", "K003", "K004", "K005"
_MESSAGES = {
    IN_GROUP: "threads of a work-group race: {} and {} of the same place, and nothing orders them",
    OF_LANES: "lanes of one instruction write different values to the same place",
    ACROSS_GROUPS: "work-groups race: {} and {} of the same place, and nothing orders them",
    OF_LAUNCHES: "launches race: {} and {} of the same place, and no event, barrier or wait orders the two",
    OF_ITEMS: "work-items of one thread race: {} and {} of the same place, and nothing but its lock-step orders them",
}
_HINTS = {
    IN_GROUP: "a barrier between the two orders them",
    OF_LANES: "let one lane write, or each lane to a different place",
    OF_ITEMS: "a barrier between the two orders them; of sub-group barriers compiled code may have no trace",
    ACROSS_GROUPS: "no barrier orders work-groups: use atomics with fences of device scope, or two launches",
}
_WITH_PROGRAM = "a launch and the program race: {} and {} of the same place, which is mapped meanwhile"
Indices = npt.NDArray[np.int64]
Pairs = tuple[Indices, Indices]
NameMemory = Callable[[int, int], str]
"""The name of the memory at a space and address, with the offset."""


class Races(NamedTuple):
    """Conflicts: their code, the records of both sides, the first byte in common, and the launch of the second side if
    it is another one, or the command of a queue.
    """

    code: str
    first: Records
    second: Records
    address: npt.NDArray[np.uint64]
    launch: Dispatch | None = None
    command: str = ""


def report(records: Records, findings: Findings, name: NameMemory) -> None:
    """Find the races among records, and add them to the findings."""
    found = [*_between_threads(records), _between_lanes(records)]
    if RACE_ITEMS in findings.checks:
        found.append(_between_items(records))
    for races in found:
        _add(races, findings, name)


def report_launches(one: tuple[Dispatch, Records], other: tuple[Dispatch | str, Records]) -> None:
    """Find the races of two launches that nothing orders, and add them to the findings of the first.

    Args:
        other: the second one; the name of a command of a queue that is no launch.
    """
    dispatch, mine = one
    second_one, theirs = other
    launch, command = (None, second_one) if isinstance(second_one, str) else (second_one, "")
    whole = np.concatenate([mine, theirs])
    accesses = whole.copy()
    accesses["number"], accesses["group"] = np.arange(len(whole)), np.arange(len(whole)) >= len(mine)
    accesses = accesses[(accesses["kind"] <= ATOMIC_READ) & (accesses["space"] == GLOBAL)]
    rows, units = _units(accesses)
    a, b = _pairs_of_groups(accesses, rows, _places(accesses, rows, units))
    swapped = accesses["group"][rows[a]] == 1
    a, b = np.where(swapped, b, a), np.where(swapped, a, b)
    first, second = (whole[accesses["number"][rows[side]]] for side in (a, b))
    address = np.maximum(first["address"], np.maximum(second["address"], units[a]))
    assert dispatch.findings is not None
    races = Races(OF_LAUNCHES, first, second, address, launch, command)
    _add(races, dispatch.findings, partial(memory_name, dispatch))


def suspicious(records: Records) -> npt.NDArray[np.uint64]:
    """The places, space and dword, of races: for tests."""
    found = [r for r in (*_between_threads(records), _between_lanes(records)) if r.first.size]
    if not found:
        return np.zeros(0, np.uint64)
    return np.unique(np.concatenate([(r.address >> np.uint64(2)) * 2 + r.first["space"] for r in found]))


# -- threads ---------------------------------------------------------------------------------------------------


def _between_threads(records: Records) -> list[Races]:
    """Races of threads of one group, and those of groups."""
    accesses = records[records["kind"] <= ATOMIC_READ]
    rows, units = _units(accesses)
    places = _places(accesses, rows, units)
    keep = _may_conflict(accesses, rows, places)
    rows, units, places = rows[keep], units[keep], places[keep]
    if not rows.size:
        return []
    inside, across = _pairs_in_groups(accesses, rows, places), _pairs_of_groups(accesses, rows, places)
    if may_order(records) and inside[0].size + across[0].size:
        chosen = np.isin(places, np.unique(places[np.concatenate([*inside, *across])]))
        a, b = unordered(
            records, rows=np.flatnonzero(records["kind"] <= ATOMIC_READ)[rows[chosen]], places=places[chosen]
        )
        a, b = np.flatnonzero(chosen)[a], np.flatnonzero(chosen)[b]
        same = accesses["group"][rows[a]] == accesses["group"][rows[b]]
        inside, across = (a[same], b[same]), (a[~same], b[~same])
    return [
        _races(code, accesses, rows, units, *pairs) for code, pairs in ((IN_GROUP, inside), (ACROSS_GROUPS, across))
    ]


def _units(accesses: Records) -> tuple[Indices, npt.NDArray[np.uint64]]:
    """The accesses in units of a size that divides all: number of the access, address of the unit."""
    address, size = accesses["address"], accesses["size"].astype(np.int64)
    together = int(np.bitwise_or.reduce(address | accesses["size"], initial=8))
    unit = together & -together
    count = size // unit
    rows: Indices = np.repeat(np.arange(len(accesses)), count)
    starts = np.cumsum(count) - count
    within = np.arange(rows.size) - starts[rows]
    return rows, address[rows] + within.astype(np.uint64) * np.uint64(unit)


def _places(accesses: Records, rows: Indices, units: npt.NDArray[np.uint64]) -> Indices:
    """A number for the memory of each unit: local memory of different groups is different."""
    if not rows.size:
        return rows
    owner = np.where(accesses["space"][rows] == LOCAL, accesses["group"][rows].astype(np.int64) + 1, 0)
    order = np.lexsort((units, owner))
    new = np.ones(rows.size, bool)
    new[1:] = (np.diff(owner[order]) != 0) | (np.diff(units[order]) != 0)
    found = np.empty(rows.size, np.int64)
    found[order] = np.cumsum(new) - 1
    return found


def _may_conflict(accesses: Records, rows: Indices, places: Indices) -> npt.NDArray[np.bool_]:
    """The units at places that several threads touch, some of which write, and not all are atomic."""
    count = int(places.max(initial=-1)) + 1
    kind = accesses["kind"][rows]
    thread = accesses["group"][rows].astype(np.int64) << 32 | accesses["thread"][rows]
    lowest, highest = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(lowest, places, thread)
    np.maximum.at(highest, places, thread)
    changed, plain = np.zeros(count, bool), np.zeros(count, bool)
    changed[places[(kind == WRITE) | (kind == ATOMIC)]] = True
    plain[places[kind <= WRITE]] = True
    found: npt.NDArray[np.bool_] = (changed & plain & (lowest != highest))[places]
    return found


def _pairs_in_groups(accesses: Records, rows: Indices, places: Indices) -> Pairs:
    """Units of two threads of a group in the same phase between barriers.

    A thread that has arrived but not gone on is in two phases: accesses are unordered if they share one.
    """
    a = accesses[rows]
    items, phase = _phases(a)
    return _witnesses(a, items, [places[items], a["group"][items].astype(np.int64), phase], "thread")


def _phases(a: Records) -> Pairs:
    """Accesses in each of the phases between barriers that they belong to: number of the access, and the phase."""
    count = a["signals"].astype(np.int64) - a["waits"] + 1
    items = np.repeat(np.arange(a.size), count)
    return items, a["waits"][items] + np.arange(items.size) - np.repeat(np.cumsum(count) - count, count)


def _pairs_of_groups(accesses: Records, rows: Indices, places: Indices) -> Pairs:
    """Units in global memory of two groups."""
    items = np.flatnonzero(accesses["space"][rows] == GLOBAL)
    return _witnesses(accesses[rows], items, [places[items]], "group")


def _witnesses(a: Records, items: Indices, keys: list[Indices], name: str) -> Pairs:
    """Pairs of conflicting items with equal keys, of two threads or groups (``name``); of alike ones two stay."""
    kinds = [a[n][items] for n in ("function", "instruction", "kind")]
    order = np.lexsort((a["lane"][items], a["thread"][items], a["group"][items], *kinds[::-1], *keys[::-1]))
    same = np.ones(items.size, bool)
    same[:1] = False
    for column in (*keys, *kinds):
        same[1:] &= np.diff(column[order].astype(np.int64)) == 0
    mine = a[name][items][order].astype(np.int64)
    first = np.maximum.accumulate(np.where(same, 0, np.arange(items.size)))
    other = same & (mine != mine[first])
    second = other.copy()
    second[1:] &= ~(other[:-1] & same[1:])
    kept = np.flatnonzero(~same | second)
    chosen = items[order][kept]
    whole = np.zeros(kept.size, np.int64)
    for column in keys:
        whole[1:] += (np.diff(column[order][kept].astype(np.int64)) != 0)[: kept.size]
    block = np.cumsum(whole != 0)
    found: list[Pairs] = []
    for distance in range(1, int(np.bincount(block).max(initial=0)) if kept.size else 1):
        near = np.flatnonzero(block[distance:] == block[:-distance])
        left, right = chosen[near], chosen[near + distance]
        conflict = a[name][left] != a[name][right]
        kind, kind2 = a["kind"][left], a["kind"][right]
        conflict &= (kind == WRITE) | (kind2 == WRITE) | (kind == ATOMIC) | (kind2 == ATOMIC)
        conflict &= (kind <= WRITE) | (kind2 <= WRITE)
        found.append((left[conflict], right[conflict]))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _races(code: str, accesses: Records, rows: Indices, units: npt.NDArray[np.uint64], a: Indices, b: Indices) -> Races:
    first, second = accesses[rows[a]], accesses[rows[b]]
    return Races(code, first, second, np.maximum(first["address"], np.maximum(second["address"], units[a])))


# -- lanes -----------------------------------------------------------------------------------------------------


def _between_lanes(records: Records) -> Races:
    """Lanes whose value another lane of the same instruction overwrote with a different one, with that lane."""
    stores = records[records["kind"] == WRITE]
    lost = np.flatnonzero(stores["lost"])
    if not lost.size:
        return Races(OF_LANES, stores[:0], stores[:0], np.zeros(0, np.uint64))
    own = stores[np.isin(stores["sequence"], np.unique(stores["sequence"][lost]))]
    rows, units = _units(own)
    keys = [own[n][rows] for n in ("group", "thread", "sequence")] + [_places(own, rows, units)]
    order = np.lexsort((own["lane"][rows], own["lost"][rows] == 0, *keys))
    last = np.ones(order.size, bool)
    last[:-1] = np.any([np.diff(k[order].astype(np.int64)) != 0 for k in keys], axis=0)
    ends = np.flatnonzero(last)
    winner = ends[np.searchsorted(ends, np.arange(order.size))]
    a, b = rows[order], rows[order[winner]]
    chosen = (own["lost"][a] != 0) & (a != b)
    return _races(OF_LANES, own, rows, units, order[chosen], order[winner][chosen])


# -- work-items ------------------------------------------------------------------------------------------------


def _between_items(records: Records) -> Races:
    """Races of the work-items of one thread: accesses of lanes between two steps that order them.

    A message for the whole thread is one of all its work-items that run. It races with accesses of single ones. Plain
    ones do not race with each other: compilers make them of what all work-items do alike.
    """
    accesses = _by_item(records[records["kind"] <= ATOMIC_READ])
    rows, units = _units(accesses)
    places = _places(accesses, rows, units)
    a = accesses[rows]
    items, phase = _phases(a)
    keys = [places[items], *(a[name][items].astype(np.int64) for name in ("group", "thread", "steps")), phase]
    first, second = _witnesses(a, items, keys, "lane")
    replaced = accesses["sequence"][accesses["lost"] != 0]
    apart = (a["sequence"][first] != a["sequence"][second]) | ~np.isin(a["sequence"][first], replaced)
    found = _races(OF_ITEMS, accesses, rows, units, first[apart], second[apart])
    for mine, theirs in ((found.first, found.second), (found.second, found.first)):
        others = mine["items"] & np.uint64(WHOLE - 1) & ~(np.uint64(1) << (theirs["lane"] & 63).astype(np.uint64))
        mine["lane"] = np.where(mine["lane"] == NO_LANE, _lowest(others), mine["lane"])
    return found


def _by_item(accesses: Records) -> Records:
    """Accesses of one work-item each; plain accesses of a whole thread with several work-items have no lane."""
    items, is_plain = accesses["items"] & np.uint64(WHOLE - 1), accesses["kind"] <= WRITE
    is_whole = (accesses["items"] >= WHOLE) & is_plain
    has_several = (items & (items - np.uint64(1))) != 0
    single: Records = accesses[~has_several | is_whole]
    single["lane"] = np.where(has_several, NO_LANE, _lowest(items))[~has_several | is_whole]
    both = accesses[has_several & ~is_whole]
    of, lanes = np.nonzero(both["items"][:, None] >> np.arange(32, dtype=np.uint64) & np.uint64(1))
    each: Records = both[of]
    each["lane"] = lanes
    return np.concatenate([single, each])


def _lowest(bits: npt.NDArray[np.uint64]) -> Indices:
    """The number of the lowest bit of each; 0 for zero."""
    low = bits & (~bits + np.uint64(1))
    found: Indices = np.log2(np.maximum(low, np.uint64(1)).astype(float)).astype(np.int64)
    return found


def memory_name(dispatch: Dispatch, space: int, address: int) -> str:
    """The memory at an address of the host, or at an offset in local memory, with the offset."""
    if space == LOCAL:
        return f"local memory at offset {address}"
    buffer = dispatch.memory.at_host(address)
    if buffer is not None:
        return f"'{dispatch.name_of(buffer)}' at offset {address - buffer.host}"
    for surface in dispatch.all_surfaces:
        if isinstance(surface, SurfaceImage) and surface.host <= address < surface.host + surface.array.nbytes:
            return f"'{surface.name}' at texel {surface.texel_at(address - surface.host)}"
    return f"memory at {address:#x}"


# -- findings --------------------------------------------------------------------------------------------------


def _add(races: Races, findings: Findings, name: NameMemory) -> None:
    """A finding for each pair of instructions, with the first instance, and at how many dwords they race."""
    if not races.first.size:
        return
    first, second, address = _oriented(races)
    keys = [side[n].astype(np.int64) for side in (first, second) for n in ("function", "instruction", "kind")]
    who = [side[n].astype(np.int64) for side in (first, second) for n in ("group", "thread", "lane")]
    order = np.lexsort((address, *who[::-1], *keys[::-1]))
    new = np.ones(order.size, bool)
    new[1:] = np.any([np.diff(k[order]) != 0 for k in keys], axis=0)
    dwords = address >> np.uint64(2)
    owner = np.where(first["space"] == LOCAL, first["group"].astype(np.int64) + 1, 0)
    for start, end in zip(np.flatnonzero(new), [*np.flatnonzero(new)[1:], order.size], strict=True):
        at = order[start]
        count = len(np.unique(np.stack([owner[order[start:end]], dwords[order[start:end]].astype(np.int64)]), axis=1).T)
        sides = KINDS[first["kind"][at]], KINDS[second["kind"][at]]
        is_mapped = races.command.startswith(MAPPED)
        message = _WITH_PROGRAM if is_mapped else _MESSAGES[races.code]
        findings.add(
            Finding(
                *(
                    races.code,
                    RACE_ITEMS if races.code == OF_ITEMS else RACE,
                    message.format(*(f"{_article(s)} {s}" for s in sides)),
                ),
                *(_site(first[at]), _who(first[at]), name(int(first["space"][at]), int(address[at]))),
                OtherSide(_site(second[at]), _who(second[at]), sides[1], races.launch, races.command),
                *(_HINTS.get(races.code) or hint(is_mapped), count),
            )
        )


def _oriented(races: Races) -> tuple[Records, Records, npt.NDArray[np.uint64]]:
    """Both sides of the conflicts, ordered: a write first, else the earlier instruction, else the lower thread."""
    a, b = races.first, races.second
    rank = {READ: 2, WRITE: 0, ATOMIC: 1, ATOMIC_READ: 3}
    ranks = np.array([rank[k] for k in sorted(rank)])
    columns = [(ranks[a["kind"]], ranks[b["kind"]])]
    columns += [(a[n], b[n]) for n in ("function", "instruction", "group", "thread", "lane")]
    swap, decided = np.zeros(a.size, bool), np.zeros(a.size, bool)
    for x, y in columns if races.code not in (OF_LANES, OF_LAUNCHES) else []:
        swap |= ~decided & (x > y)
        decided |= x != y
    return np.where(swap, b, a), np.where(swap, a, b), races.address


def _site(record: np.void) -> Site:
    return Site(int(record["function"]), int(record["instruction"]))


def _who(record: np.void) -> Who:
    lane = int(record["lane"])
    group, thread, epoch = (int(record[n]) for n in ("group", "thread", "waits"))
    return Who(group, thread, -1 if lane == NO_LANE else lane, epoch)


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
