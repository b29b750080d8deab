"""The resident process of the compiler: its results are the driver's, and the driver replaces it after its end."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.ocloc import needs_ocloc

from visakit.compiler import process
from visakit.compiler.process import MAXIMUM_FAILURES, Service, library_of, run_once

SOURCE = "kernel void k(global int *y, global int *x) { size_t i = get_global_id(0); y[i] = x[i] / 3; }"
WORDS = [
    "compile",
    "-file",
    "source.cl",
    "-device",
    "tgllp",
    "--format",
    "zebin",
    "-output",
    "program",
    "-output_no_suffix",
]
# A program that waits for all of its children does not wait for the compiler's process.
PROGRAM = """
import os, sys
from pathlib import Path
from visakit.compiler.process import SERVICE
for name in ("first", "second"):
    os.mkdir(name)
    Path(name, "source").write_text(sys.argv[1])
    SERVICE.run(sys.argv[2], sys.argv[3:], os.path.abspath(name))
assert SERVICE.idle
try:
    os.wait()
except ChildProcessError:
    print("no child")
"""


# A driver that prints its process and environment, and follows commands in the source.
LIBRARY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int oclocInvoke(int count, char **words) {
  FILE *source = fopen(words[1], "r");
  int what = fgetc(source);
  fclose(source);
  printf("%d\r\n%s", (int)getpid(), getenv("SAY") ? getenv("SAY") : "");
  fflush(stdout);
  if (what == 'a') abort();
  if (what == 'e') exit(7);
  while (what == 'h') pause();
  while (what == 'w' && access("go", F_OK)) usleep(1000);
  return -what;
}
"""
DRIVER = "int oclocInvoke(int, char **); int main(int n, char **w) { return oclocInvoke(n, w); }"


@pytest.fixture(scope="session")
def stub(tmp_path_factory):
    """The path of that driver, whose library lies where only the driver says."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    place = tmp_path_factory.mktemp("stub")
    (place / "hidden").mkdir()
    for text, name, words in (
        (LIBRARY, "hidden/libocloc.so", ("-shared", "-fPIC")),
        (DRIVER, "ocloc", ("-Lhidden", "-locloc", "-Wl,-rpath,$ORIGIN/hidden")),
    ):
        subprocess.run(["gcc", "-xc", "-", "-xnone", *words, "-o", name], cwd=place, input=text, text=True, check=True)
    return str(place / "ocloc")


@pytest.fixture
def ask(service, stub, tmp_path):
    """Ask the service for a run of the driver: the exit status, and the process."""

    def run(what="s"):
        (tmp_path / "source").write_text(what)
        code, output = service.run(stub, ["source"], str(tmp_path))
        return code, int(output.split("\r\n")[0])

    return run


def is_gone(process, seconds=20.0):
    """Whether a process ends soon."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if state == "Z" and len(os.listdir(f"/proc/{process}/task")) == 1:  # No thread of it holds its files.
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def in_a_fork(holds):
    """Whether something holds in a fork of this process."""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.alarm(20)
            status = 0 if holds() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def staying(ask):
    """The process that stays."""
    ask(), ask()
    process = ask()[1]
    assert ask()[1] == process != os.getpid()
    return process


@pytest.fixture
def service():
    made = Service()
    yield made
    made.forget()


@pytest.fixture
def folder(tmp_path):
    def make(source=SOURCE):
        for path in tmp_path.glob("*"):
            path.unlink()
        (tmp_path / "source.cl").write_text(source)
        return str(tmp_path)

    return make


def zebin(place):
    return next(path for name in ("program.bin", "program") if (path := Path(place, name)).is_file()).read_bytes()


def has_library():
    driver = shutil.which("ocloc")
    return driver is not None and library_of(driver) is not None


needs_library = pytest.mark.skipif(not has_library(), reason="the library of the compiler driver is not installed")


@needs_ocloc
@needs_library
def test_the_second_run_asks_a_process_and_gets_the_same(service, folder):
    driver, place = shutil.which("ocloc"), folder()
    whole = run_once(driver, WORDS, place), zebin(place)
    place = folder()
    assert (service.run(driver, WORDS, place), zebin(place)) == whole and not service.idle
    place = folder()
    assert (service.run(driver, WORDS, place), zebin(place)) == whole and len(service.idle) == 1
    place = folder("kernel void k(global int *y) { y[0] = nothing; }")
    failed = service.run(driver, WORDS, place)
    assert failed.code == run_once(driver, WORDS, place).code != 0
    assert "error: use of undeclared identifier 'nothing'" in failed.output


def test_threads_have_separate_processes(service, ask, stub, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    ask()
    together, places = threading.Barrier(2), [tmp_path / name for name in "ab"]

    def answer(place):
        place.mkdir()
        (place / "source").write_text("w")  # waits for a file
        together.wait()
        threading.Timer(0.3, (place / "go").touch).start()
        return service.run(stub, ["source"], str(place)).output

    with ThreadPoolExecutor(2) as threads:
        said = list(threads.map(answer, places))
    assert len(set(said)) == 2 and service.busy == 0 and len(service.idle) == 2


def test_the_process_is_no_child_of_the_program(stub, tmp_path):
    words = [sys.executable, "-c", PROGRAM, "s", stub, "source"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "no child\n"


def test_the_driver_answers_where_the_process_ends(service, folder, tmp_path, monkeypatch):
    driver, starts = Path(folder()).with_name("ocloc"), []
    driver.write_text("#!/bin/sh\necho $1\nexit 3\n")
    driver.chmod(driver.stat().st_mode | stat.S_IXUSR)
    assert library_of(str(driver)) is None  # a script may do more
    monkeypatch.setattr(process, "library_of", lambda driver: starts.append(driver) or "/no/libocloc.so")
    for _ in range(MAXIMUM_FAILURES + 3):
        assert service.run(str(driver), ["said"], str(tmp_path)) == (3, "said\n")
    assert len(starts) == service.failures == MAXIMUM_FAILURES and not service.idle and not service.busy


def test_another_driver_begins_anew(service, tmp_path):
    """After a new installation the process with the old driver ends."""
    driver = tmp_path / "ocloc"
    for text in ("#!/bin/sh\necho old\n", "#!/bin/sh\necho newer\n"):
        driver.write_text(text)
        driver.chmod(0o700)
        assert service.run(str(driver), [], str(tmp_path)).output == text.split()[-1] + "\n"
        assert service.failures == 0 and not service.idle
        service.run(str(driver), [], str(tmp_path))
        assert service.failures == MAXIMUM_FAILURES


def test_the_output_of_the_driver_is_the_same(service, stub, tmp_path):
    (tmp_path / "source").write_text("s")
    once, first, second = run_once(stub, ["source"], str(tmp_path)), *(
        service.run(stub, ["source"], str(tmp_path)) for _ in "ab"
    )  # fmt: skip
    assert once.code == first.code == second.code == 256 - ord("s") and len(service.idle) == 1
    assert {run.output.lstrip("0123456789") for run in (once, first, second)} == {"\r\n"}


@pytest.mark.parametrize(("what", "code"), [("a", -signal.SIGABRT), ("e", 7)])
def test_a_crash_of_the_compiler_is_that_of_one_build(service, ask, what, code):
    process = staying(ask)
    assert ask(what)[0] == code  # the driver was run again, which ends so
    assert is_gone(process) and service.failures == 1 and not service.idle and not service.busy
    assert staying(ask) != process and service.failures == 0


def test_a_process_that_was_killed_is_no_failure(service, ask):
    process = staying(ask)
    os.kill(process, signal.SIGKILL)
    assert is_gone(process)
    assert ask()[1] != process and service.failures == 0 and len(service.idle) == 1


def interrupt_the_wait():
    """Interrupt the main thread once it waits: Python misses a signal between its last look and the wait."""
    signal.siginterrupt(signal.SIGINT, True)  # Other tests use Z3, behind which calls of the system go on.
    state, seen = Path(f"/proc/self/task/{os.getpid()}/stat"), 0
    while seen < 10:
        time.sleep(0.01)
        seen = seen + 1 if state.read_text().rsplit(")", 1)[1].split()[0] == "S" else 0
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_ends_the_process_that_compiles(service, ask, tmp_path):
    process = staying(ask)
    threading.Thread(target=interrupt_the_wait).start()
    with pytest.raises(KeyboardInterrupt):
        ask("h")
    assert is_gone(process) and not service.busy and not service.idle


def test_the_process_ends_with_the_one_that_asks(service, ask):
    """Also during a compilation, and also if a fork of that process lives on."""
    process = staying(ask)
    assert in_a_fork(lambda: process not in (ask()[1], staying(ask)))
    assert ask()[1] == process and service.owner == os.getpid()
    service.forget()
    assert is_gone(process)


def test_a_fork_in_the_middle_of_a_start_does_not_wait_for_it(service, ask):
    ask()
    with service.lock:
        assert in_a_fork(lambda: ask()[0])


def test_another_environment_begins_anew(service, ask, stub, tmp_path, monkeypatch):
    process = staying(ask)
    monkeypatch.setenv("SAY", "other")
    for _ in range(2):
        assert service.run(stub, ["source"], str(tmp_path)).output.endswith("\r\nother")
    assert is_gone(process) and len(service.idle) == 1


def test_the_process_has_no_files_of_the_one_that_asks(ask, tmp_path):
    with open(tmp_path / "other", "wb") as stream:
        os.set_inheritable(stream.fileno(), True)
        process = staying(ask)
        places = [os.readlink(path) for path in Path(f"/proc/{process}/fd").iterdir()]
    assert sorted(place.partition(":")[0] for place in places) == ["/dev/null"] * 3 + ["socket"]


@pytest.mark.parametrize(("words", "text"), [(["-options", "-igc_opts 'K=1'"], ""), (["-file", "a.cl"], "__FILE__")])
def test_options_with_side_effects_have_a_separate_process(ask, service, stub, tmp_path, words, text):
    process = staying(ask)
    (tmp_path / "a.cl").write_text(text)
    output = service.run(stub, ["source", *words], str(tmp_path)).output
    assert int(output) != process and len(service.idle) == 1
