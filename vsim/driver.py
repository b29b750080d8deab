"""An image to a session: what the command ``vsim`` does before anything is launched."""

from __future__ import annotations

import sys

from visa.image import read_image
from vsim.program import Program, RunOptions
from vsim.session import Session


def open_session(data: bytes, image: str, out_dir: str | None, workers: str | None, options: RunOptions) -> Session:
    """A session for an image, on the cluster at the address ``workers`` if there is one.

    Raises:
        FormatError: the bytes are not an image or are damaged.
        LaunchError: there is no such cluster.
    """
    program = Program(read_image(data, image))
    if not workers:
        return Session(program, out_dir, output=sys.stdout, **options)
    from vsim.cluster import Cluster

    parts = options.copy()
    parts.pop("profile", None)  # The parts of a launch on a cluster do not keep one.
    return Session(program, out_dir, Cluster(program, data, workers, **parts), output=sys.stdout, **options)
