"""Threads of one lane where lanes stray: results, which kernels have them, and exchanges of sub-groups through memory."""

import re

import numpy as np
import pytest
from support.ocloc import DEVICES, needs_ocloc
from support.programs import build_text
from support.strategies import ENGINES
from test_narrow_threads import KERNELS, bound, of_suite, translated

import vsim
from visakit.compiler.ocloc import compile_source
from visakit.diagnostics import SimulationError
from vsim.launch.launch import Launch
from vsim.program import Program

ITEMS = 96
SOURCE = """
kernel void rows(global const int *starts, global const int *columns, global const int *x, global int *y, global int *z) {
  int i = get_global_id(0), sum = 0;
  for (int k = starts[i]; k < starts[i + 1]; k++) sum += x[columns[k]];
  y[i] = sum;
}
kernel void exchanged(global const int *starts, global const int *columns, global const int *x, global int *y, global int *z) {
  int i = get_global_id(0), sum = 0;
  for (int k = starts[i]; k < starts[i + 1]; k++) sum += x[columns[k]];
  y[i] = sum;
  sub_group_barrier(CLK_GLOBAL_MEM_FENCE);
  z[i] = y[i ^ 1];
}
kernel void together(global const int *starts, global const int *columns, global const int *x, global int *y, global int *z) {
  int i = get_global_id(0) / 16, lane = get_global_id(0) % 16, sum = 0;
  for (int k = starts[i]; k < starts[i + 1]; k++) sum += x[columns[k] * 4 + lane];
  y[get_global_id(0)] = sum;
}
kernel void machine(global const int *starts, global const int *columns, global const int *x, global int *y, global int *z) {
  int i = get_global_id(0), state = 0, errors = 0, last = starts[i + 1];
  long sum = 0;
  for (int k = starts[i]; k < last; k++) {
    int c = columns[k];
    switch (state) {
    case 0: if (c < 50) { sum += c; state = 1; } else if (c < 120) { sum = sum * 3 + c; state = 4; } else { errors++; state = 2; } break;
    case 1: if (c < 20) { sum ^= c * 5; state = 0; } else if (c < 90) { sum -= c; state = 3; } else { errors += c; state = 2; } break;
    case 2: if (c & 1) { sum = sum * 5 + c; state = 3; } else { sum = sum * 11 - errors; state = 1; } break;
    case 3: if (c > 150) { errors ^= sum; state = 0; } else if (c > 70) { sum = sum * 7 - c; state = 2; } else { sum = sum << 1 ^ c; state = 4; } break;
    case 4: if (c & 4) { sum += c * c; state = 2; } else { errors = errors * 9 + sum; state = 0; } break;
    }
  }
  y[i] = sum ^ sum >> 32;
  z[i] = errors;
}
"""
"""Rows of a sparse matrix: one for each lane; with an exchange behind it; one for 16 lanes, which read neighbours; and a
state machine of qwords, which some platforms multiply in dwords, that reads one.
"""


def matrix():
    """Starts, columns, a vector, and two results."""
    numbers = np.random.default_rng(3)
    starts = np.concatenate([[0], np.cumsum(numbers.integers(0, 9, ITEMS))]).astype("i4")
    columns = numbers.integers(0, 200, starts[-1]).astype("i4")
    return [starts, columns, numbers.integers(0, 1000, 1000).astype("i4"), np.zeros(ITEMS, "i4"), np.zeros(ITEMS, "i4")]


@needs_ocloc
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "width"), [("rows", 1), ("exchanged", 0), ("together", 0), ("machine", 1)])
def test_kernels_of_compilers(device, name, width):
    """Compilers for platforms before bmg may leave nothing of a sub-group's barrier."""
    program = vsim.load(compile_source("k.cl", SOURCE.encode(), device, "-cl-std=CL3.0", None).zebin)
    launch = Launch(name, (ITEMS,), (32,), args=program.convert(name, matrix()))
    assert translated(program.bind(launch)).width == width
    found = []
    for engine in ENGINES:
        arguments = matrix()
        program.launch(name, ITEMS, 32, arguments, engine=engine)
        found.append([a.tolist() for a in arguments])
    assert found[0] == found[1] and any(found[0][3])
    assert name != "exchanged" or (np.reshape(found[0][4], (-1, 2)) == np.reshape(found[0][3], (-1, 2))[:, ::-1]).all()


@pytest.mark.parametrize(
    ("name", "device", "width"),
    [
        ("spmv", "tgllp", 1),
        ("spmv", "bmg", 1),
        ("bfs", "bmg", 1),
        ("unpack", "bmg", 1),
        ("bfs", "tgllp", 0),
        ("collatz", "bmg", 0),
        ("matches", "tgllp", 0),
    ],
)
def test_which_kernels_have_one_lane(name, device, width):
    """Kernels that compute, or whose lanes read neighbours, have all lanes; before bmg also kernels that load their stores."""
    program, work = of_suite(name, device)
    assert translated(bound(program, work)).width == width
    assert not translated(bound(program, work, check="race")).width


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
@pytest.mark.parametrize("name", ["spmv", "bfs", "unpack", "search"])
@pytest.mark.parametrize("cut", [0, 5])
def test_results(name, cut, device):
    found = []
    for engine in ENGINES:
        program, work = of_suite(name, device)
        program.launch(program.kernels[0], work.global_size[0] - cut, work.local_size, work.args, engine=engine)
        found.append(work.args[work.result].tobytes())
    assert found[0] == found[1]


def test_fences_of_sub_groups():
    """Today's compilers leave an instruction without an effect for a sub-group's barrier."""
    _, work = of_suite("spmv")
    text = (KERNELS["spmv"].folder / "bmg" / "spmv.visaasm").read_text()
    info = (KERNELS["spmv"].folder / "bmg" / "ze_info.yaml").read_text()
    for instruction, width in (("", 1), ("fence_sw\n", 0)):
        program = Program(build_text(text.replace("    ret (M1", f"{instruction}    ret (M1"), "bmg", info))
        assert translated(bound(program, work)).width == width


def test_faults_name_the_usual_lane():
    found = []
    for engine in ENGINES:
        program, work = of_suite("spmv", scale=8)
        starts, columns, values, x, y, rows = work.args
        wrong = columns.copy()
        wrong[starts[333]] = 1 << 28
        with pytest.raises(SimulationError) as error:
            program.launch(
                "spmv", work.global_size, work.local_size, [starts, wrong, values, x, y, rows], engine=engine
            )
        found.append(re.search(r"lane \d+, work-item .*", str(error.value))[0])
    assert found[0] == found[1] and "(333, 0, 0)" in found[0], found


@pytest.mark.parametrize(("name", "few"), [("bfs", True), ("unpack", True), ("spmv", False), ("matches", False)])
def test_which_kernels_ask_for_few_lanes(name, few):
    """Kernels whose lanes stray and may load what others stored."""
    program, work = of_suite(name, "tgllp")
    assert ("@llvm.ctpop.i64(" in translated(bound(program, work)).text) == few
    assert "@llvm.ctpop.i64(" not in translated(bound(program, work, check="race")).text


@pytest.mark.parametrize("wrong", [[3], [3, 9], [9, 3], [3, 9, 12]])
def test_faults_of_few_lanes(wrong):
    """Three nodes have neighbours, so that three lanes run, then two and one; some neighbours are outside."""
    program, _ = of_suite("bfs", "tgllp")
    found = []
    for engine in ENGINES:
        starts = np.zeros(17, "i4")
        starts[4:], starts[10:], starts[13:] = 4, 6, 9
        edges, frontier, cost = np.arange(9, dtype="i4"), np.ones(16, "u1"), np.full(16, -1, "i4")
        for lane in wrong:
            edges[starts[lane + 1] - 1] = 1 << 26
        with pytest.raises(SimulationError) as error:
            program.launch("bfs", 16, 16, [starts, edges, frontier, cost, np.int32(16), np.int32(7)], engine=engine)
        found.append((re.search(r"lane \d+, work-item .*", str(error.value))[0], cost.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
def test_threads_of_one_lane_run_one_after_the_other(device):
    """Their loops end at different times, so that two in flight would part soon."""
    program, work = of_suite("spmv", device)
    assert "parting." not in translated(bound(program, work)).text


LOAD = "gather4_scaled.R (M1, 16) T6 0x0:ud V0067.0 V0061.0"
SUM = "add (M1, 16) V0057(0,0)<1> V0057(0,0)<1;1,0> V0061(0,0)<1;1,0>"
SAME = "and (M1, 16) V0066(0,0)<1> V0066(0,0)<1;1,0> 0xffffffc0:d"
OTHER = "xor (M1, 16) V0066(0,0)<1> V0066(0,0)<1;1,0> 0x4:d"


@pytest.mark.parametrize(
    ("lines", "width"),
    [
        ((LOAD, SUM), 1),
        ((OTHER, LOAD, SUM, OTHER), 0),
        ((LOAD, SUM, OTHER), 0),
        ((SAME, LOAD, SUM), 0),
        ((LOAD.replace(".R ", ".RG ").replace("V0061", "V0054"), SUM), 0),
        (("and (M1, 16) V0066(0,0)<1> V0066(0,0)<1;1,0> 0xfffffffb:d", LOAD, SUM), 0),
    ],
)
def test_elements_that_lanes_load_and_store(lines, width):
    """y[i] += sum, where each lane has its own element; elements of neighbours, of all lanes of a thread, and of two."""
    folder, (_, work) = KERNELS["spmv"].folder / "tgllp", of_suite("spmv", "tgllp")
    text, store = (folder / "spmv.visaasm").read_text(), "    scatter4_scaled.R"
    program = Program(
        build_text(text.replace(store, "\n".join([*lines, store])), "tgllp", (folder / "ze_info.yaml").read_text())
    )
    assert translated(bound(program, work)).width == width
    found = []
    for engine in ENGINES:
        arguments = list(work.args)
        arguments[work.result] = np.arange(work.args[work.result].size + 1, dtype="f4")
        program.launch("spmv", work.global_size, work.local_size, arguments, engine=engine, threads=1)
        found.append(arguments[work.result].tobytes())
    assert found[0] == found[1]


PRODUCT = "mul (M1, 32) V0067(0,0)<1> V0067(0,0)<1;1,0> 0x1:d\n"
DATA = "add (M1, 32) V0069(0,0)<1> V0069(0,0)<1;1,0> 0x0:f\n"
HASHED = "xor (M1, 32) V0067(0,0)<1> V0067(0,0)<1;1,0> 0x0:d\n"


@pytest.mark.parametrize(("line", "width"), [(PRODUCT, 1), (DATA, 0), (HASHED, 0)])
def test_what_multiplies_and_adds_for_addresses_is_no_work(line, width):
    """Forty more instructions in a loop, for addresses, for data, and for an index that is more than a product."""
    folder, (_, work) = KERNELS["spmv"].folder / "bmg", of_suite("spmv")
    text = (folder / "spmv.visaasm").read_text().replace("_0_015:\n", "_0_015:\n" + 40 * line)
    program = Program(build_text(text, "bmg", (folder / "ze_info.yaml").read_text()))
    assert translated(bound(program, work)).width == width
