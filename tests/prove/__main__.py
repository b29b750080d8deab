"""The command line of the proofs: instructions on integers, for all types and all inputs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

sys.path[0] = str(Path(__file__).parent.parent)  # in place of this folder, whose modules have everyday names

from support.forms import KINDS  # noqa: E402

from prove.instructions import Question, prove, questions  # noqa: E402


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(
        prog="python tests/prove", description="Prove that instructions on integers do what the scalar model says."
    )
    parser.add_argument("names", nargs="*", metavar="INSTRUCTION", help="all of them without any")
    parser.add_argument("--seconds", type=float, default=1500, help="for all together (1500)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--json", default="", metavar="FILE", help="write a summary")
    return parser.parse_args()


LONGEST = 10
"""Seconds for one way to ask a question."""
TOGETHER = 4
"""Questions of a process between two looks at the time: hard ones take half a minute each."""


def answer(question: Question) -> tuple[str, float]:
    """The verdict on a question, and the seconds that it took."""
    begin = time.perf_counter()
    return prove(question, LONGEST), time.perf_counter() - begin


def main() -> int:
    """Prove; the exit code: 1 if anything was refuted."""
    given = arguments()
    chosen = {name: asked for name in given.names or KINDS if (asked := list(questions(name)))}
    summary, refuted, end = {}, [], time.monotonic() + given.seconds
    with ProcessPoolExecutor(given.jobs) as pool:
        for n, (name, asked) in enumerate(chosen.items()):
            Random(name).shuffle(asked)
            share = time.monotonic() + max(0.0, end - time.monotonic()) / (len(chosen) - n)
            verdicts: Counter[str] = Counter()
            spent = 0.0
            for start in range(0, len(asked), TOGETHER * given.jobs):
                part = asked[start : start + TOGETHER * given.jobs]
                for question, (verdict, seconds) in zip(part, pool.map(answer, part), strict=True):
                    verdicts[verdict.partition(":")[0]] += 1
                    spent += seconds
                    if verdict != "proved":
                        print(
                            f"  {verdict}\n    {question.line}  {question.dst} of {' '.join(question.types)}",
                            flush=True,
                        )
                        refuted += [question] if verdict.startswith("refuted") else []
                if time.monotonic() > share:
                    break
            summary[name] = {"questions": len(asked), **verdicts, "seconds": round(spent, 1)}
            print(
                f"{name}: {sum(verdicts.values())} of {len(asked)} asked, {dict(verdicts)}, {spent:.1f} s", flush=True
            )
    if given.json:
        Path(given.json).write_text(json.dumps(summary, indent=1) + "\n")
    return int(bool(refuted))


if __name__ == "__main__":
    sys.exit(main())
