"""Runs one benchmark kernel on vsim, in a process of its own: prints milliseconds of each run and saves the result.

vsim_runner.py KERNEL DEVICE SCALE REPEATS THREADS[,THREADS...] ENGINE RESULT.npy

Several numbers of threads run in turn, so that what disturbs the machine disturbs them alike.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from kernels import CORPUS, KERNELS

from vasm.assembler import assemble_text
from visa.image import read_image
from vlink import link
from vsim.launch import Launch
from vsim.llvm_engine import pipeline, plan
from vsim.llvm_engine.runtime import native
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


def program_of(folder: Path) -> Program:
    """The program of a folder of texts, which is named after the device: assembled and linked."""
    texts = [p for p in sorted(folder.glob("*.visaasm")) if ".inline." not in p.name]
    objects = [assemble_text(p.read_text(), p.name, folder.name).object_bytes() for p in texts]
    zebin = folder / "kernel.zebin"
    return Program(read_image(link(objects, zebin if zebin.exists() else folder / "ze_info.yaml").to_bytes()))


def load(name: str, device: str) -> Program:
    """A benchmark kernel, assembled and linked."""
    return program_of(CORPUS / name / device)


def main() -> None:
    name, device, scale, last_launches, counts, which, path = sys.argv[1:8]
    program = load(name, device)
    work = KERNELS[name](int(scale))
    kernel = program.kernels[0]

    def once(threads: int) -> float:
        start = time.perf_counter()
        program.launch(kernel, work.global_size, work.local_size, work.args, engine=which, threads=threads)
        return (time.perf_counter() - start) * 1e3

    def compiled() -> list[tuple[float, float]]:
        if which != "llvm":
            return []
        launch = Launch(kernel, work.global_size, work.local_size, (0, 0, 0), program.convert(kernel, work.args))
        return [compile_milliseconds(program, launch) for _ in range(5)]

    before = compiled()
    times: dict[int, list[float]] = {int(threads): [] for threads in counts.split(",")}
    first, *others = times
    once(first)
    np.save(path, work.args[work.result])
    for threads in others:
        once(threads)
    for _ in range(int(last_launches)):
        for threads, found in times.items():
            found.append(once(threads))
    report = {"times": times, "instructions": len(program.image.module.kernels[0].instructions)}
    if compilations := before + compiled():
        report["compile"], report["support"] = (min(t) for t in zip(*compilations, strict=True))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
