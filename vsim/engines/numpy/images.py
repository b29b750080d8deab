"""Images: which one each thread means, and what an instruction does to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from visakit.language.operands import SAMPLER, Execution
from visakit.language.program import NAMED_SAMPLER, Instruction
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import Mask, both
from vsim.engines.numpy.faults import Faults
from vsim.engines.numpy.memory import ImageSpace, SurfaceSpace
from vsim.engines.numpy.spaces import BatchSpaces
from vsim.launch.arrays import Array, Dwords
from vsim.launch.dispatch import Dispatch
from vsim.launch.payload import SAMPLER_HANDLE_SHIFT
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import Buffer, SamplerState
from vsim.semantics.algebra import ImageView


class BatchImages:
    """The images of one function's instructions; see :class:`vsim.semantics.algebra.Machine`."""

    def __init__(self, running: Running, faults: Faults, dispatch: Dispatch, spaces: BatchSpaces) -> None:
        self.running, self.faults, self.dispatch = running, faults, dispatch
        self.image, self.image_by_handle = spaces.numbered, spaces.numbered_by_handle

    def pixel(self, execution: Execution) -> Callable[[], list[Array]]:
        """x and y of each lane's work-item."""
        part = slice(execution.offset, execution.offset + execution.size)
        return lambda: [axis[:, part] for axis in self.running.threads.pixels()]

    def sampler(self, index: int) -> Dwords:
        """The number of the sampler that a sampler variable holds."""
        found = self.running.activation.registers.state(SAMPLER, index, 0)
        return found >> np.uint32(SAMPLER_HANDLE_SHIFT) if index == NAMED_SAMPLER else found

    def with_image(
        self, image: SurfaceSpace, mask: Mask, instruction: Instruction, act: Callable[[ImageView, Mask], list[Array]]
    ) -> list[Array]:
        """What ``act`` gives for the image that each thread finds.

        Raises:
            SimulationError: the surface is no image.
        """

        def act_on(number: int, lanes: Mask) -> list[Array]:
            return act(self._view(image.table.get(number), number, instruction), lanes)

        return self._each(image.number, mask, act_on)

    def with_sampler(
        self,
        image: SurfaceSpace,
        sampler: Dwords,
        mask: Mask,
        instruction: Instruction,
        act: Callable[[ImageView, SamplerState, Mask], list[Array]],
    ) -> list[Array]:
        """The same with the state of the sampler that has this number."""
        states = self.dispatch.samplers

        def act_on(view: ImageView, lanes: Mask) -> list[Array]:
            return self._each(sampler, lanes, lambda n, some: act(view, states.get(n, SamplerState()), some))

        return self.with_image(image, mask, instruction, act_on)

    def _view(self, image: Buffer | SurfaceImage | None, number: int, instruction: Instruction) -> ImageView:
        if not isinstance(image, SurfaceImage):
            raise self.faults.at(0, 0, f"surface {number} is used as an image, but is not one,", instruction)
        sizes = [np.full((1, 1), n, np.int32) for n in image.sizes]
        memory = ImageSpace(image.name, image.bytes, np.zeros((1, 1), np.int64), image.array.nbytes)
        return ImageView(image.kind, sizes, memory)

    def _each(self, numbers: Dwords, mask: Mask, act: Callable[[int, Mask], list[Array]]) -> list[Array]:
        """What ``act`` gives for the lanes of all threads that have the same number, put together."""
        threads = self.running.activation.threads
        active = numbers if threads is True or numbers.shape[0] == 1 else numbers[threads[:, 0]]
        first = active.reshape(-1)[0]
        if (active == first).all():
            return act(int(first), mask)
        found: list[Array] = []
        for number in np.unique(active):
            own = numbers == number
            values = act(int(number), both(mask, own))
            found = [np.where(own, new, old) for new, old in zip(values, found, strict=True)] if found else values
        return found
