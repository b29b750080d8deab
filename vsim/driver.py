"""An image to a session: what the command ``vsim`` does before anything is launched."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import BinaryIO, TextIO

from visa.diagnostics import UsageError, VisaError
from visa.files import write_file
from visa.usage import check_platform
from vsim.program import Program, RunOptions
from vsim.session import Session
from vsim.zebins import is_compiled, read_program


def with_trace(path: str | None, run: Callable[[TextIO | None], bool]) -> bool:
    """Run something that writes a trace to a stream, None if no trace is wanted; what it gives.

    The file appears when the run ends, however it ends: a trace is wanted most where something goes wrong.

    Raises:
        FileError: the trace cannot be written.
    """
    if path is None:
        return run(None)
    if path == "-":
        return run(sys.stdout)
    outcome: list[bool | BaseException] = []

    def write(stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, "utf-8", errors="backslashreplace", newline="\n")
        try:
            outcome.append(run(text))
        except BaseException as error:
            outcome.append(error)
            said = error.diagnostics[0].message if isinstance(error, VisaError) else "interrupted"
            text.write(f"# {said}\n")
        text.flush()
        text.detach()

    write_file(path, write)
    (found,) = outcome
    if isinstance(found, BaseException):
        raise found
    return found


def refuse(given: Mapping[str, object], target: str) -> None:
    """Refuse options that images of a target do not have.

    Raises:
        UsageError: one of them is given.
    """
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} does not go with images of the {target} target")


def machine_memory() -> int:
    """Bytes of memory of this machine; 16 GiB where it does not tell."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 16 << 30


def open_session(
    data: bytes,
    image: str,
    out_dir: str | None,
    workers: str | None,
    allow_paths: bool,
    options: RunOptions,
    max_memory: int | None,
    save: Mapping[str, str],
    platform: str | None = None,
) -> Session:
    """A session for an image or a zebin, on the cluster at the address ``workers`` if there is one.

    Args:
        save: where arguments are saved, by name or number.
        max_memory: bytes that a launch may take; None for the memory of the machine.
        platform: which zebin of a container is meant; None for the only one.

    Raises:
        FormatError: the bytes are not an image or are damaged.
        LaunchError: there is no such cluster.
    """
    program = Program(read_program(data, image, check_platform(platform)))
    program.memory.limit = max_memory or machine_memory()
    if not workers:
        return Session(program, out_dir, output=sys.stdout, allow_paths=allow_paths, save=save, **options)
    from vsim.cluster import Cluster

    whole = program.image.to_bytes() if is_compiled(data) else data
    parts = options.copy()
    parts.pop("profile", None)  # The parts of a launch on a cluster do not keep one.
    cluster = Cluster(program, whole, workers, **parts)
    return Session(program, out_dir, cluster, output=sys.stdout, allow_paths=allow_paths, save=save, **options)
