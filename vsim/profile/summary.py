"""The summary of a profile for a terminal: the mix, the hottest lines, and what to look at."""

from __future__ import annotations

import os
from collections.abc import Iterator

from visakit.diagnostics import counted
from vsim.observe.messages import LINE_BYTES
from vsim.profile.profile import KernelProfile, share

HOTTEST = 10
"""Lines that the summary shows."""
WORTH = 0.05
"""The share of executions from which on a line is worth a look."""
LOW_UTILIZATION, MANY_DIVIDED, MANY_EM = 0.5, 0.1, 0.2
_TEXT_WIDTH = 60


def summary(profile: KernelProfile) -> str:
    """The summary of one kernel, some lines of text."""
    return "\n".join(_lines(profile)) + "\n"


def _lines(profile: KernelProfile) -> Iterator[str]:
    threads = sum(launch.threads for launch in profile.launches)
    yield (
        f"{profile.kernel}: {_launches(len(profile.launches))}, {counted(threads, 'thread')}, "
        f"{profile.executions:,} instructions executed, SIMD utilisation {profile.utilization:.1%}"
    )
    mix = ", ".join(f"{row.pipe} {share(row.executions, profile.executions):.1%}" for row in profile.pipes)
    yield f"  mix: {mix}"
    hottest = profile.hottest(HOTTEST)
    if hottest:
        yield f"  {'executed':>14} {'share':>6} {'SIMD':>6}  hottest lines"
    for line in hottest:
        where = f"{os.path.basename(line.place.file)}:{line.place.line}"
        used = share(line.active, line.possible)
        yield (
            f"  {line.executions:>14,} {share(line.executions, profile.executions):>6.1%} {used:>6.1%}  "
            f"{where}  {line.text.strip()[:_TEXT_WIDTH]}"
        ).rstrip()
    hints = (profile.image.line_hint(own.function) for own in profile.counts.functions)
    if hint := next(filter(None, hints), ""):
        yield f"  {hint}"
    advice = looks(profile)
    if advice:
        yield "  look at:"
        yield from (f"    {text}" for text in advice)


def looks(profile: KernelProfile) -> list[str]:
    """What a reader may look at first, a sentence each."""
    return list(dict.fromkeys(_looks(profile)))


def _looks(profile: KernelProfile) -> Iterator[str]:
    whole = profile.executions
    for row in profile.rows:
        if row.ways and share(row.ways[2], row.executions) >= MANY_DIVIDED and share(row.executions, whole) >= 0.01:
            yield (
                f"{_where(row.place)}: a branch divides the lanes in {row.ways[2]:,} of {row.executions:,} executions "
                f"({row.text.strip()})"
            )
    for line in profile.hottest(HOTTEST):
        if share(line.executions, whole) >= WORTH and share(line.active, line.possible) < LOW_UTILIZATION:
            yield f"{_where(line.place)}: {share(line.active, line.possible):.0%} of the lanes are active"
    yield from _messages(profile)
    em = sum(row.executions for row in profile.pipes if row.pipe == "EM")
    if share(em, whole) >= MANY_EM:
        yield f"{share(em, whole):.0%} of the instructions go to the extended-math pipe"


def _messages(profile: KernelProfile) -> Iterator[str]:
    """Messages that memory does not like, and barriers at which threads wait."""
    for row in profile.rows:
        if row.waits and share(row.waits.waited, profile.executions) >= WORTH:
            each = share(row.waits.waited, row.waits.threads)
            yield f"{_where(row.place)}: a thread waits {each:,.0f} instructions at the barrier"
        m = row.messages
        if m is None or share(row.executions, profile.executions) < 0.001:
            continue
        where = _where(row.place)
        if m.lines and m.used < LOW_UTILIZATION * m.lines * LINE_BYTES and m.lines > m.messages:
            used, stride = share(m.used, m.lines * LINE_BYTES), m.strides.most_common(1)[0][0]
            yield f"{where}: {used:.0%} of the cache lines' bytes are used (stride: {stride})"
        if share(m.unaligned, m.messages) >= LOW_UTILIZATION:
            yield f"{where}: {share(m.unaligned, m.messages):.0%} of the messages take a line more than aligned ones"
        if m.passes > m.fewest_passes:
            yield f"{where}: {m.passes / m.fewest_passes:.1f} times the turns of local memory's banks that it needs"
        if m.serial >= 2 * m.messages:
            yield f"{where}: lanes of an atomic wait for each other, {m.serial / m.messages:.1f} turns a message"


def _where(place: object) -> str:
    return os.path.basename(str(place)) if place is not None else "an unknown line"


def _launches(number: int) -> str:
    return f"{number} launch{'' if number == 1 else 'es'}"
