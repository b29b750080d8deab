"""What a kernel of the corpus takes to compile, in a process of its own, as JSON.

compile_cost.py KERNEL DEVICE
"""

import json
import sys
import time

from kernels import KERNELS
from vsim_programs import load

from vsim.engines.llvm import pipeline, plan
from vsim.engines.llvm.host import native
from vsim.launch.launch import Launch
from vsim.program import Program


def compile_milliseconds(program: Program, launch: Launch) -> tuple[float, float]:
    """From the syntax tree to object code; and what the functions of support take that the first such kernel on a machine needs."""
    dispatch = program.bind(launch)
    start = time.perf_counter()
    translation = pipeline.translate(dispatch, True, plan.row_of(dispatch))
    native.compile_object(translation.text)
    between = time.perf_counter()
    for text in translation.support:
        native.compile_support(text)
    return (between - start) * 1e3, (time.perf_counter() - between) * 1e3


def main() -> None:
    name, device = sys.argv[1:]
    program, work = load(name, device), KERNELS[name].work(64)
    kernel = program.kernels[0]
    launch = Launch(kernel, work.global_size, work.local_size, (0, 0, 0), program.convert(kernel, work.args))
    compiled, support = (
        min(times) for times in zip(*(compile_milliseconds(program, launch) for _ in range(10)), strict=True)
    )
    count = len(program.image.module.kernels[0].instructions)
    print(json.dumps({"compile": compiled, "support": support, "instructions": count}))


if __name__ == "__main__":
    main()
