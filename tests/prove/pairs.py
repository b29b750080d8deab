"""Programs with one defect each, and their mended twins (``tests/data/checks``), under proofs: no verdict may be wrong.

A defect program of which its property is proved, and a twin of which a property is refuted, are wrong verdicts.
``python tests/prove/pairs.py --seconds 5`` asks all of them, and prints counts and wrong verdicts.
"""

import argparse
import re
import sys
import time
from collections import Counter
from contextlib import nullcontext
from math import inf
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.processor_time import seconds_of_a_processor
from support.programs import DATA, packed_program

from vsim.prove.assumptions import Assumption
from vsim.prove.prover import PROPERTIES, prove
from vsim.prove.subject import Subject

KINDS = {"K00": "races", "K01": "undefined", "K02": "divergence", "K04": "bounds"}
"""The property that a finding of a check is about, by the beginning of its code."""

REFUTED_TWINS = {
    ("way_that_sets_nothing", "undefined"): "an element that nothing sets is read where `c` is not zero",
    ("local_last_thread", "races"): "work-items of a thread, whose order the language does not give: `race-items`",
    ("histograms_of_sub_groups", "races"): "the same: lanes take turns in a loop without a barrier",
}
"""Mended twins that have other launches with a finding, or findings of a finer check: these refutations are right."""


class Source(NamedTuple):
    """Programs of one source: its images, the word for a defect, the launch, and dwords of an array."""

    name: str
    images: tuple[str, ...]
    defect: str
    items: int
    group: int
    count: int


SOURCES = (
    Source("races", ("races.old", "races.new"), "race", 512, 128, 4096),
    Source("items", ("items.old.tgllp", "items.old.dg2"), "race", 0, 0, 4096),
    Source("order", ("order.old.tgllp", "order.new.bmg"), "race", 128, 32, 1024),
    Source("values", ("values.old", "values.new"), "wrong", 128, 64, 1024),
)


class Pair(NamedTuple):
    """A defect program and its twin: the properties that the defect is about, and the launch."""

    source: Source
    kernel: str
    properties: tuple[str, ...]
    items: tuple[int, ...]
    group: tuple[int, ...]


def pairs(source):
    """The pairs of a source."""
    text = (DATA / "checks" / f"{source.name}.cl").read_text()
    for words, name in re.findall(r"^// ([^\n]*)\nKERNEL\((\w+)", text, re.MULTILINE):
        if source.items:
            codes = re.findall(r"K0\d\d", words)
            found = tuple(dict.fromkeys(KINDS[c[:3]] for c in codes if c[:3] in KINDS))
            yield Pair(source, name, found, (source.items,), (source.group,))
        else:
            items, group = (tuple(map(int, word.split("x"))) for word in words.split())
            yield Pair(source, name, ("races",), items, group)


def assumptions(pair, with_elements):
    """Assumptions on the launch of the pair's test; the first array has small numbers."""
    count = pair.source.count
    sizes = [f"size({name}) == {4 * count}" for name in "abc"]
    sizes += [f"global_size.{axis} == {n}" for axis, n in zip("xyz", pair.items, strict=False)]
    elements = ["each(a) < 5"] if with_elements else []
    return [Assumption(text, "--assume") for text in (*sizes, *elements)]


def verdicts(pair, image, kind, seconds, properties=tuple(PROPERTIES)):
    """The verdicts on one program of a pair. Of a program that writes the first array nothing is assumed of it."""
    program, found = packed_program(f"{image}.{kind}"), []
    for with_elements in (True, False):
        own = assumptions(pair, with_elements)
        found = list(prove(Subject(program, pair.kernel, own, pair.group, len(pair.items)), properties, seconds))
        if not any("about which something is assumed" in place.why for v in found for place in v.places):
            break
    return found


def wrong_of(pair, kind, found):
    """The wrong verdicts among some."""
    if kind == "mended":
        return [v for v in found if v.outcome == "refuted" and (pair.kernel, v.property) not in REFUTED_TWINS]
    return [v for v in found if v.outcome == "proved" and v.property in pair.properties]


def programs(only):
    """All programs whose names have a word, in a fixed random order, so that a part of them is a sample."""
    found = [
        (pair, image, kind)
        for source in SOURCES
        for image in source.images
        for pair in pairs(source)
        for kind in (source.defect, "mended")
        if only in f"{image} {pair.kernel}"
    ]
    Random(0).shuffle(found)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each property")
    parser.add_argument("--processor", action="store_true", help="seconds of a processor, on a busy machine")
    parser.add_argument("--most", type=float, default=inf, help="seconds after which no more programs are asked")
    parser.add_argument("--first", type=int, default=0, help="number of the program to begin with (0)")
    parser.add_argument("--only", default="", help="a part of the names of image and kernel")
    options = parser.parse_args()
    counts, wrong, started, asked = Counter(), 0, time.monotonic(), 0
    everything = programs(options.only)
    for pair, image, kind in everything[options.first :]:
        if time.monotonic() - started > options.most:
            break
        asked += 1
        wanted = tuple(PROPERTIES) if kind == "mended" else pair.properties
        with seconds_of_a_processor() if options.processor else nullcontext():
            found = verdicts(pair, image, kind, options.seconds, wanted) if wanted else []
        bad = wrong_of(pair, kind, found)
        wrong += len(bad)
        for v in found:
            counts["mended" if kind == "mended" else "defect", v.property, str(v.outcome)] += 1
            why = "; ".join([place.why for place in v.places[:2]] + v.notes)
            mark = "WRONG " if v in bad else ""
            print(f"{mark}{image} {pair.kernel} {kind} {v.property} {v.outcome} {v.seconds:.1f} {why}", flush=True)
    for key, count in sorted(counts.items()):
        print(*key, count)
    print(f"{asked} of {len(everything)} programs, {wrong} wrong verdicts")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
