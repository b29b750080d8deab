"""How commands start: an interrupt, or a limit that Python and its modules do not fit in, is a line, and no traceback.

Loading modules takes longer than most commands' work. This module is loaded first, and loads nothing itself.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # An interrupt while these are loaded would be a traceback.
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

try:  # The module of the library has its constants from enum, which takes as long to load as all that is here.
    import _signal as signal  # type: ignore[import-not-found]
except ImportError:
    import signal

INTERRUPTED = 130
_IMPORTING = "<frozen importlib._bootstrap>"
TOOLS = {"vasm": "vasm", "vasm.vdis": "vdis", "vlink": "vlink", "vsim": "vsim", "visakit": "visakit"}
"""The commands, by their modules' names."""
_STATE: dict[str, object] = {"tool": "", "works": False}
"""The command's name, and whether it is at work, so that it deals with interrupts itself."""
_DOCUMENT: list[Callable[[], None]] = []
"""What writes the document of a command that tells of errors in one; empty if they are lines."""


def guard(tool: str) -> bool:
    """From now on an interrupt ends the command, unless the process ignores interrupts; whether that is new."""
    _STATE["tool"] = tool
    is_new = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_new:
        signal.signal(signal.SIGINT, _interrupted)
    return is_new


def _interrupted(number: int, frame: FrameType | None) -> None:
    """End the process, but where work is done: there it is raised, unless modules are being loaded. Half loaded ones
    cannot deal with it, and print it.
    """
    importing = False
    while frame is not None and not importing:
        importing, frame = frame.f_code.co_filename == _IMPORTING, frame.f_back
    if importing and _DOCUMENT:
        try:
            _DOCUMENT[0]()
        finally:
            os._exit(INTERRUPTED)
    if importing or not _STATE["works"]:
        leave(INTERRUPTED, "interrupted")
    raise KeyboardInterrupt


def at_work(now: bool) -> None:
    """Say whether the command deals with interrupts."""
    _STATE["works"] = now


def interrupted_by(document: Callable[[], None] | None) -> None:
    """Say what writes the document where an interrupt ends the process at once; None if a line is to be written."""
    _DOCUMENT[:] = [document] if document else []


def is_at_work() -> bool:
    """Whether this process is a command's, which works."""
    return bool(_STATE["works"])


def leave(code: int, message: str) -> NoReturn:
    """End the process with a line on standard error, at once."""
    try:
        os.write(2, f"{_STATE['tool']}: {message}\n".encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def cannot(error: BaseException) -> str:
    """An error of the system in one line."""
    while isinstance(error, ImportError) and error.__cause__ is not None:
        error = error.__cause__  # Modules say much about it.
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    name = getattr(error, "filename", None)
    if isinstance(error, FileNotFoundError) and not name and text == os.strerror(errno.ENOENT):
        return "the working directory is gone"  # Nothing else of the system's is without a name.
    return f"{name}: {text:.300}" if name else f"{text:.300}"


def start(tool: str, load: Callable[[], Callable[[], None]]) -> None:
    """Run a command.

    Args:
        load: loads the command's modules, and returns the function that runs it.
    """
    is_guarded = guard(tool)
    try:
        run = load()
    except (ImportError, OSError, MemoryError) as error:
        leave(1, f"cannot start: {cannot(error)}")
    try:
        run()
    finally:
        if is_guarded:  # Commands leave the process; a caller that has prevented the exit continues.
            signal.signal(signal.SIGINT, signal.default_int_handler)


def command(tool: str, module: str) -> Callable[[], None]:
    """The function ``main`` of a command, which runs it with the arguments of the process, and leaves that.

    Args:
        module: its ``app`` has the options.
    """

    def load() -> Callable[[], None]:
        from visakit.collector import collect_rarely

        collect_rarely()  # Before Typer and the rest are loaded.
        app = __import__(module, fromlist=["app"]).app
        from visakit.commands.command import run

        return lambda: run(app, tool)

    return lambda: start(tool, load)


def _script(module: str) -> None:
    """Run a command whose function ``main`` is in a module."""
    start(TOOLS[module.removesuffix(".__main__")], lambda: __import__(module, fromlist=["main"]).main)


def vasm() -> None:
    """The script of this name."""
    _script("vasm.__main__")


def vdis() -> None:
    """The script of this name."""
    _script("vasm.vdis")


def vlink() -> None:
    """The script of this name."""
    _script("vlink.__main__")


def vsim() -> None:
    """The script of this name."""
    _script("vsim.__main__")


def visakit() -> None:
    """The script of this name."""
    _script("visakit.__main__")


def _run_as_module() -> str:
    """The module that ``python -m`` runs, whose package is loaded first; empty for a script or anything else."""
    if sys.argv[:1] == ["-m"]:
        for word, following in zip(sys.orig_argv, [*sys.orig_argv[1:], ""], strict=True):
            if word.startswith("-m"):
                return word[2:] or following
    return ""


if _run_as_module() in TOOLS:
    guard(TOOLS[_run_as_module()])
