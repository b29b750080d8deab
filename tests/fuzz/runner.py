"""Child processes with limits of memory and time, and reports of how they end."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.target import Target
from visakit import VisaError

MAXIMUM_MEMORY, MAXIMUM_SECONDS = 3 << 30, 60
COMMAND = (str(Path(__file__).parent),)
"""What Python runs for a child."""
WRITE_SECONDS = 10.0
"""How often the summary is written."""


# -- in a child --------------------------------------------------------------------------------------------------------


def tell(error: BaseException) -> str:
    """An error in one line, with the place that raised it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return " | ".join(text.splitlines())[:2000]


def child(target: Target, first: int, count: int) -> None:
    """Try inputs one after the other. Standard output has each seed, and how it ended: ``= WORD``, or ``!`` and a finding."""
    resource.setrlimit(resource.RLIMIT_AS, (MAXIMUM_MEMORY, MAXIMUM_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", "(?s).*no valid native code")
    target.prepare()
    for seed in range(first, first + count):
        print(seed, flush=True)
        try:
            ending = f"= {target.check(target.make(seed))}"
        except VisaError:
            ending = "= refused"
        except BaseException as error:
            ending = f"! {tell(error)}"
        print(ending, flush=True)


# -- the parent --------------------------------------------------------------------------------------------------------


@dataclass
class Summary:
    """What became of the inputs of a target."""

    target: str
    inputs: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    ranges: list[list[int]] = field(default_factory=list)
    """Seeds that were tried, first and last."""
    findings: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0

    def tried(self, seed: int) -> None:
        """Count an input."""
        self.inputs += 1
        for r in self.ranges:
            if seed == r[1] + 1:
                r[1] = seed
                break
        else:
            self.ranges.append([seed, seed])
        self.ranges.sort()
        for r, after in zip(self.ranges, self.ranges[1:], strict=False):
            if r[1] + 1 == after[0]:
                r[1] = after[1]
                self.ranges.remove(after)
                break

    def line(self) -> str:
        """All of it in one line."""
        endings = ", ".join(f"{n} {word}" for word, n in sorted(self.endings.items()))
        seeds = f"seeds {self.ranges[0][0]} to {self.ranges[-1][1]}" if self.ranges else "no seed"
        return f"{self.target}: {self.inputs} inputs in {self.seconds:.0f} s, {seeds}: {endings}; {len(self.findings)} findings"

    def record(self) -> dict[str, object]:
        """The record in JSON."""
        return {
            "target": self.target,
            "inputs": self.inputs,
            "first": self.ranges[0][0] if self.ranges else None,
            "last": self.ranges[-1][1] if self.ranges else None,
            "ranges": self.ranges,
            "endings": dict(self.endings),
            "findings": [{"seed": seed, "what": what} for seed, what in self.findings],
            "seconds": round(self.seconds, 1),
        }


class Session:
    """Runs targets, one after the other, in so many processes at a time.

    Args:
        json_file: where the summary goes; empty for nowhere.
    """

    def __init__(self, jobs: int, json_file: str) -> None:
        self.jobs, self.json_file = jobs, json_file
        self.summaries: list[Summary] = []
        self.lock = threading.Lock()
        self.written = 0.0
        self.cache = tempfile.mkdtemp(prefix="visakit-fuzz-")

    def close(self) -> None:
        """Write the summary, and remove what children kept."""
        self.write()
        shutil.rmtree(self.cache, ignore_errors=True)

    def write(self) -> None:
        """Write the summary so far."""
        self.written = time.monotonic()
        if self.json_file:
            whole = json.dumps([s.record() for s in self.summaries], indent=1)
            beside = f"{self.json_file}.new"
            Path(beside).write_text(whole + "\n")
            os.replace(beside, self.json_file)

    def run(self, target: Target, first: int, seconds: float, count: int | None) -> Summary:
        """Try inputs for some time, and at most so many of them."""
        started = time.monotonic()
        summary = Summary(target.name)
        self.summaries.append(summary)
        batches = iter(_Batches(first, target.batch, count, self.jobs))
        workers = [
            threading.Thread(target=self._work, args=(target, batches, started + seconds, summary, n))
            for n in range(self.jobs)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(1.0)
                with self.lock:
                    summary.seconds = time.monotonic() - started
                    if time.monotonic() - self.written > WRITE_SECONDS:
                        self.write()
        self.write()
        print(summary.line(), flush=True)
        return summary

    def _work(self, target: Target, batches: Iterator[range], stop: float, summary: Summary, number: int) -> None:
        while time.monotonic() < stop:
            with self.lock:
                seeds = next(batches, None)
            if seeds is None:
                return
            at = seeds.start
            while at < seeds.stop and time.monotonic() < stop:
                at = self._batch(target, range(at, seeds.stop), stop, summary, number)

    def _batch(self, target: Target, seeds: range, stop: float, summary: Summary, number: int) -> int:
        """Try the inputs of one process; the seed that comes next."""
        seed, tried = seeds.start, False
        for line in _lines(target, seeds, stop, f"{self.cache}/{target.name}-{number}"):
            with self.lock:
                if line[:1].isdigit():
                    seed, tried = int(line), False
                elif line.startswith("= "):
                    summary.tried(seed)
                    summary.endings[line[2:]] += 1
                    tried = True
                else:
                    if not tried:
                        summary.tried(seed)
                    summary.findings.append((seed, line[2:]))
                    summary.endings["found"] += 1
                    tried = True
                    print(f"{target.name} {seed}: {line[2:]}", flush=True)
        return seed + 1


class _Batches:
    """Ranges of seeds, one for each process; small ones where few inputs are wanted."""

    def __init__(self, first: int, batch: int, count: int | None, jobs: int) -> None:
        self.first, self.count = first, count
        self.batch = batch if count is None else max(1, min(batch, -(-count // jobs)))

    def __iter__(self) -> Iterator[range]:
        at = self.first
        while self.count is None or at < self.first + self.count:
            end = at + self.batch if self.count is None else min(at + self.batch, self.first + self.count)
            yield range(at, end)
            at = end


def _lines(target: Target, seeds: range, stop: float, cache: str) -> Iterator[str]:
    """The output of a child, and then a finding if it ended wrongly."""
    command = [sys.executable, *COMMAND, "--child", target.name, "--first", str(seeds.start)]
    environment = os.environ | {"PYTHONHASHSEED": "0", "VISAKIT_CACHE": cache}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [*command, "--count", str(len(seeds))],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        descriptor, rest, hung = process.stdout.fileno(), b"", False
        while True:
            if not select.select([descriptor], [], [], MAXIMUM_SECONDS)[0]:
                hung = True
                break
            data = os.read(descriptor, 1 << 16)
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace")
            if time.monotonic() >= stop and any(line[:1] in (b"=", b"!") for line in whole):
                break
        ended = _end(process, hung)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 2000))
        said = " | ".join(errors.read().decode("utf-8", "replace").split("\n")[-12:])
    shutil.rmtree(cache, ignore_errors=True)
    if hung:
        yield f"! takes longer than {MAXIMUM_SECONDS} s"
    elif ended:
        how = signal.Signals(-ended).name if ended < 0 else f"exit code {ended}"
        yield f"! the process ended with {how}: {said}"


def _end(process: subprocess.Popen[bytes], hung: bool) -> int:
    """End a child and its children; 0 if it had ended well, or was still at work."""
    ended = process.poll()
    if ended is None and not hung:
        with contextlib.suppress(subprocess.TimeoutExpired):
            ended = process.wait(0.5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return ended or 0
