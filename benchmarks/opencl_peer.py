"""Runs one benchmark kernel on another OpenCL implementation, in a process of its own: prints milliseconds of each run and saves the result.

    opencl_peer.py KERNEL SCALE REPEATS RESULT.npy

The platform is chosen by the environment (OCL_ICD_VENDORS for PoCL, the ``oclgrind`` wrapper for Oclgrind).
"""

import json
import sys
import time

import numpy as np
import pyopencl as cl
from kernels import KERNELS, source


def main() -> None:
    name, scale, last_launches, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    platform = next(p for p in cl.get_platforms() if "Oclgrind" in p.name or "Portable" in p.name)
    context = cl.Context(devices=platform.get_devices()[:1])
    queue = cl.CommandQueue(context)
    work = KERNELS[name](scale)
    options = ["-DTS=16"] if name == "matmul" else []
    kernel = cl.Kernel(cl.Program(context, source(name)).build(options=options), name)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=a) if isinstance(a, np.ndarray) and a.shape else a for a in work.args]
    kernel.set_args(*buffers)

    def once() -> float:
        start = time.perf_counter()
        cl.enqueue_nd_range_kernel(queue, kernel, work.global_size, work.local_size)
        queue.finish()
        return (time.perf_counter() - start) * 1e3

    first = once()
    result = np.empty_like(work.args[work.result])
    cl.enqueue_copy(queue, result, buffers[work.result])
    np.save(path, result)
    print(
        json.dumps(
            {
                "first": first,
                "times": [once() for _ in range(last_launches)],
                "version": f"{platform.name} {platform.version}",
            }
        )
    )


if __name__ == "__main__":
    main()
