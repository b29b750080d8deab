"""Programs in C under ``visakit exec``: the driver as a shared library, by way of an ICD loader."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.c_programs import SOURCES, VECTOR_ADD, lacking, run
from support.programs import ROOT
from support.strategies import ENGINES, FUZZ, some

from visakit.opencl import library
from visakit.runtime import settings
from visakit.subcommands import doctor


def missing(*, compiler=True):
    """The reason why this machine cannot run these tests; empty if it can."""
    lacks = lacking("CL/cl.h", "OpenCL")
    return lacks or ("ocloc" if compiler and shutil.which("ocloc") is None else "")


needs_all = pytest.mark.skipif(bool(missing()), reason=f"there is no {missing()}")


def of_engine(engine):
    """Runs a test on one engine, as races and accesses have tests for each; in ``make fuzz`` on both."""
    return pytest.mark.parametrize("engine", ENGINES if FUZZ else [engine])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Builds a program of the tests' folder."""
    folder = tmp_path_factory.mktemp("programs")

    @functools.cache
    def build(name):
        target = folder / name
        source = VECTOR_ADD if name == VECTOR_ADD.stem else SOURCES / f"{name}.c"
        words = ["gcc", "-Wall", "-Werror", "-O1", "-o", target, source, "-lOpenCL", "-lm"]
        subprocess.run(words, check=True)
        return target

    return build


@needs_all
def test_a_program_in_c_runs_unchanged(built, tmp_path):
    trace = tmp_path / "calls"
    done = run(built("vector_add"), 1000, options=["--platform", "tgllp", "--trace", str(trace)])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "tgllp: Xe-LP (Tiger Lake), simulated: 1000 elements, 0 wrong\n"
    calls = trace.read_text().splitlines()
    assert sum(line.startswith("clEnqueueNDRangeKernel(command_queue=0x") for line in calls) == 1
    made = [line for line in calls if line.startswith("clEnqueue")]
    assert len(made) == 3 and all(re.search(r" = CL_SUCCESS \[\d+ us\]$", line) for line in made)


@pytest.mark.parametrize("path", [".", "/dev/full"])
def test_a_trace_that_cannot_be_written_is_refused(path):
    done = run("true", options=["--trace", path])
    assert (done.returncode, done.stdout) == (1, "") and "[F001]" in done.stderr


@needs_all
@pytest.mark.parametrize("platform", some(["skl", "tgllp", "dg2"], 3))
def test_images_events_and_local_memory_in_c(built, platform):
    done = run(built("image_sum"), options=["--platform", platform])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "32 groups\nsum 1066486, 0 wrong, told 1\n"


@needs_all
def test_a_program_may_release_its_objects_after_main(built):
    """Static variables of C++ do so after the objects of LLVM are destroyed."""
    for words in ([], ["never"]):
        done = run(built("static_release"), *words, options=["--platform", "tgllp"])
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == ("" if words else "0 wrong\n") + "released: 0\n"


@needs_all
def test_the_benchmark_of_enqueues_runs(built):
    done = run(built("enqueue_cost"))
    assert done.returncode == 0 and len(re.findall(r"^\d+ us waited for, \d+ us among many, ", done.stdout, re.M)) == 4


@needs_all
def test_checks_watch_the_kernels_of_a_program(built, tmp_path):
    """Findings are printed where they happen; the program continues."""
    options = ["--platform", "tgllp", "--check", "divergence"]
    done = run(built("around_barrier"), options=options)
    assert (done.returncode, done.stdout) == (0, "0 wrong\n")
    assert re.search(r"error: a barrier that a work-item does not reach .* \[K021\]\n", done.stderr)
    done = run(built("around_barrier"), 1, options=options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")
    (tmp_path / "known").write_text("kernel=turn check=divergence\n")
    done = run(built("around_barrier"), options=[*options, "--suppressions", str(tmp_path / "known")])
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")
    done = run(built("around_barrier"), options=["--check", "divergency"])
    assert done.returncode == 2 and "did you mean 'divergence'" in done.stderr


def said_by_ways(program, ways, check, engine):
    """The findings of a check for each way of a program, by the ways' names."""
    done = run(program, *ways, options=["--platform", "tgllp", "--check", check, "--engine", engine])
    assert (done.returncode, done.stdout) == (0, "done\n")
    return dict(f"{part}\n".split("\n", 1) for part in done.stderr.removeprefix("-- ").split("\n-- "))


QUEUED = {
    "fill twice": "a read and a write|a write and a write", "fill twice same": "a read and a write|a write and a write",
    "twice look": "a read and a write|", "fill fill halves": "", "fill twice other": "", "look look": "a write and a write",
    "count count": "", "count look": "a read and an atomic", "fill count": "a write and an atomic",
    "fill twice same in-order": "", "fill twice event": "", "fill twice wait": "", "fill twice finish": "", "fill twice same barrier": "",
    "fill twice barrier": "a read and a write|a write and a write", "fill twice marker": "", "fill twice user": "",
}  # fmt: skip
"""Ways to queue two kernels, and what of them races."""


@needs_all
@of_engine("llvm")
def test_launches_that_nothing_orders_race(built, engine):
    """Out-of-order queues, several queues; events, barriers, markers and waiting order, and nothing else does."""
    said = said_by_ways(built("two_launches"), QUEUED, "race", engine)
    for way, wanted in QUEUED.items():
        found = re.findall(
            r"(\w+)\.visaasm:\d+:\d+: error: launches race: (.*) of the same place, .* \[K004\]\n.*", said[way]
        )
        launches = way.split()[:2]
        assert {_sides(what) for _, what in found} == {_sides(what) for what in wanted.split("|") if what}, way
        for name, _ in found:  # The command that runs last says it, and nothing decides which one that is.
            launches.remove(name)
            assert f"note: the other side in the launch of '{launches[0]}': " in said[way]
            launches.append(name)


TRANSFERS = {
    "fill read": "fill a write ReadBuffer a read", "fill read wait": "", "fill read event": "", "fill read halves": "", "fill read other": "",
    "look read": "", "look move": "look a write CopyBuffer a write", "look move event": "", "fill move": "fill a write CopyBuffer a read",
    "fill clear": "fill a write FillBuffer a write", "write twice": "twice a read WriteBuffer a write|twice a write WriteBuffer a write",
    "count write": "count an atomic WriteBuffer a write", "count read halves": "", "fill read same in-order": "", "fill read same barrier": "",
    "write read": "commands", "read read": "", "write clear halves": "", "write move event": "", "clear move": "commands",
}  # fmt: skip
"""Ways to queue commands of which at least one is no kernel, and what of them races."""


@needs_all
@of_engine("numpy")
def test_copies_that_nothing_orders_race(built, engine):
    said = said_by_ways(built("two_launches"), TRANSFERS, "race", engine)
    for way, wanted in TRANSFERS.items():
        found = re.findall(
            r"(\w+)\.visaasm:\d+:\d+: error: launches race: (.*) and (.*) of the same place, .* \[K004\]\n(?: .*\n)*"
            r"clEnqueue(\w+): note: the other side: (.*) by this command\n",
            said[way],
        )
        named = {f"{kernel} {one} {command} {kind}" for kernel, one, _, command, kind in found}
        if re.search(r"commands race: a \w+ by clEnqueue\w+ and a .* \[K004\]", said[way]):
            named.add("commands")
        assert named == set(filter(None, wanted.split("|"))), (way, said[way])


MAPPED = {
    "buffer mapw look unmap": "look a read MapBuffer a write", "buffer mapr look unmap": "", "buffer mapr fill unmap": "fill a write MapBuffer a read",
    "buffer mapw unmap look": "", "buffer mapw clear unmap": "FillBuffer a write MapBuffer a write", "buffer fill mapr unmap": "",
    "buffer fill mapr2 unmap2": "fill a write MapBuffer a read", "buffer fill mapr2+ unmap2": "", "buffer fill finish mapr2 unmap2": "", "buffer look mapr2": "",
    "buffer mapw unmap fill2": "fill a write MapBuffer a write", "buffer mapw unmap fill2+": "", "buffer mapw unmap finish look2": "",
    "buffer mapw mapw unmap unmap": "", "buffer mapw mapw unmap look unmap": "look a read MapBuffer a write", "buffer mapw finish move": "CopyBuffer a read MapBuffer a write",
    "image mapw look unmap": "look a read MapImage a write", "image mapw unmap look": "", "image mapr look": "", "image mapr clear": "FillImage a write MapImage a read",
    "image fill read2": "fill a write ReadImage a read", "image fill read2+": "", "image look read2": "", "image look write2": "look a read WriteImage a write",
    "image fill move2": "fill a write CopyImageToBuffer a read", "image look move2": "look a write CopyImageToBuffer a write", "image fill back2": "fill a write CopyBufferToImage a write",
    "image clear move2": "CopyImageToBuffer a read FillImage a write", "image clear read2": "FillImage a write ReadImage a read", "image write clear finish read2": "",
    "svm mapw look unmap": "look a read SVMMap a write", "svm mapw unmap look": "", "svm fill read2": "fill a write SVMMemcpy a read", "svm fill clear2": "fill a write SVMMemFill a write",
    "svm fill write2+": "", "svm clear read2": "SVMMemFill a write SVMMemcpy a read", "svm look read2": "",
}  # fmt: skip
"""Commands over mapped memory, images and shared memory, and what of them races."""


@needs_all
@of_engine("llvm")
def test_commands_of_images_and_mapped_memory_race(built, engine):
    said = said_by_ways(built("mapped"), MAPPED, "race", engine)
    for way, wanted in MAPPED.items():
        found = re.findall(
            r"(\w+)\.visaasm:\d+:\d+: error: (?:launches|a launch and the program) race: (.*) and (.*) of the same place, .* \[K004\]\n(?: .*\n)*"
            r"clEnqueue(\w+): note: the other side: (.*) by (?:this command|the program, until it unmaps what this has mapped)\n",
            said[way],
        )
        named = {f"{kernel.removesuffix('_image')} {one} {command} {kind}" for kernel, one, _, command, kind in found}
        for line in re.findall(r"^error: .*", said[way], re.MULTILINE):
            one, command, other, second = re.search(
                r" race: (a \w+) by clEnqueue(\w+) and (a \w+) (?:by clEnqueue|of the same place, which clEnqueue)(\w+)",
                line,
            ).groups()
            named.add(" ".join(sorted([f"{command} {one}", f"{second} {other}"])))
        assert named == {wanted} - {""}, (way, said[way])


def _sides(what):
    return frozenset(what.split(" and "))


PREPARED = {
    "nothing": 256, "write": 0, "half write": 128, "fill": 0, "half fill": 128, "contents copied": 0, "copied": 256, "contents box": 0,
    "half contents box": 128, "box": 256, "map": 0, "half map": 128, "map only": 256, "kernel": 128, "half fill kernel": 64, "sub": 128,
    "write copied": 256,
}  # fmt: skip
"""Ways to give a new buffer contents, and how many of its 256 bytes are undefined after that."""


@needs_all
@of_engine("numpy")
def test_a_new_buffer_is_undefined(built, engine):
    said = said_by_ways(built("fresh"), PREPARED, "undefined", engine)
    for way, wanted in PREPARED.items():
        found = re.findall(
            r"error: an undefined value is left in memory: 'to' .*, (\d+) times in all \[K013\]", said[way]
        )
        assert sum(map(int, found)) == wanted, (way, said[way])


@needs_all
@of_engine("llvm")
def test_sub_buffers_are_kept_apart(built, engine):
    """Without ``--guard`` a read of the other part is no finding."""
    options = ["--platform", "tgllp", "--engine", engine]
    for shift, guard in ((1, ()), (0, ("--guard",))):
        done = run(built("sub_buffers"), shift, options=[*options, *guard])
        assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")
    done = run(built("sub_buffers"), 1, options=[*options, "--guard"])
    assert (done.returncode, done.stdout) == (0, "0 wrong\n")
    wanted = (
        r":2:\d+: error: a read outside an argument: 'from' at offset 256, right after its end, in 'to' at offset 0, "
    )
    assert re.search(wanted, done.stderr) and "[K040]" in done.stderr
    done = run(built("sub_buffers"), 1, options=[*options, "--check", "guard", "--check-limit", "0"])
    assert done.returncode == 2 and "'0' is not a whole number from 1 on" in done.stderr


@needs_all
@pytest.mark.skipif(shutil.which("clinfo") is None, reason="clinfo is not installed")
def test_clinfo_prints_all():
    done = run("clinfo")
    assert done.returncode == 0 and done.stderr == ""
    assert "error -" not in done.stdout and "visakit" in done.stdout
    assert len(done.stdout.splitlines()) > 100


@needs_all
def test_the_installed_driver_is_found(built, tmp_path):
    words = [sys.executable, "-m", "visakit", "opencl", "--install", tmp_path / "icd"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert Path(done.stdout.strip()).read_text() == f"{tmp_path}/icd/libvisakit-opencl.so\n"
    environment = os.environ | {"OCL_ICD_VENDORS": str(tmp_path / "icd"), "VISAKIT_OPENCL_PLATFORM": "dg2"}
    done = subprocess.run([built("vector_add")], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "dg2: Xe-HPG (Alchemist), simulated: 1000 elements, 0 wrong\n"


@needs_all
@pytest.mark.skipif(importlib.util.find_spec("pyopencl") is None, reason="pyopencl is not installed")
def test_a_program_in_python_runs_unchanged():
    done = run(sys.executable, SOURCES / "saxpy.py", PYOPENCL_NO_CACHE="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "4096 elements, 0 wrong\n", "")


@needs_all
@pytest.mark.parametrize("options", [["-S"], ["-I", "-S"]])
def test_an_environment_of_python_needs_nothing_of_ours(options):
    """Without ``site`` a program finds neither cffi nor numpy, as in a separate environment."""
    program = "import ctypes; n = ctypes.c_uint(); loader = ctypes.CDLL('libOpenCL.so.1'); "
    program += "print(loader.clGetPlatformIDs(0, None, ctypes.byref(n)), n.value)"
    done = run(sys.executable, *options, "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 1\n", "")


@needs_all
@pytest.mark.skipif(importlib.util.find_spec("dpnp") is None, reason="there is no dpnp in this environment")
def test_a_program_with_sycl_runs_unchanged():
    done = run(sys.executable, SOURCES / "dpnp_sums.py")
    assert (done.returncode, done.stdout) == (0, "[True, True, True, True]\n")


@needs_all
def test_a_pending_exception_of_python_stays(tmp_path):
    target = tmp_path / "raised.so"
    folder = sysconfig.get_paths()["include"]
    words = [
        "gcc",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        f"-I{folder}",
        "-o",
        target,
        SOURCES / "raised.c",
        "-lOpenCL",
    ]
    subprocess.run(words, check=True)
    call = f"import ctypes; f = ctypes.PyDLL('{target}').raises; f.restype = ctypes.py_object; f()"
    done = run(sys.executable, "-c", call)
    assert done.returncode == 1 and done.stderr.endswith("ValueError: kept\n")


def test_a_program_that_is_not_there():
    if missing(compiler=False):
        pytest.skip(f"there is no {missing(compiler=False)}")
    done = run("./none")
    assert (done.returncode, done.stdout) == (1, "") and "./none: error: it cannot be run" in done.stderr


def test_doctor_names_all():
    rows = doctor.findings()
    assert {"Python", "libpython", "cffi", "C compiler", "headers of Python", "ocloc"} < {row.what for row in rows}
    assert all(row.found or row.advice for row in rows)


def test_doctor_shows_no_end_of_a_text_in_c(tmp_path, monkeypatch):
    """ocloc writes its version into a file, with the end of the text."""
    driver = tmp_path / "ocloc"
    driver.write_text("#!/bin/sh\nprintf '26.27\\0' > $2\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (found,) = (row.found for row in doctor.findings() if row.what == "ocloc")
    assert found == "26.27"


@pytest.mark.parametrize("named", [True, False])
def test_doctor_finds_the_runtime_of_sycl(named, monkeypatch, tmp_path):
    (tmp_path / "lib").mkdir()
    library = tmp_path / "lib" / "libsycl.so.9"
    library.touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent) if named else "")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (found,) = (row.found for row in doctor.findings() if row.what == "SYCL runtime")
    assert found == str(library) + ("" if named else f" (for programs in C++: LD_LIBRARY_PATH={library.parent})")


@pytest.mark.parametrize("given", ["", "/other"])
def test_python_programs_find_the_libraries_of_sycl_in_their_environment(given, monkeypatch, tmp_path):
    for name in ("bin", "lib", "other/bin"):
        (tmp_path / name).mkdir(parents=True)
    program = tmp_path / "bin" / "python"
    shutil.copy(shutil.which("true"), program)
    monkeypatch.setenv("LD_LIBRARY_PATH", given)
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "*:gpu")
    assert settings.sycl_settings(str(program)) == settings.sycl_settings("nothing") == {}
    (tmp_path / "lib" / "libsycl.so.9").touch()
    wanted = {"LD_LIBRARY_PATH": ":".join(filter(None, [given, str(tmp_path / "lib")]))}
    assert settings.sycl_settings(str(program)) == wanted
    monkeypatch.setenv("PATH", str(program.parent))
    assert settings.sycl_settings("python") == wanted


@pytest.mark.parametrize("functions", [["zeInit"], ["zeInit", "zeInitDrivers"], None])
@pytest.mark.parametrize("place", ["given", "environment"])
def test_sycl_programs_have_opencl_alone_where_the_loader_of_level_zero_is_too_old(
    functions, place, monkeypatch, tmp_path
):
    for name in ("bin", "lib", "given"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "python"
    shutil.copy(shutil.which("true"), program)
    (tmp_path / "lib" / "libsycl.so.9").touch()
    loader = tmp_path / {"given": "given", "environment": "lib"}[place] / "libze_loader.so.1"
    if functions is None:
        loader.write_text("not a library")
    elif shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    else:
        source = "".join(f"int {name}(void) {{ return 0; }}\n" for name in functions)
        subprocess.run(["gcc", "-shared", "-xc", "-", "-o", loader], input=source, text=True, check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "given"))
    monkeypatch.delenv("ONEAPI_DEVICE_SELECTOR", raising=False)
    assert settings.sycl_settings(str(program)).get("ONEAPI_DEVICE_SELECTOR") == (
        "opencl:*" if functions == ["zeInit"] else None
    )
    for chosen in ("level_zero:*", ""):
        monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", chosen)
        assert "ONEAPI_DEVICE_SELECTOR" not in settings.sycl_settings(str(program))


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Libraries that are built in an empty cache."""
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path))
    found = []

    def build(path):
        found.append(path)
        path.write_bytes(b"a library")
        path.chmod(0o700)

    monkeypatch.setattr(library, "build", build)
    return found


def test_the_library_is_another_one_for_another_table(monkeypatch, made):
    first = library.library_path()
    assert library.library_path() == first and made == [first]
    monkeypatch.setattr(library, "c_source", lambda: "another")
    assert library.library_path() != first


@pytest.mark.parametrize("change", [b"", b"a lib", b"of others", None], ids=repr)
def test_a_library_that_is_not_as_it_was_built_is_built_again(made, change):
    """A program would end with SIGBUS in a part of a library, and run what others wrote."""
    path = library.library_path()
    if change is None:
        path.chmod(0o777)
    else:
        path.write_bytes(change)
    assert library.library_path() == path and path.read_bytes() == b"a library" and made == [path, path]
    assert library.library_path() == path and made == [path, path]
