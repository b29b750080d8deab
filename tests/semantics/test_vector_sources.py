"""Sources for the vector compiler (CM, ESIMD): LLVM IR and SPIR-V, known by their entry points, from file to result."""

import shutil
import struct

import numpy as np
import pytest

import visakit
import vsim
from visakit.compiler import vector
from visakit.compiler.devices import compiler_driver
from visakit.compiler.ocloc import compile_source
from visakit.file_kinds import BITCODE, SPIRV

needs_ocloc = pytest.mark.skipif(compiler_driver() is None, reason="the compiler driver ocloc is not installed")

VECTOR_IR = """
target datalayout = "e-p:64:64-i64:64-n8:16:32:64"
target triple = "genx64-unknown-unknown"
declare <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64)
declare void @llvm.genx.svm.block.st.i64.v16i32(i64, <16 x i32>)
define dllexport spir_kernel void @k(i64 %p) #0 {
  %v = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %p)
  %w = add <16 x i32> %v, %v
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %p, <16 x i32> %w)
  ret void
}
attributes #0 = { noinline nounwind "CMGenxMain" "oclrt"="1" }
!genx.kernels = !{!0}
!genx.kernel.internal = !{!4}
!0 = !{void (i64)* @k, !"k", !1, i32 0, i32 0, !2, !3, i32 0}
!1 = !{i32 0}
!2 = !{i32 0}
!3 = !{!"svmptr_t"}
!4 = !{void (i64)* @k, null, null, null, null}
"""


def spirv(capabilities):
    """A module of SPIR-V: the kernel ``k`` doubles the integer at its argument."""
    void, function, i32, pointer, k, p, label, x, y = range(1, 10)

    def op(code, *words):
        return [len(words) + 1 << 16 | code, *words]

    head = [0x07230203, 0x10000, 0, 10, 0, *(w for c in (4, 5, 6, *capabilities) for w in op(17, c))]
    if 5617 in capabilities:
        head += op(10, *struct.unpack("<7I", b"SPV_INTEL_vector_compute".ljust(28, b"\0")))
    head += [*op(14, 2, 2), *op(15, 6, k, ord("k")), *(op(71, k, 5626) if 5617 in capabilities else [])]
    types = [*op(19, void), *op(21, i32, 32, 0), *op(32, pointer, 5, i32), *op(33, function, void, pointer)]
    body = [*op(54, void, k, 0, function), *op(55, pointer, p), *op(248, label), *op(61, i32, x, p, 2, 4)]
    words = [*head, *types, *body, *op(128, i32, y, x, x), *op(62, p, y, 2, 4), *op(253), *op(56)]
    return struct.pack(f"<{len(words)}I", *words)


def test_sources_of_the_vector_compiler_are_known():
    assert vector.is_vector("ll", VECTOR_IR.encode()) and vector.is_vector("spv", spirv([5617]))
    assert vector.is_vector("ll", b'attributes #0 = { "VCFunction" }')
    for language, data in (
        ("ll", b"define void @k()"),
        ("spv", spirv([])),
        ("cl", b"VCFunction"),
        ("spv", SPIRV),
        ("bc", BITCODE),
    ):
        assert not vector.is_vector(language, data)


@pytest.mark.parametrize("shift", range(8))
@pytest.mark.parametrize("word", ["CMGenxMain", "genx.kernels"])
def test_words_within_bitcode(shift, word):
    """Characters have five bits and a continuation bit, or eight bits; none is aligned to bytes."""
    six = sum((c & 31 | 32 | c >> 5 << 6) << 12 * n for n, c in enumerate(word.encode()))
    for number in (six, int.from_bytes(word.encode(), "little")):
        data = (number << shift + 40 | 5).to_bytes(64, "little")
        assert vector.is_vector("bc", data) and not vector.is_vector("bc", data[:14])


needs_llvm = pytest.mark.skipif(not shutil.which("llvm-as"), reason="llvm-as is not installed")


@needs_ocloc
@pytest.mark.parametrize("platform", ["tgllp", "dg2", "pvc"])
@pytest.mark.parametrize("name", [pytest.param("k.ll", marks=needs_llvm), "k.spv"])
def test_the_vector_compiler_is_told_nothing(name, platform, tmp_path):
    (tmp_path / name).write_bytes(VECTOR_IR.encode() if name == "k.ll" else spirv([5617]))
    program = vsim.load(tmp_path / name, platform=platform)
    data = np.arange(1, 17, dtype="i4")
    program.launch("k", 1, 1, [data])
    assert data[0] == 2 and program.image.platform == platform
    assert name == "k.spv" or data.tolist() == list(range(2, 34, 2))


@needs_ocloc
@needs_llvm
def test_errors_in_text_of_llvm_have_their_place():
    with pytest.raises(visakit.FormatError) as caught:
        compile_source("k.ll", VECTOR_IR.replace("%w = add ", "%w = addd ").encode(), "dg2", "", None)
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.file, found.span.line) == ("C015", "k.ll", 8)
