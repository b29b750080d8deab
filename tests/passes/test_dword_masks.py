"""Masks of loops as dwords: functions compute the same with them, and loops that profit have them."""

import ctypes

import numpy as np
import pytest
from llvmlite import binding as llvm

from vsim.engines.llvm import target
from vsim.engines.llvm.host import native
from vsim.engines.llvm.host.dword_masks import with_dword_masks

LEVEL = "x86-64-v3"
pytestmark = pytest.mark.skipif(LEVEL not in target.possible(), reason="the processor has no AVX2")
LOOP = """define i32 @f(ptr %x, ptr %out, i32 %n) {
entry:
  %start = load <LANES x i32>, ptr %x, align 4
  %few = icmp sgt i32 %n, 3
  %one = insertelement <LANES x i1> poison, i1 %few, i64 0
  %few.all = shufflevector <LANES x i1> %one, <LANES x i1> poison, <LANES x i32> zeroinitializer
  br label %loop

loop:                                             ; preds = %loop, %entry
  %k = phi i32 [ 0, %entry ], [ %k.next, %loop ]
  %v = phi <LANES x i32> [ %start, %entry ], [ %kept, %loop ]
  %em = phi <LANES x i1> [ FIRST, %entry ], [ %left, %loop ]
  %k.next = add i32 %k, 1
  %half = lshr <LANES x i32> %v, splat (i32 1)
  %kept = select <LANES x i1> %em, <LANES x i32> %half, <LANES x i32> %v
  %more = icmp ugt <LANES x i32> %half, splat (i32 2)
  OPERATION
  %left = and <LANES x i1> %em, %op
  %bits = bitcast <LANES x i1> %left to iLANES
  %any = icmp ne iLANES %bits, 0
  br i1 %any, label %loop, label %out.block

out.block:                                        ; preds = %loop
  store <LANES x i32> %kept, ptr %out, align 4
  RESULT
  ret i32 %r
}
"""
OPERATIONS = {
    "and": "%op = and <LANES x i1> %more, %few.all",
    "or": "%op = or disjoint <LANES x i1> %more, zeroinitializer",
    "xor": "%less = xor <LANES x i1> %more, splat (i1 true)\n  %op = xor <LANES x i1> %less, splat (i1 true)",
    "all lanes of one": "%op = select i1 %few, <LANES x i1> %more, <LANES x i1> zeroinitializer",
    "both": "%op = select <LANES x i1> %more, <LANES x i1> %few.all, <LANES x i1> zeroinitializer",
    "either": "%op = select <LANES x i1> %more, <LANES x i1> splat (i1 true), <LANES x i1> zeroinitializer",
    "one or the other": "%op = select <LANES x i1> %em, <LANES x i1> %more, <LANES x i1> %few.all",
    "words": "%w = trunc <LANES x i32> %half to <LANES x i16>\n"
    "  %some = icmp ne <LANES x i16> %w, splat (i16 77)\n  %op = and <LANES x i1> %more, %some\n"
    "  %chosen = select <LANES x i1> %op, <LANES x i32> %half, <LANES x i32> %v",
}
RESULTS = {
    "rounds": "%r = add i32 %k.next, 0",
    "bits": "%r = zext iLANES %bits to i32",
    "a mask": "%wide = zext <LANES x i1> %em to <LANES x i32>\n  store <LANES x i32> %wide, ptr %out, align 4\n"
    "  %r = add i32 %k, 0",
}


def run(text, values, n):
    """What a function leaves, compiled for the level."""
    machine = native.target_machine(1)
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)
    out = np.zeros_like(values)
    found = function(engine.get_function_address("f"))(values.ctypes.data, out.ctypes.data, n)
    return found, out.tolist()


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("first", ["<{lanes}>", "bitcast (<1 x i{count}> splat (i{count} {bits}) to <{count} x i1>)"])
def test_loops(operation, result, lanes, first, monkeypatch):
    monkeypatch.setenv(target.VARIABLE, LEVEL)
    running = [n % 3 != 1 for n in range(lanes)]
    bits = sum(runs << n for n, runs in enumerate(running)) - (1 << lanes)
    first = first.format(lanes=", ".join(f"i1 {str(runs).lower()}" for runs in running), count=lanes, bits=bits)
    text = LOOP.replace("OPERATION", OPERATIONS[operation]).replace("RESULT", RESULTS[result])
    text = text.replace("LANES", str(lanes)).replace("FIRST", first)
    rewritten = with_dword_masks(text)
    assert f"phi <{lanes} x i32> [ <i32 -1, i32 0," in rewritten
    random = np.random.default_rng(lanes)
    for n in (0, 7):
        values = random.integers(0, 1 << random.integers(1, 32), lanes, "u4")
        assert run(text, values, n) == run(rewritten, values, n)


def test_other_modules_stay():
    """Without masks that live on, with more lanes, and where bits of the mask cost more than its selections."""
    loop = LOOP.replace("OPERATION", OPERATIONS["and"]).replace("RESULT", RESULTS["rounds"]).replace("FIRST", "undef")
    assert with_dword_masks(loop.replace("LANES", "32")) == loop.replace("LANES", "32")
    counted = loop.replace("%any = icmp ne iLANES %bits, 0", "%any = icmp ugt iLANES %bits, 3").replace("LANES", "16")
    mostly = counted.replace("%kept = select <16 x i1> %em", "%kept = select <16 x i1> splat (i1 true)")
    assert with_dword_masks(mostly) == mostly
    straight = "define <8 x i1> @f(<8 x i1> %x) {\n  %y = xor <8 x i1> %x, splat (i1 true)\n  ret <8 x i1> %y\n}\n"
    assert with_dword_masks(straight) == straight
