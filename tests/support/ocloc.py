"""The compiler driver ``ocloc``: whether it is installed, and a replacement that records its calls."""

import json
import os
import sys

import pytest

from support.programs import DATA
from visakit.compiler.devices import compiler_driver

SAXPY = "kernel void saxpy(global float *y, global const float *x, float a) {\n  size_t i = get_global_id(0);\n  y[i] += a * x[i];\n}\n"
needs_ocloc = pytest.mark.skipif(compiler_driver() is None, reason="the compiler driver ocloc is not installed")
DEVICES = os.environ.get("VISAKIT_TEST_DEVICE", "tgllp,skl,dg2").split(",")


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """A driver that records its calls, prints a given text, and writes a zebin of the tests' data."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "ocloc"
    script.write_text(
        f"#!{sys.executable}\nimport json, os, shutil, sys, time\nhere = {str(folder)!r}\n"
        "with open(f'{here}/calls', 'a') as f: f.write(json.dumps(sys.argv[1:]) + '\\n')\n"
        "plan = json.load(open(f'{here}/plan'))\nprint(plan['said'], end='', flush=True)\ntime.sleep(plan['sleep'])\n"
        f"if plan['zebin']: shutil.copy({str(DATA / 'zebins' / 'xelp.bin')!r}, plan['zebin'])\n"
        "if plan['code'] < 0: os.kill(os.getpid(), -plan['code'])\nsys.exit(plan['code'])\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))

    def plan(said="", zebin="program", code=0, sleep=0):
        (folder / "plan").write_text(json.dumps({"said": said, "zebin": zebin, "code": code, "sleep": sleep}))
        return lambda: [json.loads(line) for line in (folder / "calls").read_text().splitlines()]

    return plan
