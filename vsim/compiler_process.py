"""Runs of Intel's compiler driver ``ocloc``: each a process, or a question to one that stays.

Of what a small program costs, a fourth is the start of the process, which loads a hundred megabytes of libraries.
``ocloc`` is a program of one line around a library, which Intel's own OpenCL driver calls for program after program in
the process of the user. So who makes several programs has the second and all that follow made by a process that keeps
the library (:mod:`vsim.compiler_server`). If that process ends, whatever the reason, the driver is run as it is
otherwise, which says what is wrong.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from vsim import compiler_server

LIBRARY = "libocloc.so"
MAXIMUM_FAILURES = 3
"""Processes that end at their first question before no more are started."""


class Run(NamedTuple):
    """How a run of the driver ended, and what it said."""

    code: int
    output: str


def identity(driver: str) -> tuple[str, int, int]:
    """What tells a compiler driver from others, and from what it was before."""
    place = os.path.realpath(driver)
    status = os.stat(place)
    return place, status.st_size, status.st_mtime_ns


def run_once(driver: str, words: Sequence[str], folder: str, max_seconds: float | None = None) -> Run:
    """Run the driver in a folder, in a process of its own.

    Raises:
        OSError: it cannot be run.
        TimeoutExpired: it took longer.
    """
    done = subprocess.run(
        [driver, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=max_seconds, check=False,
    )  # fmt: skip
    return Run(done.returncode, done.stdout.decode("utf-8", "replace"))


def library_of(driver: str) -> str | None:
    """The library that a driver is a program around, where it surely is the one that the driver loads."""
    place = Path(os.path.realpath(driver))
    with open(place, "rb") as stream:
        if stream.read(4) != b"\x7fELF" or "LD_LIBRARY_PATH" in os.environ:
            return None
    prefix, several = place.parent.parent, sysconfig.get_config_var("MULTIARCH") or "."
    found = [path for folder in ("lib64", "lib", f"lib/{several}") if (path := prefix / folder / LIBRARY).is_file()]
    return str(found[-1]) if found and len({path.resolve() for path in found}) == 1 else None


def _interpreter() -> str | None:
    """The path of this Python; None where it is not known: that of the process may be another program."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    path = os.path.join(sys.base_prefix, "bin", name)
    return path if os.path.isfile(path) else None


class Service:
    """Runs of a driver, of which all but the first ask processes that stay: one for each thread that asks at a time.

    Attributes:
        known: the driver that the processes are of, and the process that asks: another one, after a fork, has its own.
        idle: links to the processes that nobody asks at present.
        busy: how many are asked.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: tuple[object, ...] = ()
        self.idle: list[socket.socket] = []
        self.busy = 0
        self.failures = 0

    def run(self, driver: str, words: Sequence[str], folder: str) -> Run:
        """Run the driver in a folder.

        Raises:
            OSError: it cannot be run.
        """
        link = self._taken(driver)
        if link is None:
            return run_once(driver, words, folder)
        code = _answer(link, [folder, driver, *words])
        with self.lock:
            self.busy -= 1
            self.failures = self.failures + 1 if code is None else 0
            if code is not None:
                self.idle.append(link)
        if code is None:
            link.close()
            return run_once(driver, words, folder)
        return Run(code, Path(folder, compiler_server.SAID).read_text("utf-8", "replace"))

    def _taken(self, driver: str) -> socket.socket | None:
        """A process for one question; None in the first run, where all are busy, and where there is none."""
        now = (*identity(driver), os.getpid())
        with self.lock:
            if now != self.known:
                self.forget()
                self.known, self.busy, self.failures = now, 0, 0
                return None
            if self.failures >= MAXIMUM_FAILURES or self.busy >= (os.cpu_count() or 1):
                return None
            found = self.idle.pop() if self.idle else _started(driver)
            if found is None:
                self.failures = MAXIMUM_FAILURES
            else:
                self.busy += 1
            return found

    def forget(self) -> None:
        """Let go of the processes, which end then."""
        for link in self.idle:
            link.close()
        self.idle.clear()


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
        words = [interpreter, "-I", "-S", compiler_server.__file__, library, str(number)]
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
