"""The plugin of pytest, in separate runs of pytest."""

import shutil

import pytest
from support.programs import DATA, TESTS

pytest_plugins = ["pytester"]

ZEBIN = (DATA / "zebins" / "xe2.bin").read_bytes()
"""Has ``saxpy(global float *y, global const float *x, float a, uint n)``; with n = 0 it does not change y."""
HEAD = "import numpy as np, pytest\nfrom visakit import FileError\nfrom vsim.sources import zebins\n"
CALL = """
def test_{}(visakit):
    program = visakit.load("program.bin")
    y, x = np.ones(4, "f4"), np.arange(4, dtype="f4")
    result = visakit.run(program.saxpy, y, x=x, a=2.5, n={}, global_size=16, expect={{{}}})
    assert result.engine == visakit.engine and repr(visakit).startswith("<Device ")
"""
SOURCE = "kernel void saxpy(global float *y, float a) {\n  y[get_global_id(0)] += a;\n}\n"
OF_SOURCE = """
def test_compiled(visakit):
    program = visakit.load("kernels.cl", "-DN=1")
    assert visakit.load("kernels.cl", "-DN=1") is program
    visakit.run(program.saxpy, y=np.ones(16, "f4"), a=2.5, global_size=16, expect={"y": 3.5})

def test_text(visakit):
    program = visakit.load("kernel.visaasm")
    visakit.run(program.put, Y=np.ones(2, "f4"), global_size=1, expect={"Y": [0, 1]})

def test_faulty_text(visakit):
    visakit.load("faulty.visaasm")
"""
TEXT = """.version 4.1
.kernel "put"
.decl Y v_type=G type=uq num_elts=1
.decl W v_type=G type=f num_elts=1
.input Y offset=64 size=8
lsc_store.ugm (M1_NM, 1) flat[Y]:a64 W:d32
ret (M1, 1)
"""


@pytest.fixture
def tests(pytester, monkeypatch):
    """Runs pytest on a text in a folder with a zebin; its output, with the outcomes of tests checked."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (pytester.path / "program.bin").write_bytes(ZEBIN)

    def run(text, *options, **outcomes):
        pytester.makepyfile(test_kernels=HEAD + text)
        without = (word for plugin in ("cacheprovider", "xdist", "hypothesispytest") for word in ("-p", f"no:{plugin}"))
        result = pytester.runpytest_subprocess("-v", *without, "-rs", *options)
        result.assert_outcomes(**outcomes)
        return result.stdout

    return run


def test_results_are_compared_on_both_engines(tests):
    text = CALL.format("right", 0, '"y": 1.0') + CALL.format("wrong", 2, '"y": 1.0')
    out = tests(text, passed=2, failed=2)
    out.fnmatch_lines(
        ["*test_right[[]llvm[]] PASSED*", "*test_right[[]numpy[]] PASSED*", "*test_wrong[[]llvm[]] FAILED*"]
    )
    out.fnmatch_lines(["*AssertionError: y: 1 of 4 elements differ (by up to 5): *[[]1[]] is 6.0, expected 1.0"])


AROUND = """.version 4.1
.kernel "around"
.decl ID v_type=G type=uw num_elts=16 align=GRF
.decl P1 v_type=P num_elts=16
.kernel_attr SimdSize=16
mov (M1, 8) ID(0,0)<1> 0x76543210:uv
add (M1, 8) ID(0,8)<1> ID(0,0)<1;1,0> 8:uw
cmp.lt (M1, 16) P1 ID(0,0)<1;1,0> 3:uw
(P1) goto (M1, 16) over
barrier
over:
ret (M1, 1)
"""


def test_findings_of_checks_fail_a_test(tests, pytester):
    (pytester.path / "around.visaasm").write_text(AROUND)
    run = 'visakit.run(visakit.load("around.visaasm").around, global_size=16'
    text = f'def test_a(visakit):\n    {run})\ndef test_b(visakit):\n    {run}, check="divergence")\n'
    tests(text, "--visa-engines=numpy", passed=1, failed=1)
    out = tests(text, "--visa-engines=numpy", "--visa-check=all", failed=2)
    out.fnmatch_lines(["E *AssertionError: checks found something:", "E *around.visaasm:10:1: error: a barrier *K021*"])


def test_races_of_work_items_are_asked_for_by_name(tests, pytester):
    golden = (TESTS / "golden" / "vsim" / "K005-items-llvm.test").read_text()
    text = golden.partition("# FILE t.visaasm\n")[2].partition("\n# STDOUT")[0]
    (pytester.path / "near.visaasm").write_text(text)
    test = 'def test_a(visakit):\n    visakit.run(visakit.load("near.visaasm").k, global_size=16, local_size=16)\n'
    tests(test, "--visa-engines=numpy", "--visa-check=all", passed=1)
    tests(test, "--visa-engines=numpy", "--visa-check=race-items", failed=1).fnmatch_lines(["E *K005*"])


def test_expectations_that_check_nothing_and_faults_without_inner_frames(tests):
    wrong = [CALL.format(n, 0, e) for n, e in (("name", '"z": 1.0'), ("number", '"a": 1.0'), ("itself", '"y": y[:]'))]
    out = tests("".join(wrong) + CALL.format("fault", 16, ""), "--visa-engines=numpy", failed=4)
    out.fnmatch_lines(["E *UsageError: 'expect' names 'z', which is not an argument*arguments are y, x, a, n"])
    out.fnmatch_lines(["E *UsageError: 'expect' names 'a', which is not an array that a kernel writes: 2.5"])
    out.fnmatch_lines(["E *UsageError: 'expect' compares 'y' with its own memory: pass a copy*"])
    out.fnmatch_lines([">*visakit.run(program.saxpy*", "E *SimulationError: *outside *, which has 16 bytes*"])
    out.no_fnmatch_line("*program.py*")
    out.no_fnmatch_line("*engines/numpy*")


def test_inner_frames_of_mistakes_of_the_toolchain_and_on_request(tests):
    broken = """
def test_broken(visakit, monkeypatch):
    with pytest.raises(FileError):
        visakit.load("none.bin")
    monkeypatch.setattr(zebins, "is_compiled", None)
    visakit.load("program.bin")
"""
    tests(broken, "--visa-engines=numpy", failed=1).fnmatch_lines(["*zebins.py*TypeError*"])
    fault = CALL.format("fault", 16, "")
    tests(fault, "--visa-engines=numpy", "--full-trace", failed=1).fnmatch_lines(["*engines/numpy*"])


def test_devices_and_engines_of_options_markers_and_settings(tests, pytester):
    pytester.makeini("[pytest]\nvisa_engines = numpy\nvisa_devices = tgllp bmg-g21\njunit_family = xunit1\n")
    marked = '\n@pytest.mark.visakit(engines=["llvm"], devices="bmg")' + CALL.format("marked", 0, '"y": 1.0')
    text = CALL.format("plain", 0, '"y": 1.0') + marked.replace("\n\ndef", "\ndef")
    out = tests(text, "--strict-markers", "--junitxml=report.xml", passed=2, skipped=1)
    out.fnmatch_lines(["*test_plain[[]bmg-g21-numpy[]] PASSED*", "*test_marked[[]bmg-llvm[]] PASSED*"])
    out.fnmatch_lines(["SKIPPED*: program.bin is for bmg, not for tgllp"])
    report = (pytester.path / "report.xml").read_text()
    assert '<property name="device" value="bmg"' in report and '<property name="engine" value="numpy"' in report


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--visa-devices=bgm", "ERROR: --visa-devices: 'bgm' is not a platform; did you mean 'bmg'*"),
        ("--visa-engines=lvm", "ERROR: --visa-engines: 'lvm' is not an engine; did you mean 'llvm'*"),
        ("--visa-check=al", "ERROR: --visa-check names 'al', which is not a check; did you mean 'all'*"),
    ],
)
def test_wrong_options_are_a_line(pytester, option, message):
    result = pytester.runpytest_subprocess("-p", "no:xdist", option)
    result.stderr.fnmatch_lines([message])
    assert result.ret == pytest.ExitCode.USAGE_ERROR and "Traceback" not in result.stderr.str()


def test_wrong_settings_and_markers_are_named(tests, pytester):
    marked = '\n@pytest.mark.visakit(devices="bgm")' + CALL.format("marked", 0, '"y": 1.0')
    tests(marked, errors=1).fnmatch_lines(["*::test_marked: 'bgm' is not a platform; did you mean 'bmg'*"])
    pytester.makeini("[pytest]\nvisa_devices = bgm\n")
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.stderr.fnmatch_lines(["ERROR: visa_devices: 'bgm' is not a platform; did you mean 'bmg'*"])


@pytest.mark.skipif(shutil.which("ocloc") is None, reason="ocloc is not installed")
def test_sources_and_texts(tests, pytester):
    for name, text in (
        ("kernels.cl", SOURCE),
        ("kernel.visaasm", TEXT),
        ("faulty.visaasm", TEXT.replace("_st", "_se")),
    ):
        (pytester.path / name).write_text(text)
    out = tests(OF_SOURCE, "--visa-engines=numpy", "--visa-devices=dg2", passed=2, failed=1)
    out.fnmatch_lines(["E *faulty.visaasm:6:1: error: 'lsc_seore' is not an instruction*"])
    (pytester.path / "kernels.cl").write_text(SOURCE.replace("+= a", "+= b"))
    out = tests(OF_SOURCE, "--visa-engines=numpy", "-k", "compiled", failed=1)
    out.fnmatch_lines(["E *kernels.cl:2:*: error: use of undeclared identifier 'b'*"])


def test_a_source_without_the_compiler_is_skipped(tests, pytester, monkeypatch):
    (pytester.path / "kernels.cl").write_text(SOURCE)
    monkeypatch.setenv("PATH", str(pytester.path))
    out = tests(OF_SOURCE, "-k", "compiled", skipped=2)
    out.fnmatch_lines(["SKIPPED*ocloc is not installed*intel-ocloc*"])
