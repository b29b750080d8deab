"""One run of the command: launches in order, outputs written, results compared, everything reported."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TextIO, Unpack

from visakit.commands.reporting import report
from visakit.diagnostics import Diagnostic, LaunchError, SimulationError, Span, did_you_mean
from visakit.files import check_folder, check_writable, read_text
from vsim.command.progress import watch_on_terminal
from vsim.command.report import LaunchRow, check_array, has_failed, report_json, report_text, save_array
from vsim.launch.arrays import Array
from vsim.launch.launch import BufferArgument, ImageArgument, Launch, ScalarArgument
from vsim.launch.launch_file import LaunchFile, Override, parse_launch
from vsim.launch.options import LaunchOptions
from vsim.launch.paths import check_overwriting
from vsim.program import Program
from vsim.result import LaunchResult

if TYPE_CHECKING:
    from vsim.cluster.cluster import Cluster
    from vsim.command.shown import ShownPart
    from vsim.cost.costs import Costs, KernelCosts
    from vsim.profile.profiler import Profiler
    from vsim.sources.capture_writer import CaptureWriter


class ResultOptions(NamedTuple):
    """Options of a command line about results: outputs, reports and what counts.

    Attributes:
        out_dir: where outputs go; None for the current directory.
        save: file names by argument, which is a name or a number; of several launches the last one's contents stay.
        show: parts of arguments that are shown after each launch that has them.
        as_json: whether the report is JSON.
        capture: what captures each launch; None for nothing.
        profiler: what counts in each launch; None for nothing.
        costs: what collects the costs of launches, which takes a profiler; None for nothing.
    """

    out_dir: str | None = None
    save: Mapping[str, str] = MappingProxyType({})
    show: Sequence[ShownPart] = ()
    as_json: bool = False
    capture: CaptureWriter | None = None
    profiler: Profiler | None = None
    costs: Costs | None = None

    def check_writable(self) -> None:
        """Refuse files that could not be written when launches have ended.

        Raises:
            FileError: F001, one cannot be written.
        """
        if self.out_dir is not None:
            check_folder(self.out_dir)
        for path in (*self.save.values(), *(self.profiler.reports if self.profiler else ())):
            check_writable(path)


class LaunchSession:
    """Runs launches of a program and remembers what came out.

    Args:
        cluster: where launches run; None for this process.
        allow_paths: whether the launch in an image may use files anywhere.
        output: where what kernels print and the report go.
        options: those of :meth:`Program.run`.
    """

    def __init__(
        self,
        program: Program,
        results: ResultOptions,
        cluster: Cluster | None = None,
        *,
        output: TextIO,
        allow_paths: bool = False,
        **options: Unpack[LaunchOptions],
    ) -> None:
        self.program, self.results, self.cluster, self.options = program, results, cluster, options
        self.out_dir = results.out_dir
        self.output, self.allow_paths = output, allow_paths
        self.watch = watch_on_terminal(program)
        self.rows: list[LaunchRow] = []
        self.found: list[Diagnostic] = []
        """What checks say of the launches so far."""
        self.not_found = dict.fromkeys(results.save, "--save") | {part.name: "--show" for part in results.show}
        """Arguments that were asked for and that no launch had yet, with the option that named them."""
        self.array_names: dict[str, None] = {}
        """What the arrays of the launches so far are called."""
        self.launched_names: dict[int, str] = {}
        self.read: set[str] = {program.image.file}
        """Files that no output replaces."""

    def run_file(
        self, image: str, path: str | None, kernel: str, override: Callable[[LaunchFile], Override] | None = None
    ) -> None:
        """The launches of a launch file, of the image, or of a kernel without arguments.

        Args:
            override: makes what replaces parts of the file.
        """
        if path is not None:
            directory = os.path.dirname(os.path.abspath(path))
            file = parse_launch(read_text(path), directory, path, self.out_dir or "", (image, path))
            self.read.add(path)
            if override is not None:
                file.override = override(file)
        elif self.program.image.launch:
            file = LaunchFile.parse_embedded(self.program.image.launch, image, self.out_dir, self.allow_paths)
        elif len(self.program.kernels) == 1 or kernel:
            self.run_one(Launch(kernel, (1,)), "the only kernel")
            return
        else:
            names = ", ".join(self.program.kernels) or "(none)"
            raise LaunchError(
                Diagnostic(
                    "S012",
                    "the image has several kernels and no launch",
                    Span(image, 0),
                    f"name one with --kernel: {names}",
                )
            )
        launches = self._chosen(file, kernel)
        if self.cluster:
            self._run_on_cluster(self.cluster, list(launches))
            return
        for index, launch in launches:
            self.run_one(launch, f"launch {index}", index)

    def _chosen(self, file: LaunchFile, kernel: str) -> Iterator[tuple[int, Launch]]:
        """The launches of a file, of one kernel if it is named, each read when the ones before it have run.

        Raises:
            LaunchError: S012, no launch is of this kernel.
        """
        found: list[str] = []
        for index in range(len(file)):
            file.take, file.check = self.program.memory.budget(), self.program.memory.check
            launch = file.launch(index)
            self._check_outputs_of(launch)
            launch.kernel = launch.kernel or kernel
            self._read_numbers(file, index, launch)
            self.read.update(file.read)
            found.append(launch.kernel)
            if kernel in ("", launch.kernel):
                yield index, launch
        if kernel and kernel not in found:
            hint = did_you_mean(kernel, found) or f"it launches {', '.join(dict.fromkeys(found))}"
            raise LaunchError(Diagnostic("S012", f"no launch is of kernel '{kernel}'", Span(file.name, 0), hint))

    def _check_outputs_of(self, launch: Launch) -> None:
        """Refuse a launch before it runs if one of its outputs cannot be written.

        Raises:
            FileError: F001, one cannot be written.
        """
        for argument in launch.args:
            if isinstance(argument, BufferArgument | ImageArgument) and argument.out:
                check_writable(os.path.join(self.out_dir or "", argument.out))

    def _read_numbers(self, file: LaunchFile, index: int, launch: Launch) -> None:
        """Give scalars without a type their kernel's types, if the kernel is known."""
        if not any(isinstance(a, ScalarArgument) and a.numbers is not None for a in launch.args):
            return
        from vsim.launch.conversion import ArgumentConverter

        number, problem = ArgumentConverter(self.program.signature(launch.kernel)).read_numbers(launch)
        if problem:
            raise file.fail(problem, f"{file.name}, launch {index}, argument {number}")

    def _run_on_cluster(self, cluster: Cluster, launches: list[tuple[int, Launch]]) -> None:
        """Several launches side by side if they share nothing, else one after the other, each on all workers."""
        only = [launch for _, launch in launches]
        if len(only) < 2 or not cluster.can_run_side_by_side(only):
            for index, launch in launches:
                self.run_one(launch, f"launch {index}", index)
            return
        started = time.perf_counter()
        results = cluster.run_all(only)
        seconds = time.perf_counter() - started
        for (index, launch), result in zip(launches, results, strict=True):
            self._finish(launch, result, f"launch {index}", index, seconds)

    def run_one(self, launch: Launch, where: str, index: int = 0) -> None:
        """Run, write outputs, compare."""
        capture = self.results.capture and self.results.capture.before(self.program, launch)
        started = time.perf_counter()
        try:
            result = self._run(launch)
        except SimulationError as error:
            self.output.write(error.printf)
            raise
        seconds = time.perf_counter() - started
        if capture:
            capture.write_result()
        self._finish(launch, result, where, index, seconds)

    def _run(self, launch: Launch) -> LaunchResult:
        """Run a launch, with a bar on a terminal if it takes long."""
        if self.cluster:
            return self.cluster.run(launch)
        if self.watch is None:
            return self._run_profiled(launch)
        self.watch.begin(launch.kernel or self.program.kernels[0])
        try:
            return self._run_profiled(launch)
        finally:
            self.watch.end()

    def _run_profiled(self, launch: Launch) -> LaunchResult:
        """Run a launch, and count its instructions if there is a profiler."""
        profiler = self.results.profiler
        if profiler is None:
            return self.program.run(launch, **self.options)
        watching = profiler.watching()
        result = self.program.run(launch, **(self.options | LaunchOptions(observers=watching.observers)))
        profiler.ended(watching, result)
        if self.results.costs is not None:
            self.results.costs.ended(result)
        return result

    def _finish(self, launch: Launch, result: LaunchResult, where: str, index: int, seconds: float) -> None:
        self.launched_names = _names_by_number(launch)
        row: LaunchRow = {
            "launch": where, "kernel": result.kernel, "engine": result.engine, "seconds": seconds,
            "compile_seconds": result.compile_seconds, "checks": [],
        }  # fmt: skip
        if result.engine_reason:
            row["engine_reason"] = result.engine_reason
        if fidelity := result.fidelity:
            row["fidelity"] = fidelity.tree()
        if result.dispatch.findings is not None:
            self._note_findings(row, result)
        self.output.write(result.printf)
        for number, argument in enumerate(launch.args):
            if not isinstance(argument, (BufferArgument, ImageArgument)):
                continue
            names = self._names(result, number)
            self._save(result, argument, number, names, f"l{index}_a{number}.npy")
            declared = result.dispatch.signature.argument_types.get(number, "")
            for part in (part for part in self.results.show if part.name in names):
                self._show(row, part, argument.array, declared)
            row["checks"] += check_array(number, argument.array, argument)
        self.rows.append(row)

    def _note_findings(self, row: LaunchRow, result: LaunchResult) -> None:
        from vsim.checks.report import trees

        self.found += result.diagnostics
        row["findings"] = trees(result.dispatch)

    def _save(
        self, result: LaunchResult, argument: BufferArgument | ImageArgument, number: int, names: list[str], name: str
    ) -> None:
        """Write an array where the launch and the command line want it, as ``name`` where neither names a file."""
        if argument.out or (self.out_dir and self._is_output(result, number, argument)):
            path = os.path.join(self.out_dir or "", argument.out or name)
            if not argument.out:
                check_overwriting(path, self.read)
            save_array(path, argument.array)
        for path in (self.results.save[n] for n in names if n in self.results.save):
            check_overwriting(path, self.read)
            save_array(path, argument.array)

    @staticmethod
    def _is_output(result: LaunchResult, number: int, argument: BufferArgument | ImageArgument) -> bool:
        """Whether a kernel may have written an argument: it is expected to, or neither constant nor read-only."""
        fields = result.dispatch.signature.fields.get(number, ())
        may_write = argument.array.flags.writeable and not any(
            field.address_space == "constant" or field.access == "readonly" for field in fields
        )
        return argument.expect is not None or may_write

    def _names(self, result: LaunchResult, number: int) -> list[str]:
        """The names of an argument for ``--save`` and ``--show``."""
        own = result.dispatch.signature.argument_names.get(number, "")
        bound = result.dispatch.arguments.inputs.get(number, "")
        found = {str(number), own, bound, self.launched_names.get(number, "")}
        self.array_names |= dict.fromkeys(name for name in (own, bound, self.launched_names.get(number, "")) if name)
        for name in found:
            self.not_found.pop(name, None)
        return sorted(found)

    def _show(self, row: LaunchRow, part: ShownPart, array: Array, declared: str) -> None:
        """Write a part of an argument, of the type that the kernel declares, or enter it into a report that is JSON."""
        from vsim.command.shown import shown_text, shown_tree
        from vsim.launch.element_types import as_elements

        array = as_elements(array, declared)
        try:
            value = part.of(array)
        except IndexError as error:
            message = f"'{part.text}' is not in the array of shape {array.shape}: {error}"
            raise LaunchError(Diagnostic("S010", message, Span(self.program.image.file, 0))) from None
        if self.results.as_json:
            row.setdefault("shown", {})[part.text] = shown_tree(value)
        else:
            self.output.write(shown_text(part, value) + "\n")

    def check_found(self) -> None:
        """Say which arguments of ``--save`` and ``--show`` no launch has.

        Raises:
            LaunchError: S010, there is one.
        """
        if self.not_found:
            name = min(self.not_found)
            names = self.array_names
            hint = did_you_mean(name, names) or (f"buffers and images are {', '.join(names)}" if names else "")
            message = f"no launch has a buffer or image '{name}' that {self.not_found[name]} could "
            message += "write" if self.not_found[name] == "--save" else "show"
            raise LaunchError(Diagnostic("S010", message, Span(self.program.image.file, 0), hint))

    @property
    def failed(self) -> bool:
        """Whether a result was not as expected, or a check found something."""
        return has_failed(self.rows) or bool(self.found)

    def _costs(self) -> list[KernelCosts]:
        """The costs of the kernels that were launched; empty without ``--cost``."""
        profiler, costs = self.results.profiler, self.results.costs
        return [costs.of(profile) for profile in profiler.profiles] if profiler and costs else []

    def report(self) -> None:
        """Write the report, and profiles; what checks found follows on standard error."""
        image = self.program.image
        head: dict[str, object] = {"image": image.file, "platform": image.platform, "engine": self.options["engine"]}
        costs, as_json = self._costs(), self.results.as_json
        if costs and as_json:
            from vsim.cost.cost_report import cost_row

            head["costs"] = [cost_row(one) for one in costs]
        self.output.write((report_json(head, self.rows) if as_json else report_text(self.rows)) + "\n")
        if self.results.profiler is not None:
            for path in self.results.profiler.reports:
                check_overwriting(path, self.read)
            self.results.profiler.write()
            if not as_json and self.results.profiler.reports:
                self.output.write(self.results.profiler.summary())
        if costs and not as_json:
            from vsim.cost.cost_report import cost_text

            self.output.write(cost_text(costs))
        self.output.flush()
        check = self.options.get("check")
        known = getattr(check, "suppressions", None)
        report([*self.found, *(known.unused() if known else ())])


def _names_by_number(launch: Launch) -> dict[int, str]:
    """What a launch calls its arguments."""
    return {
        number: name
        for number, argument in enumerate(launch.args)
        for name, given in launch.names.items()
        if given is argument
    }
