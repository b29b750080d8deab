"""A process that runs Intel's compiler driver for source after source: see :mod:`visakit.compiler.process`.

It is a script that imports nothing of this package: ``python server.py LIBRARY SOCKET`` forks a process that answers on
the socket, and ends. For each line, a JSON list of a folder and the words of a command, it runs the driver in the
folder, with its output in a file there, and answers with the exit status in a line.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable

SAID = "said.txt"
"""The file of the driver's output."""
IDLE_SECONDS = 60
"""After so long without a question the process ends: it takes 170 MB."""
MAXIMUM_KIBIBYTES = 1 << 20
"""A process that took more memory than that ends after its answer, so that nothing is kept of large programs."""


def say_to(path: str) -> None:
    """Redirect the driver's output to a file."""
    said = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.close(said)


def run(invoke: Callable[..., int], folder: str, words: list[str]) -> int:
    """The driver's exit status; its output goes to the file instead of standard output."""
    os.chdir(folder)
    say_to(SAID)
    argv = (ctypes.c_char_p * len(words))(*(word.encode("utf-8", "surrogateescape") for word in words))
    nothing = (None,) * 3
    code = invoke(len(words), argv, 0, *nothing, 0, *nothing, None, *nothing)
    ctypes.CDLL(None).fflush(None)
    os.chdir("/")
    say_to(os.devnull)
    return int(code) & 0xFF


def watch(link: socket.socket) -> None:
    """End the process as soon as the client is gone, also while it compiles."""
    events = select.poll()
    events.register(link, 0)  # the end of the other side is always an event
    events.poll()
    os._exit(0)


def serve(library: str, link: socket.socket) -> None:
    """Answer requests until the client is gone, or closes the socket."""
    threading.Thread(target=watch, args=(link,), daemon=True).start()
    link.settimeout(IDLE_SECONDS)
    invoke = ctypes.CDLL(library).oclocInvoke
    with link.makefile("rb", buffering=1 << 16) as questions:
        for line in questions:
            folder, *words = json.loads(line)
            link.sendall(b"%d\n" % run(invoke, folder, words))
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MAXIMUM_KIBIBYTES:
                break


if __name__ == "__main__":
    if os.fork():
        os._exit(0)  # The server becomes an orphan: programs may wait for all of their children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
    finally:  # No client is left; the destructors of the library have no use.
        os._exit(0)
