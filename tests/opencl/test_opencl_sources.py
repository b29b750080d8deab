"""Sources of OpenCL C with several kernels each: from source to compared results in one command, by way of the compiler's zebin.

``VISAKIT_TEST_DEVICE`` names devices that the installed compiler makes code for, with commas between, such as
bmg,pvc,dg2,tgllp for today's: the first for the sources here, and for cases of the corpus the first that they are for.
"""

import json
import runpy

import numpy as np
import pytest
from support.commands import said
from support.ocloc import DEVICES, needs_ocloc
from support.opencl_models import MODELS, write
from support.programs import DATA, ROOT, SHARED, needs_corpus
from support.strategies import some

from visakit.runtime import cl

SOURCES = DATA / "opencl"
CASES = sorted(p.name for p in (SHARED / "cases").glob("*"))


def test_numbers_are_those_of_the_public_headers():
    generator = runpy.run_path(str(ROOT / "docs" / "generate_opencl_numbers.py"))
    if not generator["HEADERS"].exists():
        pytest.skip("the headers of OpenCL are not installed (Debian: opencl-headers)")
    public = generator["definitions"](generator["HEADERS"])
    numbers = {name: number for name, number in vars(cl).items() if name.startswith("CL_")}
    assert len(public) > 900 and numbers == {name: public[name] for name in numbers}
    assert generator["used_names"]() <= set(numbers)


def test_every_source_has_a_model_and_several_kernels():
    sources = {p.stem: p.read_text() for p in SOURCES.glob("*.cl")}
    assert set(sources) == set(MODELS) and len(sources) >= 30
    for name, text in sources.items():
        runs = MODELS[name](np.random.default_rng(1)).runs
        assert len({run.kernel for run in runs}) == text.count("kernel ") - text.count("//kernel ") >= 2, name


@needs_ocloc
@pytest.mark.parametrize("name", MODELS)
def test_source(name, tmp_path, capsys):
    model = MODELS[name](np.random.default_rng(1))
    launch = write(model, tmp_path)
    words = ["--platform", DEVICES[0], "--launch", launch]
    words += [f"--build-options={model.options}"] if model.options else []
    code, out, err = said(capsys, "vsim", SOURCES / f"{name}.cl", *words)
    assert code == 0 and "error" not in err, out + err  # Some compilers warn of floats that are printed.
    lines = out.splitlines()[-len(model.runs) :]
    expected = [any(getattr(a, "after", None) is not None for a in run.args) for run in model.runs]
    assert [": ok (" in line for line in lines] == expected and out.startswith(model.printed)


@needs_corpus
@needs_ocloc
@pytest.mark.parametrize("name", some(CASES, 12))
def test_case_of_the_corpus(name, monkeypatch, capsys):
    """Cases run from their sources in the same way, in ``make fuzz`` all; the corpus says which devices they are for."""
    spec = json.loads((SHARED / "specs" / f"{name}.json").read_text())
    device = next((d for d in DEVICES if d in spec.get("devices", ["tgllp"])), None)
    if device is None:
        pytest.skip(f"it is for none of {DEVICES}, but for {spec['devices']}")
    for key, value in spec.get("env", {}).items():
        monkeypatch.setenv(key, str(value))
    folder = SHARED / "cases" / name
    options = json.loads((folder / "launch.json").read_text()).get("options")
    words = [f"--build-options={options}"] if options else []
    code, out, err = said(
        capsys, "vsim", folder / "kernel.cl", "--platform", device, "--launch", folder / "launch.json", *words
    )
    assert code == 0 and "error" not in err, out + err
    assert ": ok (" in out.splitlines()[-1]
