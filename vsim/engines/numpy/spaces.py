"""Memory spaces of messages: flat memory, local memory, scratch, surfaces by number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from visakit.language.operands import SURFACE
from visakit.language.program import BINDLESS, SCRATCH, SLM, STATELESS
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.memory import FlatSpace, PartitionedSpace, Space, SurfaceSpace
from vsim.launch.arguments import URB
from vsim.launch.arrays import Dwords
from vsim.launch.dispatch import Dispatch
from vsim.launch.payload import SCRATCH_HANDLE


class BatchSpaces:
    """The memory spaces of a batch; see :class:`vsim.semantics.algebra.Machine`."""

    def __init__(self, running: Running, dispatch: Dispatch) -> None:
        self.running, self.dispatch = running, dispatch
        self._flat = FlatSpace(dispatch.memory)

    def flat(self) -> FlatSpace:
        """The 64-bit address space."""
        return self._flat

    def for_blocks(self, space: Space) -> Space:
        """The space as loads at one address see it."""
        if not self.dispatch.lenient_reads or isinstance(space, PartitionedSpace):
            return space
        return replace(space, zeros_beyond=True)

    def slm(self) -> PartitionedSpace:
        """Local memory."""
        return self.running.threads.slm

    def urb(self) -> SurfaceSpace:
        """The buffer that the launch names ``%urb``."""
        return SurfaceSpace(np.full((self.running.threads.count, 1), URB, np.uint32), self.dispatch.surfaces)

    def surface(self, index: int) -> Space:
        """The surface that a surface variable names."""
        if index == SLM:
            return self.running.threads.slm
        if index == SCRATCH:
            return self.running.threads.scratch
        return self._flat if index == STATELESS else self.numbered(index)

    def numbered(self, index: int) -> SurfaceSpace:
        """The surfaces whose numbers a surface variable holds."""
        table = self.dispatch.bindless if index == BINDLESS else self.dispatch.surfaces
        return SurfaceSpace(self.running.activation.registers.state(SURFACE, index, 0), table)

    def surface_by_handle(self, kind: str, value: Dwords) -> Space:
        """The surface behind an LSC surface operand (bti, ss, bss, surf)."""
        scratch = self.running.threads.scratch
        if kind == "ss":
            return scratch
        found = self.numbered_by_handle(kind, value)
        if kind != "surf" or not (own := found.number == SCRATCH_HANDLE).any():
            return found
        return scratch if own.all() else replace(found, scratch=scratch)

    def numbered_by_handle(self, kind: str, value: Dwords) -> SurfaceSpace:
        """The surfaces with these numbers or handles."""
        numbers = np.broadcast_to(value, (self.running.threads.count, 1))
        return SurfaceSpace(numbers, self.dispatch.surfaces if kind == "bti" else self.dispatch.bindless)
