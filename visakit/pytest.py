"""A plugin of pytest: kernels in tests, on every device and engine that is asked for. docs/testing.md shows it at work.

pytest loads it by itself where visakit is installed. The packages of the toolchain are imported when a test asks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    import numpy.typing as npt

    from visakit.objects.image import LinkedImage
    from vsim import Kernel, LaunchResult, Program
    from vsim.program import Size

MARKER = "visakit(devices=[...], engines=[...]): the devices and engines that the fixture 'visakit' goes through"
ENGINES = ("llvm", "numpy")
PACKAGES = ("vasm", "vlink", "vsim", "visakit")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options and settings of the same meaning; the option counts more, the marker of a test most."""
    group = parser.getgroup("visakit", "kernels of Intel GPUs in tests")
    group.addoption("--visa-devices", metavar="NAME,...", help="devices that the fixture 'visakit' goes through")
    group.addoption("--visa-engines", metavar="NAME,...", help="engines that it goes through: llvm, numpy")
    group.addoption("--visa-check", metavar="LIST", help="checks that watch the launches of the fixture, or all")
    parser.addini("visa_check", "checks that watch the launches of the fixture 'visakit'", default="")
    parser.addini("visa_devices", "devices that the fixture 'visakit' goes through", "args", default=[])
    parser.addini("visa_engines", "engines that the fixture 'visakit' goes through", "args", default=list(ENGINES))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and look at the options and settings.

    Raises:
        pytest.UsageError: there is no such device, engine or check.
    """
    config.addinivalue_line("markers", MARKER)
    for what in ("devices", "engines"):
        names, place = _configured(config, what)
        _check(what, names, place)
    checks, place = _configured_checks(config)
    if checks:
        from visakit.diagnostics import UsageError
        from vsim.checks.selection import parse_checks

        try:
            parse_checks(checks, place)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for the fixture runs once for each device and engine.

    Raises:
        pytest.UsageError: there is no such device or engine as its marker names.
    """
    if "visakit" not in metafunc.fixturenames:
        return
    devices: list[str | None] = [*_asked(metafunc, "devices")]
    engines = _asked(metafunc, "engines") or list(ENGINES)
    pairs = [(device, engine) for device in devices or [None] for engine in engines]
    names = ["-".join(filter(None, pair)) for pair in pairs]
    metafunc.parametrize("visakit", pairs, indirect=True, ids=names)


def _asked(metafunc: pytest.Metafunc, what: str) -> list[str]:
    """The values of a marker, of an option or of the settings, in this order."""
    for marker in metafunc.definition.iter_markers("visakit"):
        if what in marker.kwargs:
            given = marker.kwargs[what]
            names = [given] if isinstance(given, str) else list(given)
            _check(what, names, metafunc.definition.nodeid)
            return names
    return _configured(metafunc.config, what)[0]


def _configured(config: pytest.Config, what: str) -> tuple[list[str], str]:
    """The values of an option, or else of a setting, and its name."""
    option = config.getoption(f"--visa-{what}")
    if option:
        return [name.strip() for name in str(option).split(",")], f"--visa-{what}"
    return list(config.getini(f"visa_{what}")), f"visa_{what}"


def _configured_checks(config: pytest.Config) -> tuple[str, str]:
    """The checks of the option, or else of the setting, and its name."""
    option = config.getoption("--visa-check")
    return (str(option), "--visa-check") if option else (str(config.getini("visa_check")), "visa_check")


def _check(what: str, names: Sequence[str], place: str) -> None:
    """Refuse unknown devices and engines.

    Raises:
        pytest.UsageError: there is no such one; ``place`` says where it is named.
    """
    if not names or (what == "engines" and set(names) <= set(ENGINES)):
        return
    from visakit.diagnostics import UsageError, did_you_mean
    from visakit.usage import check_platform

    for name in names:
        if what == "devices":
            try:
                check_platform(name)
            except UsageError as error:
                raise pytest.UsageError(f"{place}: {error}") from None
        elif name not in ENGINES:
            hint = did_you_mean(name, ENGINES) or f"engines are {', '.join(ENGINES)}"
            raise pytest.UsageError(f"{place}: '{name}' is not an engine; {hint}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Hide frames of the toolchain in errors of a program or launch; ``--full-trace`` shows them."""
    if call.excinfo is not None and _is_of_a_program(call.excinfo):
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in PACKAGES:
                vars(module).setdefault("__tracebackhide__", _is_of_a_program)


def _is_of_a_program(info: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether an error is about a program or a launch, and not a mistake of the toolchain."""
    diagnostics = sys.modules.get("visakit.diagnostics")
    return diagnostics is not None and isinstance(info.value, diagnostics.VisaError)


class LoadedProgram(NamedTuple):
    """A program that a session of pytest has loaded, with the time stamp of its source."""

    changed: int
    program: Program


class Device:
    """A device and an engine in a test: loads programs, runs their kernels, compares results.

    Attributes:
        device: the platform that sources are compiled for, and that programs must be for; None for any.
        engine: ``llvm`` or ``numpy``.
        check: checks that watch launches, separated by commas; empty for none.
    """

    def __init__(
        self,
        device: str | None,
        engine: str,
        folder: Path,
        programs: dict[tuple[object, ...], LoadedProgram],
        check: str = "",
    ) -> None:
        self.device, self.engine, self.check = device, engine, check
        self._folder, self._programs = folder, programs

    def __repr__(self) -> str:
        return f"<Device {self.device or 'of any platform'} on {self.engine}>"

    def load(self, source: str | os.PathLike[str], options: str = "") -> Program:
        """A program: OpenCL C or SPIR-V (compiled by ocloc), vISA text, a zebin, or an image.

        It is read once for a session. The test is skipped where ocloc is needed and missing, and where a zebin or an
        image is for another device.

        Args:
            source: a file; a name without a directory, or a relative one, begins in the folder of the test.
            options: build options for the compiler.

        Raises:
            VisaError: the file cannot be read, or its errors.
        """
        path = self._folder / source
        key = (str(path), self.device, options)
        changed = path.stat().st_mtime_ns if path.exists() else 0
        kept = self._programs.get(key)
        if kept is None or kept.changed != changed:
            kept = self._programs[key] = LoadedProgram(changed, self._loaded(path, options))
        return kept.program

    def _loaded(self, path: Path, options: str) -> Program:
        from visakit.file_kinds import source_language
        from visakit.files import read_bytes
        from visakit.objects.archive import is_archive
        from visakit.usage import check_platform
        from vsim import load

        name, platform = str(path), check_platform(self.device)
        if path.suffix in (".visaasm", ".asm"):
            return load(self._assembled(name))
        data = read_bytes(name)
        is_source = source_language(name, data) is not None
        if is_source:
            _skip_without_compiler()
        program = load(path, self.device if is_source or is_archive(data) else None, options)
        if platform not in (None, program.image.platform):
            pytest.skip(f"{path.name} is for {program.image.platform}, not for {self.device}")
        return program

    def _assembled(self, name: str) -> LinkedImage:
        import vlink
        from vasm import assemble_text
        from visakit.files import read_text

        return vlink.link([assemble_text(read_text(name), name, self.device).object_bytes(debug=True)])

    def run(
        self,
        kernel: Kernel,
        *args: object,
        global_size: Size,
        local_size: Size | None = None,
        expect: Mapping[str, npt.ArrayLike] | None = None,
        rtol: float = 0.0,
        atol: float = 0.0,
        **named: object,
    ) -> LaunchResult:
        """Launch a kernel, and compare the arrays of its arguments.

        Checks that watch it (``check``, else those of the fixture) must find nothing.

        Args:
            kernel: ``program.saxpy``, say.
            args, named: its arguments in order, and by name; options of :meth:`vsim.Program.launch`, too.
            expect: by the name of an argument the expected contents of its array: an array, or a number for all
                elements.
            rtol, atol: how far elements may be from that: ``atol + rtol * |expected|``.

        Raises:
            AssertionError: an array has other contents; the message has the places and differences. Or a check has
                findings.
            LaunchError, SimulationError: as ``launch``.
        """
        __tracebackhide__ = True
        import vsim

        given = {**dict(zip(kernel.argument_names, args, strict=False)), **named}
        arrays = {name: _array_of(kernel, given, name, wanted) for name, wanted in (expect or {}).items()}
        options = dict(named) | {"global_size": global_size, "local_size": local_size, "engine": self.engine}
        options.setdefault("check", self.check)
        result = kernel(*args, **options)  # type: ignore[arg-type]
        for name, wanted in (expect or {}).items():
            vsim.expect(arrays[name], wanted, rtol, atol, name)
        if findings := result.diagnostics:
            from visakit.diagnostics import render

            raise AssertionError(f"checks found something:\n{render(findings)}")
        return result


def _skip_without_compiler() -> None:
    from visakit.compiler.devices import compiler_driver

    if compiler_driver() is None:
        pytest.skip("ocloc is not installed, which compiles OpenCL C and SPIR-V (Debian: intel-ocloc)")


def _array_of(kernel: Kernel, given: Mapping[str, object], name: str, wanted: npt.ArrayLike) -> npt.ArrayLike:
    """The array of an argument that is to be compared with another one.

    Raises:
        UsageError: there is no such argument, it is not an array, or it shares memory with the expected array.
    """
    import numpy as np

    from visakit.diagnostics import UsageError, did_you_mean

    if name not in given:
        hint = did_you_mean(name, kernel.argument_names) or f"arguments are {', '.join(kernel.argument_names)}"
        raise UsageError(f"'expect' names '{name}', which is not an argument of the launch: {hint}")
    array = getattr(given[name], "array", given[name])  # of an Image
    if not isinstance(array, np.ndarray):
        raise UsageError(f"'expect' names '{name}', which is not an array that a kernel writes: {array!r:.80}")
    if isinstance(wanted, np.ndarray) and np.may_share_memory(array, wanted):
        raise UsageError(f"'expect' compares '{name}' with its own memory: pass a copy of the expected contents")
    return array


@pytest.fixture(scope="session")
def visakit_programs() -> Iterator[dict[tuple[object, ...], LoadedProgram]]:
    """Programs that the session has loaded."""
    yield {}


@pytest.fixture
def visakit(request: pytest.FixtureRequest, visakit_programs: dict[tuple[object, ...], LoadedProgram]) -> Device:
    """A device and an engine: ``visakit.load("a.cl")``, ``visakit.run(program.saxpy, ..., expect={"y": ...})``."""
    device, engine = request.param
    request.node.user_properties += [("device", device or "any"), ("engine", engine)]
    check, _ = _configured_checks(request.config)
    return Device(device, engine, request.path.parent, visakit_programs, check)
