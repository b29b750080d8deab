"""Runs one benchmark kernel on vsim, in a process of its own: prints milliseconds of each run and saves the result.

vsim_runner.py KERNEL DEVICE SCALE REPEATS THREADS ENGINE RESULT.npy
"""

import json
import sys
import time

import numpy as np
from kernels import CORPUS, KERNELS

from vasm.assembler import assemble_text
from visa.image import read_image
from vlink import link
from vsim.abi import bind
from vsim.launch import Launch
from vsim.llvm_engine import compiler, engine, native
from vsim.program import Program


def compile_milliseconds(program: Program, launch: Launch) -> tuple[float, float]:
    """From the syntax tree to object code; and what the functions of support take that the first such kernel on a machine needs."""
    bound = bind(program.interface(launch.kernel), launch, program.memory)
    start = time.perf_counter()
    translation = compiler.translate(bound, True, engine.row_of(bound))
    native.compile_object(translation.text)
    between = time.perf_counter()
    for text in translation.support:
        native.compile_support(text)
    return (between - start) * 1e3, (time.perf_counter() - between) * 1e3


def load(name: str, device: str) -> Program:
    """A benchmark kernel, assembled and linked."""
    folder = CORPUS / name / device
    objects = [assemble_text(p.read_text(), p.name, device).object_bytes() for p in sorted(folder.glob("*.visaasm"))]
    return Program(read_image(link(objects, folder / "ze_info.yaml").to_bytes()))


def main() -> None:
    name, device, scale, repeats, threads, which, path = sys.argv[1:8]
    program = load(name, device)
    work = KERNELS[name](int(scale))
    kernel = program.kernels[0]

    def once() -> float:
        start = time.perf_counter()
        program.launch(kernel, work.global_size, work.local_size, work.args, engine=which, threads=int(threads))
        return (time.perf_counter() - start) * 1e3

    first = once()
    np.save(path, work.args[work.result])
    report = {"first": first, "times": [once() for _ in range(int(repeats))], "instructions": len(program.image.module.kernels[0].instructions)}
    if which == "llvm":
        arguments = program.convert(kernel, work.args)
        launch = Launch(kernel, work.global_size, work.local_size, (0, 0, 0), arguments)
        report["compile"], report["support"] = (min(times) for times in zip(*(compile_milliseconds(program, launch) for _ in range(5)), strict=True))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
