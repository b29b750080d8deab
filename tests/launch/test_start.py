"""The start of commands: interrupts while modules are loaded, and failing calls of the system."""

import json
import os
import subprocess
import sys

import pytest
from support.golden_files import module_of
from support.programs import ROOT

HOOK = """
import errno, os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # which may have been told to ignore it

class Loading:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["LOADED"]:
            sys.meta_path.remove(self)
            if os.environ["COMES"] == "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
            elif os.environ["COMES"] == "memory":
                raise MemoryError
            else:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "module.py")

sys.meta_path.insert(0, Loading())
"""
"""A module that Python loads before all others: something happens where another one is loaded."""
COMMANDS = {
    "vasm": ["k.visaasm", "-o", "k.o"], "vdis": ["k.o"], "vlink": ["k.o", "-o", "k.bin"],
    "vsim": ["k.bin", "--kernel", "k", "--global-size", "1"], "visakit": ["doctor"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the commands' input files."""
    place = tmp_path_factory.mktemp("start")
    (place / "hook").mkdir()
    (place / "hook" / "sitecustomize.py").write_text(HOOK)
    (place / "k.visaasm").write_text('.version 4.1\n.kernel "k"\n.kernel_attr SimdSize=8\nret (M1, 1)\n')
    for tool in ("vasm", "vlink"):
        subprocess.run([sys.executable, "-m", tool, *COMMANDS[tool]], cwd=place, check=True, env=with_path(ROOT))
    return place


def with_path(*places):
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))}


def started(folder, tool, loaded, comes, way, options=()):
    """A command, where something comes while a module is loaded."""
    module = module_of(tool)
    script = f"import sys; from visakit.start import {tool}; sys.argv[0] = '{tool}'; {tool}()"
    words = ["-m", module] if way == "module" else ["-c", script]
    more = {"LOADED": loaded, "COMES": comes}
    environment = with_path(folder / "hook", ROOT) | more
    return subprocess.run(
        [sys.executable, *words, *COMMANDS[tool], *options], cwd=folder, capture_output=True, text=True, env=environment
    )


@pytest.mark.parametrize(
    ("tool", "loaded", "way"),
    [
        ("vasm", "visakit.commands.command", "module"), ("vasm", "typer", "script"), ("vdis", "visakit.diagnostics", "script"), ("vdis", "vasm.disassembler", "module"),
        ("vlink", "vlink.linker", "script"), ("vsim", "numpy", "module"), ("vsim", "visakit.collector", "script"), ("visakit", "visakit.cli", "module"),
        ("visakit", "visakit.subcommands.doctor", "script"),
    ],
)  # fmt: skip
def test_an_interrupt_while_modules_are_loaded(folder, tool, loaded, way):
    done = started(folder, tool, loaded, "interrupt", way)
    assert (done.returncode, done.stderr) == (130, f"{tool}: interrupted\n")


@pytest.mark.parametrize(("tool", "loaded"), [("vsim", "numpy"), ("vlink", "vlink.linker")])
def test_an_interrupt_in_a_document(folder, tool, loaded):
    done = started(folder, tool, loaded, "interrupt", "script", ["--error-format", "json"])
    assert done.returncode == 130
    assert [(d["code"], d["message"]) for d in json.loads(done.stderr)] == [("U004", "interrupted")]


@pytest.mark.parametrize(
    ("tool", "loaded", "comes", "message"),
    [
        ("vasm", "typer", "files", "vasm: cannot start: module.py: Too many open files"),
        ("vlink", "vlink.cli", "memory", "vlink: cannot start: there is not enough memory"),
        ("vsim", "vsim.command.driver", "files", "vsim: module.py: Too many open files"),
        ("vsim", "numpy", "memory", "vsim: there is not enough memory"),
        ("visakit", "visakit.subcommands.doctor", "memory", "visakit doctor: there is not enough memory"),
    ],
)
def test_failing_system_calls_at_the_start_are_one_line(folder, tool, loaded, comes, message):
    done = started(folder, tool, loaded, comes, "script")
    assert (done.returncode, done.stderr) == (1, message + "\n")


def test_a_folder_for_temporary_files_that_is_not_there(capsys, monkeypatch):
    from visakit.cli import APPS
    from visakit.commands.command import exit_code

    def none():
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("visakit.subcommands.doctor.findings", none)
    assert exit_code(APPS["doctor"], "visakit doctor", []) == 1
    assert capsys.readouterr().err == "visakit doctor: No usable temporary directory found in ['/tmp']\n"
