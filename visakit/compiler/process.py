"""Runs of Intel's compiler driver ``ocloc``: each a process, or a question to one that stays.

The start of the process, which loads a hundred megabytes of libraries, takes a fourth of the time of a small build.
``ocloc`` is a thin program around a library, and Intel's OpenCL driver calls this library for many programs in the
user's process. So the second and all later builds of a process go to a process that keeps the library loaded
(:mod:`visakit.compiler.server`). If that process ends, for any reason, the driver runs as a program, and reports the
error.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

from visakit.compiler import server

MAXIMUM_FAILURES = 3
"""Questions in a row without an answer before no more are asked."""
LINKER_SECONDS = 10
"""How long the dynamic linker may look for libraries."""
_READ = re.compile(
    rb"(?:IGC|VISA|CISA|NEO|OCLOC|LLVM|CLANG|LD)_?\w*=|\w*(?:CPATH|INCLUDE_PATH|DATE_EPOCH)=|(?:LANG|LC_\w+|TZ)="
)
"""Variables that the compiler reads: its debug keys, clang's, the dynamic linker's, and those of language and clock."""
_READS_ALL = b"NEOReadDebugKeys="
"""With this one, keys are variables of any name."""
_LINKED = re.compile(r"^\s*libocloc\S* => (/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
"""The dynamic linker's list of libraries."""


class DriverRun(NamedTuple):
    """Exit status and output of a run of the driver."""

    code: int
    output: str


def identity(driver: str) -> tuple[str, int, int]:
    """Identifies a version of a compiler driver."""
    place = os.path.realpath(driver)
    status = os.stat(place)
    return place, status.st_size, status.st_mtime_ns


def run_once(driver: str, words: Sequence[str], folder: str, max_seconds: float | None = None) -> DriverRun:
    """Run the driver in a folder, in a new process.

    Raises:
        OSError: it cannot be run.
        TimeoutExpired: it took longer.
    """
    done = subprocess.run(
        [driver, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=max_seconds, check=False,
    )  # fmt: skip
    return DriverRun(done.returncode, done.stdout.decode("utf-8", "replace"))


def library_of(driver: str) -> str | None:
    """The library that a driver is a program around, as the dynamic linker finds it; None for a script, or no such."""
    try:
        with open(driver, "rb") as stream:
            if stream.read(4) != b"\x7fELF":
                return None
        listed = subprocess.run(
            [driver], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LINKER_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    match = _LINKED.search(os.fsdecode(listed.stdout))
    return match[1] if match else None


def own_process(words: Sequence[str], folder: str) -> bool:
    """Whether earlier builds in the same process could change the driver's result.

    The compiler reads its debug keys (``-igc_opts``) once, and numbers the sources that have no name, which
    ``__FILE__`` shows; headers are not searched for it.
    """
    if any("igc_opts" in word for word in words):
        return True
    files = [after for word, after in pairwise(words) if word == "-file"]
    return any(b"_FILE__" in path.read_bytes() for file in files if (path := Path(folder, file)).is_file())


def environment() -> tuple[bytes, ...]:
    """The environment that a process started now gets: a C program's changes of it are not in :data:`os.environ`."""
    entries = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    return tuple(takewhile(bool, (entries[number] for number in count()))) if entries else ()


def variables() -> bytes:
    """The part of the environment that the compiler's result depends on."""
    pairs = sorted(environment())
    reads_all = any(entry.startswith(_READS_ALL) for entry in pairs)
    return b"\0".join(entry for entry in pairs if reads_all or _READ.match(entry))


def _interpreter() -> str | None:
    """The path of this Python; None where it is not known: that of the process may be another program."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    path = os.path.join(sys.base_prefix, "bin", name)
    return path if os.path.isfile(path) else None


class Service:
    """Runs of a driver: the first as a program, others in processes that stay: one for each thread at a time.

    Attributes:
        owner: the process that asks: another one, after a fork, has its own.
        known: the driver that the processes are of, and the environment that they got.
        idle: links to processes that wait for a request.
        busy: how many are asked.
        failures: questions in a row that got no answer.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.known: tuple[object, ...] = ()
        self.idle: list[socket.socket] = []
        self.busy = 0
        self.failures = 0

    def _begin_anew(self) -> None:
        """After a fork: replace locks that other threads held, and drop the links: they belong to the parent
        process."""
        self.forget()
        self.owner, self.lock = os.getpid(), threading.Lock()
        self.known, self.busy, self.failures = (), 0, 0

    def run(self, driver: str, words: Sequence[str], folder: str) -> DriverRun:
        """Run the driver in a folder.

        Raises:
            OSError: it cannot be run.
        """
        now = (identity(driver), environment())
        link = None if own_process(words, folder) else self._taken(driver, now)
        if link is None:
            return run_once(driver, words, folder)
        code = None
        try:
            code = _answer(link, [folder, driver, *words])
        finally:  # also when the user interrupts
            with self.lock:
                self.busy -= 1
                self.failures = self.failures + 1 if code is None else 0
                stays = code is not None and now == self.known
                if stays:
                    self.idle.append(link)
            if not stays:
                _end(link)
        if code is None:
            return run_once(driver, words, folder)
        return DriverRun(code, Path(folder, server.SAID).read_bytes().decode("utf-8", "replace"))

    def _taken(self, driver: str, now: tuple[object, ...]) -> socket.socket | None:
        """A process for one request; None in the first run, if all are busy, or if none can be started."""
        if self.owner != os.getpid():
            self._begin_anew()
        with self.lock:
            if now != self.known:
                self.forget()
                self.known, self.failures = now, 0
                return None
            if self.failures >= MAXIMUM_FAILURES or self.busy >= (os.cpu_count() or 1):
                return None
            connection = self._waiting() or _started(driver)
            if connection is None:
                self.failures = MAXIMUM_FAILURES
            else:
                self.busy += 1
            return connection

    def _waiting(self) -> socket.socket | None:
        """An idle process; ended ones are removed."""
        while self.idle:
            link, events = self.idle.pop(), select.poll()
            events.register(link, select.POLLIN)
            if not events.poll(0):
                return link
            link.close()
        return None

    def forget(self) -> None:
        """Let go of the processes, which end then if no other process has the links, too."""
        while self.idle:
            self.idle.pop().close()


def _end(link: socket.socket) -> None:
    """End a process, also if it is busy, or other processes got the link by a fork."""
    with link, contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)


def _answer(link: socket.socket, question: list[str]) -> int | None:
    """The exit status that a process answers with; None for no answer."""
    try:
        # A program that began Python has its own way with broken pipes, such as to end.
        link.sendall(json.dumps(question).encode() + b"\n", socket.MSG_NOSIGNAL)
        with link.makefile("rb") as answers:
            return int(answers.readline())
    except (OSError, ValueError):
        return None


def _started(driver: str) -> socket.socket | None:
    """A process that answers; None where there is no library to keep, or it cannot be started."""
    library, interpreter = library_of(driver), _interpreter()
    if library is None or interpreter is None:
        return None
    here, there = socket.socketpair()
    with there:
        number = there.fileno()
        words = [interpreter, "-I", "-S", server.__file__, library, str(number)]
        try:
            subprocess.run(
                words, pass_fds=(number,), cwd="/", check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            here.close()
            return None
    return here


SERVICE = Service()
"""For all programs of this process."""
