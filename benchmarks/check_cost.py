"""What checks cost: the six kernels of the corpus with and without them, on one thread.

    python benchmarks/check_cost.py --check race [--device tgllp] [--scale 1]

Prints for each kernel the best processor time of a few launches in both ways, their ratio, what the checks found, and the
geometric mean of the ratios. Time to compile is not in it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from math import prod
from time import process_time

from kernels import DEVICES, KERNELS, Work

from vasm.assembler import assemble_text
from visa.image import read_image
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
    """The best time of launches for a while, without the first one, which compiles; and what the last one gave."""
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What checks cost.")
    parser.add_argument("--check", default="race")
    parser.add_argument("--device", default="tgllp", choices=DEVICES)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--only", default="", help="kernels, separated by commas")
    options = parser.parse_args()
    ratios = []
    for name, benchmark in KERNELS.items():
        if options.only and name not in options.only.split(","):
            continue
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
