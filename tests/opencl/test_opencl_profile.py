"""Programs in C under ``visakit exec --profile``: their launches are counted, by kernel."""

import json
import os

import pytest
from support.c_programs import run
from test_opencl_programs import built, needs_all  # noqa: F401


@pytest.fixture(scope="module")
def added(built):  # noqa: F811
    return built("vector_add")


@needs_all
@pytest.mark.parametrize("detail", [False, True])
def test_a_program_leaves_profiles_of_its_kernels(added, tmp_path, detail):
    options = ["--platform", "tgllp", "--profile", str(tmp_path / "out"), *(["--profile-detail"] if detail else [])]
    done = run(added, 1000, options=options)
    assert (done.returncode, done.stdout) == (0, "tgllp: Xe-LP (Tiger Lake), simulated: 1000 elements, 0 wrong\n")
    said = f"visakit: profiles of 1 kernel are in {tmp_path / 'out'}, with summary.txt\n"
    assert done.stderr == said and sorted(os.listdir(tmp_path / "out")) == ["add.html", "add.json", "summary.txt"]
    (kernel,) = json.loads((tmp_path / "out" / "add.json").read_text())["kernels"]
    assert kernel["kernel"] == "add" and len(kernel["launches"]) == 1 and kernel["executions"] > 0
    assert kernel["launches"][0]["engine"] == "llvm"
    assert ("buffers" in kernel) is detail
    assert (tmp_path / "out" / "summary.txt").read_text().startswith("add: 1 launch, ")


@needs_all
def test_a_program_without_kernels_leaves_nothing(tmp_path):
    done = run("true", options=["--profile", str(tmp_path)])
    assert (done.returncode, done.stderr, os.listdir(tmp_path)) == (0, "", [])


def test_detail_goes_with_a_profile():
    done = run("true", options=["--profile-detail"])
    assert done.returncode == 2 and "--profile-detail goes with --profile DIR" in done.stderr


@needs_all
@pytest.mark.parametrize("options", [[], ["-g"]])
def test_lines_of_the_source_are_an_option(added, tmp_path, options):
    done = run(added, 1000, options=["--platform", "tgllp", "--profile", str(tmp_path), *options])
    assert done.returncode == 0, done.stderr
    assert ("c[i] = a[i] + b[i];" in (tmp_path / "add.html").read_text()) is bool(options)
    assert ("build with -g" in (tmp_path / "summary.txt").read_text()) is not bool(options)
