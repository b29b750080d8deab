"""An image to a session: what the command ``vsim`` does before anything is launched."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping

from visa.usage import check_platform
from vsim.program import Program, RunOptions
from vsim.session import Session
from vsim.zebins import is_compiled, read_program


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
