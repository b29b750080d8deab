"""Kernels modelled on public reports about registers, each with a twin that differs in the subject of the report.

The reports: intel-graphics-compiler 412 and 420 (an update that spills), intel-xpu-backend-for-triton 388, 1641, 7442,
7821 and 7959 (tiles that spill, modes that halve the threads), torch-xpu-ops 146, llvm-project 161850 (what lives at
the peak). `visakit registers` must tell the two kernels of a pair apart.
"""

import re

import pytest

from visakit.language.platforms import find
from visakit.text.parser import parse_module
from vsim.cost.programs import CostedFunction
from vsim.cost.register_report import details
from vsim.cost.registers import register_use

TILE, OTHER = "T", "U"


class Kernel:
    """A text that grows: variables of a register for each lane, and instructions on them."""

    def __init__(self, lanes, element="f"):
        self.lanes, self.element = lanes, element
        self.names, self.lines, self.labels = {}, [], 0

    def declare(self, name, rows=1, element=""):
        self.names[name] = (
            f".decl {name} v_type=G type={element or self.element} num_elts={self.lanes * rows} align=GRF"
        )
        return name

    def write(self, name, value="0:d"):
        typed = value if self.element == "d" else "0x0:f"
        self.lines.append(f"mov (M1, {self.lanes}) {name}(0,0)<1> {typed}")

    def add(self, target, *sources):
        mnemonic = "add" if len(sources) == 2 else "mad"
        operands = " ".join(f"{s}(0,0)<1;1,0>" for s in sources)
        self.lines.append(f"{mnemonic} (M1, {self.lanes}) {target}(0,0)<1> {operands}")

    def use(self, platform, registers=None):
        head = [".version 4.1", '.kernel "k"', *self.names.values(), f".decl P1 v_type=P num_elts={self.lanes}"]
        text = "\n".join([*head, f".kernel_attr SimdSize={self.lanes}", *self.lines, f"ret (M1, {self.lanes})", ""])
        known = find(platform)
        (kernel,) = parse_module(text, "<text>", known.name).kernels
        return register_use(CostedFunction(kernel, known, "<text>"), registers)


def accumulators(count, lanes=16, element="f"):
    """Accumulators that are all live in a loop, as of a tile of a matrix product."""
    kernel = Kernel(lanes, element)
    names = [kernel.declare(f"C{n}") for n in range(count)]
    x = kernel.declare("X")
    for name in [*names, x]:
        kernel.write(name)
    kernel.lines.append("loop:")
    for name in names:
        kernel.add(name, name, x)
    kernel.lines += [f"cmp.lt (M1, {lanes}) P1 {x}(0,0)<1;1,0> 0x0:{element}", f"(P1) goto (M1, {lanes}) loop"]
    for name in names:
        kernel.add(x, x, name)
    return kernel


def hoisted(count, is_hoisted, lanes=16):
    """Loads that an update of the compiler moves in front of all their uses, or leaves beside them."""
    kernel = Kernel(lanes)
    total = kernel.declare("S")
    names = [kernel.declare(f"W{n}") for n in range(count)]
    kernel.write(total)
    for name in names:
        kernel.write(name)
        if not is_hoisted:
            kernel.add(total, total, name)
    for name in names if is_hoisted else ():
        kernel.add(total, total, name)
    return kernel


def recomputed(is_recomputed, lanes=16):
    """Values that live across a region of high pressure, or are computed again behind it."""
    kernel = Kernel(lanes)
    kept = [kernel.declare(f"K{n}") for n in range(40)]
    busy = [kernel.declare(f"B{n}") for n in range(100)]
    total = kernel.declare("S")
    kernel.write(total)
    for name in kept:
        kernel.write(name)
    for name in kept if is_recomputed else ():
        kernel.add(total, total, name)
    for name in busy:
        kernel.write(name)
    for name in busy:
        kernel.add(total, total, name)
    for name in kept:
        if is_recomputed:
            kernel.write(name)
        kernel.add(total, total, name)
    return kernel


def split(is_split, lanes=16):
    """One large array of which parts die at different times, or a variable for each part."""
    kernel = Kernel(lanes)
    total = kernel.declare("S")
    rows = 90
    parts = [kernel.declare(f"P{n}_") for n in range(rows)] if is_split else []
    if not is_split:
        kernel.declare("A", rows)
    later = [kernel.declare(f"L{n}") for n in range(60)]
    kernel.write(total)

    def part(n):
        return f"{parts[n]}(0,0)" if is_split else f"A({n},0)"

    for n in range(rows):
        kernel.lines.append(f"mov (M1, {lanes}) {part(n)}<1> 0x0:f")
    for n in range(rows - 1):
        kernel.lines.append(f"add (M1, {lanes}) {total}(0,0)<1> {total}(0,0)<1;1,0> {part(n)}<1;1,0>")
    for name in later:
        kernel.write(name)
    for name in later:
        kernel.add(total, total, name)
    kernel.lines.append(f"add (M1, {lanes}) {total}(0,0)<1> {total}(0,0)<1;1,0> {part(rows - 1)}<1;1,0>")
    return kernel


def branches(is_divergent, lanes=16):
    """Two sides of a branch, each with its own values; the lanes of one side keep theirs while the other runs."""
    kernel = Kernel(lanes)
    total, early = kernel.declare("S"), [kernel.declare(f"E{n}") for n in range(70)]
    late = [kernel.declare(f"F{n}") for n in range(70)]
    kernel.write(total)
    for name in early:
        kernel.write(name)
    kernel.lines.append(f"cmp.lt (M1, {lanes}) P1 {total}(0,0)<1;1,0> 0x0:f")
    kernel.lines.append(f"(P1) goto (M1, {lanes}) OTHER" if is_divergent else "(P1) jmp (M1, 1) OTHER")
    for name in late:
        kernel.write(name)
    for name in late:
        kernel.add(total, total, name)
    kernel.lines.append(f"goto (M1, {lanes}) END" if is_divergent else "jmp (M1, 1) END")
    kernel.lines.append("OTHER:")
    for name in early:
        kernel.add(total, total, name)
    kernel.lines.append("END:")
    return kernel


PAIRS = {
    "an update that moves loads": (hoisted(140, False), hoisted(140, True), "bmg"),
    "a tile of twelve by twelve": (accumulators(9 * 9), accumulators(12 * 12), "bmg"),
    "a tile of one more column": (accumulators(60), accumulators(66), "dg2"),
    "double precision": (accumulators(70), accumulators(70, element="df"), "bmg"),
    "SIMD32 instead of SIMD16": (accumulators(70), accumulators(70, lanes=32), "bmg"),
    "registers of 32 bytes": (accumulators(100, lanes=8), accumulators(100), "tgllp"),
    "values that are kept over a busy region": (recomputed(True), recomputed(False), "bmg"),
    "an array that lives as a whole": (split(True), split(False), "bmg"),
    "a branch that lanes take": (branches(False), branches(True), "bmg"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_kernels_that_spill_are_told_from_those_that_do_not(name):
    fits, over, platform = PAIRS[name]
    good, bad = fits.use(platform), over.use(platform)
    assert not good.spills.bytes and good.mode.fits
    assert bad.spills.bytes and not bad.mode.fits and bad.spills.names
    assert bad.spills.bytes >= bad.mode.over - good.pressure.grf_size
    assert bad.spills.dwords(over.lanes) * 4 * over.lanes >= bad.spills.bytes


@pytest.mark.parametrize("name", PAIRS)
def test_reports_of_a_pair_differ_in_spills(name):
    fits, over, platform = PAIRS[name]
    good, bad = details(fits.use(platform)), details(over.use(platform))
    assert "spills: none predicted" in good and "too many" not in good.partition("*")[2].splitlines()[0]
    assert re.search(r"^spills: [\d,]+ bytes predicted, \d+ dwords? a lane: \w", bad, re.MULTILINE)
    assert re.search(r"^  \* .* bytes too many$", bad, re.MULTILINE)


@pytest.mark.parametrize(("count", "registers", "threads"), [(20, 32, 10), (90, 96, 10), (100, 128, 8), (150, 160, 6)])
def test_ptl_has_the_threads_of_the_smallest_mode_that_fits(count, registers, threads):
    use = accumulators(count).use("ptl")
    assert (use.mode.registers, use.mode.threads) == (registers, threads)


def test_a_mode_that_halves_the_threads():
    kernel = accumulators(140)
    small, large = kernel.use("bmg"), kernel.use("bmg", 256)
    assert (small.mode.threads, large.mode.threads) == (8, 4)
    assert small.spills.bytes and not large.spills.bytes
    assert large.next_mode.registers == 128 and large.next_mode.over == small.mode.over


def test_bytes_that_must_go_are_those_that_go():
    use = accumulators(140).use("bmg", 256)
    rows = -(-use.next_mode.over // 64)
    assert accumulators(140 - rows).use("bmg", 256).next_mode.over == 0
    assert accumulators(140 - rows + 1).use("bmg", 256).next_mode.over > 0


def test_the_variables_of_the_peak_are_named_with_their_places():
    use = hoisted(3, True).use("bmg")
    rows = {row.name: row for row in use.pressure.variables()}
    assert set(rows) == {"S", "W0", "W1", "W2"}
    instructions = use.subject.function.instructions
    assert [instructions[n].desc.mnemonic for n in (*rows["W1"].definitions, *rows["W1"].uses)] == ["mov", "add"]
    assert rows["W1"].bytes == 64 and not rows["W1"].is_input


def test_registers_of_waiting_lanes_are_marked():
    use = branches(True).use("bmg")
    waiting = [row.name for row in use.pressure.variables() if row.waits]
    assert len(waiting) == 70 and all(name.startswith("E") for name in waiting)
    assert use.pressure.live_peak_bytes < use.pressure.peak_bytes
