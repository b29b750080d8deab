"""Profiles of the kernels of a program (``visakit exec --profile DIR``), which are written when the process ends.

The child of a fork begins with no counts, and its files have its process number in their names.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING

from visakit.diagnostics import VisaError, counted
from visakit.files import make_directory, write_text
from visakit.forks import free_in_child
from visakit.runtime.errors import first_message, say
from visakit.runtime.settings import profile_folder, profiles_detail

if TYPE_CHECKING:
    from vsim.profile.profile import KernelProfile
    from vsim.profile.profiler import LaunchObservers, Profiler
    from vsim.result import LaunchResult

SUFFIXES = (".html", ".json")
SUMMARY = "summary.txt"
_PROCESS = os.getpid()
_LOCK = free_in_child(threading.Lock())


class _Profiles:
    """The profiler of this process; None until a kernel is launched."""

    profiler: Profiler | None = None


def _forget() -> None:
    _Profiles.profiler = None


os.register_at_fork(after_in_child=_forget)


def watching() -> LaunchObservers | None:
    """The observers of the next launch; None where nothing is profiled."""
    if not profile_folder():
        return None
    from vsim.profile.profiler import Profiler

    with _LOCK:
        if _Profiles.profiler is None:
            _Profiles.profiler = Profiler(detail=profiles_detail())
        return _Profiles.profiler.watching()


def ended(watched: LaunchObservers | None, result: LaunchResult) -> None:
    """Take the counts of a launch that has ended well."""
    with _LOCK:
        if watched is not None and _Profiles.profiler is not None:
            _Profiles.profiler.ended(watched, result)


def process_ends() -> None:
    """Write the profiles, once."""
    with _LOCK:
        profiler, _Profiles.profiler = _Profiles.profiler, None
    if profiler is None or not profiler.profiles:
        return
    try:
        _write(profiler, profile_folder())
    except VisaError as error:
        say(f"visakit: no profile: {first_message(error)}")


def _write(profiler: Profiler, folder: str) -> None:
    from vsim.profile.profiler import report_for

    make_directory(folder)
    for name, profile in _named(profiler.profiles).items():
        for suffix in SUFFIXES:
            write_text(os.path.join(folder, name + suffix), report_for(suffix)([profile]))
    name = SUMMARY if os.getpid() == _PROCESS else f"{os.getpid()}-{SUMMARY}"
    write_text(os.path.join(folder, name), profiler.summary())
    say(f"visakit: profiles of {counted(len(profiler.profiles), 'kernel')} are in {folder}, with {name}")


def _named(profiles: list[KernelProfile]) -> dict[str, KernelProfile]:
    """Profiles by the names of their files, without a suffix: kernels' names, those of one name with numbers."""
    found: dict[str, KernelProfile] = {}
    seen = Counter[str]()
    mark = "" if os.getpid() == _PROCESS else f"{os.getpid()}-"
    for profile in profiles:
        name = re.sub(r"[^\w.-]", "_", profile.kernel)[:100] or "kernel"
        seen[name] += 1
        found[mark + name + (f"-{seen[name]}" if seen[name] > 1 else "")] = profile
    return found
