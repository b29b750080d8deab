"""The command line of the proofs: instructions on integers, for all types and all inputs; of the semantics against the
scalar model, or of the fast engine's IR against the semantics.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path[0] = str(Path(__file__).parent.parent)  # in place of this folder, whose modules have everyday names

from support.forms import KINDS  # noqa: E402

from prove.instructions import EASY, HARD, Question, prove, questions  # noqa: E402
from prove.translations import prove_translation  # noqa: E402


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python tests/prove", description="Prove that instructions on integers agree with the scalar model."
    )
    parser.add_argument("names", nargs="*", metavar="INSTRUCTION", help="all of them without any")
    parser.add_argument("--seconds", type=float, default=1800, help="for all together (1800)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--fast", action="store_true", help="compare the fast engine's IR with the symbolic engine")
    parser.add_argument("--json", default="", metavar="FILE", help="write a summary")
    return parser.parse_args()


class Answer(NamedTuple):
    """What came of a question."""

    question: Question
    verdict: str
    """``proved``, ``unknown`` or ``refuted: ...``; empty if there was no time to ask."""
    seconds: float
    """Of a processor."""


def answer(question: Question, ask: Callable[[Question, int], str], steps: int, end: float) -> Answer:
    """Ask a question, unless the time is up (:func:`time.time`, which processes share)."""
    if time.time() > end:
        return Answer(question, "", 0.0)
    begin = time.process_time()
    return Answer(question, ask(question, steps), time.process_time() - begin)


def summary_of(answers: list[Answer]) -> dict[str, int | float]:
    """Counts of questions, of asked ones and of each answer, and the seconds."""
    found = Counter(a.verdict.partition(":")[0] for a in answers)
    verdicts = {name: found[name] for name in ("proved", "refuted", "unknown")}
    seconds = round(sum(a.seconds for a in answers), 1)
    return {"questions": len(answers), "asked": len(answers) - found[""], **verdicts, "seconds": seconds}


def main() -> int:
    """Prove; the exit code: 1 if anything was refuted.

    Each question is asked with few steps first; undecided ones are asked again with many steps at the end.
    """
    given = arguments()
    ask = prove_translation if given.fast else prove
    asked = [question for name in given.names or KINDS for question in questions(name)]
    Random(0).shuffle(asked)
    end = time.time() + given.seconds
    with ProcessPoolExecutor(given.jobs) as pool:
        at_once = partial(answer, ask=ask, steps=EASY, end=end)
        found = {a.question: a for a in pool.map(at_once, asked, chunksize=32)}
        hard = [a.question for a in found.values() if a.verdict.startswith("unknown")]
        print(f"at once: {summary_of([*found.values()])}", flush=True)
        for a in pool.map(partial(answer, ask=ask, steps=HARD, end=end), hard):
            if a.verdict:
                found[a.question] = a._replace(seconds=found[a.question].seconds + a.seconds)
    for question, verdict, _ in found.values():
        if verdict not in ("proved", ""):
            print(f"  {verdict}\n    {question.line}  {question.dst} of {' '.join(question.types)}")
    by_name = {name: [a for a in found.values() if a.question.name == name] for name in KINDS}
    summary = {name: summary_of(own) for name, own in by_name.items() if own} | {"all": summary_of([*found.values()])}
    for name, counts in summary.items():
        print(f"{name}: {', '.join(f'{count} {what}' for what, count in counts.items())}")
    if given.json:
        Path(given.json).write_text(json.dumps(summary, indent=1) + "\n")
    return int(bool(summary["all"]["refuted"]))


if __name__ == "__main__":
    sys.exit(main())
