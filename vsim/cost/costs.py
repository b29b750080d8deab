"""The costs of launches: occupancy, roofline, floor and the compiler's assumptions, from the counts of a profile."""

from __future__ import annotations

from typing import NamedTuple

from visakit.diagnostics import CostError, Diagnostic, Span
from visakit.isa.record import InstructionDesc
from visakit.language.platforms import Platform
from vsim.cost.compiled import of_ze_info
from vsim.cost.constants import constant, of_platform
from vsim.cost.estimate import KernelCost, critical_path, exact_trips, has_barrier, kernel_cost
from vsim.cost.floor import Floor, counted, floor, lane_bytes
from vsim.cost.occupancy import GroupNeeds, Occupancy, occupancy
from vsim.cost.programs import CostedFunction
from vsim.cost.registers import KernelRegisters, register_use
from vsim.profile.pipes import FPU, pipe_of
from vsim.profile.profile import KernelProfile
from vsim.result import LaunchResult


class Roofline(NamedTuple):
    """Operations and bytes of a kernel's launches against the peaks of a device.

    Attributes:
        operations: of floats, exact; a multiply-add is two.
        bytes: that lanes asked global memory and images for, exact but for messages whose size nothing says.
        peak: operations of FP32 a clock; None where it is not published.
        bandwidth: bytes a clock of memory; None where it is not published.
    """

    operations: int
    bytes: int
    peak: float | None
    bandwidth: float | None

    @property
    def intensity(self) -> float | None:
        """Operations a byte; None without bytes."""
        return self.operations / self.bytes if self.bytes else None

    @property
    def ridge(self) -> float | None:
        """The operations a byte at which the device's arithmetic and memory take equally long."""
        return self.peak / self.bandwidth if self.peak and self.bandwidth else None


class KernelCosts(NamedTuple):
    """The costs of a kernel's launches.

    Attributes:
        path: cycles of a thread alone by the latencies of Intel's scheduler, on average.
        loops: the compiler's cost of the kernel in ze_info; None without it.
        loop_cycles: that, with the exact trips; None without it, or if the text has other loops.
    """

    profile: KernelProfile
    platform: Platform
    registers: KernelRegisters
    occupancy: Occupancy
    roofline: Roofline
    floor: Floor
    path: float
    loops: KernelCost | None
    loop_cycles: float | None


class Costs:
    """Collects the data of launches that a platform's costs need, beside their counts.

    Raises:
        CostError: Q001, the table has no constants of the platform.
    """

    def __init__(self, platform: Platform) -> None:
        of_platform(platform)
        constant(platform, "EUs")
        self.platform = platform
        self._groups: dict[tuple[int, str], GroupNeeds] = {}

    def ended(self, result: LaunchResult) -> None:
        """Take the work-groups of a launch that has ended well; the largest of a kernel counts."""
        dispatch = result.dispatch
        functions = dispatch.image.functions_of(dispatch.kernel)
        threads = -(-result.counters.threads // max(1, result.counters.groups))
        group = GroupNeeds(max(1, threads), dispatch.slm_size, any(map(has_barrier, functions)))
        key = id(dispatch.image), result.kernel
        self._groups[key] = max(group, self._groups.get(key, group))

    def of(self, profile: KernelProfile) -> KernelCosts:
        """The costs of a kernel's launches.

        Raises:
            CostError: Q001, a constant is not in the table; Q004, the program is for registers of another size.
        """
        image, platform = profile.image, self.platform
        if profile.grf_size != platform.grf_size:
            message = f"the program is for registers of {profile.grf_size} bytes, those of {platform.name} have"
            hint = "compile it for this platform, or ask for the costs on the program's own"
            raise CostError(Diagnostic("Q004", f"{message} {platform.grf_size}", Span(image.file, 0), hint))
        (kernel,) = (k for k in image.module.kernels if k.name == profile.kernel)
        tree = image.ze_info_tree()
        subject = CostedFunction(kernel, platform, image.file, of_ze_info(tree, kernel.name))
        registers = register_use(subject)
        group = self._groups[id(image), profile.kernel]
        threads = sum(note.threads for note in profile.launches)
        own = next((c for c in profile.counts.functions if c.function is kernel), None)
        path = sum(critical_path(c, profile.grf_size, threads) for c in profile.counts.functions)
        loops = kernel_cost(tree, kernel.name)
        trips = exact_trips(own, loops, threads) if own is not None and loops is not None else None
        return KernelCosts(
            profile,
            platform,
            registers,
            occupancy(platform, registers.mode.threads, group),
            roofline(platform, profile),
            floor(platform, profile),
            path,
            loops,
            None if loops is None or trips is None else loops.cycles(trips),
        )


def roofline(platform: Platform, profile: KernelProfile) -> Roofline:
    """Counted operations and bytes."""
    operations = moved = 0
    for row in counted(profile):
        pipe = pipe_of(row.function, row.instruction, profile.grf_size)
        if pipe == FPU:
            operations += row.active * _operations(row.instruction.desc)
        if pipe.startswith("SEND") and pipe not in ("SEND.slm", "SEND.gateway"):
            moved += round(row.active * max(lane_bytes(row.instruction, profile.grf_size)))
    lanes, units = constant(platform, "lanes of FP32").value, constant(platform, "EUs").value
    peak = 2 * lanes * units if lanes and units else None
    return Roofline(operations, moved, peak, constant(platform, "bytes a clock of memory").value)


def _operations(desc: InstructionDesc) -> int:
    """Operations of a lane: none of moves and comparisons."""
    return desc.operations if desc.category == "arithmetic" else 0
