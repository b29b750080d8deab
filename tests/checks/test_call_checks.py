"""The check of calls: defects, their mended twins, on both engines, in all orders, with functions that wait and that call."""

import itertools

import numpy as np
import pytest
from support.programs import PRIVATE_MEMORY, build_text, ze_info_of
from support.strategies import ENGINES, FUZZ, rotated

from visakit import SimulationError
from vsim.program import Program

DECLARATIONS = """
.decl SP v_type=G type=uq num_elts=1 alias=<%sp, 0>
.decl FP v_type=G type=uq num_elts=1 alias=<%fp, 0>
.decl SPD v_type=G type=ud num_elts=2 alias=<%sp, 0>
.decl OLD v_type=G type=uq num_elts=1 align=GRF
.decl OLDSP v_type=G type=uq num_elts=1 align=GRF
.decl SAVED v_type=G type=ud num_elts=16 align=GRF
.decl MODE v_type=G type=ud num_elts=1 align=GRF
.decl CARRY v_type=G type=ud num_elts=1 align=GRF
.decl TARGET v_type=G type=ud num_elts=1 align=GRF
.decl R0 v_type=G type=ud num_elts=16 alias=<%r0, 0>
.decl A0 v_type=A num_elts=16
.decl P1 v_type=P num_elts={simd}
.kernel_attr SimdSize={simd}
"""
KERNEL = """.version 4.1
.kernel "k"
.decl PRIVATE v_type=G type=uq num_elts=1 align=GRF
.decl WHERE v_type=G type=uq num_elts=1 align=GRF
{declarations}.input PRIVATE offset=64 size=8
mul (M1_NM, 1) WHERE(0,0)<1> %hw_id(0,0)<0;1,0> {size}:ud
add (M1_NM, 1) SP(0,0)<1> PRIVATE(0,0)<0;1,0> WHERE(0,0)<0;1,0>
mov (M1_NM, 1) FP(0,0)<1> SP(0,0)<0;1,0>
add (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> 16:ud
{call}
ret (M1, 1)
"""
FUNCTION = """.global_function "{name}"
{declarations}.kernel_attr Extern
.kernel_attr ArgSize=0
.kernel_attr RetValSize={results}
{lines}
fret (M1, {simd})
"""
CALLS = {
    "by name": "fcall (M1, {simd}) f 0 0",
    "by address": "faddr f TARGET(0,0)<1>\nifcall (M1, {simd}) TARGET(0,0)<0;1,0> 0 0",
}
ENTER = "mov (M1_NM, 1) OLD(0,0)<1> FP(0,0)<0;1,0>\nmov (M1_NM, 1) FP(0,0)<1> SP(0,0)<0;1,0>\nadd (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> 32:ud"
LEAVE_SP = "mov (M1_NM, 1) SP(0,0)<1> FP(0,0)<0;1,0>"
LEAVE_FP = "mov (M1_NM, 1) FP(0,0)<1> OLD(0,0)<0;1,0>"
FRAME = [ENTER, LEAVE_SP, LEAVE_FP]
TO_ZERO = "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud"
BACK = "and (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0xffffffcf:ud"
PAIRS = {
    # code: (a function with the defect, the mended one)
    "K031 nothing": ([ENTER, LEAVE_FP], FRAME),
    "K031 too little": (["add (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> 64:ud", "add (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> 0xffffffd0:d"],
                        ["add (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> 64:ud", "add (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> 0xffffffc0:d"]),
    "K031 in halves": (["addc (M1_NM, 1) SPD(0,0)<1> CARRY(0,0)<1> SPD(0,0)<0;1,0> 16:ud", "add (M1_NM, 1) SPD(0,1)<1> SPD(0,1)<0;1,0> CARRY(0,0)<0;1,0>"],
                       ["mov (M1_NM, 1) OLD(0,0)<1> SP(0,0)<0;1,0>", "addc (M1_NM, 1) SPD(0,0)<1> CARRY(0,0)<1> SPD(0,0)<0;1,0> 16:ud",
                        "add (M1_NM, 1) SPD(0,1)<1> SPD(0,1)<0;1,0> CARRY(0,0)<0;1,0>", "mov (M1_NM, 1) SP(0,0)<1> OLD(0,0)<0;1,0>"]),
    "K031 behind a barrier": ([ENTER, "barrier", LEAVE_FP], [ENTER, "barrier", LEAVE_SP, LEAVE_FP]),
    "K032 nothing": ([ENTER, LEAVE_SP], FRAME),
    "K032 another": ([ENTER, LEAVE_SP, "mov (M1_NM, 1) FP(0,0)<1> SP(0,0)<0;1,0>"], [ENTER, LEAVE_SP, LEAVE_FP]),
    "K032 in a branch": ([ENTER, LEAVE_SP, "cmp.eq (M1_NM, 1) P1 R0(0,1)<0;1,0> 1:ud", "(P1) jmp (M1, 1) over", LEAVE_FP, "over:"],
                         [ENTER, LEAVE_SP, "cmp.eq (M1_NM, 1) P1 R0(0,1)<0;1,0> 9:ud", "(P1) jmp (M1, 1) over", LEAVE_FP, "over:"]),
    "K033 group": (["mov (M1_NM, 1) R0(0,1)<1> 7:ud"], ["mov (M1_NM, 1) SAVED(0,0)<1> R0(0,1)<0;1,0>", "mov (M1_NM, 1) R0(0,1)<1> 7:ud",
                                                      "mov (M1_NM, 1) R0(0,1)<1> SAVED(0,0)<0;1,0>"]),
    "K033 last": (["mov (M1_NM, 1) R0(0,7)<1> 9:ud"], ["mov (M1_NM, 1) SAVED(0,7)<1> 9:ud"]),
    "K033 by address": (["addr_add (M1_NM, 1) A0(0)<1> &R0 8:uw", "mov (M1_NM, 1) r[A0(0), 0]<1>:ud 11:ud"],
                        ["addr_add (M1_NM, 1) A0(0)<1> &SAVED 8:uw", "mov (M1_NM, 1) r[A0(0), 0]<1>:ud 11:ud"]),
    "K034 rounding": ([TO_ZERO], [TO_ZERO, BACK]),
    "K034 denormals": (["or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x80:ud"],
                       ["mov (M1_NM, 1) MODE(0,0)<1> %cr0(0,0)<0;1,0>", "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x80:ud",
                        "mov (M1_NM, 1) %cr0(0,0)<1> MODE(0,0)<0;1,0>"]),
}  # fmt: skip


def source(lines, simd, how, nested, size=4096, results=0):
    declarations = DECLARATIONS.format(simd=simd).lstrip()
    call = CALLS.get(how, how).format(simd=simd)
    functions = (
        [("f", lines)]
        if not nested
        else [("f", [ENTER, f"fcall (M1, {simd}) g 0 0", LEAVE_SP, LEAVE_FP]), ("g", lines)]
    )
    text = KERNEL.format(declarations=declarations, call=call, size=size)
    return text + "".join(
        FUNCTION.format(name=n, declarations=declarations, lines="\n".join(body), simd=simd, results=results)
        for n, body in functions
    )


def findings(text, simd, engine, schedule=""):
    image = build_text(text, "pvc")
    private = np.zeros(1 << 18, np.uint8)
    result = Program(image).launch("k", 8 * simd, 4 * simd, [private], engine=engine, schedule=schedule, check="calls")
    assert result.engine == engine
    return [(f.code, f.site, f.who, f.memory, f.count) for f in result.findings]


WAYS = list(itertools.product((8, 16, 32), CALLS, (False, True), ("", "reverse", "random:5", "round-robin")))
"""In how many lanes, how, from where, and in which order: each pair in some of them, in ``make pairs`` in all."""
CASES = [
    pytest.param(name, *way, id=", ".join(filter(None, (name, str(way[0]), way[1], "nested" * way[2], way[3]))))
    for n, name in enumerate(PAIRS)
    for m, way in enumerate(WAYS)
    if FUZZ or m in {(n * 5 + k) % len(WAYS) for k in (0, 17)}
]


@pytest.mark.parametrize(("name", "simd", "how", "nested", "schedule"), CASES)
def test_registers_that_a_callee_must_preserve(name, simd, how, nested, schedule):
    """The defect is found at the call whose callee has it, in every thread; its twin is not."""
    defect, twin = (source(lines, simd, how, nested) for lines in PAIRS[name])
    wanted = findings(defect, simd, "numpy")
    assert (name[:4], nested) in {(f[0], f[1].function == 1) for f in wanted}
    for engine in ENGINES:
        assert findings(defect, simd, engine, schedule) == wanted
        assert findings(twin, simd, engine, schedule) == []


DEEP = (
    "add (M1_NM, 1) OLDSP(0,0)<1> FP(0,0)<0;1,0> {bytes}:ud\ncmp.ge (M1_NM, 1) P1 SP(0,0)<0;1,0> OLDSP(0,0)<0;1,0>\n"
    "(P1) jmp (M1, 1) over\nadd (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> 16:ud\nfcall (M1, {simd}) f 0 0\n"
    "add (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> -16:d\nover:"
)
"""A function that calls itself as long as its frames, of 16 bytes each, have fewer bytes than that."""
ADDRESS = "faddr f TARGET(0,0)<1>\n"
CALL_AT = "ifcall (M1, {simd}) TARGET(0,0)<0;1,0> "
FAULTS = {
    # fault: (the call and the callee; both mended; a word of the message)
    "bytes of arguments": ((ADDRESS + CALL_AT + "2 0", ""), (ADDRESS + CALL_AT + "0 0", ""), "ArgSize"),
    "bytes of results": ((ADDRESS + CALL_AT + "0 1", ""), (ADDRESS + CALL_AT + "0 2", ""), "RetValSize"),
    "no function": (("mov (M1_NM, 1) TARGET(0,0)<1> 0x77:ud\n" + CALL_AT + "0 0", ""), (ADDRESS + CALL_AT + "0 0", ""), "no function"),
    "depth": ((CALLS["by name"], DEEP.replace("{bytes}", "17600")), (CALLS["by name"], DEEP.replace("{bytes}", "14400")), "nested"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "simd"), rotated(FAULTS, (8, 16, 32)))
def test_calls_that_have_no_result_are_faults(name, simd):
    """They end the launch, with and without the check; their twins run without findings."""
    *pair, words = FAULTS[name]
    (call, body), (right, mended) = ([part.replace("{simd}", str(simd)) for part in parts] for parts in pair)
    results = 2 * (name == "bytes of results")
    defect, twin = (
        source([lines], simd, how, False, results=results) for how, lines in ((call, body), (right, mended))
    )
    for engine in ENGINES:
        for schedule in ("", "round-robin"):
            with pytest.raises(SimulationError, match=words) as fault:
                findings(defect, simd, engine, schedule)
            assert [d.code for d in fault.value.diagnostics] == ["S030"]
            assert findings(twin, simd, engine, schedule) == []


def stack_findings(lines, engine, nested=False, groups=3, simd=16, schedule=""):
    """Findings of a kernel whose private memory the program knows."""
    text = source(lines, simd, "by name", nested, size=8 * simd)
    program = Program(build_text(text, "pvc", ze_info_of("private", memory=PRIVATE_MEMORY, simd_size=simd)))
    result = program.launch("k", groups * 2 * simd, 2 * simd, [], engine=engine, schedule=schedule, check="calls")
    assert result.engine == engine
    return result.findings


def frame(size):
    """A function with a frame of so many bytes; 16 of the 128 are the kernel's."""
    enter = ENTER.replace(" 32:ud", f" {size}:ud")
    return [enter, LEAVE_SP, LEAVE_FP]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("simd", "nested", "schedule"), [(8, False, "reverse"), (16, False, ""), (16, True, "round-robin"), (32, True, "")]
)
def test_a_stack_stays_in_its_block(simd, nested, schedule, engine):
    """The stack of a thread ends where that of the next one begins."""
    room = 8 * simd - 16 - 32 * nested
    assert stack_findings(frame(room), engine, nested, simd=simd, schedule=schedule) == []
    (found,) = stack_findings(frame(room + 16), engine, nested, simd=simd, schedule=schedule)
    assert (found.code, found.count, found.memory) == ("K035", 6, "")
    assert found.site == (2 if nested else 1, 2)
    words = f"%sp is {8 * simd + 16} bytes past its start, and the thread has {8 * simd} bytes"
    assert found.message == f"the stack leaves its block: {words}"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stack_does_not_begin_in_front_of_its_block(engine):
    found = stack_findings(["add (M1_NM, 1) SP(0,0)<1> SP(0,0)<0;1,0> 0xffffffe0:d"], engine)
    assert [f.code for f in found] == ["K031", "K035"]
    assert "is -16 bytes" in found[1].message
