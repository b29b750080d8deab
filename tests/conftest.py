"""Shared helpers of the tests: building and running cases in process."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("VISAKIT_CACHE", tempfile.mkdtemp(prefix="visakit-test-"))
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as in the background of a shell: commands would not be interrupted
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"  # which looks at variables of CI services otherwise

with contextlib.suppress(ImportError):
    import slipcover.pytest_plugin

    if (counter := slipcover.pytest_plugin._slipcover_instance) is not None and sys.version_info < (3, 12):
        # Slipcover looks through all functions of all modules whenever a line that it has seen was executed so many
        # times more. With its 50 that takes a sixth of the tests' time (page 112).
        counter.d_miss_threshold = 2000
        counter.source = None  # pytest itself adds the files that no worker has loaded.
        if os.environ["PYTEST_XDIST_WORKER"] != "gw0":  # Counting takes time: one worker does it, in half of the files.
            counter.instrument = lambda code, parent=None: code

import hypothesis.internal.reflection
import pytest
from support import golden_files
from support.ocloc import driver  # noqa: F401

from visakit import collector
from visakit.commands import command

# The seed of each test's cases is derived from the function's source: it is read once for all cases.
hypothesis.internal.reflection._clean_source = functools.cache(hypothesis.internal.reflection._clean_source)
# Making a command's options takes 5 ms, and tests run thousands of command lines.
command.get_command = functools.cache(command.get_command)
collector.collect_rarely()  # as commands do; else a tenth of the tests' time goes into looking for garbage (page 112)


@pytest.fixture(scope="session", autouse=True)
def lines_of_commands_are_not_counted() -> Iterator[None]:
    """``make test`` measures the coverage of this process, not of a pytest that a test runs as users do."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("SLIPCOVER_ENABLED", raising=False)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each worker every other file first: the worker with coverage then runs tests of each package."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        files = [[*tests] for _, tests in itertools.groupby(items, lambda item: item.path)]
        items[:] = itertools.chain(*files[::2], *files[1::2])


def pytest_collection_finish() -> None:
    """Half a million objects of modules and tests stay: each full collection of garbage would walk them, a third of a
    second (page 112).
    """
    gc.collect()
    gc.freeze()


# -- golden files ------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected output of golden files")


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    return GoldenFile.from_parent(parent, path=file_path) if file_path.suffix == ".test" else None


class GoldenFile(pytest.File):
    """A golden file is one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield GoldenItem.from_parent(self, name=self.path.stem)


class GoldenItem(pytest.Item):
    """Runs the command lines of a golden file and compares their output, or rewrites the expected one."""

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
            return f"{excinfo.value}\n(pytest --bless rewrites the expected output)"
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class GoldenDifference(Exception):
    """The output differs from the expected one of a golden file."""
