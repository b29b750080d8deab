"""What counting costs: the kernels of ``make bench`` with and without the counters of a profile, on one thread.

    python benchmarks/profile_cost.py [--device tgllp] [--seconds 1] [--detail] [KERNEL...]

Both kinds of launch run in turn, so that they meet the same machine. Prints for each kernel the least processor time of
each, their ratio, and the geometric mean of the ratios. Time to compile is not in it.
"""

from __future__ import annotations

import argparse
from functools import partial
from math import prod
from time import process_time

from kernels import Picture
from suite import BENCHMARKS, DEVICES
from vsim_programs import program_of

from vsim.launch.launch import ImageArgument
from vsim.profile.profiler import Profiler


def least_times(name: str, device: str, seconds: float, detail: bool) -> tuple[float, float]:
    """The least processor time, in seconds, of a plain and of a counted launch."""
    work, program = BENCHMARKS[name].work(1), program_of(BENCHMARKS[name].folder / device)
    args = [ImageArgument(a.array, "rgba_f32") if isinstance(a, Picture) else a for a in work.args]
    run = partial(program.launch, program.kernels[0], work.global_size, work.local_size, args, threads=1)
    profiler = Profiler(detail=detail)
    times: dict[bool, list[float]] = {False: [], True: []}
    end = None
    while end is None or len(times[True]) < 3 or process_time() < end:
        for counted in times:
            started = process_time()
            run(engine="llvm", observers=profiler.watching().observers if counted else [])
            times[counted].append(process_time() - started)
        end = end or process_time() + seconds  # The first pair compiles.
    return min(times[False]), min(times[True])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What counting costs.")
    parser.add_argument("--device", default="tgllp", choices=DEVICES)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each kernel")
    parser.add_argument("--detail", action="store_true", help="with messages, barriers and the timeline")
    parser.add_argument("kernel", nargs="*")
    options = parser.parse_args()
    ratios = []
    for name in options.kernel or BENCHMARKS:
        plain, counted = least_times(name, options.device, options.seconds, options.detail)
        ratios.append(counted / plain)
        print(f"{name:12} {plain * 1e3:9.3f} ms {counted * 1e3:9.3f} ms {ratios[-1]:6.2f}x", flush=True)
    print(f"geometric mean {prod(ratios) ** (1 / len(ratios)):.2f}x, most {max(ratios):.2f}x")


if __name__ == "__main__":
    main()
