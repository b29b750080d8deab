"""The timelines of launches as a trace that Perfetto reads: the JSON of the Trace Event Format.

A work-group is a process there, a hardware thread a thread. A microsecond of the trace is an executed instruction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from vsim.profile.profile import KernelProfile


def profile_perfetto(profiles: Sequence[KernelProfile]) -> str:
    """One trace of all launches with timelines, one after the other."""
    events = list(_events(profiles))
    tree = {"traceEvents": events, "otherData": {"unit": "1 us is an executed instruction", "exporter": "visakit"}}
    return json.dumps(tree) + "\n"


def _events(profiles: Sequence[KernelProfile]) -> Iterator[dict[str, object]]:
    start = process = thread = 0
    for profile in profiles:
        for number, timeline in enumerate(profile.timelines):
            processes: dict[int, int] = {}
            threads: dict[tuple[int, int], int] = {}
            for item in timeline.slices:
                if item.group not in processes:
                    process += 1
                    processes[item.group] = process
                    name = f"{profile.kernel}, launch {number}, group {item.group}"
                    yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
                pid = processes[item.group]
                if (item.group, item.thread) not in threads:
                    thread += 1
                    threads[item.group, item.thread] = thread
                    named = {"name": f"thread {item.thread}"}
                    yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "args": named}
                tid = threads[item.group, item.thread]
                place = {"pid": pid, "tid": tid, "ts": start + item.begin, "dur": item.end - item.begin}
                yield {"ph": "X", "name": item.name, "cat": "launch", **place}
            start += timeline.end
