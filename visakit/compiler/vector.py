"""Sources for the vector compiler, the half of Intel's compiler that CM, ESIMD and ISPC go through.

The compiler's driver selects it by an option alone. Here the entry points of a module select it: front ends mark them
by kernels in metadata, attributes of functions, or a capability of SPIR-V. The vector compiler puts no vISA into
program binaries, so its texts come from its debug dumps (IGC's debug keys).
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from visakit.file_kinds import SourceLanguage
from visakit.objects import spirv
from visakit.objects.zebin import with_texts

OPTION = "-vc-codegen"
FOLDER = "texts"
"""The folder for the texts of the vector compiler, in the driver's working directory."""
_MARKS = (b"genx.kernels", b"CMGenxMain", b"VCFunction")
"""Names of metadata and of attributes that entry points of the vector compiler have."""
_CAPABILITY, _VECTOR_COMPUTE = 17, 5617
"""SPIR-V: the instruction OpCapability, and VectorComputeINTEL of SPV_INTEL_vector_compute."""
_HEAD_BYTES = 4096
"""Where a module of SPIR-V has its capabilities."""
_ASSEMBLERS = (*(f"llvm-as-{version}" for version in range(11, 40)), "llvm-as")


def is_vector(language: SourceLanguage, data: bytes) -> bool:
    """Whether a source has entry points of the vector compiler."""
    if language == "ll":
        return any(mark in data for mark in _MARKS)
    if language == "bc":
        return _in_bits(data, _MARKS)
    return language == "spv" and _VECTOR_COMPUTE in _capabilities(data)


def _capabilities(data: bytes) -> Iterator[int]:
    """The capabilities that a module of SPIR-V declares."""
    head = spirv.words(data[: min(len(data), _HEAD_BYTES) // 4 * 4])
    with contextlib.suppress(ValueError):  # The head ends anywhere; the compiler tells of damage.
        yield from (i.operands[0] for i in takewhile(lambda i: i.opcode == _CAPABILITY, spirv.instructions(head)))


def _in_bits(data: bytes, words: Sequence[bytes]) -> bool:
    """Whether a stream of bits contains one of some words, at any bit.

    LLVM's bitcode has characters of 8 bits, or of 6 bits (VBR6: five bits each, and whether more follow).
    """

    def bits(number: int, count: int) -> str:
        return format(number, f"0{count}b")[::-1]

    stream = bits(int.from_bytes(data, "little"), 8 * len(data))  # the lowest bit of the first byte in front
    for word in words:
        whole = "".join(bits(c, 8) for c in word)
        chunks = "".join(f"{bits(c & 31, 5)}1{bits(c >> 5, 5)}0" for c in word)
        if whole in stream or chunks in stream:
            return True
    return False


def options(given: str) -> str:
    """Build options that select the vector compiler, and a dump of its texts into :data:`FOLDER`."""
    own = "" if OPTION in given.split() else f" {OPTION}"
    return f"{given}{own} -igc_opts 'ShaderDumpEnable=1,DumpToCustomDir={FOLDER}'".strip()


def with_its_texts(zebin: bytes, folder: str) -> bytes:
    """A zebin of the vector compiler with the texts that it left, kernels first."""
    found = [path.read_bytes() for path in sorted(Path(folder, FOLDER).glob("*.visaasm"))]
    found.sort(key=lambda text: b"\n.kernel " not in text)
    return with_texts(zebin, "program", found) if found else zebin


def bitcode(text: Path, max_seconds: float | None) -> tuple[bytes | None, str]:
    """The bitcode of a text of LLVM IR, by the oldest ``llvm-as`` here that reads it: older bitcode is read by all.

    Returns:
        None where no ``llvm-as`` is here, or where none reads the text; the errors of the oldest.

    Raises:
        TimeoutExpired: one took longer.
    """
    said = ""
    for assembler in filter(shutil.which, _ASSEMBLERS):
        made = text.with_suffix(".bc")
        done = subprocess.run(
            [assembler, text.name, "-o", made.name], cwd=text.parent, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=max_seconds, check=False,
        )  # fmt: skip
        if not done.returncode:
            return made.read_bytes(), ""
        said = said or done.stderr.decode("utf-8", "replace").replace(f"{assembler}: ", "")
    return None, said
