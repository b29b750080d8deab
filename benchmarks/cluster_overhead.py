"""What --workers costs: CPU time of the steps of a launch that two workers share, by size of its buffer.

    python benchmarks/cluster_overhead.py [SECONDS]
    python benchmarks/cluster_overhead.py --dask [SECONDS]

A kernel writes a buffer of one to 256 MB; a work-group writes 64 bytes after so many rounds of a loop that all of them take
SECONDS (4 if missing) on one thread. The steps of both workers run here, one behind the other, as CPU time, so that other
work on the machine does not count: what Dask adds for each part is not in it. Prints a table for docs/measurements/cluster-scale.md.

With ``--dask`` two processes of Dask share the launch in truth: seconds by the clock, of a machine with two idle processors.
"""

from __future__ import annotations

import pickle
import sys
from time import perf_counter, process_time

import numpy as np

from vasm.assembler import assemble_text
from visakit.objects.image import read_image
from vlink import link
from vsim.cluster.cluster import PARTS_FOR_THREAD, Cluster, merge, run_part
from vsim.launch.launch import BufferArgument, Launch, ScalarArgument
from vsim.program import Program

KERNEL = """.version 4.1
.kernel "work"
.decl OUT v_type=G type=uq num_elts=1
.decl COUNT v_type=G type=d num_elts=1
.decl AT v_type=G type=uq num_elts=1
.decl X v_type=G type=ud num_elts=16 align=GRF
.decl P1 v_type=P num_elts=1
.input OUT offset=64 size=8
.input COUNT offset=72 size=4
.kernel_attr SimdSize=16
mov (M1_NM, 16) X(0,0)<1> %r0(0,1)<0;1,0>
mul (M1_NM, 1) AT(0,0)<1> %r0(0,1)<0;1,0> 0x40:ud
add (M1_NM, 1) AT(0,0)<1> AT(0,0)<0;1,0> OUT(0,0)<0;1,0>
again:
mad (M1_NM, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>
xor (M1_NM, 16) X(0,0)<1> X(0,0)<1;1,0> 0x9e3779b9:ud
add (M1_NM, 1) COUNT(0,0)<1> COUNT(0,0)<0;1,0> 0xffffffff:d
cmp.gt (M1_NM, 1) P1 COUNT(0,0)<0;1,0> 0x0:d
(P1) jmp (M1, 1) again
svm_block_st (4) AT(0,0)<0;1,0> X.0
ret (M1, 1)
"""
SIZES = (1, 4, 16, 64, 256)
"""Megabytes."""
BYTES_OF_GROUP = 64


def launch_of(megabytes: int, rounds: int) -> tuple[Launch, np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    """A launch that writes a buffer of this size, and the buffer."""
    data = np.zeros(megabytes << 20, np.uint8)
    groups = data.size // BYTES_OF_GROUP
    arguments = [BufferArgument(data), ScalarArgument(np.int32(rounds).tobytes())]
    return Launch("work", (16 * groups,), (16,), args=arguments), data


def alone(program: Program, megabytes: int, rounds: int) -> tuple[float, bytes]:
    """CPU seconds of the launch on one thread of this process, and its output."""
    launch, data = launch_of(megabytes, rounds)
    start = process_time()
    program.run(launch, engine="llvm", threads=1)
    return process_time() - start, data.tobytes()


def shared(program: Program, image: bytes, megabytes: int, rounds: int) -> tuple[float, float, float, bytes]:
    """CPU seconds of sending arguments and results, of the busier of two workers, and of merging; and the output."""
    launch, data = launch_of(megabytes, rounds)
    start = process_time()
    given = pickle.loads(pickle.dumps(launch, protocol=5))
    sending = process_time() - start
    groups, count = data.size // BYTES_OF_GROUP, 2 * PARTS_FOR_THREAD
    parts, busy = [], [0.0, 0.0]
    for n in range(count):
        part = (groups * n // count, groups * (n + 1) // count)
        start = process_time()
        parts.append(run_part(image, "work", given, [], part, {"engine": "llvm", "threads": 1}))
        busy[n % 2] += process_time() - start
    start = process_time()
    parts = pickle.loads(pickle.dumps(parts, protocol=5))
    sending += process_time() - start
    start = process_time()
    merge(program, launch, parts)
    return sending, max(busy), process_time() - start, data.tobytes()


def by_dask(program: Program, image: bytes, seconds: float, probe: float) -> None:
    """Print seconds of a launch on one thread of this process, and on two processes of Dask."""
    from distributed import LocalCluster

    print("| buffer MB | alone s | two workers s | times faster |", f"|{'---|' * 4}", sep="\n")
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local:
        cluster = Cluster(program, image, local.scheduler_address.replace("tcp://", "dask://"))
        cluster.run(launch_of(1, 10)[0])
        for size in SIZES:
            rounds, times = max(1, int(2000 * seconds / probe / size)), list[float]()
            for run in lambda x: program.run(x, engine="llvm", threads=1), cluster.run:
                launch, _ = launch_of(size, rounds)
                start = perf_counter()
                run(launch)
                times.append(perf_counter() - start)
            print(f"| {size} | {times[0]:.2f} | {times[1]:.2f} | {times[0] / times[1]:.2f} |", flush=True)
        cluster.close()


def main() -> None:
    """Measure and print."""
    words = [word for word in sys.argv[1:] if word != "--dask"]
    seconds = float(words[0]) if words else 4.0
    image = link([assemble_text(KERNEL, "work.visaasm", "tgllp").object_bytes()]).to_bytes()
    program = Program(read_image(image))
    alone(program, 1, 10)
    probe, _ = alone(program, 1, 2000)
    if "--dask" in sys.argv:
        by_dask(program, image, seconds, probe)
        return
    shared(program, image, 1, 10)
    print(
        "| buffer MB | alone s | sent s | busier worker s | merged s | two workers, times faster |",
        f"|{'---|' * 6}",
        sep="\n",
    )
    for size in SIZES:
        rounds = max(1, int(2000 * seconds / probe / size))
        one, wanted = alone(program, size, rounds)
        sending, worker, merging, found = shared(program, image, size, rounds)
        assert found == wanted
        faster = one / (sending + worker + merging)
        print(f"| {size} | {one:.2f} | {sending:.3f} | {worker:.2f} | {merging:.3f} | {faster:.2f} |", flush=True)


if __name__ == "__main__":
    main()
