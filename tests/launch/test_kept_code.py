"""Launches with native code of an earlier process: facts come from the cache, and instructions are read on demand."""

import ast
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from support.programs import ROOT, build, kernel_head
from support.strategies import ENGINES

import vsim
from vasm.assembler import assemble_text
from visakit import FormatError, SimulationError, object_cache
from visakit.binary import write_module
from vlink.linker import Linker, LinkOptions
from vsim.analysis.summary import summarize
from vsim.engines.llvm.host import summaries

SAXPY = ROOT / "samples" / "saxpy"
TABLE = {
    "visakit.isa",
    "visakit.language.operands",
    "visakit.rules.validation",
    "visakit.binary.codec",
    "vsim.analysis",
    "vsim.semantics",
}
"""Modules that launches need only if they read instructions."""
ASKED_FOR = {
    "vsim.command.command_arguments",
    "vsim.launch.conversion",
    "vsim.launch.schedule",
    "vsim.command.shown",
    "vsim.observe.trace",
    "numpy.typing",
}
"""Modules that launch files without options do not need."""
LINKING = {"yaml", "lark", "vlink", "visakit.text", "visakit.objects.index"}
"""Modules that linked programs do not need."""
MOST_MODULES = 100
"""Of this project, that a launch of kept code loads: each takes 0.15 ms or more."""


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def saxpy():
    return build(SAXPY, "tgllp").to_bytes()


def run(data, count=64, engine="auto"):
    """Load an image, run it over 64 work-items of which so many are inside the arrays; the program."""
    program = vsim.load(data)
    y = np.ones(count, "f4")
    program.launch("saxpy", 64, 64, [y, np.arange(count, dtype="f4"), 2.0, 64], engine=engine)
    assert (y == 1 + 2 * np.arange(count)).all()
    return program


def test_a_command_whose_code_is_kept_reads_no_instruction(saxpy, tmp_path):
    image = tmp_path / "s.bin"
    image.write_bytes(saxpy)
    words = ["vsim", str(image), "--launch", str(SAXPY / "launch.json"), "--out-dir", str(tmp_path)]
    code = "import sys\nimport vsim.command.cli\nfrom visakit.commands.command import exit_code\n"
    code += f"assert exit_code(vsim.command.cli.app, 'vsim', {words[1:]!r}) == 0\n"
    code += f"print(sorted({TABLE | ASKED_FOR!r} & set(sys.modules)))"
    loaded = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        loaded.append(set(ast.literal_eval(done.stdout.splitlines()[1])))
    assert loaded[0] >= TABLE and not loaded[1], done.stderr


def test_a_command_whose_program_is_kept_links_nothing(tmp_path):
    zebin = str(ROOT / "tests" / "data" / "zebins" / "xelp.bin")
    words = [zebin, "--engine", "llvm", "--kernel", "state", "--global-size", "1", "--arg", "out=zeros:2:i4"]
    code = "import sys\nimport vsim.command.cli\nfrom visakit.commands.command import exit_code\n"
    code += f"assert exit_code(vsim.command.cli.app, 'vsim', {words!r}) == 0\nprint([*sys.modules])"
    loaded = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        loaded.append(set(ast.literal_eval(done.stdout.splitlines()[-1])))
    own = {name for name in loaded[1] if name.partition(".")[0] in ("visakit", "vsim", "vlink", "vasm")}
    assert loaded[0] >= LINKING - {"lark"} and not loaded[1] & (LINKING | TABLE), done.stderr
    assert len(own) <= MOST_MODULES, sorted(own)


def test_instructions_are_read_on_demand(saxpy):
    whole = run(saxpy).image
    image = run(saxpy).image
    assert whole.is_read and not image.is_read and image.lines == whole.lines
    assert image.module == whole.module and image.is_read
    lines = [[i.line for i in f.module.kernels[0].instructions] for f in (image, whole)]
    assert lines[0] == lines[1] and all(lines[0])
    assert image.to_bytes() == whole.to_bytes() == saxpy


@pytest.mark.parametrize("engine", ENGINES)
def test_faults_are_the_same(saxpy, engine):
    def fault():
        with pytest.raises(SimulationError) as caught:
            run(saxpy, 40, engine)
        return caught.value.diagnostics

    first = fault()
    run(saxpy)
    assert not vsim.load(saxpy).image.is_read
    assert fault() == first and first[0].span.line


@pytest.mark.parametrize("case", ["barrier", "calls"])
def test_kept_facts_equal_those_of_the_instructions(case):
    data = {"barrier": ROUNDS, "calls": CALLS}[case]
    linker = Linker(LinkOptions(platform="tgllp"))
    linker.add_bytes(assemble_text(data, "k.visaasm", "tgllp").object_bytes(), "k.o")
    data = linker.run().image.to_bytes()
    for _ in range(2):
        program = vsim.load(data)
        program.launch("k", 64, 64, [np.zeros(64, "u4")])
    kept = program.signature("k").known
    image = program.image
    assert kept is not None and not image.is_read
    assert kept == summarize(image, image.module.kernels[0], program.signature("k").layout.pointers)
    assert kept.has_barrier is (case == "barrier") and kept.repeats


HEAD = kernel_head("AT=uq@qword V=ud*16 P1=P*8", "AT", at=32, SimdSize=8)
ROUNDS = f"""{HEAD}mov (M1, 8) V(0,0)<1> 0:ud
again:
barrier
add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> 1:ud
cmp.lt (M1, 8) P1 V(0,0)<1;1,0> 3:ud
(P1) goto (M1, 8) again
ret (M1, 1)
"""
CALLS = f"""{HEAD}fcall (M1, 8) f 0 0
ret (M1, 1)
.global_function "f"
.decl V v_type=G type=ud num_elts=16 align=GRF
.kernel_attr SimdSize=8
mov (M1, 8) V(0,0)<1> 0:ud
fret (M1, 8)
"""


def test_changed_instructions_do_not_use_kept_code(saxpy):
    run(saxpy)
    program = vsim.load(saxpy)
    (kernel,) = program.image.module.kernels
    kernel.instructions[:] = kernel.instructions[-1:]
    assert program.signature("saxpy").known is None
    y = np.ones(64, "f4")
    program.launch("saxpy", 64, 64, [y, y.copy(), 2.0, 64])
    assert (y == 1).all()
    assert summaries.known(write_module(program.image.module), 32) is None  # It was not validated.


def test_code_that_was_not_validated_is_read(saxpy):
    run(saxpy)
    at = saxpy.index(b"CISA") + len(vsim.load(saxpy).image.code) - 1
    with pytest.raises(FormatError):
        vsim.load(saxpy[:at] + b"\xee" + saxpy[at + 1 :])


def test_launches_on_the_reference_engine_keep_no_code(saxpy, tmp_path):
    run(saxpy, engine="numpy")
    assert not list((tmp_path / "cache").rglob("*.o"))


def test_an_entry_without_the_kernel_gets_it(saxpy):
    code = run(saxpy).image.code
    object_cache.save(summaries._name(code, 32), b"{}")
    program = run(saxpy)
    assert program.signature("saxpy").known is None
    assert run(saxpy).signature("saxpy").known == program.signature("saxpy").summary


def test_native_code_that_is_gone_is_made_again(saxpy, tmp_path):
    run(saxpy)
    code = vsim.load(saxpy).image.code
    for entry in (tmp_path / "cache" / "objects").iterdir():
        if entry.name != f"{summaries._name(code, 32)}.o":
            os.unlink(entry)
    assert run(saxpy).image.is_read


def test_several_threads_may_look_at_once(saxpy):
    run(saxpy)
    (kernel,) = vsim.load(saxpy).image.module.kernels
    barrier, seen = threading.Barrier(4), []

    def look():
        barrier.wait()
        seen.append(kernel.instructions)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found is seen[0] for found in seen) and len(seen) == 4 and seen[0]
