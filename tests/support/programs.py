"""Building and running programs in process."""

from __future__ import annotations

import json
import lzma
import re
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from vasm.assembler import assemble_text
from visakit.objects.image import LinkedImage, read_image
from vlink.linker import Linker, LinkOptions
from vsim.launch.launch import BufferArgument, ImageArgument, compare
from vsim.launch.launch_file import parse_launch
from vsim.profile.profiler import Profiler
from vsim.program import Program

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
DATA = TESTS / "data"
SHARED = ROOT.parent / "shared" / "corpus"

HEAD = """.version 4.1
.kernel "t"
.decl VD v_type=G type=d num_elts=64 align=GRF
.decl VF v_type=G type=f num_elts=64 align=GRF
.decl VUD v_type=G type=ud num_elts=64 align=GRF
.decl P1 v_type=P num_elts=16
.decl T6 v_type=T num_elts=1
"""
"""The beginning of a small kernel: variables of a few kinds to make mistakes with."""

_SIZES = {"b": 1, "w": 2, "hf": 2, "bf": 2, "d": 4, "f": 4, "q": 8, "df": 8}
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


def expected_findings(source: str, codes: str = r"[^\n]*K00[^\n]*") -> dict[str, list[str]]:
    """The words above each kernel of a source in ``checks``: codes of findings, and words that the source explains."""
    text = (DATA / "checks" / source).read_text()
    return {name: words.split() for words, name in re.findall(rf"^// ({codes})\nKERNEL\((\w+)", text, re.MULTILINE)}


def build_text(text: str, platform: str = "tgllp", info: str = "", name: str = "test.visaasm") -> LinkedImage:
    """An image of one text, and perhaps of ze_info."""
    linker = Linker(LinkOptions(platform=platform))
    linker.add_bytes(assemble_text(text, name, platform).object_bytes(debug=True), "test.o")
    if info:
        linker.add_info(info.encode(), "ze_info.yaml")
    return read_image(linker.run().image.to_bytes(), "test.bin")


def profiler_of(case: str, platform: str, engine: str, detail: bool = False) -> Profiler:
    """A profile of all launches of a case."""
    folder, profiler = DATA / "cases" / case / platform, Profiler(detail=detail)
    program, path = Program(build(folder, platform)), folder.parent / "launch.json"
    file = parse_launch(path.read_text(), str(folder.parent), str(path))
    for index in range(len(file)):
        watching = profiler.watching()
        profiler.ended(watching, program.run(file.launch(index), engine=engine, observers=watching.observers))
    return profiler


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


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether a condition becomes true soon, by the work of another thread."""
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit, but any NaN equals any NaN."""
    if a.dtype.kind == "f":
        return bool((((a == b) & (np.signbit(a) == np.signbit(b))) | ((a != a) & (b != b))).all())
    return bool((a == b).all())


LANE_NUMBERS = """mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
add (M1, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 8:uw
"""
"""The numbers of 16 lanes in LANE, of words."""


def kernel_head(variables: str, inputs: str = "", *, name: str = "k", at: int | str = 64, **attributes: object) -> str:
    """The beginning of a kernel's text.

    Args:
        variables: declarations: ``N=ud`` is one element, ``X=ud*16`` has 16 from the beginning of a register,
            ``OUT=uq@qword`` another alignment; P, A, T and S in place of a type are predicates, addresses, surfaces and
            samplers.
        inputs: names of variables that are arguments, in the order of the payload.
        at: offset of the first input in the payload.
        attributes: of the kernel, such as SimdSize.
    """
    lines, sizes = [".version 4.1", f'.kernel "{name}"'], {}
    for variable, kind, _, count, _, alignment in re.findall(r"(\w+)=([^\s*@]+)(\*([^@\s]+))?(@(\w+))?", variables):
        is_typed = kind not in ("P", "A", "T", "S")
        typed, aligned = (f"G type={kind}", alignment or ("GRF" if count else "")) if is_typed else (kind, alignment)
        lines.append(
            f".decl {variable} v_type={typed} num_elts={count or 1}" + (f" align={aligned}" if aligned else "")
        )
        sizes[variable] = kind, count or 1
    for variable in inputs.split():
        kind, count = sizes[variable]
        size = _SIZES[kind if kind in _SIZES else kind.lstrip("u")] * int(count)
        lines.append(f".input {variable} offset={at} size={size}")
        at = int(at) + size if str(at).isdigit() else at
    lines += [
        f".kernel_attr {key}=" + (f'"{value}"' if key == "Target" else f"{value}") for key, value in attributes.items()
    ]
    return "\n".join(lines) + "\n"


_POINTER = {"arg_type": "arg_bypointer", "addrspace": "global", "access_type": "readwrite"}
_PAYLOAD = {
    "buffer": _POINTER | {"addrmode": "stateless"},
    "handle": _POINTER | {"addrmode": "bindless"},
    "image": {"arg_type": "arg_bypointer", "addrspace": "image", "addrmode": "bindless", "image_type": "image_2d"},
    "value": {"arg_type": "arg_byvalue"},
    "private": {"arg_type": "private_base_stateless"},
}
PRIVATE_MEMORY = {"type": "global", "usage": "private_space", "size": 8, "is_simt_thread": True}
"""Private memory of 8 bytes for each work-item, as ``memory`` of ``ze_info_of``."""


def _places(payload: str, at: int) -> list[dict[str, object]]:
    """The parts of a payload."""
    parts: list[dict[str, object]] = []
    arguments = 0
    for kind, _, size, _, place in re.findall(r"(\w+)(=(\d+))?(@(\d+))?", payload):
        at = int(place or at)
        parts.append(_PAYLOAD.get(kind, {"arg_type": kind}) | {"offset": at, "size": int(size or 8)})
        at += int(size or 8)
        if kind in ("buffer", "handle", "image", "value"):
            parts[-1]["arg_index"] = arguments
            arguments += 1
    return parts


def ze_info_of(
    payload: str = "",
    each_thread: str = "",
    *,
    name: str = "k",
    at: int = 0,
    names: str = "",
    memory: dict[str, object] | None = None,
    **environment: object,
) -> str:
    """ze_info of a kernel, as JSON, which is YAML.

    Args:
        payload: what all threads get, in this order: ``buffer``, ``handle`` of a buffer, ``image`` and ``value`` are
            arguments, any other word is an ``arg_type``; ``value=4`` has 4 bytes, where 8 are usual, and
            ``local_id=6@32`` begins at byte 32.
        each_thread: what each thread gets, such as ``local_id=96``.
        at: offset of the first part of ``payload``.
        names: names of the arguments, all of them pointers.
        memory: what threads have, such as ``PRIVATE_MEMORY``.
        environment: numbers of the kernel, such as simd_size.
    """
    kernel = {
        "name": name,
        "execution_env": {"grf_count": 128, **environment},
        "payload_arguments": _places(payload, at),
        "per_thread_payload_arguments": _places(each_thread, 0),
        "per_thread_memory_buffers": [memory] if memory else [],
    }
    pointer = {"address_qualifier": "__global", "type_name": "uint*;8"}
    named = [{"index": n, "name": word} | pointer for n, word in enumerate(names.split())]
    return json.dumps(
        {"version": "1.73", "kernels": [kernel], "kernels_misc_info": [{"name": name, "args_info": named}]}
    )


COPY = (
    kernel_head(
        "IN=uq OUT=uq LANE=uw*8 OFFSET=uq*8 ADDRESS=uq*8 X=ud*8 BASE=ud P1=P*8", "IN OUT", name="copy", SimdSize=8
    )
    + """mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
mul (M1_NM, 1) BASE(0,0)<1> %thread_x(0,0)<0;1,0> 8:uw
add (M1, 8) X(0,0)<1> BASE(0,0)<0;1,0> LANE(0,0)<1;1,0>
shl (M1, 8) OFFSET(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 8) ADDRESS(0,0)<1> OFFSET(0,0)<1;1,0> IN(0,0)<0;1,0>
svm_gather.4.1 (M1, 8) ADDRESS.0 X.0
MIDDLE
add (M1, 8) ADDRESS(0,0)<1> OFFSET(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 8) ADDRESS.0 X.0
ret (M1, 1)
"""
)
