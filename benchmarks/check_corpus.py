"""All cases of the corpus with checks: their findings in programs that are right, or known not to be.

    python benchmarks/check_corpus.py [--check LIST] [--engine llvm|numpy|both] [--case WORD]

A line for each finding, and how many launches there were; exit 1 if there is a finding. With ``both`` the findings of
the engines are compared whole, and each difference is a line.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vsim_programs import program_of

from visakit.diagnostics import VisaError, render
from vsim.launch.launch_file import parse_launch

ROOT = Path(__file__).parent.parent
CASES = next(p for p in (ROOT.parent / "shared" / "corpus" / "cases", ROOT / "tests" / "data" / "cases") if p.exists())


def check(folder: Path, checks: str, engine: str) -> tuple[int, int]:
    """Launches and findings of a case."""
    program, path = program_of(folder), folder.parent / "launch.json"
    launches = parse_launch(path.read_text(), str(folder.parent), str(path))
    found = 0
    for number in range(len(launches)):
        result = program.run(launches.launch(number), engine="llvm" if engine == "both" else engine, check=checks)
        if engine == "both":
            other = program.run(
                parse_launch(path.read_text(), str(folder.parent), str(path)).launch(number),
                engine="numpy",
                check=checks,
            )
            if other.findings != result.findings:
                found += 1
                print(f"{folder.parent.name}/{folder.name}, launch {number}: the engines differ: {other.findings}")
        for diagnostic in result.diagnostics:
            found += 1
            print(f"{folder.parent.name}/{folder.name}, launch {number}, '{result.kernel}':")
            print(render([diagnostic]), flush=True)
    return len(launches), found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", default="all")
    parser.add_argument("--engine", default="llvm")
    parser.add_argument("--case", default="")
    given = parser.parse_args()
    count = found = 0
    for folder in sorted(p for p in CASES.glob("*/*") if list(p.glob("*.visaasm"))):
        if given.case not in str(folder):
            continue
        try:
            launches, findings = check(folder, given.check, given.engine)
        except VisaError as error:
            print(f"{folder.parent.name}/{folder.name}: {render(error.diagnostics[:1])}")
            continue
        count, found = count + launches, found + findings
    print(f"{found} findings in {count} launches")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
