"""Digests of the IR that the fast engine emits for the kernels of the corpus: a guard for changes that only move code.

    python benchmarks/ir_text.py OUT.json [--compare BEFORE.json] [--texts DIR]

Every kernel that a case launches is translated four times: as its launch asks, with partly filled threads, with
coverage, and under a schedule. Empty lines do not count. ``--texts`` keeps the texts themselves, to see with ``diff``
what changed. Exit 1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from vsim_programs import program_of

from vsim.engines.llvm import Unsupported
from vsim.engines.llvm.pipeline import translate
from vsim.engines.llvm.plan import geometry, row_of
from vsim.launch.dispatch import Dispatch
from vsim.launch.launch import Launch
from vsim.launch.launch_file import parse_launch
from vsim.launch.schedule import parse_schedule
from vsim.program import Program

ROOT = Path(__file__).parent.parent
CASES = next(p for p in (ROOT.parent / "shared" / "corpus" / "cases", ROOT / "tests" / "data" / "cases") if p.exists())


def variants(program: Program, launch: Launch) -> Iterator[tuple[str, Dispatch, bool]]:
    """The four ways in which a launch is translated: name, dispatch, and whether every thread is full."""
    plain = program.bind(launch)
    full = geometry(plain).full
    yield "plain", plain, full
    yield "masked", plain, False
    yield "coverage", program.bind(launch, profile=True), full
    yield "schedule", program.bind(launch, parse_schedule("reverse")), full


def texts_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of all modules that the kernels of a case need."""
    program, path = program_of(folder), folder.parent / "launch.json"
    launches = parse_launch(path.read_text(), str(folder.parent), str(path))
    seen: set[tuple[str, str, bool, int]] = set()
    for number in range(len(launches)):
        launch = launches.launch(number)
        for name, dispatch, full in variants(program, launch):
            key = (dispatch.kernel.name, name, full, row_of(dispatch))
            if key in seen:
                continue
            seen.add(key)
            stem = "-".join([folder.parent.name, folder.name, *map(str, key)])
            try:
                translation = translate(dispatch, full, row_of(dispatch))
            except Unsupported as problem:
                yield stem, f"unsupported: {problem}"
                continue
            yield stem, translation.text
            yield f"{stem}-support", "\n".join(translation.support)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--texts", type=Path)
    given = parser.parse_args()
    digests: dict[str, str] = {}
    for folder in sorted(p for p in CASES.glob("*/*") if list(p.glob("*.visaasm"))):
        for name, text in texts_of(folder):
            lines = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
            digests[name] = hashlib.sha256(lines.encode()).hexdigest()
            if given.texts:
                given.texts.mkdir(parents=True, exist_ok=True)
                (given.texts / f"{name}.ll").write_text(lines)
    given.out.write_text(json.dumps(digests, indent=0, sort_keys=True))
    print(f"{len(digests)} texts")
    if given.compare is None:
        return 0
    before = json.loads(given.compare.read_text())
    differ = sorted(name for name in before.keys() | digests.keys() if before.get(name) != digests.get(name))
    print(f"{len(differ)} differ", *differ[:20], sep="\n  ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
