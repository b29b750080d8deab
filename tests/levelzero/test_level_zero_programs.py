"""Programs in C under ``visakit exec``: the driver as a shared library, by way of Level Zero's loader."""

import ctypes.util
import re
import shutil
import subprocess

import pytest
from support.c_programs import SOURCES, lacking, run
from support.programs import DATA

lacks = lacking("level_zero/ze_api.h", "ze_loader")
needs_all = pytest.mark.skipif(bool(lacks), reason=f"there is no {lacks}")


def built(folder, name):
    """A program in C."""
    words = ["gcc", "-Wall", "-Werror", "-O1", "-o", folder / name, SOURCES / f"{name}.c", "-lze_loader", "-lpthread"]
    subprocess.run(words, check=True)
    return folder / name


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program that builds a module, launches its kernel in both kinds of lists, and compares."""
    return built(tmp_path_factory.mktemp("programs"), "level_zero")


@pytest.fixture(scope="module")
def spirv(tmp_path_factory):
    """The program's kernel as SPIR-V."""
    if shutil.which("ocloc") is None:
        pytest.skip("there is no ocloc")
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "k.cl").write_text("kernel void scale(global float *x, float f) { x[get_global_id(0)] *= f; }")
    words = ["ocloc", "compile", "-file", "k.cl", "-device", "tgllp", "-spv_only", "-output", "k", "-output_no_suffix"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return next(path for path in (folder / "k.spv", folder / "k") if path.exists())


LAYER = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1", "ZE_ENABLE_HANDLE_LIFETIME": "1"}


@needs_all
def test_a_program_finds_the_device_by_a_given_name(program, spirv):
    done = run(program, spirv, 0, "run", options=["--platform", "tgllp", "--device-name", "Intel(R) Graphics"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "Intel(R) Graphics\nequal\n", "")


@needs_all
@pytest.mark.parametrize("layer", [{}, LAYER], ids=["plain", "validated"])
def test_a_program_in_c_runs_unchanged(program, spirv, tmp_path, layer):
    trace = tmp_path / "calls"
    if layer and not ctypes.util.find_library("ze_validation_layer"):
        pytest.skip("there is no validation layer")
    done = run(program, spirv, 0, "run", options=["--platform", "tgllp", "--trace", str(trace)], **layer)
    assert (done.returncode, done.stdout, done.stderr) == (0, "tgllp: Xe-LP (Tiger Lake), simulated\nequal\n", "")
    calls = trace.read_text().splitlines()
    assert sum(line.startswith("zeCommandListAppendLaunchKernel(hCommandList=0x") for line in calls) == 2
    refused = [line for line in calls if not re.search(r" = ZE_RESULT_SUCCESS \[\d+ us\]$", line)]
    assert all(" = ZE_RESULT_NOT_READY: " in line for line in refused) and len(refused) == 2


@needs_all
def test_launches_and_faults_stop_in_the_debugger(program, spirv):
    """After ``continue`` at the end, the program gets the same results as without a debugger."""
    words = ["--platform", "tgllp", "--command", "continue", "--command", "continue", "--batch"]
    done = run(program, spirv, 0, "run", options=[*words, "--debug", "scale:2"])
    assert (done.returncode, done.stdout) == (0, "tgllp: Xe-LP (Tiger Lake), simulated\nequal\n")
    assert done.stderr.startswith("launch 2 of 'scale' begins\n") and "The launch of 'scale' has ended" in done.stderr
    done = run(program, spirv, 0, "fault", options=[*words, "--debug", "scale"])
    assert (done.returncode, done.stdout.splitlines()[-1]) == (4, "the event: 0x70000001")
    shown, reported = done.stderr.split("'continue' reports the fault to the program\n")
    assert all("access of 4 bytes outside 'x', which has 4000 bytes" in text for text in (shown, reported))


@needs_all
def test_a_fault_is_reported_and_the_device_is_lost(program, spirv):
    done = run(program, spirv, 0, "fault", options=["--platform", "tgllp"])
    assert (done.returncode, done.stdout.splitlines()[-1]) == (4, "the event: 0x70000001")
    assert "access of 4 bytes outside 'x', which has 4000 bytes" in done.stderr
    assert "made by zeMemAllocShared" in done.stderr


@needs_all
def test_a_binary_of_another_kernel_is_refused_with_a_result(program):
    done = run(program, DATA / "zebins" / "xelp.bin", 1, "run", options=["--platform", "tgllp"])
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        1, "zeKernelCreate(module, &kernel_desc, &kernel): 0x78000011",
    )  # fmt: skip


@needs_all
def test_launches_leave_no_memory_and_no_files(spirv, tmp_path):
    done = run(built(tmp_path, "level_zero_launches"), spirv, 4000, options=["--platform", "tgllp"])
    cost, memory, files = re.fullmatch(r"(.+) us of processor time, (-?\d+) kB, (-?\d+) files\n", done.stdout).groups()
    assert float(cost) < 1000 and int(memory) < 2000 and files == "0", done.stdout


@pytest.fixture(scope="module")
def ending(tmp_path_factory):
    """A program that calls the driver while it ends."""
    return built(tmp_path_factory.mktemp("ending"), "level_zero_end")


ENDED = "asked well, freed 0, destroyed 0\n"
"""What the program says in a function of ``atexit``."""


@needs_all
@pytest.mark.parametrize(
    "words, said",
    [("", ENDED), ("thread", ENDED), ("fork", f"{ENDED}child 5\n{ENDED}"), ("thread fork", f"{ENDED}child 5\n{ENDED}")],
)
def test_programs_call_when_they_end_and_fork(ending, words, said):
    done = run(ending, *words.split(), options=["--platform", "tgllp"])
    assert (done.returncode, done.stdout, done.stderr) == (7, said, "")
