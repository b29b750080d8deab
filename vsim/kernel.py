"""A callable kernel: arguments in order or by name, sizes and options by keyword."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from visakit.diagnostics import did_you_mean
from visakit.usage import shown
from vsim.launch.options import OPTIONS

if TYPE_CHECKING:
    from vsim.launch.signature import KernelSignature
    from vsim.program import Program, Size
    from vsim.result import LaunchResult


class Kernel:
    """A kernel of a program, to be called: ``program.saxpy(y=y, x=x, a=2.5, global_size=64)``.

    Attributes:
        program: its program.
        name: its name there.
    """

    __slots__ = ("_names", "name", "program")

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self._names: list[str] | None = None

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(self.argument_names)})>"

    def _repr_html_(self) -> str:
        from visakit.notebook import table

        types, names = self.signature.argument_types, self.argument_names
        rows = [(n, name, types.get(n, "").partition(";")[0]) for n, name in enumerate(names)]
        return table(f"{self.name}: {self.signature.simd} work-items in a thread", ("", "argument", "type"), rows)

    @property
    def signature(self) -> KernelSignature:
        """Requirements of the kernel for a launch."""
        return self.program.signature(self.name)

    @property
    def argument_names(self) -> list[str]:
        """Names of the arguments in their order: those of the source, or of the ``.input`` variables without ze_info.

        Arguments without a name are called by their number.
        """
        if self._names is None:
            self._names = self.signature.names_in_order
        return list(self._names)

    def __call__(
        self,
        *args: object,
        global_size: Size,
        local_size: Size | None = None,
        global_offset: Size = (0, 0, 0),
        show_printf: bool = True,
        **named: object,
    ) -> LaunchResult:
        """Run it over an ND-range: :meth:`vsim.Program.launch` with arguments in order, by name, or some of each.

        Args:
            named: arguments by name, and options of the launch: engine, threads, max_seconds, profile, schedule, trace
                and check (:class:`vsim.launch.options.LaunchOptions`).

        Raises:
            LaunchError: S010, an argument is missing, unknown or given twice; and as ``launch``.
            SimulationError: as ``launch``.
        """
        options: dict[str, object] = named
        ordered: Sequence[object] = args
        if not OPTIONS.issuperset(named):
            options = {name: named.pop(name) for name in OPTIONS.intersection(named)}
            ordered = self.in_order(args, named)
        return self.program.launch(
            self.name,
            global_size,
            local_size,
            ordered,
            global_offset=global_offset,
            show_printf=show_printf,
            **options,  # type: ignore[arg-type] # types as the caller gives them
        )

    def in_order(self, args: Sequence[object], named: Mapping[str, object]) -> list[object]:
        """Arguments in the order of the kernel: first those without a name, then the others by theirs.

        Raises:
            LaunchError: S010, an argument is missing, unknown or given twice.
        """
        names = self._names
        if names is None:
            names = self._names = self.signature.names_in_order
        rest = names[len(args) :]
        if len(rest) == len(named):
            try:
                return [*args, *[named[name] for name in rest]]
            except KeyError:
                pass
        raise self._mismatch(names, len(args), named)

    def _mismatch(self, names: Sequence[str], given: int, named: Mapping[str, object]) -> Exception:
        """The error of arguments by name."""
        error, known = self.signature.error, f"its arguments are {', '.join(names)}" if names else ""
        if all(name.startswith("#") for name in names) and names:
            hint = "pass them in order; the compiler notes names with -cl-kernel-arg-info"
            return error("its arguments have no names", hint)
        for name in named:
            if name not in names:
                hint = did_you_mean(name, [*names, *OPTIONS]) if isinstance(name, str) else ""
                return error(f"it has no argument {shown(name)}", hint or known)
            if name in names[:given]:
                return error(f"argument '{name}' is given twice, in order and by name", known)
        if given > len(names):
            return error(f"it takes {len(names)} arguments, the launch has {given + len(named)}", known)
        missing = [name for name in names[given:] if name not in named]
        verb = "are" if len(missing) > 1 else "is"
        words = ", ".join(f"'{name}'" for name in missing)
        return error(f"argument{'s' if len(missing) > 1 else ''} {words} {verb} missing", known)
