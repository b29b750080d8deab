"""The registers of a kernel: its peak against the register modes of its platform, threads, predicted spills."""

from __future__ import annotations

from typing import NamedTuple

from visakit.diagnostics import CostError, Diagnostic
from vsim.cost.constants import Mode, modes
from vsim.cost.pressure import Pressure, pressure
from vsim.cost.programs import CostedFunction
from vsim.cost.spills import Spills, room, spills

DEFAULT_REGISTERS = 128
"""Registers of a thread by default, on platforms on which the compiler does not choose."""


class ModeUse(NamedTuple):
    """A register mode of the platform, and how a kernel fits it.

    Attributes:
        over: bytes at the peak beyond the mode: what would have to go so that nothing spills; 0 where it fits.
    """

    registers: int
    threads: int
    over: int

    @property
    def fits(self) -> bool:
        """Whether nothing has to go."""
        return not self.over


class KernelRegisters(NamedTuple):
    """The registers of a kernel or function.

    Attributes:
        mode: the register mode that it has: the compiler's, or the requested one, or the platform's usual one.
        modes: all modes of the platform, the smallest first.
        spills: the predicted spills in that mode.
    """

    subject: CostedFunction
    pressure: Pressure
    mode: ModeUse
    modes: tuple[ModeUse, ...]
    spills: Spills

    @property
    def next_mode(self) -> ModeUse | None:
        """The mode with more threads and the fewest bytes over; None in the mode with most threads."""
        more = [m for m in self.modes if m.threads > self.mode.threads]
        return min(more, key=lambda m: (m.over, -m.threads), default=None)


def register_use(subject: CostedFunction, registers: int | None = None) -> KernelRegisters:
    """The registers of a kernel or function.

    Args:
        registers: of a thread; None for the compiler's choice.

    Raises:
        CostError: Q001, the modes of its platform are unknown, or there is no mode with so many registers.
        SimulationError: S021, an alias names itself.
    """
    platform = subject.platform
    known = modes(platform)
    found = pressure(subject.function, platform.grf_size)
    uses = tuple(_use(found, mode) for mode in known)
    said = subject.compiled.registers if subject.compiled else None
    mode = _chosen(uses, registers, said, platform.name)
    return KernelRegisters(subject, found, mode, uses, spills(found, mode.registers))


def _use(found: Pressure, mode: Mode) -> ModeUse:
    over = found.peak_bytes - room(mode.registers, found.grf_size)
    return ModeUse(mode.registers, mode.threads, max(0, over))


def _chosen(uses: tuple[ModeUse, ...], registers: int | None, said: int | None, platform: str) -> ModeUse:
    by_number = {use.registers: use for use in uses}
    if registers is not None and registers not in by_number:
        near = sorted(by_number, key=lambda n: abs(n - registers))[:2]
        message = f"there is no mode of {registers} registers on {platform}"
        hint = f"the nearest {'is' if len(near) == 1 else 'are'} {' and '.join(map(str, near))}"
        raise CostError(Diagnostic("Q001", message, None, hint))
    wanted = registers or said
    if wanted in by_number:
        return by_number[wanted]
    if len(uses) > 2:  # The compiler chooses the smallest that fits.
        return next((use for use in uses if use.fits), uses[-1])
    return by_number[DEFAULT_REGISTERS]
