"""Real kernels give the expected results on both engines, bit for bit the same."""

import io
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.programs import COPY, DATA, SHARED, TESTS, build, build_text, needs_corpus, run_case, same
from support.strategies import FUZZ, some

from vsim.engines.llvm.host import native
from vsim.program import Program

CASES = sorted(p for kind in ("cases", "unoptimised") for p in (DATA / kind).glob("*/*") if p.is_dir())
"""Kernels as compilers make them by default, and with ``-cl-opt-disable``."""
SAMPLES = {"saxpy": "tgllp", "mandelbrot": "bmg", "calls": "tgllp", "dispatch": "tgllp", "bitfields": "tgllp"}
SELECTION = ("basic_", "flow_", "wg_", "call_", "algo_")


def on_both_engines(folder, launch, platform):
    reference, wrong = run_case(folder, launch, platform, "numpy")
    assert not wrong
    fast, wrong = run_case(folder, launch, platform, "llvm")
    assert not wrong
    assert all(same(a, b) for a, b in zip(reference, fast, strict=True))


@pytest.mark.parametrize("folder", some(CASES, 3), ids=lambda p: "-".join(p.parts[-3:]))
def test_case(folder):
    """A third of them; test_schedule.py runs all that are optimised, in other ways."""
    on_both_engines(folder, folder.parent / "launch.json", folder.name)


@pytest.mark.parametrize(
    ("large", "huge"), [(1 << 30, 1 << 30), (0, 1 << 30), (0, 0)], ids=["instructions combined", "not combined", "none"]
)
def test_pipelines(large, huge, monkeypatch):
    """Code is right with the passes of modules of every size; ``make fuzz`` tries all of them on each kernel.

    Otherwise a third of the kernels try one: of the first, which small modules go through anyway, only large ones.
    """
    monkeypatch.setattr(native, "LARGE_LINES", large)
    monkeypatch.setattr(native, "QUICK_ONLY_BLOCKS", huge)
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    folders = [folder for folder in CASES if folder.name in ("tgllp", "bmg")]
    if not FUZZ:
        folders = folders[[large, huge].count(0) :: 9]
        folders = folders if not large else [folder for folder in folders if folder.parent.parent.name == "unoptimised"]
    for folder in folders:
        _, wrong = run_case(folder, folder.parent / "launch.json", folder.name, "llvm")
        assert not wrong, folder


def test_code_that_a_pass_breaks(monkeypatch):
    """LLVM ends the process on such a module; so it is compiled with other passes."""
    monkeypatch.setattr(native, "_is_valid", lambda module: False)
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    for folder in CASES[:4]:
        _, wrong = run_case(folder, folder.parent / "launch.json", folder.name, "llvm")
        assert not wrong, folder


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name):
    folder = DATA.parent.parent / "samples" / name
    on_both_engines(folder, folder / "launch.json", SAMPLES[name])


@needs_corpus
@pytest.mark.parametrize("device", ["tgllp", "bmg"])
@pytest.mark.parametrize("kind", SELECTION)
@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_corpus(device, kind, engine):
    """Each engine has an eighth of the cases of each device, always other ones; in ``make fuzz`` all."""
    folders = sorted(SHARED.glob(f"cases/{kind}*/{device}"))
    assert folders
    first = (device == "bmg") + 2 * (engine == "numpy")
    for folder in folders if FUZZ else folders[first::8] or folders[:1]:
        _, wrong = run_case(folder, folder.parent / "launch.json", device, engine)
        assert not wrong, folder


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
class TestEngine:
    def program(self, middle=""):
        return Program(build_text(COPY.replace("MIDDLE", middle)))

    def test_hand_written_kernel(self, engine):
        data, out = np.arange(64, dtype="u4"), np.zeros(64, "u4")
        self.program().launch("copy", 64, 16, [data, out], engine=engine)
        assert (out == data).all()

    def test_work_groups_that_do_not_divide(self, engine):
        data, out = np.arange(64, dtype="u4"), np.zeros(64, "u4")
        self.program().launch("copy", 48, 32, [data, out], engine=engine)
        assert (out[:48] == data[:48]).all() and not out[48:].any()

    @pytest.mark.parametrize("body", ["", "sbarrier.signal\\nsbarrier.wait\\n"], ids=["loop", "turns"])
    def test_ctrl_c(self, engine, body):
        """An endless kernel in a child process, which gets the signal once it runs."""
        code = f"""
import signal, numpy as np, vsim.program as p
from support.programs import COPY, build_text
signal.signal(signal.SIGINT, signal.default_int_handler)  # which may have been told to ignore it
program = p.Program(build_text(COPY.replace("MIDDLE", "L:\\n{body}jmp (M1, 1) L"), "xehp"))
print("begins", flush=True)
try:
    program.launch("copy", 8, 8, [np.zeros(64, "u4"), np.zeros(64, "u4")], engine="{engine}")
except KeyboardInterrupt:
    print("interrupted")
"""
        with subprocess.Popen([sys.executable, "-c", code], cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "begins\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            try:
                assert process.communicate(timeout=60)[0] == "interrupted\n"
            finally:
                process.kill()

    def test_results_do_not_depend_on_the_number_of_threads(self, engine):
        data = np.arange(4096, dtype="u4")
        for threads in (1, 2, 3):
            out = np.zeros_like(data)
            self.program("mul (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 3:ud").launch(
                "copy", 4096, 64, [data, out], engine=engine, threads=threads
            )
            assert (out == 3 * data).all()


def test_launches_from_several_threads():
    """Launches of one program wait for each other; those of two programs share the worker threads."""
    from concurrent.futures import ThreadPoolExecutor

    folder = DATA.parent.parent / "samples" / "saxpy"
    programs = [Program(build(folder, "tgllp")) for _ in range(2)]
    x = np.arange(4096, dtype="f4")

    def run(n):
        y = np.full(4096, n, "f4")
        programs[n % 2].launch("saxpy", 4096, 64, [y, x, 2.0, 4096])
        return bool((y == 2 * x + n).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(64)))


@pytest.mark.parametrize("name", ["mandelbrot", "collatz"])
def test_ctm_sample(name, tmp_path):
    from visakit.ctm import assemble
    from visakit.ctm.linker import link
    from visakit.ctm.processors import Options
    from visakit.ctm.simulator import GridSession, load

    folder = DATA.parent.parent / "samples" / "ctm" / name
    image = link([assemble(p.read_text(), p.name) for p in sorted(folder.glob("*.ctm"))])
    (tmp_path / "x.bin").write_bytes(image.to_bytes())
    program = load(str(tmp_path / "x.bin"), Options())
    session = GridSession(program, str(tmp_path / "x.bin"), str(tmp_path), io.StringIO())
    session.run_file(str(folder / "launch.json"))
    assert not session.failed and session.rows[0]["checks"][0]["ok"]
