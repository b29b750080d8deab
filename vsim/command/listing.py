"""What ``vsim --list`` says of the kernels of a program: arguments, memories, called functions."""

from __future__ import annotations

import json
from typing import TypedDict

from visakit.diagnostics import LaunchError
from visakit.language.calls import calls_of
from visakit.language.program import Function
from visakit.objects.image import LinkedImage
from vsim.launch.signature import KernelSignature
from vsim.program import Program


class ArgumentRow(TypedDict):
    """An argument: how it is passed (``global``, ``constant``, ``local``, ``value``, ``image``, ``sampler``), its size
    in bytes: of the value, or of the pointer or handle.
    """

    index: int
    name: str
    type: str
    kind: str
    size: int


class KernelRow(TypedDict):
    """A kernel. Local memory is that of a group, without what arguments add; private memory and scratch are those of a
    hardware thread. ``refused`` says why it cannot run; it is empty where it can, and nothing else is known where not.
    """

    name: str
    arguments: list[ArgumentRow]
    simd: int
    local_memory: int
    private_memory: int
    scratch: int
    required_size: list[int] | None
    calls: list[str]
    refused: str


def kernel_rows(program: Program) -> list[KernelRow]:
    """What is known of all kernels of a program, in their order."""
    return [_row(program, kernel) for kernel in program.image.module.kernels]


def _row(program: Program, kernel: Function) -> KernelRow:
    row = KernelRow(
        name=kernel.name, arguments=[], simd=kernel.simd_size, local_memory=0, private_memory=0, scratch=0,
        required_size=None, calls=called_functions(program.image, kernel), refused="",
    )  # fmt: skip
    try:
        signature = program.signature(kernel.name)
    except LaunchError as error:
        row["refused"] = error.diagnostics[0].message
        return row
    row["simd"], row["local_memory"] = signature.simd, signature.slm_size
    row["private_memory"], row["scratch"] = signature.private_size, signature.scratch_size
    row["required_size"] = list(signature.required_size) if signature.required_size else None
    row["arguments"] = argument_rows(signature)
    return row


def called_functions(image: LinkedImage, kernel: Function) -> list[str]:
    """Names of the functions that a kernel calls or takes the address of, transitively, in the order of calls."""
    found: dict[str, None] = {}
    waiting = [kernel]
    for function in waiting:  # grows while it is walked
        for call in calls_of(function):
            callee = image.callee(function, call.string)
            if callee is not None and callee.name not in found:
                found[callee.name] = None
                waiting.append(callee)
    return list(found)


def argument_rows(signature: KernelSignature) -> list[ArgumentRow]:
    """The arguments that ze_info describes; without it, the kernel's ``.input`` variables are."""
    if signature.info is None:
        return [
            ArgumentRow(index=number, name=name, type="", kind="input", size=found.size)
            for number, (name, found) in enumerate(signature.inputs.items())
        ]
    return [_argument(signature, index) for index in range(signature.argument_count)]


def _argument(signature: KernelSignature, index: int) -> ArgumentRow:
    fields = signature.fields.get(index, ())
    spaces = [f.address_space for f in fields if f.address_space]
    by_value = [f for f in fields if f.kind == "arg_byvalue"]
    declared, _, size = signature.argument_types.get(index, "").partition(";")
    if by_value:
        kind, own = "value", max(f.source_offset + f.size for f in by_value)
    else:
        kind = spaces[0] if spaces else "surface" if index in {a for _, a in signature.surfaces} else "unused"
        own = max((f.size for f in fields), default=0)
    return ArgumentRow(
        index=index,
        name=signature.argument_names.get(index, ""),
        type=declared,
        kind=kind,
        size=int(size) if size.isascii() and size.isdigit() and len(size) < 10 else own,
    )


def listing_text(program: Program, as_json: bool = False) -> str:
    """The list of kernels as text, or as JSON."""
    rows = kernel_rows(program)
    if as_json:
        image = program.image
        return json.dumps({"image": image.file, "platform": image.platform, "kernels": rows}, indent=1)
    return "\n".join(line for row in rows for line in _lines(row))


def _lines(row: KernelRow) -> list[str]:
    """A line for the kernel, one for each argument, one for the functions that it calls."""
    head = f"{row['name']}: SIMD{row['simd']}"
    for what, key in (("local", row["local_memory"]), ("private", row["private_memory"]), ("scratch", row["scratch"])):
        head += f", {key} bytes {what}" if key else ""
    if row["required_size"]:
        head += f", groups of {'x'.join(map(str, row['required_size']))}"
    if row["refused"]:
        head += f"; cannot run: {row['refused']}"
    columns = [
        (str(a["index"]), a["name"] or "-", a["type"] or "-", a["kind"], str(a["size"])) for a in row["arguments"]
    ]
    widths = [max(map(len, column)) for column in zip(*columns, strict=True)]
    lines = [head]
    for number, name, declared, kind, size in columns:
        first = f"  {number:>{widths[0]}}  {name:{widths[1]}}  {declared:{widths[2]}}  {kind:{widths[3]}}"
        lines.append(f"{first}  {size:>{widths[4]}} bytes")
    return [*lines, f"  calls {', '.join(row['calls'])}"] if row["calls"] else lines
