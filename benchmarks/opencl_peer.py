"""Runs benchmark kernels on an OpenCL implementation, in a separate process, on request.

    opencl_peer.py THREADS [OPTION...]

Options are those of the OpenCL compiler, beside the kernel's own. Each line of standard input names a kernel, a scale, and a file for the result or ``-``; the answer is the milliseconds
of one launch, and those of processor time, or ``refused`` and why. The implementation is chosen by the environment (OCL_ICD_VENDORS, or the ``oclgrind`` wrapper).
"""

import sys
import time
from collections.abc import Callable
from functools import cache

import numpy as np
import pyopencl as cl
from kernels import Benchmark, Picture, Work
from suite import BENCHMARKS


def _argument(context: cl.Context, value: object) -> object:
    """A buffer, an image, or a number."""
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    if isinstance(value, Picture):
        pixels = value.array
        form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
        return cl.create_image(context, flags, form, shape=(pixels.shape[1], pixels.shape[0]), hostbuf=pixels)
    return cl.Buffer(context, flags, hostbuf=value) if isinstance(value, np.ndarray) and value.shape else value


def _prepare(
    context: cl.Context, queue: cl.CommandQueue, benchmark: Benchmark, work: Work
) -> tuple[Callable[[], None], list[object]]:
    """What launches a kernel and waits for it, and its arguments."""
    program = cl.Program(context, benchmark.source()).build(options=[*benchmark.options, *sys.argv[2:]])
    kernel = cl.Kernel(program, benchmark.name)
    arguments = [_argument(context, a) for a in work.args]
    kernel.set_args(*arguments)

    def launch() -> None:
        cl.enqueue_nd_range_kernel(queue, kernel, work.global_size, work.local_size)
        queue.finish()

    return launch, arguments


def main() -> None:
    platform = cl.get_platforms()[0]
    context = cl.Context(devices=platform.get_devices()[:1])
    queue = cl.CommandQueue(context)

    @cache
    def prepared(name: str, scale: int) -> tuple[Callable[[], None], list[object], Work]:
        work = BENCHMARKS[name].work(scale)
        return (*_prepare(context, queue, BENCHMARKS[name], work), work)

    print(f"{platform.name} {platform.version}", flush=True)
    for line in sys.stdin:
        name, scale, path = line.split()
        try:
            launch, arguments, work = prepared(name, int(scale))
        except cl.Error as problem:
            print("refused", " ".join(str(problem).split())[:300], flush=True)
            continue
        start, busy = time.perf_counter(), time.process_time()
        launch()
        milliseconds, busy = (time.perf_counter() - start) * 1e3, (time.process_time() - busy) * 1e3
        if path != "-":
            result = np.empty_like(work.args[work.result])
            cl.enqueue_copy(queue, result, arguments[work.result])
            np.save(path, result)
        print(milliseconds, busy, flush=True)


if __name__ == "__main__":
    main()
