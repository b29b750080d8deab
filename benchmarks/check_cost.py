"""What checks cost: the six kernels of the corpus with and without them, on one thread.

    python benchmarks/check_cost.py --check race [--device tgllp] [--scale 1] [--only NAMES] [--oclgrind]

Prints for each kernel the best processor time of a few launches in both ways, their ratio, the findings of the checks, and the
geometric mean of the ratios. Time to compile is not in it. With ``--oclgrind`` the second side is Oclgrind with the same
check (race or undefined), on one thread, with as much less work as ``make bench`` gives it; both do the same work.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from math import prod
from time import process_time

from kernels import DEVICES, KERNELS, Work
from run import OCLGRIND_SCALES
from sides import oclgrind

from vasm.assembler import assemble_text
from visakit.objects.image import read_image
from vlink.linker import Linker, LinkOptions
from vsim.program import Program
from vsim.result import LaunchResult


def program(folder_name: str, device: str) -> Program:
    """A kernel of the corpus, linked."""
    folder, linker = KERNELS[folder_name].folder / device, Linker(LinkOptions(platform=device))
    for text in sorted(folder.glob("*.visaasm")):
        if ".inline." not in text.name:
            linker.add_bytes(assemble_text(text.read_text(), str(text), device).object_bytes(), text.name)
    info = folder / "kernel.zebin"
    info = info if info.exists() else folder / "ze_info.yaml"
    linker.add_info(info.read_bytes(), str(info))
    return Program(read_image(linker.run().image.to_bytes(), folder_name))


def best(launch: Callable[[], LaunchResult], seconds: float = 1.0) -> tuple[float, LaunchResult]:
    """The best time of launches for a while, without the first one, which compiles; and the last one's result."""
    launch()
    times, ends = [], process_time() + seconds
    while len(times) < 3 or (process_time() < ends and len(times) < 50):
        started = process_time()
        result = launch()
        times.append(process_time() - started)
    return min(times), result


def launch(built: Program, work: Work, check: str) -> LaunchResult:
    """Run a kernel once on one thread."""
    kernel, (size, group) = built.kernels[0], (work.global_size, work.local_size)
    return built.launch(kernel, size, group, work.args, engine="llvm", threads=1, check=check, show_printf=False)


PEER_OPTIONS = {"race": "--data-races", "undefined": "--uninitialized"}
"""What Oclgrind calls the checks that it has."""


def against_oclgrind(check: str, device: str, names: list[str]) -> None:
    """The same launches with the same check on both sides, and how many times faster this one is."""
    ratios = []
    with oclgrind(PEER_OPTIONS[check], "--num-threads", "1", "--log", "/dev/null", threads=1) as peer:
        print(peer.version)
        for name in names:
            scale = OCLGRIND_SCALES[name]
            built, work = program(name, device), KERNELS[name].work(scale)
            checked, result = best(partial(launch, built, work, check))
            theirs = min(peer.processor_milliseconds(name, scale) for _ in range(2))
            ratios.append(theirs / (checked * 1e3))
            print(
                f"{name:8} 1/{scale:<5} {theirs:10.1f} ms {checked * 1e3:9.3f} ms {ratios[-1]:8.0f}x  "
                f"{len(result.findings)} findings",
                flush=True,
            )
    print(f"geometric mean {prod(ratios) ** (1 / len(ratios)):.0f}x")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What checks cost.")
    parser.add_argument("--check", default="race")
    parser.add_argument("--device", default="tgllp", choices=DEVICES)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--only", default="", help="kernels, separated by commas")
    parser.add_argument("--oclgrind", action="store_true", help="against Oclgrind with the same check")
    options = parser.parse_args()
    names = [name for name in KERNELS if not options.only or name in options.only.split(",")]
    if options.oclgrind:
        against_oclgrind(options.check, options.device, names)
        return
    ratios = []
    for name in names:
        benchmark = KERNELS[name]
        built, work = program(name, options.device), benchmark.work(options.scale)
        plain, _ = best(partial(launch, built, work, ""))
        checked, result = best(partial(launch, built, work, options.check))
        ratios.append(checked / plain)
        print(
            f"{name:8} {plain * 1e3:9.3f} ms {checked * 1e3:9.3f} ms {ratios[-1]:6.2f}x  {len(result.findings)} findings"
        )
    print(f"geometric mean {prod(ratios) ** (1 / len(ratios)):.2f}x")


if __name__ == "__main__":
    main()
