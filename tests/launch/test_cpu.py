"""``VISAKIT_CPU``: code for every level of x86-64 that this machine has computes the same."""

import os
import subprocess
import sys

import numpy as np
import pytest
from llvmlite import binding
from ordinary import KERNELS
from support.probe import Probe
from support.programs import COPY, DATA, build, build_text, same
from support.strategies import rotated
from support.waiting import text

from visakit import UsageError
from vsim.engines.llvm import pipeline, target
from vsim.engines.llvm.host import native
from vsim.engines.llvm.host.workarounds import with_split_pairs
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import BufferArgument, Launch
from vsim.launch.launch_file import parse_launch
from vsim.program import Program

CPUS = pytest.mark.parametrize("cpu", target.possible())
CASES = (
    "algo_matmul",
    "basic_vector_types",
    "mem_constant_table",
    "op_dpas_simd16",
    "sg_shuffle_simd16",
    "wg_scan_slm",
)
ORDINARY = {"hf": "e", "f": "f", "df": "d", "w": "h", "uw": "H", "d": "i", "ud": "I", "q": "q", "uq": "Q"}
SMALL = '.version 4.1\n.kernel "k"\n.decl V v_type=G type=d num_elts=8\nmov (M1, 8) V(0,0)<1> 0:d\nret (M1, 1)\n'


@pytest.fixture
def chosen(cpu, monkeypatch):
    monkeypatch.setenv(target.VARIABLE, cpu)


@pytest.mark.parametrize(("case", "cpu"), rotated(CASES, target.possible()))
@pytest.mark.usefixtures("chosen")
def test_cases(case):
    folder = DATA / "cases" / case / "bmg"
    program = Program(build(folder, "bmg"))
    launches = parse_launch((folder.parent / "launch.json").read_text(), str(folder.parent), "launch.json")
    for number in range(len(launches)):
        launch = launches.launch(number)
        assert program.run(launch, engine="llvm").engine == "llvm"
        for a in launch.args:
            if isinstance(a, BufferArgument) and a.expect is not None:
                found = a.array.view(a.expect.dtype).reshape(a.expect.shape)
                assert same(found, a.expect) if not a.rtol and not a.atol else np.allclose(found, a.expect, a.rtol, a.atol)  # fmt: skip


@CPUS
@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("source", ORDINARY)
def test_conversions_and_arithmetic(source):
    """Conversions between all types; products and sums with one rounding; all equal to the reference engine."""
    values = np.random.default_rng(5).integers(0, 256, 8 * np.dtype(ORDINARY[source]).itemsize, "u1")
    lanes = values.view(ORDINARY[source]).tolist()
    lanes[:4] = [0, 1, 2, 255]
    probe = Probe()
    probe.variable("X", source, lanes)
    for to in ORDINARY:
        probe.variable(f"TO_{to}", to, [0] * 8)
        probe.lines.append(f"mov (M1, 8) TO_{to}(0,0)<1> X(0,0)<1;1,0>")
    if source in ("hf", "f", "df"):
        probe.variable("Y", source, lanes[::-1])
        probe.lines += [
            "mad (M1, 8) Y(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0> X(0,0)<1;1,0>",
            "sel (M1, 8) X(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>".replace("sel", "max"),
        ]
    ours, reference = probe.run("llvm"), probe.run("numpy")
    for name, wanted in reference.items():
        assert same(ours[name], wanted), name


@CPUS
@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("mode", [0x10, 0x30], ids=["up", "towards zero"])
def test_rounding_modes(mode):
    """In each mode, and then to the nearest again."""
    probe = Probe("pvc", 16)
    values = np.random.default_rng(mode).uniform(-4, 4, 48)
    for t, dtype in (("f", "f4"), ("df", "f8")):
        for name, part in zip("XYZ", values.astype(dtype).reshape(3, 16), strict=True):
            probe.variable(f"{name}_{t}", t, part.tolist())
        for name in ("MODE", "NEAREST"):
            probe.variable(f"{name}_{t}", t, [0] * 16)
    for name, change in (
        ("MODE", f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {mode:#x}:ud"),
        ("NEAREST", "mov (M1_NM, 1) %cr0(0,0)<1> 0:ud"),
    ):
        probe.lines.append(change)
        for t in ("f", "df"):
            probe.lines.append(f"mad (M1, 16) {name}_{t}(0,0)<1> X_{t}(0,0)<1;1,0> Y_{t}(0,0)<1;1,0> Z_{t}(0,0)<1;1,0>")
    ours, reference = probe.run("llvm"), probe.run("numpy")
    for t in ("f", "df"):
        found, nearest = ours[f"MODE_{t}"], ours[f"NEAREST_{t}"]
        assert (found == reference[f"MODE_{t}"]).all() and (nearest == reference[f"NEAREST_{t}"]).all()
        assert (found >= nearest if mode == 0x10 else abs(found) <= abs(nearest)).all() and (found != nearest).any()


def lanes_of_any_bits(dtype):
    """Lanes by eight floats or four doubles, of which the first three are operands: bits of any kind, numbers of one size,
    small whole numbers, and special values."""
    random, size = np.random.default_rng(7), np.dtype(dtype).itemsize
    found = random.integers(0, 256, 1 << 15, "u1").view(dtype).reshape(-1, 32 // size).copy()
    found[::4] = random.uniform(-4, 4, found[::4].shape)
    found[1::8] = random.integers(-9, 10, found[1::8].shape)
    information = np.finfo(dtype)
    special = [0, -0.0, np.inf, -np.inf, np.nan, information.max, -information.max, information.tiny, 1, 3]
    special += [information.smallest_subnormal, -information.smallest_subnormal, information.tiny * 1.5]
    found[2::8] = random.choice(np.array(special, dtype), found[2::8].shape)
    found[3::8] = random.uniform(-4, 4, found[3::8].shape) * 2.0 ** (-70 if size == 4 else -500)
    return found


@CPUS
@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("mode", [0x10, 0x30], ids=["up", "towards zero"])
@pytest.mark.parametrize("t", ["f", "df"])
@pytest.mark.parametrize(
    "operation",
    ["add {} {} {1}", "mul {} {} {1}", "mad {} {} {1} {2}", "divm {} {} {1}", "sqrtm {} {}", "div {} {} {1}"],
)
def test_directed_results_of_any_bits(operation, t, mode):
    """Results by correction of the nearest ones and by the processor's modes equal the reference engine's."""
    dtype, lanes = ("f4", 8) if t == "f" else ("f8", 4)
    lane = [f"Y(0,{n})<0;1,0>" for n in range(3)]
    line = operation.replace("{}", f"(M1_NM, {lanes}) Y(0,0)<1>", 1).replace("{}", "Y(0,0)<1;1,0>").format(*lane)
    alias = f".decl Y v_type=G type={t} num_elts={lanes} align=GRF alias=<X,0>\n.decl BASE"
    middle = f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {mode | 0x4C0:#x}:ud\n{line}"
    program = Program(build_text(COPY.replace(".decl BASE", alias).replace("MIDDLE", middle), "pvc"))
    given, found = lanes_of_any_bits(dtype), {}
    for engine in ("llvm", "numpy"):
        out = np.zeros(given.nbytes // 4, "u4")
        program.launch("copy", out.size, 64, [given.view("u4").reshape(-1), out], engine=engine)
        found[engine] = out.view(dtype)
    one, other = found["llvm"], found["numpy"]
    bits = one.view(f"u{one.itemsize}") == other.view(f"u{one.itemsize}")
    assert (bits | (np.isnan(one) & np.isnan(other))).all()


@CPUS
@pytest.mark.usefixtures("chosen")
def test_barriers_in_functions():
    main = [("meet", "barrier"), ("fcall", 0), ("loop", 1, [("meet", "named"), ("recurse",)])]
    program = Program(build_text(text(main, ([("op", 3), ("meet", "split")], [])), "pvc"))
    found = {}
    for engine in ("llvm", "numpy"):
        found[engine] = np.zeros(192, "u4")
        program.launch("k", 192, 64, [found[engine]], engine=engine)
    assert (found["llvm"] == found["numpy"]).all()


def test_objects_are_kept_for_each(monkeypatch):
    keys = set()
    for cpu in target.possible():
        monkeypatch.setenv(target.VARIABLE, cpu)
        keys.add(native.made_for())
    assert len(keys) == len(target.possible())
    monkeypatch.setenv(target.VARIABLE, "")
    assert native.made_for() in keys


def test_a_compilation_keeps_its_processor(monkeypatch, tmp_path):
    compile_objects, found = pipeline.compile_objects, []

    def compiled(*args):
        monkeypatch.setenv(target.VARIABLE, "x86-64-v2")
        found.append(target.target().cpu)
        return compile_objects(*args)

    monkeypatch.setattr(pipeline, "compile_objects", compiled)
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path))
    for cpu in target.possible():
        monkeypatch.setenv(target.VARIABLE, cpu)
        wanted = target.target().cpu
        Program(build_text(SMALL)).launch("k", 8, 8, [], engine="llvm")
        assert found.pop() == wanted
        assert target.level() == "x86-64-v2"


def test_one_that_does_not_exist(monkeypatch):
    monkeypatch.setenv(target.VARIABLE, "x86-64-v5")
    message = "VISAKIT_CPU is x86-64-v2, x86-64-v3, x86-64-v4 or native, found 'x86-64-v5'; did you mean"
    with pytest.raises(UsageError, match=message):
        Program(build_text(SMALL)).launch("k", 8, 8, [], engine="llvm")
    Program(build_text(SMALL)).launch("k", 8, 8, [], engine="numpy")


def test_one_that_this_machine_does_not_have(monkeypatch):
    monkeypatch.setattr(target, "host_features", lambda: {*target.LEVELS["x86-64-v3"]} - {"fma"})
    monkeypatch.setenv(target.VARIABLE, "x86-64-v3")
    target._target.cache_clear()
    assert target.possible() == ["native", "x86-64-v2"]
    with pytest.raises(
        UsageError, match=r"but this machine's processor \(.*\) lacks fma; possible here: native, x86-64-v2"
    ):
        Program(build_text(SMALL)).launch("k", 8, 8, [], engine="auto")
    target._target.cache_clear()


def test_conversions_of_halves_that_are_nowhere(monkeypatch):
    with pytest.raises(UsageError, match="code for processors without F16C needs '__no_such_function' of libgcc 12"):
        native._bind_conversions(("__no_such_function",))


def test_the_command_says_it(tmp_path):
    image = tmp_path / "small.bin"
    image.write_bytes(build_text(SMALL).to_bytes())
    command = [sys.executable, "-m", "vsim", str(image), "--global-size", "8"]
    done = subprocess.run(command, env=os.environ | {target.VARIABLE: "fast"}, capture_output=True, text=True)
    assert done.returncode == 2 and "VISAKIT_CPU is x86-64-v2" in done.stderr


@pytest.mark.parametrize("name", ["%1", "%v12", "%r.sroa.0"])
def test_pairs_are_narrowed_by_their_places(name):
    """LLVM numbers values without a name, and a number takes no suffix."""
    narrowing = f"{name} = trunc nuw <2 x i32> %pair to <2 x i16>"
    text = f"define <2 x i16> @f(<2 x i32> %pair) {{\n  {narrowing}\n  ret <2 x i16> {name}\n}}\n"
    text = with_split_pairs(text)
    binding.parse_assembly(text).verify()
    assert "trunc" not in text


HALVES = "<8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>"
"""How two registers are mixed by halves."""


@CPUS
@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize(("device", "groups"), [("tgllp", (512, 256)), ("bmg", (512, 256)), ("tgllp", (200, 72)), ("bmg", (200, 72))])  # fmt: skip
def test_four_dwords_of_each_lane(device, groups):
    program = Program(build(KERNELS["copy4"].folder / device, device))
    data = np.arange(4 * 4 * 512, dtype="f4").reshape(-1, 4)
    given, found = [np.zeros_like(data) for _ in range(2)], []
    for engine, out in zip(("llvm", "numpy"), given, strict=True):
        launch = Launch("copy4", (groups[0],), (groups[1],), args=[BufferArgument(data), BufferArgument(out)])
        found.append(program.run(launch, engine=engine).dispatch)
    assert same(*given) and given[0].any()
    assert (HALVES in translate(found[0], full=groups[0] == 512, row=groups[1]).text) is (target.vector_bits() == 256)
