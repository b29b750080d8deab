"""Shared helpers of the tests: building and running cases in process."""

from __future__ import annotations

import lzma
import os
import signal
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

os.environ.setdefault("VISAKIT_CACHE", tempfile.mkdtemp(prefix="visakit-test-"))
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as in the background of a shell: commands would not be interrupted
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"  # which looks at variables of CI services otherwise

import golden_files
import numpy as np
import pytest

from vasm.assembler import assemble_text
from visakit.objects.image import LinkedImage, read_image
from vlink.linker import Linker, LinkOptions
from vsim.launch.launch import BufferArgument, ImageArgument, compare
from vsim.launch.launch_file import parse_launch
from vsim.program import Program

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parent.parent.parent / "shared" / "corpus"

HEAD = """.version 4.1
.kernel "t"
.decl VD v_type=G type=d num_elts=64 align=GRF
.decl VF v_type=G type=f num_elts=64 align=GRF
.decl VUD v_type=G type=ud num_elts=64 align=GRF
.decl P1 v_type=P num_elts=16
.decl T6 v_type=T num_elts=1
"""
"""The beginning of a small kernel: variables of a few kinds to make mistakes with."""

needs_corpus = pytest.mark.skipif(not SHARED.exists(), reason="the shared corpus is not beside the repository")


def short_id(value: object) -> str:
    """The name of a parameter in that of its test, which goes from process to process: the beginning of its text."""
    return repr(value)[:40]


def build(folder: Path, platform: str) -> LinkedImage:
    """Assemble all texts of a folder and link them, through bytes as the commands do."""
    linker = Linker(LinkOptions(platform=platform))
    for text in sorted(folder.glob("*.visaasm")):
        if ".inline." not in text.name:
            linker.add_bytes(assemble_text(text.read_text(), str(text), platform).object_bytes(debug=True), text.name)
    info = folder / "kernel.zebin"
    info = info if info.exists() else folder / "ze_info.yaml"
    if info.exists():
        linker.add_info(info.read_bytes(), str(info))
    return read_image(linker.run().image.to_bytes(), folder.name)


@cache
def packed_program(name: str) -> Program:
    """The image of a name in ``checks``, which is packed there, as a program."""
    data = (DATA / "checks" / f"{name}.image.xz").read_bytes()
    return Program(read_image(lzma.decompress(data), f"{name}.image"))


def build_text(text: str, platform: str = "tgllp", info: str = "") -> LinkedImage:
    """An image of one text, and perhaps of ze_info."""
    linker = Linker(LinkOptions(platform=platform))
    linker.add_bytes(assemble_text(text, "test.visaasm", platform).object_bytes(debug=True), "test.o")
    if info:
        linker.add_info(info.encode(), "ze_info.yaml")
    return read_image(linker.run().image.to_bytes(), "test.bin")


def run_case(folder: Path, launch: Path, platform: str, engine: str) -> tuple[list[np.ndarray], list[str]]:
    """Run all launches of a case; every buffer afterwards, and what differs from the expected results."""
    program = Program(build(folder, platform))
    file = parse_launch(launch.read_text(), str(launch.parent), str(launch))
    arrays, wrong = [], []
    for index in range(len(file)):
        one = file.launch(index)
        program.run(one, engine=engine)
        for argument in one.args:
            if isinstance(argument, (BufferArgument, ImageArgument)):
                arrays.append(argument.array.copy())
                if argument.expect is not None and (
                    difference := compare(argument.array, argument.expect, argument.rtol, argument.atol)
                ):
                    wrong.append(f"launch {index}: {difference}")
    return arrays, wrong


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit, but any NaN equals any NaN."""
    if a.dtype.kind == "f":
        return bool((((a == b) & (np.signbit(a) == np.signbit(b))) | ((a != a) & (b != b))).all())
    return bool((a == b).all())


@pytest.fixture(scope="session", autouse=True)
def lines_of_commands_are_not_counted() -> Iterator[None]:
    """``make test`` measures the coverage of this process, not of a pytest that a test runs as users do."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("SLIPCOVER_ENABLED", raising=False)
        yield


# -- golden files ------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite what the golden files expect")


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    return GoldenFile.from_parent(parent, path=file_path) if file_path.suffix == ".test" else None


class GoldenFile(pytest.File):
    """A golden file is one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield GoldenItem.from_parent(self, name=self.path.stem)


class GoldenItem(pytest.Item):
    """Runs the command lines of a golden file and compares, or rewrites what the file expects."""

    def runtest(self) -> None:
        golden = golden_files.read(self.path.read_text())
        outcome = golden_files.run(golden)
        if golden_files.agree(golden, outcome):
            return
        if self.config.getoption("--bless"):
            self.path.write_text(golden_files.blessed(golden, outcome))
            return
        raise GoldenDifference(
            golden_files.difference(golden, outcome, self.path.relative_to(golden_files.ROOT).as_posix())
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None) -> str:
        if isinstance(excinfo.value, GoldenDifference | golden_files.FormatProblem):
            return f"{excinfo.value}\n(pytest --bless rewrites what the file expects)"
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class GoldenDifference(Exception):
    """What came out is not what a golden file expects."""
