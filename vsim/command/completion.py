"""What shells complete on the command line of ``vsim``: kernels and arguments of the image that stands there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from visakit.diagnostics import VisaError

if TYPE_CHECKING:
    from vsim.program import Program

_SOURCES = (".cl", ".spv", ".ll")
"""Nothing is compiled while somebody types."""


def _program(context: typer.Context) -> Program | None:
    """The program of the words before the cursor; None where there is none that can be read."""
    image = context.params.get("image")
    if not isinstance(image, str) or image.endswith(_SOURCES) or not os.path.isfile(image):
        return None
    from vsim.program import load

    try:
        return load(image)
    except (VisaError, OSError):
        return None  # The command says what is wrong; a shell would show it between the words.


def kernels(ctx: typer.Context) -> list[str]:
    """The kernels of the image."""
    program = _program(ctx)
    return list(program.kernels) if program is not None else []


def arguments(ctx: typer.Context) -> list[tuple[str, str]]:
    """The arguments of the chosen kernel, or of all, each with ``=`` behind its name, and its type."""
    return [(f"{name}=", what) for name, what in parts(ctx)]


def parts(ctx: typer.Context) -> list[tuple[str, str]]:
    """The same without ``=``."""
    program, chosen = _program(ctx), ctx.params.get("kernel")
    found: dict[str, str] = {}
    for kernel in program.kernels if program is not None else ():
        if chosen in ("", None, kernel):
            assert program is not None
            try:
                signature = program.signature(kernel)
            except VisaError:
                continue
            for index, name in enumerate(signature.names_in_order):
                found.setdefault(name, signature.argument_types.get(index, "").partition(";")[0])
    return list(found.items())
