"""``visakit dap`` as Neovim with nvim-dap uses it, without a screen. ``NVIM_DAP`` names the folder of the plugin, if it
is in none of Neovim's own.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import ROOT, kernel_head

import vasm
import vlink

TEXT = (
    kernel_head("Y=uq@qword N=d*8", "Y", name="steps", SimdSize=8)
    + """mov (M1, 8) N(0,0)<1> 0x76543210:uv
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 100:d
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> N(0,0)<1;1,0>
svm_block_st (2) Y(0,0)<0;1,0> N.0
ret (M1, 1)
"""
)

PACKAGES = (
    "~/.local/share/nvim/site/pack/*/*/nvim-dap",
    "~/.local/share/nvim/*/nvim-dap",
    "/usr/share/*vim*/*/nvim-dap",
)


def plugin():
    """The folder of nvim-dap; None if it is not here."""
    named = os.environ.get("NVIM_DAP")
    home = Path.home()
    found = [named] if named else [p for g in PACKAGES for p in _glob(g.replace("~", str(home)))]
    return next((str(p) for p in found if Path(p, "lua", "dap.lua").is_file()), None)


def _glob(pattern):
    return Path("/").glob(pattern.lstrip("/"))


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
@pytest.mark.skipif(plugin() is None, reason="nvim-dap is not installed, and NVIM_DAP does not name its folder")
def test_neovim_steps_forward_and_back(tmp_path):
    (tmp_path / "steps.visaasm").write_text(TEXT)
    assembled = vasm.assemble_text(TEXT, "steps.visaasm", "tgllp").object_bytes(debug=True)
    (tmp_path / "steps.bin").write_bytes(vlink.link([assembled]).to_bytes())
    report = tmp_path / "report.json"
    server = ", ".join(json.dumps(word) for word in (sys.executable, "-m", "visakit", "dap"))
    names = {"plugin": plugin(), "folder": str(tmp_path), "report": str(report)}
    given = "; ".join([f"{name} = {json.dumps(value)}" for name, value in names.items()] + [f"server = {{{server}}}"])
    script = ROOT / "tests" / "debug" / "neovim.lua"
    done = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "--cmd", f"lua {given}", "-c", f"luafile {script}"],
        cwd=tmp_path, env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}, check=False,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert report.is_file(), done.stderr
    seen = json.loads(report.read_text())
    assert not seen["errors"], (seen, done.stderr)
    assert [stop["line"] for stop in seen["stops"]] == [8, 9, 10, 9]
    assert [stop["reason"] for stop in seen["stops"]] == ["breakpoint", "step", "step", "step"]
    assert seen["values"] == ["{0..7}", "{100..107}", "{200,202..214}", "{100..107}"]
    assert seen["ended"]
