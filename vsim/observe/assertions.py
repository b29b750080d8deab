"""Assertions of kernels that failed: the compiler's ``__devicelib_assert_fail`` writes them to a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.diagnostics import Diagnostic, Label, SimulationError, Span, counted
from vsim.memory.memory import AddressSpace
from vsim.observe.printf import PrintfRecords

if TYPE_CHECKING:
    from vsim.launch.dispatch import Dispatch

FAILED = "S031"
_SHOWN = 3
"""Messages that a report shows; the work-items of a group often fail alike."""


def failed_assertions(dispatch: Dispatch, memory: AddressSpace) -> SimulationError | None:
    """The error of a launch of which assertions failed; None if none failed.

    The buffer begins with its size, a mark that is set if one failed, and the place of the next message.
    """
    buffer = dispatch.arguments.assertions
    if buffer is None or not buffer.data[4:8].any():
        return None
    texts = PrintfRecords.of(buffer, memory, 8).text().splitlines()
    first, *others = [*filter(None, texts)] or ["an assertion failed"]
    place = Span(dispatch.image.file, 0)
    notes = [Label(place, text) for text in others[:_SHOWN]]
    if rest := others[_SHOWN:]:
        notes.append(Label(place, f"{counted(len(rest), 'more message')}"))
    return SimulationError(Diagnostic(FAILED, f"kernel '{dispatch.kernel.name}': {first}", None, "", tuple(notes)))
