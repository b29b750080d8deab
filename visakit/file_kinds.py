"""The kind of a file by its first bytes and its name, for messages about files that a command does not take."""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

SPIRV, BITCODE = b"\x03\x02\x23\x07", b"BC\xc0\xde"
SourceLanguage = Literal["cl", "spv", "bc", "ll"]
"""Sources that the compiler driver takes: OpenCL C, SPIR-V, LLVM's bitcode and its text."""
HEAD_BYTES = 4096
"""Bytes of a file in which its contents show its kind; comments may precede them."""
VISA_TEXT = "vISA text"
_BODY = re.compile(rb"(?m)^[ \t]*\.(?:kernel|global_function|function)\b(?![ \t]*[{,.:#>+~])")
"""A directive, and no class of a style sheet."""
_VERSION = re.compile(rb"(?m)^[ \t]*\.version[ \t]+[34]\.\d+\s*$")
_PTX = re.compile(rb"(?m)^[ \t]*\.target[ \t]+sm_\d")
_DUMPED_ASSEMBLY = re.compile(rb"//\.kernel[ \t][^\n]*\n//\.platform[ \t]")
"""How the finalizer begins the file ``.asm`` of its dumps."""
_OPENCL_KERNEL = re.compile(rb"(?m)^[ \t]*(?:__)?kernel[ \t\r\n]+(?:void|__attribute__)\b")
_CUDA_KERNEL = re.compile(rb"(?m)^[^/\n]*\b__global__[ \t]+(?:void|__launch_bounds__)\b")


class FileKind(NamedTuple):
    """The kind of a file in words, and the command that takes it."""

    title: str
    cure: str


_COMPILED = "vsim runs it, and vdis shows the vISA that Intel's compiler makes of it"
_SCANNED = "vasm --scan checks the inline vISA in it"
_FOREIGN = "no command takes it; OpenCL C (.cl), SPIR-V and program binaries of Intel's compiler run on vsim"
_SOURCES: dict[SourceLanguage, FileKind] = {
    "cl": FileKind("OpenCL C", _COMPILED),
    "spv": FileKind("SPIR-V", _COMPILED),
    "bc": FileKind("LLVM bitcode", _COMPILED),
    "ll": FileKind("LLVM IR", f"{_SCANNED}; vsim and vdis give it to Intel's compiler"),
}
_VISA = FileKind(VISA_TEXT, "vasm makes an object of it, and vlink an image of objects")
_NAMELESS = FileKind("OpenCL C", "vsim and vdis compile it if the name of the file ends with .cl")
_CUDA = FileKind("CUDA C++", _FOREIGN)
_FOR_NVIDIA = FileKind("a binary for NVIDIA's GPUs", _FOREIGN)
_CPP = FileKind("C or C++", f"{_SCANNED}; visakit exec runs OpenCL programs, compiled by the host's compiler")
_YAML = FileKind("YAML", "give ze_info with objects: vlink OBJECT... --ze-info FILE")
_ARCHIVE = FileKind(
    "an archive", "vlink takes one of objects; vdis and vsim take one of the compiler's program binaries"
)
_THIN = FileKind(
    "a thin archive", "it has the names of its members alone: make it anew without T, ar rcs LIB.a OBJECT..."
)
_PATCH_TOKENS = FileKind(
    "a file of patch tokens, the compiler's old format",
    'compile again with: ocloc compile ... --format zebin -internal_options "-cl-intel-emit-zebin-visa-sections"',
)
_ASSEMBLY = FileKind(
    "assembly of the GPU's machine code", "take the vISA text that the compiler writes beside it, in NAME.visaasm"
)
_BY_SUFFIX = {
    ".cu": _CUDA, ".cuh": _CUDA, ".ptx": FileKind("NVIDIA PTX", _FOREIGN), ".cubin": _FOR_NVIDIA,
    ".fatbin": _FOR_NVIDIA,
    ".hip": FileKind("HIP C++", _FOREIGN), ".metal": FileKind("Metal", _FOREIGN), ".wgsl": FileKind("WGSL", _FOREIGN),
    ".hlsl": FileKind("HLSL", _FOREIGN), ".glsl": FileKind("GLSL", _FOREIGN), ".comp": FileKind("GLSL", _FOREIGN),
    ".ispc": FileKind("ISPC", _FOREIGN), ".py": FileKind("Python", f"{_SCANNED}; python3 runs it"),
    ".c": _CPP, ".cc": _CPP, ".cpp": _CPP, ".cxx": _CPP, ".h": _CPP, ".hpp": _CPP, ".sycl": _CPP,
    ".ctm": FileKind("text for the CTM target", "vasm makes an object of it, and vlink an image of objects"),
    ".json": FileKind("JSON", "give a launch file with an image: vsim IMAGE --launch FILE"),
    ".yaml": _YAML, ".yml": _YAML,
    ".npy": FileKind("an array of numpy", "arrays are arguments: vsim IMAGE --arg NAME=FILE"),
}  # fmt: skip


def source_language(name: str, data: bytes) -> SourceLanguage | None:
    """The language of a file that goes to the compiler; None for another file.

    OpenCL C and LLVM IR are known by the name, SPIR-V and bitcode by their contents.
    """
    if data.startswith(SPIRV):
        return "spv"
    if data.startswith(BITCODE):
        return "bc"
    if name.endswith((".cl", ".clcpp")):
        return "cl"
    return "ll" if name.endswith(".ll") else None


def is_visa_text(data: bytes) -> bool:
    """Whether a file begins as vISA text does."""
    head = data[:HEAD_BYTES]
    return not _PTX.search(head) and bool(_BODY.search(head) or _VERSION.search(head))


def kind_of(name: str, data: bytes) -> FileKind | None:
    """The kind of a file that is neither an object nor an image; None for an unknown one."""
    head, language = data[:HEAD_BYTES], source_language("", data)
    if language:
        return _SOURCES[language]
    if head.startswith(b"!<arch>\n"):
        return _ARCHIVE
    if head.startswith(b"!<thin>\n"):
        return _THIN
    if not head or head.startswith((b"CISA", b"\x7fELF")):
        return None
    if head.startswith(b"CTNI"):
        return _PATCH_TOKENS
    if _DUMPED_ASSEMBLY.match(head):
        return _ASSEMBLY
    by_name = _BY_SUFFIX.get(os.path.splitext(name)[1].lower())
    if b"\0" in head:
        return by_name
    if is_visa_text(head):
        return _VISA
    if language := source_language(name.lower(), data):
        return _SOURCES[language]
    if _PTX.search(head):
        return _BY_SUFFIX[".ptx"]
    by_contents = _NAMELESS if _OPENCL_KERNEL.search(head) else _CUDA if _CUDA_KERNEL.search(head) else None
    return by_name or by_contents
