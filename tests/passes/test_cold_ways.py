"""Cold ways out of loops: random functions give the same with and without the pass, and kernels the same faults on both
engines.
"""

import ctypes
import random

import numpy as np
import pytest
from support.strategies import ENGINES
from test_narrow_threads import of_suite, translated

from visakit.diagnostics import SimulationError
from vsim.engines.llvm.host import native
from vsim.engines.llvm.passes.blocks import blocks_of
from vsim.engines.llvm.passes.cold_ways import sink_into_cold_ways
from vsim.engines.llvm.passes.loops import with_changed_loops
from vsim.launch.launch import Launch

WEIGHTS = '!0 = !{}\n!1 = !{!"branch_weights", i32 1, i32 100000}\n'
OPERATIONS = ("add i64 {}, {}", "sub i64 {}, {}", "mul i64 {}, {}", "xor i64 {}, {}", "and i64 {}, {}")


class RandomFunction:
    """The text of a function of three numbers: loops, one in another one at times, with unlikely ways that come back
    or leave.
    """

    def __init__(self, seed):
        self.random, self.count, self.exits = random.Random(seed), 0, []
        self.lines = ["define i64 @f(i64 %a, i64 %b, i64 %c) {", "entry:"]
        self.lines += [f"  %s{n} = alloca i64, align 8" for n in range(4)]
        self.lines += [f"  store i64 %{'abca'[n]}, ptr %s{n}, align 8" for n in range(3)]
        self.block = "entry"
        values = self.loop(self.computed(["%a", "%b", "%c", "7"], 3), depth=self.random.randrange(2))
        values = self.loop(values, depth=0)
        results = [self.emit(f"load i64, ptr %s{n}, align 8") for n in range(3)] + values[-2:]
        total = "0"
        for value in results:
            total = self.emit(f"add i64 {self.emit(f'mul i64 {total}, 31')}, {value}")
        self.lines.append(f"  ret i64 {total}")
        if self.exits:
            self.label("faults")
            arms = ", ".join(f"[ {value}, %{block} ]" for value, block in self.exits)
            self.lines.append(f"  ret i64 {self.emit(f'phi i64 {arms}')}")
        self.text = "\n".join([*self.lines, "}"])

    def emit(self, operation):
        self.count += 1
        self.lines.append(f"  %v{self.count} = {operation}")
        return f"%v{self.count}"

    def label(self, name):
        self.lines.append(f"{name}:")
        self.block = name

    def computed(self, values, most):
        """The values, and new ones."""
        values = list(values)
        for _ in range(self.random.randrange(most + 1)):
            operation = self.random.choice(OPERATIONS).format(*self.random.choices(values, k=2))
            values.append(self.emit(operation))
        return values

    def check(self, values):
        """A branch that is said to be unlikely; the values behind it."""
        self.count += 1
        number, here = self.count, self.block
        low = self.emit(f"and i64 {self.random.choice(values)}, 15")
        condition = self.emit(f"icmp ult i64 {low}, 2")
        self.lines.append(f"  br i1 {condition}, label %edge.{number}, label %way.{number}, !prof !1")
        self.label(f"edge.{number}")
        inside = self.computed(values, 4)
        if self.random.random() < 0.5:
            self.lines.append(f"  store i64 {self.random.choice(inside)}, ptr %s0, align 8")
        if self.random.random() < 0.5:
            bad = self.emit(f"icmp ult i64 {self.random.choice(inside)}, {1 << 61}")
            self.lines.append(f"  br i1 {bad}, label %fault.{number}, label %ok.{number}, !prof !1")
            self.label(f"fault.{number}")
            self.exits.append((self.random.choice(inside), self.block))
            self.lines.append("  br label %faults")
            self.label(f"ok.{number}")
        moved, end = self.random.choice(inside), self.block
        self.lines.append(f"  br label %way.{number}")
        self.label(f"way.{number}")
        return [*values, self.emit(f"phi i64 [ {self.random.choice(values)}, %{here} ], [ {moved}, %{end} ]")]

    def loop(self, values, depth):
        """A loop of some rounds; the values in front of it and of its last round."""
        self.count += 1
        number = self.count
        self.lines.append(f"  store i64 0, ptr %s{3 - depth}, align 8")
        self.lines.append(f"  br label %loop.{number}")
        self.label(f"loop.{number}")
        k = self.emit(f"load i64, ptr %s{3 - depth}, align 8")
        inside = [*values, k, self.emit(f"load i64, ptr %s{self.random.randrange(2)}, align 8")]
        for _ in range(self.random.randrange(1, 4)):
            inside = self.check(self.computed(inside, 5))
        if depth:
            inside = self.loop(inside, depth - 1)
        self.lines.append(f"  store i64 {self.random.choice(inside)}, ptr %s{self.random.randrange(2)}, align 8")
        after = self.emit(f"add i64 {k}, 1")
        self.lines.append(f"  store i64 {after}, ptr %s{3 - depth}, align 8")
        more = self.emit(f"icmp ult i64 {after}, 5")
        self.lines.append(f"  br i1 {more}, label %loop.{number}, label %behind.{number}")
        self.label(f"behind.{number}")
        return inside


def results(text):
    """The results of a function for some numbers."""
    engine = native.loaded([native.compile_object(f"{text}\n{WEIGHTS}")])
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(engine.get_function_address("f"))
    numbers = random.Random(5)
    return [function(*(numbers.randrange(-(1 << 63), 1 << 63) for _ in range(3))) for _ in range(40)]


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_functions(first):
    """The results on all ways are the same; the pass changes most functions."""
    texts = [RandomFunction(seed).text for seed in range(first, first + 20)]
    changed = [with_changed_loops(text, sink_into_cold_ways) for text in texts]
    assert sum("asm" in text for text in changed) > 10
    for text, other in zip(texts, changed, strict=True):
        assert results(text) == results(other), text


def hot_lines(text):
    """Lines of a function that a loop reaches without an unlikely branch."""
    lines = text.split("\n")
    blocks = blocks_of(lines[1:-1])
    hot, worklist = set(), [next(iter(blocks))]
    while worklist:
        name = worklist.pop()
        if name in blocks and name not in hot:
            hot.add(name)
            worklist += blocks[name].end.likely_targets()
    return {name: [line.text for line in blocks[name].body] for name in hot}


LOOP = """define i64 @f(i64 %a, i64 %b, i64 %c) {
entry:
  %s = alloca i64, align 8
  store i64 0, ptr %s, align 8
  br label %loop
loop:
  %k = load i64, ptr %s, align 8
  %byte = shl i64 %k, 2
  %address = add i64 %byte, %a
  %between = add i64 %b, %c
  %start = add i64 %byte, %between
  %outside = icmp uge i64 %start, 80
  br i1 %outside, label %edge, label %way, !prof !1
edge:
  %bad = icmp uge i64 %address, 100
  br i1 %bad, label %fault, label %way, !prof !1
way:
  %place = phi i64 [ %start, %loop ], [ %address, %edge ]
  %next = add i64 %k, 1
  store i64 %next, ptr %s, align 8
  %more = icmp ult i64 %place, 60
  br i1 %more, label %loop, label %done
done:
  ret i64 %place
fault:
  ret i64 %address
}"""


def test_a_loop_computes_only_values_of_its_likely_way():
    """The address moves to the way that needs it, and the sum of invariants in front of the loop."""
    changed = with_changed_loops(LOOP, sink_into_cold_ways)
    hot = hot_lines(changed)
    assert "  %between = add i64 %b, %c" in hot["entry"]
    assert [line.split()[0] for line in hot["loop"]][:3] == ["%k", "%byte", "%address"]  # LLVM drops the last one
    assert not any("%address," in line or line.endswith("%address") for block in hot.values() for line in block)
    assert '%byte.edge = call i64 asm "", "=r,0"(i64 %byte)' in changed
    assert "[ %address.edge, %edge ]" in changed and "ret i64 %address.edge" in changed
    assert results(LOOP) == results(changed)


def test_a_common_way_reads_the_loops_own_values():
    """Two unlikely ways lead to one end, which keeps the loop's own address."""
    text = LOOP.replace(
        "  br i1 %more, label %loop, label %done",
        "  %odd = icmp ugt i64 %next, 40\n  br i1 %odd, label %fault, label %on, !prof !1\non:\n  br i1 %more, label %loop, label %done",
    )
    changed = with_changed_loops(text, sink_into_cold_ways)
    assert "ret i64 %address\n" in changed and "[ %address.edge, %edge ]" in changed
    assert results(text) == results(changed)


def test_values_of_likely_ways_are_not_computed_again():
    """Unlikely ways copy the operands of likely branches and phis: a condition, and a number."""
    text = LOOP.replace(
        "  %bad = icmp uge i64 %address, 100",
        "  %one = zext i1 %outside to i64\n  %two = add i64 %triple, %one\n  %bad = icmp uge i64 %two, 100",
    )
    text = text.replace("  %outside =", "  %triple = mul i64 %k, 3\n  %outside =")
    text = text.replace("way:\n", "way:\n  %other = phi i64 [ %triple, %loop ], [ %address, %edge ]\n")
    text = text.replace("ret i64 %place", "ret i64 %other")
    changed = with_changed_loops(text, sink_into_cold_ways)
    assert "  %one = zext i1 %outside to i64" in changed
    assert '%triple.edge = call i64 asm "", "=r,0"(i64 %triple)' in changed
    assert results(text) == results(changed)


def test_a_block_that_several_checks_lead_to_reads_what_the_loop_computes():
    """Copies are made for one check."""
    text = LOOP.replace(
        "  br i1 %outside, label %edge, label %way, !prof !1",
        "  br i1 %outside, label %edge, label %on, !prof !1\non:\n  %odd = icmp ugt i64 %k, 40\n"
        "  br i1 %odd, label %edge, label %way, !prof !1",
    ).replace("[ %start, %loop ]", "[ %start, %on ]")
    changed = with_changed_loops(text, sink_into_cold_ways)
    assert "asm" not in changed
    assert results(text) == results(changed)


def test_a_loop_behind_two_blocks_keeps_its_invariants():
    """What is computed in one of them is not known behind the other one."""
    text = LOOP.replace(
        "  br label %loop\nloop:",
        "  %odd = icmp slt i64 %a, %b\n  br i1 %odd, label %one, label %two\none:\n  br label %loop\n"
        "two:\n  br label %loop\nloop:",
        1,
    )
    changed = with_changed_loops(text, sink_into_cold_ways)
    assert "%between = add i64 %b, %c" in changed.split("loop:")[1]
    assert results(text) == results(changed)


def test_a_loop_that_two_ways_enter_keeps_its_invariants():
    """Values computed behind the second entrance are unknown in front of both."""
    text = """define i64 @f(i64 %a, i64 %b, i64 %c) {
entry:
  %s = alloca i64, align 8
  store i64 0, ptr %s, align 8
  %odd = icmp slt i64 %a, %b
  br i1 %odd, label %above, label %middle
above:
  br label %loop
loop:
  %far = icmp ugt i64 %a, 9
  br i1 %far, label %edge, label %middle, !prof !1
edge:
  br label %middle
middle:
  %sum = add i64 %a, %c
  %k = load i64, ptr %s, align 8
  %next = add i64 %k, 1
  store i64 %next, ptr %s, align 8
  %more = icmp ult i64 %next, 9
  br i1 %more, label %loop, label %done
done:
  %found = xor i64 %sum, %next
  ret i64 %found
}"""
    changed = with_changed_loops(text, sink_into_cold_ways)
    assert changed.split("middle:")[1].startswith("\n  %sum = add i64 %a, %c")
    assert results(text) == results(changed)


# -- kernels ---------------------------------------------------------------------------------------------------

ROWS, SLOT = 24, 1 << 32


def matrix(change):
    """The arguments of the sparse matrix times 16 columns of the suite, after a change."""
    numbers = np.random.default_rng(9)
    starts = np.concatenate([[0], np.cumsum(numbers.integers(1, 12, ROWS))]).astype("i4")
    columns = numbers.integers(0, ROWS, starts[-1]).astype("i4")
    values, dense = numbers.random(starts[-1], "f4"), numbers.random((ROWS, 16), "f4")
    arguments = [starts, columns, values, dense, np.zeros((ROWS, 16), "f4")]
    change(*arguments)
    return arguments


def column(index):
    """A column in the middle of a row gets another number."""

    def change(starts, columns, *_):
        columns[(starts[7] + starts[8]) // 2] = index

    return change


def bound(index):
    """A row ends elsewhere."""

    def change(starts, *_):
        starts[9] = index

    return change


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (column(ROWS - 1), False),
        (column(ROWS), True),  # just behind
        (column(-1), True),  # just in front
        (column(ROWS + (1 << 28)), True),  # an index of 32 bits that wraps around
        (column(1 << 28), False),  # the same, to the first row
        (column(2 - SLOT // 64), False),  # in another buffer, of values
        (column(20 - SLOT // 64), "bmg"),  # behind it; addresses of 32 bits wrap around
        (column(-(1 << 31)), False),
        (bound(1 << 20), True),  # beyond both arrays
        (bound(-5), True),  # the next row begins in front of them
        (bound(-(1 << 31)), True),
    ],
)
def test_hostile_rows(device, change, faults):
    """Places in other buffers and faults in the middle of a loop are as on the reference engine."""
    seen = []
    for engine in ENGINES:
        program, _ = of_suite("spmm", device)  # whose buffers have the same addresses each time
        arguments = matrix(change)
        try:
            program.launch(program.kernels[0], (16, ROWS), (16, 8), arguments, engine=engine, threads=1)
            seen.append(("", arguments[-1].tobytes()))
        except SimulationError as error:
            seen.append((str(error), [r.value for r in error.diagnostics[0].registers]))
    assert seen[0] == seen[1]
    assert bool(seen[0][0]) == (faults in (True, device))


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
def test_the_kernel_of_the_suite_has_cold_ways(device):
    """The tests above are about the pass."""
    program, _ = of_suite("spmm", device)
    launch = Launch("spmm", (16, ROWS), (16, 8), args=program.convert("spmm", matrix(column(0))))
    assert 'asm "", "=r,0"' in translated(program.bind(launch)).text
