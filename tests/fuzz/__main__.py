"""The command line of the fuzzer; see the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)  # in place of this folder, whose modules have everyday names

from fuzz import (  # noqa: E402
    caches,
    captures,
    forms,
    kernels,
    kills,
    lanes,
    loops,
    parts,
    programs,
    reading,
    runner,
    sources,
    transfers,
    unmasked,
    vectors,
    zebins,
)
from fuzz.target import Target  # noqa: E402

TARGETS: dict[str, Target] = {
    t.name: t
    for module in (
        reading,
        zebins,
        captures,
        caches,
        kernels,
        unmasked,
        programs,
        loops,
        vectors,
        transfers,
        parts,
        sources,
        lanes,
        forms,
        kills,
    )
    for t in module.TARGETS
}


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    listed = "\n".join(f"  {t.name:10} {t.what}" for t in TARGETS.values())
    parser = argparse.ArgumentParser(
        prog="python tests/fuzz",
        description=f"Try mutated and generated inputs.\n\ntargets:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit code: 1 if anything was found. A finding belongs into tests/data/fuzzed (CONTRIBUTING.md).",
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all of them without any")
    parser.add_argument("--seconds", type=float, help="for each target; 60, or no limit with --count")
    parser.add_argument("--share", type=float, help="seconds for all targets together, in place of --seconds")
    parser.add_argument("--count", type=int, help="inputs of each target at most")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (1)")
    parser.add_argument("--json", default="", metavar="FILE", help="write a summary, every ten seconds, too")
    parser.add_argument("--show", nargs=2, metavar=("TARGET", "SEED"), help="write an input to standard output")
    parser.add_argument("--check", nargs=2, metavar=("TARGET", "FILE"), help="try an input here, in this process")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    named = [*given.targets, *(n for n in (given.child, *(given.show or ())[:1], *(given.check or ())[:1]) if n)]
    if unknown := [name for name in named if name not in TARGETS]:
        parser.error(f"no such target: {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    return given


def main() -> int:
    """Run; the exit code."""
    given = arguments()
    if given.child:
        runner.child(TARGETS[given.child], given.first, given.count)
        return 0
    if given.show:
        sys.stdout.buffer.write(TARGETS[given.show[0]].make(int(given.show[1])))
        return 0
    if given.check:
        target = TARGETS[given.check[0]]
        target.prepare()
        print(target.check(Path(given.check[1]).read_bytes()))
        return 0
    chosen = given.targets or list(TARGETS)
    for name in list(chosen):
        if reason := TARGETS[name].missing():
            print(f"{name}: skipped: {reason}")
            chosen.remove(name)
    seconds = given.seconds if given.seconds is not None else 1e9 if given.count else 60.0
    if given.share is not None:
        seconds = given.share / len(chosen)
    session = runner.Session(max(1, given.jobs), given.json)
    try:
        return int(any([session.run(TARGETS[name], given.first, seconds, given.count).findings for name in chosen]))
    finally:
        session.close()


if __name__ == "__main__":
    sys.exit(main())
