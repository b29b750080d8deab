"""Pairs of real kernels that are equal, and pairs of which one has a planted fault: ``visakit prove --equal`` over both.

The kernels are those of ``equal_kernels.cl``. ``ocloc`` compiles them: with and without optimisations, for threads of
8, 16 and 32 work-items, for several devices, and by another compiler, which ``VISAKIT_OTHER_OCLOC`` names. Faults are
planted into the vISA text of a kernel: another operand, condition, offset or type, a missing mask or saturation.
A compiler translates the kernels of ``vendor_kernels.cl`` and ``vendor_loop.cl`` wrongly.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from vasm.assembler import assemble_text
from visakit.compiler.devices import DRIVER_SETTING, compiler_driver
from visakit.language.platforms import find
from visakit.objects.image import read_image
from visakit.objects.zebin import read_zebin
from vlink.linker import Linker, LinkOptions
from vsim.program import Program
from vsim.prove.assumptions import Assumption
from vsim.prove.equal import EqualOptions, prove_equal
from vsim.prove.subject import Subject
from vsim.prove.verdict import Verdict
from vsim.sources.programs import loaded

SOURCE, VENDOR, LOOP = "equal_kernels.cl", "vendor_kernels.cl", "vendor_loop.cl"
OTHER = "VISAKIT_OTHER_OCLOC"
SETS = ("pairs", "faults", "miscompiled")


class Build(NamedTuple):
    """How the kernels are compiled."""

    device: str = "tgllp"
    options: str = "-DWIDTH=16"
    by_other: bool = False
    source: str = SOURCE


class EqualPair(NamedTuple):
    """Two builds of a kernel, and the launches that they are compared for."""

    kernel: str
    first: Build
    second: Build
    assumptions: tuple[str, ...] = ()
    local_size: tuple[int, ...] = ()
    rounds: int = 3


class Fault(NamedTuple):
    """A change of the first place in a kernel's text that a pattern matches."""

    kernel: str
    pattern: str
    replacement: str


WIDE, NARROW, PLAIN = Build(options="-DWIDTH=32"), Build(options="-DWIDTH=8"), Build(options="-cl-opt-disable")
LOCAL = {"reversed": (32,)}
BOUNDS = {"sums": ("0 <= n <= 3",)}


def equal_pairs() -> Iterator[EqualPair]:
    """The pairs that are equal."""
    usual = Build()
    others = {
        "saxpy": [WIDE, NARROW, PLAIN, Build("dg2"), Build("skl")],
        "limits": [WIDE, NARROW, PLAIN],
        "nested": [WIDE, NARROW, PLAIN, Build("dg2")],
        "polynomial": [WIDE, NARROW, PLAIN],
        "saturated": [WIDE, NARROW, Build("dg2")],
        "bits": [WIDE, NARROW, PLAIN],
        "neighbours": [WIDE, NARROW, PLAIN],
        "sums": [WIDE, NARROW],
        "reversed": [WIDE, NARROW, Build("dg2")],
        "packed": [WIDE, NARROW],
        "counted": [NARROW],
        "gathered": [WIDE, NARROW, Build("dg2")],
        "rows": [WIDE, NARROW],
        "narrowed": [WIDE, NARROW],
        "residues": [WIDE, NARROW, PLAIN],
    }
    for kernel, builds in others.items():
        compiled = [*builds, *([Build(by_other=True)] if os.environ.get(OTHER) else [])]
        for build in compiled:
            yield EqualPair(kernel, usual, build, BOUNDS.get(kernel, ()), LOCAL.get(kernel, ()))


PLAIN_VENDOR, BY_HAND = Build(options="-cl-opt-disable", source=VENDOR), Build(options="-DBY_HAND", source=VENDOR)


def miscompiled() -> Iterator[EqualPair]:
    """Kernels that a compiler gets wrong, and the same by hand or by the compiler in another way.

    Both of Debian's builds of mad_sat give the least number for 0 times a negative number; those without optimisations
    divide by way of (abs) of an unsigned operand, which changes nothing; those with optimisations convert the low half
    of a long number to a float where its bits are meant, in front of a loop. The compiler of 2026 takes the number of
    a work-item in its sub-group for a scalar beside reads of blocks, and the place of a store in a loop of one or two
    rounds, if it optimises.
    """
    yield EqualPair("mad_sat_long", BY_HAND._replace(options=""), BY_HAND)
    yield EqualPair("abs_short", PLAIN_VENDOR, BY_HAND)
    yield EqualPair("abs_div", PLAIN_VENDOR, BY_HAND)
    yield EqualPair("abs_div", PLAIN_VENDOR._replace(device="skl"), BY_HAND._replace(device="skl"))
    yield EqualPair("low_bits", *(Build("dg2", own, source=LOOP) for own in ("", "-cl-opt-disable")), (), (16,))
    if os.environ.get(OTHER):
        other = Build(options="", by_other=True, source=VENDOR)
        yield EqualPair("block_read", BY_HAND, other, (), (16,))
        yield EqualPair("block_read", Build(options="", source=VENDOR), other, (), (16,))
        rooms = ("size(o) >= 260 * group_count",)
        for first in (BY_HAND, Build(options="", source=VENDOR), PLAIN_VENDOR._replace(by_other=True)):
            yield EqualPair("two_rounds", first, other, rooms, (64,))


_MAD = r"mad (\(M1, \d+\)) (\S+) (\S+) (\S+) (\S+)"
FAULTS = (
    Fault("saxpy", "cmp.lt", "cmp.le"),
    Fault("saxpy", "cmp.lt", "cmp.gt"),
    Fault("saxpy", r"\(!P1\) goto", "(P1) goto"),
    Fault("saxpy", r"\(!P1\) goto.*", ""),
    Fault("saxpy", _MAD, r"mad \1 \2 \3 \4 \4"),
    Fault("limits", "min ", "max "),
    Fault("limits", "max ", "min "),
    Fault("limits", r"min \(M1, 16\)", "min (M1, 8)"),
    Fault("nested", "cmp.gt", "cmp.ge"),
    Fault("nested", "0x3:d", "0x4:d"),
    Fault("nested", r"\(-\)V", "V"),
    Fault("nested", r"\(P3\) sel", "(!P3) sel"),
    Fault("bits", "shr ", "asr "),
    Fault("bits", "0x3:d", "0x4:d"),
    Fault("bits", "0x5:d", "0x6:d"),
    Fault("bits", "xor ", "or "),
    Fault("packed", "0x4d:", "0x4c:"),
    Fault("packed", "0x1d:", "0x1e:"),
    Fault("packed", "0x96:", "0x97:"),
    Fault("packed", "0x8:d", "0x7:d"),
    Fault("counted", "0x3c:", "0x38:"),
    Fault("reversed", "0x7c:", "0x78:"),
    Fault("gathered", "cmp.lt", "cmp.le"),
    Fault("gathered", "0xffffffff:d", "0x0:d"),
    Fault("rows", "xor ", "and "),
    Fault("rows", _MAD, r"mad \1 \2 \3 \5 \5"),
    Fault("saturated", "0x7fff:", "0x7ffe:"),
    Fault("saturated", r"\(P1\) sel", "(!P1) sel"),
    Fault("neighbours", "0xfffffffe:", "0xffffffff:"),
    Fault("neighbours", "0x1:w", "0x2:w"),
    Fault("polynomial", _MAD, r"mad \1 \2 \3 \3 \5"),
    Fault("narrowed", "0xff:", "0x7f:"),
    Fault("residues", "0x78787879:", "0x78787878:"),
    Fault("residues", "0x24924925:", "0x24924924:"),
)


def compiled(build: Build) -> bytes:
    """The program binary of the kernels."""
    if build.by_other:
        os.environ[DRIVER_SETTING] = os.environ[OTHER]
    source = Path(__file__).parent / build.source
    try:
        return loaded(str(source), source.read_bytes(), build.device, build.options, None).data
    finally:
        if build.by_other:
            os.environ.pop(DRIVER_SETTING)


def program(data: bytes, kernel: str, change: Callable[[str], str] | None = None) -> Program:
    """A program of a kernel of a binary, whose text may be changed."""
    binary = read_zebin(data, "kernels.bin")
    linker = Linker(LinkOptions())
    platform = find(binary.platform)
    assert platform is not None
    for text in binary.texts:
        if text.name == kernel:
            own = change(text.text) if change else text.text
            linker.add_bytes(assemble_text(own, f"{kernel}.visaasm", platform.name).object_bytes(debug=True), kernel)
    linker.add_info(data, "kernels.bin")
    return Program(read_image(linker.run().image.to_bytes(), kernel))


def planted(fault: Fault, text: str) -> str:
    """A text with a fault."""
    found, count = re.subn(fault.pattern, fault.replacement, text, count=1)
    assert count, f"'{fault.pattern}' is not in the text of '{fault.kernel}'"
    return found


def verdict_on(first: Program, second: Program, pair: EqualPair, seconds: float) -> Verdict:
    """The verdict on two builds."""
    assumed = [Assumption(text, "--assume") for text in pair.assumptions]
    subjects = [Subject(own, pair.kernel, assumed, pair.local_size) for own in (first, second)]
    return prove_equal(subjects[0], subjects[1], EqualOptions(seconds, rounds=pair.rounds))


def prove_pair(pair: EqualPair, seconds: float = 120) -> Verdict:
    """The verdict on a pair."""
    first, second = (program(compiled(build), pair.kernel) for build in (pair.first, pair.second))
    return verdict_on(first, second, pair, seconds)


def refute_fault(fault: Fault, seconds: float = 120) -> Verdict:
    """The verdict on a kernel and the same with a fault."""
    data = compiled(Build())
    pair = EqualPair(fault.kernel, Build(), Build(), BOUNDS.get(fault.kernel, ()), LOCAL.get(fault.kernel, ()))
    first, second = program(data, fault.kernel), program(data, fault.kernel, lambda text: planted(fault, text))
    return verdict_on(first, second, pair, seconds)


def main() -> int:
    """Prove and refute; the exit code: 1 if a verdict is wrong."""
    parser = argparse.ArgumentParser(prog="python tests/prove/equal_pairs.py", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="for each pair (120)")
    parser.add_argument("--only", choices=SETS, help="one of the sets")
    parser.add_argument("--json", default="", metavar="FILE", help="write a summary")
    given = parser.parse_args()
    if compiler_driver() is None:
        print("the compiler driver ocloc is not installed: nothing is compared")
        return 0
    summary, wrong = {}, 0
    questions = [("pairs", own, prove_pair, "refuted") for own in equal_pairs()]
    questions += [("faults", own, refute_fault, "proved") for own in FAULTS]
    questions += [("miscompiled", own, prove_pair, "proved") for own in miscompiled()]
    for name in SETS:
        counts: Counter[str] = Counter()
        for which, own, ask, bad in questions:
            if which != name or given.only not in (None, name):
                continue
            began = time.process_time()
            verdict = ask(own, given.seconds)
            spent = time.process_time() - began
            counts[verdict.outcome] += 1
            wrong += verdict.outcome == bad
            print(f"{verdict.outcome} ({spent:.1f} s of a processor): {own}", flush=True)
        summary[name] = dict(counts)
        print(f"{name}: {dict(counts)}", flush=True)
    if given.json:
        Path(given.json).write_text(json.dumps(summary, indent=1) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
