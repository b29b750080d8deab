"""Sources to results: the installed compiler driver, and a driver of the tests that records its calls."""

import json
import os

import numpy as np
import pytest
from support.commands import said
from support.ocloc import SAXPY, needs_ocloc
from support.programs import DATA

import visakit
import vsim
from visakit.compiler.devices import known_devices, preferred_device
from visakit.compiler.ocloc import compile_source, dependencies
from visakit.compiler.ocloc import said as diagnostics
from visakit.file_kinds import BITCODE, SPIRV

PROGRAM = DATA / "zebins" / "program.cl"
BAD = """In file included from 1:1:
/include/x.h:1:12: error: expected ')'
/include/x.h:1:11: note: to match this '('
int broken(;
          ^
1:2:39: fatal error: use of undeclared identifier 'z'
kernel void k(global int *y) { y[0] = z; int q; }
                                      ^
1:3:1: warning: what is this
x
^

Build failed with error code: -11
"""


def compiled(data=b"kernel void k() {}", device="bmg-g21", options="", path="/some where/k.cl"):
    return compile_source(path, data, device, options, 60)


def test_the_drivers_command_line(driver):
    calls = driver()
    assert compiled(options="-DN=3").zebin == (DATA / "zebins" / "xelp.bin").read_bytes()
    (words,) = calls()
    assert words[:5] == ["compile", "-file", "source.cl", "-device", "bmg-g21"]
    assert words[words.index("-internal_options") + 1] == "-cl-intel-emit-zebin-visa-sections"
    assert words[words.index("-options") + 1] == '-DN=3 -I "/some where"'
    driver(zebin="program.bin")
    compiled(SPIRV + bytes(16), "DG2")
    assert calls()[1][2:5] == ["source.spv", "-device", "acm-g10"] and "-spirv_input" in calls()[1]
    assert "-options" not in calls()[1]


def test_folders_of_includes_are_relative_to_the_users(driver, tmp_path, monkeypatch):
    """The driver runs elsewhere, so that names from the working directory would lead nowhere."""
    calls, here = driver(), tmp_path / "my work"
    here.mkdir()
    monkeypatch.chdir(here)
    given = '-DI=-1 -I inc -I../up -I "a b" -I"c" -I /usr/x -cl-std=CL2.0 -DX=-Iy'
    compiled(options=given, path="k.cl")
    (words,) = calls()
    expected = f'-DI=-1 -I "{here}/inc" -I {tmp_path}/up -I "{here}/a b" -I "{here}/c" -I /usr/x -cl-std=CL2.0 -DX=-Iy -I "{here}"'
    assert words[words.index("-options") + 1] == expected


@needs_ocloc
def test_a_folder_of_includes_beside_the_user(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "inc").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "inc" / "width.h").write_text("#define WIDTH 3\n")
    (tmp_path / "src" / "k.cl").write_text(
        '#include "width.h"\nkernel void k(global int *y) { y[get_global_id(0)] = WIDTH; }\n'
    )
    monkeypatch.chdir(tmp_path)
    words = ["src/k.cl", "--platform", "tgllp", "--build-options=-I inc", "--arg", "y=zeros:8:i4", "--global-size", "8"]
    code, out, errors = said(capsys, "vsim", *words, "--show", "y")
    assert code == 0, errors
    assert "3 3 3 3 3 3 3 3" in out


def test_the_driver_is_told_where_the_source_lies_if_lines_are_wanted(driver):
    """Without the option FILE would be in the folder in which the driver ran."""
    calls = driver()
    compiled(options="-g -O0")
    compiled(options="-g", path='/a"b/k.cl')
    compiled(options="-g -s x.cl")
    compiled(options="-g", data=SPIRV + bytes(16))
    given = [call[call.index("-options") + 1] if "-options" in call else "" for call in calls()]
    assert given[0].startswith('-g -O0 -s "/some where/k.cl"') and "-s" not in given[1] + given[3]
    assert given[2].startswith("-g -s x.cl -igc_opts 'ShaderDumpEnable=1") and " -I " in given[2]


@needs_ocloc
def test_faults_of_a_source_name_its_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saxpy.cl").write_text(SAXPY)
    words = [
        "saxpy.cl",
        "--platform",
        "tgllp",
        "--build-options=-g",
        "--arg",
        "0=zeros:16:f4",
        "--arg",
        "1=zeros:8:f4",
        "--arg",
        "2=2.0f",
    ]
    code, _, errors = said(capsys, "vsim", *words, "--global-size", "16")
    assert code == 1 and errors.startswith(f"{tmp_path}/saxpy.cl:3:3: error: access of 4 bytes outside 'x'")
    assert "\n 3 |   y[i] += a * x[i];\n   |   ^^^^^" in errors and "note: the instruction is here" in errors


def test_a_program_is_compiled_once(driver):
    """Until source, device or options are others; what includes something or has warnings is compiled every time."""
    calls = driver()
    for _ in range(2):
        compiled()
    assert len(calls()) == 1
    compiled(b"kernel void j() {}")
    compiled(device="tgllp")
    compiled(options="-DN=3")
    assert len(calls()) == 4
    for _ in range(2):
        compiled(b'#include "x.h"\n')
        compiled(options="-include x.h")
    assert len(calls()) == 8
    driver("1:1:1: warning: hm\nx\n^\n")
    assert [len(compiled(b"kernel void w() {}").warnings) for _ in range(2)] == [1, 1]
    assert len(calls()) == 10


def test_a_program_is_compiled_again_where_the_compiler_reads_another_environment(driver, monkeypatch):
    calls = driver()
    compiled()
    monkeypatch.setenv("ELSEWHERE", "1")
    compiled()
    assert len(calls()) == 1
    for count, name in enumerate(
        ("IGC_ForceOCLSIMDWidth", "IGC_VISAOptions", "CPATH", "NEOReadDebugKeys", "OtherKey"), 2
    ):
        monkeypatch.setenv(name, "8")
        for _ in range(2):
            compiled()
        assert len(calls()) == count, name


def test_diagnostics_of_the_compiler_become_ours():
    first, second, third = diagnostics(BAD, "k.cl")
    assert (str(first.span), first.message, first.code) == ("/include/x.h:1:12", "expected ')'", "C015")
    assert [(str(n.span), n.message, n.span.text) for n in first.labels] == [("/include/x.h:1:11", "to match this '('", "int broken(;")]  # fmt: skip
    assert (str(second.span), second.span.text[:11], first.span.text) == ("k.cl:2:39", "kernel void", "")
    assert (str(third.span), third.code, third.severity) == ("k.cl:3:1", "U003", "warning")


BACKEND = """
error: Unsupported required sub group size
in kernel: 'k'
error: backend compiler failed build.

error: parsing vISA inline assembly failed:
near line 25: syntax error, unexpected IDENT

error: backend compiler failed build.

error: parsing vISA inline assembly failed:
near line 25: syntax error, unexpected IDENT

warning: kernel k spills
Build failed with error code: -11
Command was: ocloc compile -file k.cl
"""


def test_diagnostics_of_the_back_end_have_no_place():
    first, second, third = diagnostics(BACKEND, "k.cl")
    assert first.message == "Unsupported required sub group size, in kernel: 'k'" and first.span.line == 0
    assert second.message == "parsing vISA inline assembly failed, near line 25: syntax error, unexpected IDENT"
    assert second.hint == "vasm --scan k.cl shows its place"
    assert (third.message, third.severity, third.code) == ("kernel k spills", "warning", "U003")
    (alone,) = diagnostics("error: backend compiler failed build.\n", "k.cl")
    assert alone.message == "backend compiler failed build."


@pytest.mark.parametrize(
    ("plan", "code", "message"),
    [
        (
            {"said": "Build failed with error code: -5151\nCommand was: ocloc\n", "code": 5},
            "C015",
            "gives no reason, and ended with 5",
        ),
        (
            {"said": "Compilation from IR - skipping loading of FCL\nInvalidModule: no\n", "code": 5},
            "C015",
            "says: InvalidModule: no",
        ),
        ({"said": BAD, "code": 245}, "C015", "use of undeclared identifier 'z'"),
        ({"said": "\nno such device\nmore\n", "code": 1}, "C015", "the compiler says: no such device"),
        ({"zebin": "", "code": 3}, "C015", "ended with 3"),
        ({"code": -8}, "C015", r"failed with SIGFPE \[C015\] \(this is a fault of the compiler: -cl-opt-disable"),
        ({"said": "Assertion failed\n", "code": -6}, "C015", "failed with SIGABRT and said: Assertion failed"),
        ({"code": -40}, "C015", "failed with signal 40"),
        ({"zebin": ""}, "C015", "ended with 0"),
    ],
)
def test_a_source_that_does_not_compile(driver, plan, code, message):
    driver(**plan)
    with pytest.raises(visakit.FormatError, match=message) as caught:
        compiled()
    assert {d.code for d in caught.value.diagnostics} == {code}


def test_a_compiler_that_takes_too_long_or_is_not_there(driver, monkeypatch):
    driver(sleep=60)
    with pytest.raises(visakit.FormatError, match=r"more than 0\.2 seconds \[C015\]"):
        compile_source("k.cl", b"", "bmg", "", 0.2)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(visakit.FormatError, match="C014"):
        compiled()


def test_the_command_runs_a_source(driver, tmp_path, capsys):
    driver("1:2:3: warning: hm\nint x;\n  ^\n")
    source = tmp_path / "k.cl"
    source.write_text("// nothing\nint x;\n")
    code, out, err = said(capsys, "vsim", source, "--platform", "tgllp", "--list")
    assert code == 0 and out.startswith("saxpy: SIMD32\n")
    assert err.splitlines()[:2] == [f"{source}:2:3: warning: hm [U003]", " 2 | int x;"]
    assert said(capsys, "vsim", source, "--list")[0] == 0
    code, _, err = said(capsys, "vsim", source, "--platform", "bmx")
    assert code == 2 and "'bmx' is not a platform" in err


HELP = "-device <device_type>   Target device.\n  <device_type> can be: {}, version  or hexadecimal value\n\n"


@pytest.mark.parametrize(
    ("names", "known", "preferred"),
    [
        ("bdw, skl, dg1, acm-g10, gen9, xe-hpg", "skl dg1 acm-g10", "dg2"),
        ("skl, tgllp, xe", "skl tgllp", "tgllp"),
        ("pvc, bmg, bmg-g21, ptl-h, xe2", "pvc bmg bmg-g21 ptl-h", "bmg"),
        ("", "", "bmg"),
    ],
)
def test_the_device_is_the_newest_that_the_compiler_knows(driver, tmp_path, capsys, names, known, preferred):
    calls = driver(HELP.format(names))
    assert (known_devices(), preferred_device()) == (known.split(), preferred)
    (tmp_path / "k.cl").write_text("kernel void k() {}")
    assert said(capsys, "vsim", tmp_path / "k.cl", "--list")[0] == 0
    compiled(device=None)
    for words in calls():
        assert "--help" in words or words[words.index("-device") + 1] in (preferred, "acm-g10")
    text = " ".join(said(capsys, "vsim", "--list-platforms")[1].split())
    shown = f"The installed ocloc compiles for {', '.join(known.split())}; for {preferred} where --platform is missing."
    assert shown in text or (not known and "names no devices" in text)


@pytest.mark.parametrize(
    "message", ["Error: Cannot get HW Info for device bmg.", "Could not determine device target: bmg."]
)
def test_a_device_that_the_compiler_does_not_know(driver, message):
    driver(f"{HELP.format('skl, tgllp')}{message}\nCommand was: ocloc\n", zebin="", code=1)
    with pytest.raises(visakit.FormatError, match="does not compile for the device 'bmg'") as caught:
        compiled(device="bmg")
    (found,) = caught.value.diagnostics
    assert found.code == "C017" and found.hint.startswith("it knows skl, tgllp; newer ones: https://")


@pytest.mark.parametrize(
    ("name", "data", "file", "option"),
    [
        ("k.cl", b"kernel void k() {}", "source.cl", None),
        ("k", SPIRV + bytes(16), "source.spv", "-spirv_input"),
        ("k.cl", BITCODE + bytes(16), "source.bc", "-llvm_input"),
        ("k.ll", b"target triple = ...", "source.ll", "-llvm_input"),
    ],
)
def test_the_compiler_is_told_the_language(driver, name, data, file, option):
    calls = driver()
    compiled(data, path=f"/nowhere/{name}")
    (words,) = calls()
    assert words[2] == file and [w for w in words if w.endswith("_input")] == ([option] if option else [])


def test_a_compiler_that_takes_no_text_of_llvm(driver):
    driver("Warning : file does not look like llvm bitcode (wrong magic numbers)error: no\n", zebin="", code=245)
    with pytest.raises(visakit.FormatError, match="takes LLVM's bitcode, and not its text") as caught:
        compiled(b"; ModuleID = '1'", path="k.ll")
    assert "llvm-as" in caught.value.diagnostics[0].hint


def test_the_disassembler_compiles(driver, tmp_path, capsys):
    """The text is the compiler's; lines of the source take -g, once."""
    calls, source = driver("1:2:3: warning: hm\nint x;\n  ^\n"), tmp_path / "k.cl"
    source.write_text("// nothing\nint x;\n")
    _, expected, _ = said(capsys, "vdis", DATA / "zebins" / "xelp.bin")
    for words, options in (
        ((), ""),
        (("--source",), "-g"),
        (("--source", "--build-options=-g -DN=1"), "-g -DN=1"),
        (("--build-options=-DN=1", "--source"), "-DN=1 -g"),
    ):
        code, out, err = said(capsys, "vdis", source, "--platform", "dg1", *words)
        assert code == 0 and err.startswith(f"{source}:2:3: warning: hm [U003]")
        assert (out == expected) is ("--source" not in words)
        given, device = calls()[-1][-1], calls()[-1][4]
        assert device == "dg1" and given.partition(" -I ")[0].partition(" -s ")[0].removeprefix("-I").strip() in (
            options,
            str(tmp_path),
        )
    code, out, err = said(capsys, "vdis", source, "--kernel", "sxpy", "--platform", "dg1")
    assert (code, out) == (1, "") and "there is no kernel or function 'sxpy' [C016]" in err
    assert said(capsys, "vdis", source, "--split", tmp_path / "texts")[0] == 0
    assert (tmp_path / "texts" / "saxpy.visaasm").read_text() in expected
    code, _, err = said(capsys, "vdis", DATA / "zebins" / "xelp.bin", "--build-options=-g")
    assert code == 2 and "--build-options is for the compiler of a source" in err


@needs_ocloc
def test_vISA_between_lines_of_the_source(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "k.cl").write_text(SAXPY + "kernel void twice(global float *y) {\n  y[get_global_id(0)] *= 2;\n}\n")
    code, out, _ = said(capsys, "vdis", tmp_path / "k.cl", "--kernel", "twice", "--source")
    assert code == 0 and '.kernel "twice"' in out and "saxpy" not in out
    line, instruction = f"// {tmp_path}/k.cl:6: y[get_global_id(0)] *= 2;", "\n    mul "
    assert line in out and out.index(line) < out.rindex(instruction)
    assert "k.cl:6" not in said(capsys, "vdis", tmp_path / "k.cl")[1]


def test_a_source_is_loaded_in_python(driver, tmp_path):
    """As the command loads it; a warning of the compiler is a warning of Python."""
    calls, source = driver("1:1:1: warning: hm\nx\n^\n"), tmp_path / "k.cl"
    source.write_text("kernel void k() {}")
    with pytest.warns(visakit.VisaWarning, match="hm"):
        program = vsim.load(source, platform="dg1", options="-DN=3")
    assert program.kernels[0] == "saxpy" and calls()[-1][4] == "dg1" and calls()[-1][-1].startswith("-DN=3 ")
    driver()
    assert vsim.load(SPIRV + bytes(16)).kernels == program.kernels
    assert vsim.load(program.image.to_bytes(), "tgl").kernels == program.kernels
    for arguments, message in (
        ((program.image.to_bytes(), "bmg"), "is an image for tgllp, not for bmg"),
        ((program.image.to_bytes(), None, "-g"), "build options are for sources, and"),
        ((program.image, "tgllp"), "'platform' does not go with an image"),
        ((source, "bgm"), "'bgm' is not a platform"),
        ((source, None, b"-g"), "build options is a str"),
    ):
        with pytest.raises(visakit.UsageError, match=message):
            vsim.load(*arguments)


@needs_ocloc
def test_a_source_runs(tmp_path, capsys):
    """From OpenCL C to compared results in one command."""
    x = np.arange(64, dtype="f4")
    (tmp_path / "saxpy.cl").write_text(SAXPY)
    for name, array in (("y", np.ones(64, "f4")), ("x", x), ("expected", 1 + 2.5 * x)):
        np.save(tmp_path / f"{name}.npy", array)
    arguments = [{"buffer": "y.npy", "expect": "expected.npy"}, {"buffer": "x.npy"}, {"scalar": 2.5, "type": "f32"}]
    launch = {"launches": [{"kernel": "saxpy", "global_size": [64], "args": arguments}]}
    (tmp_path / "launch.json").write_text(json.dumps(launch))
    words = (tmp_path / "saxpy.cl", "--platform", "tgllp", "--launch", tmp_path / "launch.json")
    code, out, err = said(capsys, "vsim", *words)
    assert (code, err) == (0, "") and "ok" in out
    (tmp_path / "saxpy.cl").write_text(SAXPY.replace("2", "").replace("a *", "b *"))
    code, out, err = said(capsys, "vsim", *words)
    assert code == 1 and err.startswith(f"{tmp_path}/saxpy.cl:3:11: error: use of undeclared identifier 'b' [C015]")


@needs_ocloc
@pytest.mark.parametrize("device", ["tgllp", "skl", "dg1", "acm-g10"])
def test_devices_of_the_compiler(device):
    """Binaries of the installed driver for a device are for the platform of our table."""
    from visakit.language.platforms import find
    from visakit.objects.zebin import read_zebin

    data = b"kernel void k(global int *y) { y[get_global_id(0)] = 1; }"
    try:
        zebin = compile_source("k.cl", data, device, "", 120).zebin
    except visakit.FormatError as error:
        pytest.skip(f"the installed ocloc does not know {device}: {error}")
    assert read_zebin(zebin, "k").platform == find(device).name


def test_another_driver_than_the_one_on_the_path(driver, tmp_path, monkeypatch):
    calls = driver()
    other = tmp_path / "another-driver"
    (tmp_path / "bin" / "ocloc").rename(other)
    with pytest.raises(visakit.FormatError, match="ocloc is not installed"):
        compiled()
    monkeypatch.setenv("VISAKIT_OCLOC", str(other))
    assert compiled().zebin and len(calls()) == 1
    monkeypatch.setenv("VISAKIT_OCLOC", str(tmp_path / "none"))
    with pytest.raises(visakit.FormatError, match="none', which VISAKIT_OCLOC names"):
        compiled()


@pytest.mark.parametrize(
    ("source", "options", "expected"),
    [
        (b"#define A \\\n 1\nkernel void k() {}", "-DN=3", []),
        (b"kernel void k() {}", "-I nowhere/include", []),
        (SPIRV + b"include", "", []),
        (b'#include "own.h"\n', "", ["own.h"]),
        (b' # include <own.h>\n#include "own.h"', "", ["own.h"]),
        (b'#include "deep/one.h"\n', "", ["deep/one.h", "deep/two.h", "own.h"]),
        (b'#include "ring.h"\n', "", ["ring.h"]),
        (b'#include "other.h"\n', "", None),
        (b'#include "two.h"\n', "", None),
        (b'#include "two.h"\n', "-Ifolder/deep", ["two.h", "own.h"]),
        (b'#include "lost.h"\n', "", None),
        (b'#include "/etc/hosts"\n', "", None),
        (b"#define H <own.h>\n#include H\n", "", None),
        (b'#inc\\\nlude "other.h"\n', "", None),
        (b'/* */ #include "other.h"\n', "", None),
        (b'??=include "other.h"\n', "", None),
        (b'#if __has_include("own.h")\n#endif\n', "", None),
        (b"constant char *when = __TIME__;\n", "", None),
        (b"", "-include x.h", None),
        (b"", "-isystem x", None),
        (b"", "-cl-intel-greater-than-4GB-buffer-required", []),
        (b"constant char *when = W;\n", "-DW=__TIME__", None),
        (b"constant char *when = W;\n", "-D W=__DATE__", None),
        (b"constant char *when = W;\n", "-DW(x)=__TIMESTAMP__", None),
        (b"#define GLUE(a, b) a##b\nconstant char *when = GLUE(__TI, ME__);\n", "", None),
        (b"#include H\n", "-DH=<own.h>", None),
        (b"int my__DATE__x, __time;\n", "-DTIME=1", None),
        (b"int __time;\n", "-DTIME=1 -DDATE", []),
    ],
)
def test_includes_of_a_source(source, options, expected, tmp_path, monkeypatch):
    texts = {
        "own.h": "#define OWN 1", "ring.h": '#include "ring.h"', "lost.h": '#include "other.h"',
        "deep/one.h": '#include "two.h"', "deep/two.h": "#include <own.h>",
    }  # fmt: skip
    for name, text in texts.items():
        place = tmp_path / "folder" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    monkeypatch.chdir(tmp_path)
    for place in (str(tmp_path / "folder"), {name: text.encode() for name, text in texts.items()}):
        found = dependencies(source, options, [place])
        names = None if found is None else [part for part in found if isinstance(part, str) and part.endswith(".h")]
        assert names == expected


def test_headers_are_files_of_some_size(driver, tmp_path):
    """A device has no end, a FIFO no beginning: neither the compiler nor we read it. What is large is not kept."""
    driver()
    os.mkfifo(tmp_path / "pipe.h")
    for name in ("pipe.h", os.path.relpath("/dev/zero", tmp_path)):
        with pytest.raises(visakit.FormatError, match=r"is included, and is not a file \[C015\]"):
            compile_source(str(tmp_path / "k.cl"), f'#include "{name}"\n'.encode(), "tgllp", "", None)
    assert not (tmp_path / "bin" / "calls").exists()
    with open(tmp_path / "large.h", "wb") as stream:
        stream.truncate(1 << 40)
    assert dependencies(b'#include "large.h"', "", [str(tmp_path)]) is None


def test_programs_with_headers_are_kept_until_a_header_changes(driver, tmp_path):
    calls, header = driver(), tmp_path / "own.h"
    for text, count in (("#define A 1", 1), ("#define A 1", 1), ("#define A 2", 2), ("#define A 1", 2)):
        header.write_text(text)
        compiled(b'#include "own.h"\n', path=str(tmp_path / "k.cl"))
        assert len(calls()) == count
    header.unlink()
    compiled(b'#include "own.h"\n', path=str(tmp_path / "k.cl"))
    assert len(calls()) == 3
