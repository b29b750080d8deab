"""Watches launches and writes their profiles: the interface of :mod:`vsim.profile` for commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from visakit.diagnostics import UsageError
from visakit.files import make_directory, write_text
from vsim.observe.observer import Observer
from vsim.profile.counts import Counts
from vsim.profile.html import profile_html
from vsim.profile.memory import MemoryObserver
from vsim.profile.perfetto import profile_perfetto
from vsim.profile.profile import KernelProfile, LaunchNote
from vsim.profile.summary import summary
from vsim.profile.tables import profile_csv, profile_folded, profile_lcov, profile_speedscope
from vsim.profile.timeline import TimelineObserver
from vsim.profile.tree import profile_json
from vsim.result import LaunchResult

Report = Callable[[Sequence[KernelProfile]], str]
TRACE = ".perfetto.json"
FORMATS: Mapping[str, Report] = {
    ".html": profile_html,
    ".json": profile_json,
    ".csv": profile_csv,
    ".lcov": profile_lcov,
    ".folded": profile_folded,
    ".speedscope.json": profile_speedscope,
    TRACE: profile_perfetto,
}
"""What makes the text of a profile, by the end of the file's name."""


def report_for(path: str) -> Report:
    """What makes the text of a profile's file.

    Raises:
        UsageError: the name has none of the ends of :data:`FORMATS`.
    """
    found = next((FORMATS[end] for end in sorted(FORMATS, key=len, reverse=True) if path.endswith(end)), None)
    if found is None:
        raise UsageError(f"--profile takes a file whose name ends in {', '.join(FORMATS)}, found '{path}'")
    return found


class LaunchObservers(NamedTuple):
    """The observers of one launch."""

    counts: Counts
    memory: MemoryObserver | None = None
    timeline: TimelineObserver | None = None

    @property
    def observers(self) -> list[Observer]:
        return [observer for observer in self if observer is not None]


class Profiler:
    """The profiles of launches, by program and kernel.

    Args:
        paths: the files to write.
        detail: whether messages, barriers and calls are counted, too.

    Raises:
        UsageError: a name has an unknown end.
    """

    def __init__(self, paths: Sequence[str] = (), detail: bool = False) -> None:
        self.detail = detail
        self.reports = {path: report_for(path) for path in paths}
        self._profiles: dict[tuple[int, str], KernelProfile] = {}

    @property
    def profiles(self) -> list[KernelProfile]:
        """The profiles so far, in the order of the kernels' first launches."""
        return list(self._profiles.values())

    def watching(self) -> LaunchObservers:
        """The observers for a launch."""
        if not self.detail:
            return LaunchObservers(Counts())
        return LaunchObservers(Counts(), MemoryObserver(), TimelineObserver())

    def summary(self) -> str:
        """The summary of each kernel, for a terminal."""
        return "".join(map(summary, self.profiles))

    def ended(self, watching: LaunchObservers, result: LaunchResult) -> None:
        """Take the counts of a launch that has ended well."""
        image, key = result.dispatch.image, (id(result.dispatch.image), result.kernel)
        profile = self._profiles.get(key)
        if profile is None:
            simd = result.counters.simd
            profile = self._profiles[key] = KernelProfile(image, result.kernel, simd, result.grf_size, Counts())
        profile.counts.add(watching.counts)
        if watching.memory is not None:
            profile.add_accesses(watching.memory)
        if watching.timeline is not None:
            profile.timelines.append(watching.timeline.timeline)
        sizes = result.global_size, result.local_size, result.counters.groups, result.counters.threads
        profile.launches.append(LaunchNote(result.engine, *sizes))

    def write(self) -> None:
        """Write the files; folders are made.

        Raises:
            FileError: F001, one cannot be written.
        """
        for path, report in self.reports.items():
            make_directory(os.path.dirname(os.path.abspath(path)))
            write_text(path, report(self.profiles))
