"""The compiler's process that stays: it answers as the driver does, and the driver answers where it is gone."""

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_ocloc import needs_ocloc

from vsim import compiler_process
from vsim.compiler_process import MAXIMUM_FAILURES, Service, library_of, run_once

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
# A program may wait for all of its children, of which the compiler's process is none.
PROGRAM = """
import os, sys
from pathlib import Path
from vsim.compiler_process import SERVICE
for name in ("first", "second"):
    os.mkdir(name)
    Path(name, "source.cl").write_text(sys.argv[1])
    SERVICE.run(sys.argv[2], sys.argv[3:], os.path.abspath(name))
assert SERVICE.idle
try:
    os.wait()
except ChildProcessError:
    print("no child")
"""


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


@needs_ocloc
@needs_library
def test_threads_have_processes_of_their_own(service, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    driver, places = shutil.which("ocloc"), [tmp_path / str(number) for number in range(3)]
    for place in places:
        place.mkdir()
        (place / "source.cl").write_text(SOURCE)
    service.run(driver, WORDS, str(places[0]))
    with ThreadPoolExecutor(2) as threads:
        codes = [run.code for run in threads.map(lambda place: service.run(driver, WORDS, str(place)), places[1:])]
    assert codes == [0] * 2 and len({zebin(place) for place in places}) == 1
    assert service.busy == 0 and 1 <= len(service.idle) <= 2


@needs_ocloc
@needs_library
def test_the_process_is_nobodys_child(tmp_path):
    words = [sys.executable, "-c", PROGRAM, SOURCE, shutil.which("ocloc"), *WORDS]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "no child\n"


def test_the_driver_answers_where_the_process_ends(service, folder, tmp_path, monkeypatch):
    driver, starts = Path(folder()).with_name("ocloc"), []
    driver.write_text("#!/bin/sh\necho $1\nexit 3\n")
    driver.chmod(driver.stat().st_mode | stat.S_IXUSR)
    assert library_of(str(driver)) is None  # a script may do more
    monkeypatch.setattr(compiler_process, "library_of", lambda driver: starts.append(driver) or "/no/libocloc.so")
    for _ in range(MAXIMUM_FAILURES + 3):
        assert service.run(str(driver), ["said"], str(tmp_path)) == (3, "said\n")
    assert len(starts) == service.failures == MAXIMUM_FAILURES and not service.idle and not service.busy


def test_another_driver_begins_anew(service, tmp_path):
    """It was installed anew, so that what the process holds is the old one."""
    driver = tmp_path / "ocloc"
    for text in ("#!/bin/sh\necho old\n", "#!/bin/sh\necho newer\n"):
        driver.write_text(text)
        driver.chmod(0o700)
        assert service.run(str(driver), [], str(tmp_path)).output == text.split()[-1] + "\n"
        assert service.failures == 0 and not service.idle
        service.run(str(driver), [], str(tmp_path))
        assert service.failures == MAXIMUM_FAILURES
