"""Occupancy, floor and the compiler's assumptions, against numbers that are computed by hand."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head

import vsim
from visakit.diagnostics import CostError
from visakit.language.platforms import PLATFORMS, find
from vsim.cost.constants import COMPILER, MARKS, constant, modes, of_platform, table
from vsim.cost.costs import Costs
from vsim.cost.estimate import exact_trips, kernel_cost
from vsim.cost.occupancy import GroupNeeds, occupancy
from vsim.profile.profiler import Profiler

HEAD = (
    kernel_head("X=f*16 H=hf*16 N=d*16 D=df*16 S=d@dword P1=P", SimdSize=16)
    + """mov (M1, 16) X(0,0)<1> 0x0:f
mov (M1, 16) H(0,0)<1> X(0,0)<1;1,0>
mov (M1, 16) N(0,0)<1> 1:d
mov (M1_NM, 1) S(0,0)<1> 0:d
loop:
"""
)
TAIL = """
add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> 1:d
cmp.lt (M1_NM, 1) P1 S(0,0)<0;1,0> 10:d
(P1) jmp (M1, 1) loop
ret (M1, 16)
"""
TRIPS, THREADS = 10, 4


def costs_of(body, name="bmg", built="bmg", local_size=16):
    """The costs of a loop of ten turns in four threads of 16 lanes."""
    program = vsim.load(build_text(HEAD + body + TAIL, built))
    profiler, costs = Profiler(), Costs(find(name))
    watching = profiler.watching()
    result = program.launch("k", 16 * THREADS, local_size, [], observers=watching.observers)
    profiler.ended(watching, result)
    costs.ended(result)
    (profile,) = profiler.profiles
    return costs.of(profile)


def pipe(costs, name):
    (found,) = (p for p in costs.floor.pipes if p.name == name)
    return found


@pytest.mark.parametrize(
    ("line", "name", "cycles"),
    [
        ("mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>", "FPU", TRIPS),
        ("add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0>", "FPU", TRIPS / 2),
        ("mad (M1, 16) H(0,0)<1> H(0,0)<1;1,0> H(0,0)<1;1,0> H(0,0)<1;1,0>", "FPU", TRIPS),
        ("sqrt (M1, 16) X(0,0)<1> X(0,0)<1;1,0>", "EM", 4 * TRIPS),
        ("sqrt (M1, 4) X(0,0)<1> X(0,0)<1;1,0>", "EM", TRIPS),
    ],
)
def test_a_pipe_takes_a_cycle_for_as_many_lanes_as_it_has(line, name, cycles):
    found = pipe(costs_of(line), name)
    assert found.cycles == pytest.approx(cycles)  # four threads fill four EUs
    assert found.mark == ("assumed" if name == "EM" else "published")


def test_moves_are_free_and_the_floor_is_the_largest_of_the_pipes():
    costs = costs_of("mov (M1, 16) X(0,0)<1> X(0,0)<1;1,0>\nsqrt (M1, 16) X(0,0)<1> X(0,0)<1;1,0>")
    assert costs.floor.cycles == pipe(costs, "EM").cycles and costs.floor.bound == "EM"
    assert all(p.name != "FPU" for p in costs.floor.pipes)


def test_free_instructions_need_no_constants():
    move, line = "mov (M1, 16) D(0,0)<1> X(0,0)<1;1,0>", "mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0>"
    assert pipe(costs_of(f"{move}\n{line}", "ptl"), "FPU").cycles == TRIPS / 2  # whatever lanes of FP64 there are


def test_a_pipe_of_unknown_width_has_no_floor():
    line = "mad (M1, 16) D(0,0)<1> D(0,0)<1;1,0> D(0,0)<1;1,0> D(0,0)<1;1,0>"
    found = pipe(costs_of(line, "ptl"), "FPU")
    assert found.cycles is None and found.mark == "unknown" and found.work == 16 * TRIPS * THREADS
    assert pipe(costs_of(line, "bmg"), "FPU").cycles == TRIPS * 8  # two lanes


def test_a_data_port_takes_a_cycle_for_as_many_bytes_as_it_moves():
    line = """\
.kernel_attr SLMSize=1
mov (M1, 16) N(0,0)<1> 0:d
gather_scaled.4 (M1, 16) %slm 0:ud N.0 X.0"""
    found = pipe(costs_of(line, "tgllp", "tgllp"), "local memory")
    assert found.work == 64 * TRIPS * THREADS and found.mark == "published"
    assert found.cycles == found.work / 128 / THREADS  # four threads fill four of six cores
    assert pipe(costs_of(line), "local memory").cycles is None  # not published of bmg


def test_barriers_of_a_thread_follow_one_another():
    found = pipe(costs_of("barrier", local_size=64), "barriers")
    assert (found.work, found.cycles, found.mark) == (TRIPS * THREADS, 30 * TRIPS, "assumed")
    assert all(p.name != "barriers" for p in costs_of("barrier").floor.pipes)  # of a group of one thread: removed


def test_registers_of_another_size_are_refused():
    with pytest.raises(CostError, match=r"registers of 64 bytes.*32") as caught:
        costs_of("mov (M1, 16) X(0,0)<1> X(0,0)<1;1,0>", "dg2")
    assert caught.value.diagnostics[0].code == "Q004"


def test_operations_count_a_multiply_add_twice():
    line = "mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>"
    assert costs_of(line).roofline.operations == 2 * 16 * TRIPS * THREADS
    assert costs_of(line).roofline.peak == 2 * 16 * 160


def test_the_critical_path_waits_for_each_result_as_the_scheduler_assumes():
    one = costs_of("mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>")
    two = costs_of("\n".join(["mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>"] * 2))
    assert two.path - one.path == TRIPS * (10 + 1)  # arithmetic, and one more at SIMD16
    apart = "mad (M1, 16) N(0,0)<1> N(0,0)<1;1,0> N(0,0)<1;1,0> N(0,0)<1;1,0>"
    other = costs_of(f"mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>\n{apart}")
    assert other.path - one.path == TRIPS  # another register: no wait, one issue


@pytest.mark.parametrize(
    ("name", "threads", "needs", "groups", "limited_by"),
    [
        ("bmg", 8, GroupNeeds(16, 0, False), 4, "threads"),
        ("bmg", 4, GroupNeeds(16, 0, False), 2, "threads"),
        ("bmg", 8, GroupNeeds(4, 128 << 10, False), 2, "local memory"),
        ("tgllp", 7, GroupNeeds(4, 0, True), 28, "threads"),
        ("bmg", 8, GroupNeeds(1, 0, True), 64, "threads"),
        ("dg2", 8, GroupNeeds(2, 0, True), 32, "barriers"),
    ],
)
def test_groups_of_a_core(name, threads, needs, groups, limited_by):
    found = occupancy(find(name), threads, needs)
    assert (found.groups, found.limited_by) == (groups, limited_by)
    assert found.share == groups * needs.threads / (constant(find(name), "EUs a core").value * threads)


def test_local_memory_of_unknown_size_limits_nothing():
    found = occupancy(find("ptl"), 8, GroupNeeds(4, 1 << 14, False))
    assert found.limits["local memory"] is None and found.limited_by == "threads"


def test_every_constant_has_a_mark_and_a_source():
    for platform, constants in table().items():
        assert platform in PLATFORMS or platform == COMPILER
        for one in constants.values():
            assert one.mark in MARKS and one.source
            assert (one.value is None) == (one.mark == "unknown")
            assert one.value is None or one.value > 0


def test_unknown_platforms_and_constants_are_refused_by_name():
    with pytest.raises(CostError, match=r"'nvl'.*cri and ptl") as caught:
        of_platform(find("nvl"))
    assert caught.value.diagnostics[0].code == "Q001"
    with pytest.raises(CostError, match=r"no constant 'lanes of FP23' of bmg.*lanes of FP32"):
        constant(find("bmg"), "lanes of FP23")
    assert [mode.threads for mode in modes(find("ptl"))] == [10, 10, 10, 8, 6, 5, 4]


COST = {
    "kernels_cost_info": [
        {
            "name": "k",
            "kcm_loop_count_exps": [{"factor": 1, "argsym_index": -1, "C": 0}],
            "Kcm_loop_costs": [
                {"cycle": 100, "bytes_loaded": 8, "bytes_stored": 4, "num_loops": 1},
                {"cycle": 7, "bytes_loaded": 0, "bytes_stored": 0, "num_loops": 0},
            ],
        }
    ]
}


def test_costs_of_loops_take_the_exact_trips():
    costs = costs_of("mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>")
    found = kernel_cost(COST, "k")
    assert found is not None and kernel_cost(COST, "other") is None and kernel_cost({}, "k") is None
    (counts,) = costs.profile.counts.functions
    trips = exact_trips(counts, found, THREADS)
    assert trips == {0: 1.0, 1: float(TRIPS)} and found.cycles(trips) == 100 + 7 * TRIPS


def test_loops_that_the_text_does_not_have_are_not_guessed():
    costs = costs_of("mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>")
    more = {"name": "k", "Kcm_loop_costs": COST["kernels_cost_info"][0]["Kcm_loop_costs"] * 2}
    found = kernel_cost({"kernels_cost_info": [more]}, "k")
    assert exact_trips(costs.profile.counts.functions[0], found, THREADS) is None


def test_costs_that_are_damaged_are_none():
    entry = {"name": "k", "Kcm_loop_costs": [{"cycle": -1, "bytes_loaded": 0, "bytes_stored": 0, "num_loops": "x"}]}
    assert kernel_cost({"kernels_cost_info": [entry]}, "k") is None


def test_memory_counts_lines_beyond_the_last_cache():
    text = (
        kernel_head("X=ud*16 B=uq@qword", "B", SimdSize=16)
        + """lsc_load.ugm (M1_NM, 1) X:d32x16t flat[B]:a64
ret (M1, 16)
"""
    )
    program = vsim.load(build_text(text, "bmg"))
    profiler, costs = Profiler(detail=True), Costs(find("bmg"))
    watching = profiler.watching()
    buffer = np.zeros(64, np.uint32)
    result = program.launch("k", global_size=16, local_size=16, args=[buffer], observers=watching.observers)
    profiler.ended(watching, result)
    costs.ended(result)
    found = costs.of(profiler.profiles[0])
    assert pipe(found, "memory").work == 64 and pipe(found, "memory").cycles == 0  # the cache may hold it
