"""Limits of proofs in seconds of a processor, so that a busy machine does not change the verdicts."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from unittest import mock

import z3


@contextmanager
def seconds_of_a_processor() -> Iterator[None]:
    """Within it proofs count the time of a processor. The solver's own limits are those of a clock, and are left out:
    the watch of :class:`vsim.symbolic.limits.Limits` ends its questions.
    """
    with mock.patch("time.monotonic", process_time), mock.patch.object(z3.Solver, "set", lambda *_: None):
        yield
