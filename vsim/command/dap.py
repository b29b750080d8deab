"""The Debug Adapter Protocol over standard input and output, or a port."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Mapping

from visakit.commands.reporting import say
from visakit.compiler.ocloc import with_lines
from visakit.diagnostics import Diagnostic, FileError, UsageError
from visakit.file_kinds import source_language
from vsim.command.debugger import debugged, interrupts
from vsim.command.driver import CommandLine
from vsim.debug.dap.server import Server
from vsim.debug.session import Session
from vsim.sources.loading import load_program

WORDS = ("program", "launch", "kernel", "globalSize", "localSize", "platform", "buildOptions", "replay", "schedule",
         "check", "cwd")  # fmt: skip
"""Arguments of ``launch`` that are texts, as the options of ``visakit debug``; ``args`` is a list, as ``--arg``."""


def open_session(arguments: Mapping[str, object]) -> Session:
    """The session that the arguments of ``launch`` describe.

    Raises:
        VisaError: they do not describe any.
    """
    words = _words(arguments)
    given = arguments.get("args") or []
    if not isinstance(given, list) or not all(isinstance(a, str) for a in given):
        raise UsageError("'args' is a list of texts NAME=VALUE")
    if words["cwd"]:
        try:
            os.chdir(words["cwd"])
        except (OSError, ValueError) as error:  # A text may be no name of a file at all.
            raise UsageError(f"'cwd' {words['cwd']}: {getattr(error, 'strerror', error)}") from None
    options = with_lines(words["buildOptions"], source_language(words["program"], b""))
    captured, loaded = load_program(
        words["program"] or None, words["replay"] or None, words["platform"] or None, options, None
    )
    line = CommandLine(
        *(words["launch"] or None, words["kernel"], words["globalSize"] or None, words["localSize"] or None, given),
        captured,
    )
    return debugged(loaded, line, True, words["schedule"] or None, words["check"])


def _words(arguments: Mapping[str, object]) -> dict[str, str]:
    """The arguments that are texts; empty ones are missing."""
    words: dict[str, str] = {}
    for name in WORDS:
        value = arguments.get(name)
        if value is not None and not isinstance(value, str):
            raise UsageError(f"'{name}' is a text, found {type(value).__name__}")
        words[name] = value or ""
    return words


def serve(port: int | None) -> int:
    """Answer an editor: over standard input and output, or the first one that connects to a port of this machine."""
    if port is None:
        return _answered(Server(sys.stdin.buffer, sys.stdout.buffer, open_session))
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise FileError(Diagnostic("F001", f"port {port}: {error.strerror}")) from None
    with listener:
        say(f"waiting on port {listener.getsockname()[1]}")
        connection, _ = listener.accept()
    with connection, connection.makefile("rb") as source, connection.makefile("wb") as sink:
        return _answered(Server(source, sink, open_session))


def _answered(server: Server) -> int:
    """Answer an editor; says which message of it was wrong."""
    with interrupts(server.halt):
        server.has_signals = threading.current_thread() is threading.main_thread()
        code = server.run()
    if server.problem:
        say(f"visakit dap: {server.problem}")
    return code
