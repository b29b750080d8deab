"""A launch on a cluster of up to 1,000 workers, simulated: what its parts wait for. Writes the tables of docs/measurements/cluster-scale.md.

    python benchmarks/cluster_simulation.py

An event simulation of what ``vsim.cluster.cluster`` and Dask's scheduler do with one launch:

* the arguments go to one worker, and from workers with arguments to others, so that their number doubles each time;
* the scheduler, one process, handles each part twice (handed out, finished), one at a time;
* a worker runs one part after the other: it copies the arguments, computes, and compares. Parts are uneven, and some
  workers are slower;
* results come over one network card, and each costs a way there and back; several are asked for at once;
* what changed is merged, byte by byte, in one process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from random import Random


@dataclass(frozen=True)
class Costs:
    """Seconds, and bytes a second. Comparing and merging are as ``cluster_overhead.py`` and a profile of its parts measured
    them on one machine, where new memory is touched for the first time; the rest is assumed."""

    task: float = 0.001
    """The scheduler's and the client's work for a part, all of it in one process: an assumption on the safe side, not a measurement."""
    network: float = 1.1e9
    """Of one card: 10 Gbit/s."""
    way: float = 0.002
    """There and back, with what Dask does on both sides."""
    copy: float = 4e9
    compare: float = 2e9
    merge: float = 0.35e9
    unevenness: float = 0.2
    """Sigma of the logarithm of a part's time."""
    slow: float = 0.02
    """The share of workers that take twice as long."""


@dataclass(frozen=True)
class Job:
    """A launch: CPU seconds of all of it on one thread, bytes of its arguments, bytes that it changes."""

    seconds: float
    arguments: float
    changed: float


@dataclass(frozen=True)
class Outcome:
    """When the arguments were everywhere, the last part was done, the last result was here, all was merged."""

    sent: float
    computed: float
    fetched: float
    merged: float


def simulate(job: Job, workers: int, parts_each: int, fetchers: int, costs: Costs) -> Outcome:
    """Run a launch on so many workers of one thread.

    Args:
        parts_each: parts for each worker.
        fetchers: results that are asked for at once.
    """
    random, parts = Random(1), workers * parts_each
    sent = (1 + math.ceil(math.log2(workers))) * job.arguments / costs.network
    speeds = [0.5 if random.random() < costs.slow else 1.0 for _ in range(workers)]
    around = job.arguments / costs.copy + job.arguments / costs.compare
    scheduler = 0.0
    free = [(sent, n) for n in range(workers)]
    done: list[float] = []
    for _ in range(parts):
        at, worker = free[0]
        scheduler = max(scheduler, at) + costs.task / 2
        work = job.seconds / parts * random.lognormvariate(-(costs.unevenness**2) / 2, costs.unevenness)
        end = scheduler + costs.way / 2 + (work + around) / speeds[worker]
        heapreplace(free, (end, worker))
        done.append(end + costs.task / 2)
    return Outcome(sent, max(done), *_collected(job, done, fetchers, costs))


def _collected(job: Job, done: list[float], fetchers: int, costs: Costs) -> tuple[float, float]:
    """When the results of parts that are done at these times, asked for in their order, are here, and merged."""
    each, card = job.changed / len(done), 0.0
    asking: list[float] = []
    for ready in done:
        begin = heappop(asking) if len(asking) >= fetchers else 0.0
        card = max(card, max(begin, ready) + costs.way) + each * 1.125 / costs.network
        heappush(asking, card)
    fetched = max(asking)
    return fetched, fetched + job.changed / costs.merge


JOBS = {
    "100 s, 1 MB": Job(100, 1e6, 1e6),
    "1,000 s, 100 MB": Job(1000, 1e8, 1e8),
    "10,000 s, 100 MB": Job(10000, 1e8, 1e8),
    "10,000 s, 2 GB": Job(10000, 2e9, 2e9),
    "100,000 s, 2 GB": Job(100000, 2e9, 2e9),
}
WORKERS = (2, 10, 100, 1000)


def table(parts_each: int, fetchers: int, costs: Costs) -> list[str]:
    """Seconds and efficiency of each job by number of workers."""
    lines = [f"| launch | {' | '.join(f'{w:,}' for w in WORKERS)} |", f"|{'---|' * (len(WORKERS) + 1)}"]
    for name, job in JOBS.items():
        cells = []
        for workers in WORKERS:
            end = simulate(job, workers, parts_each, fetchers, costs).merged
            cells.append(f"{end:,.1f} s, {job.seconds / workers / end:.0%}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def steps(job: Job, workers: int, costs: Costs) -> str:
    """Where the time of one launch goes."""
    found = simulate(job, workers, 2, 16, costs)
    return (
        f"sent {found.sent:.2f} s, computed {found.computed - found.sent:.2f}, "
        f"fetched {found.fetched - found.computed:.2f}, merged {found.merged - found.fetched:.2f}"
    )


def main() -> None:
    """Print the tables."""
    for parts_each, fetchers in ((2, 1), (2, 16), (4, 16), (8, 16)):
        print(f"\n{parts_each} parts for each worker, {fetchers} results at once\n")
        print("\n".join(table(parts_each, fetchers, Costs())))
    print("\nTime on 1,000 workers, by part\n")
    for name, job in JOBS.items():
        print(f"* {name}: {steps(job, 1000, Costs())}")


if __name__ == "__main__":
    main()
