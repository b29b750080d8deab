"""Runs benchmark kernels on vsim, in a separate process, on request; see opencl_peer.py.

vsim_peer.py DEVICE THREADS ENGINE [PRECISION]
"""

import sys
import time
from functools import cache

import numpy as np
from kernels import Picture, Work
from suite import BENCHMARKS
from vsim_programs import program_of

from vsim.launch.launch import ImageArgument
from vsim.program import Program

_ALIGNMENT = 128


def _aligned(value: object) -> object:
    """A copy of an array that begins at a cache line, as OpenCL's buffers do; numpy's begin at any 16 bytes."""
    if not isinstance(value, np.ndarray) or not value.nbytes:
        return value
    room = np.empty(value.nbytes + _ALIGNMENT, "u1")
    begin = -room.ctypes.data % _ALIGNMENT
    copy = room[begin : begin + value.nbytes].view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy


def main() -> None:
    device, threads, engine = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    precision = sys.argv[4] if len(sys.argv) > 4 else "exact"

    @cache
    def prepared(name: str, scale: int) -> tuple[Program, Work, list[object]]:
        work = BENCHMARKS[name].work(scale)
        work.args[:] = map(_aligned, work.args)
        arguments = [ImageArgument(a.array, "rgba_f32") if isinstance(a, Picture) else a for a in work.args]
        program = program_of(BENCHMARKS[name].folder / device)
        program.image.approximate = precision == "manual"
        return program, work, arguments

    print(f"vsim {device}", flush=True)
    for line in sys.stdin:
        name, scale, path = line.split()
        program, work, arguments = prepared(name, int(scale))
        kernel = program.kernels[0]
        start = time.perf_counter()
        program.launch(kernel, work.global_size, work.local_size, arguments, engine=engine, threads=threads)
        milliseconds = (time.perf_counter() - start) * 1e3
        if path != "-":
            np.save(path, work.args[work.result])
        print(milliseconds, flush=True)


if __name__ == "__main__":
    main()
