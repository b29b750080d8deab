"""What is refused, which instructions a run reports, and the float modes of %cr0."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head

from visakit import LaunchError
from vsim.launch.launch import BufferArgument, Launch, ScalarArgument
from vsim.observe.fidelity import report
from vsim.program import Program
from vsim.semantics.registers import float_modes

HEAD = (
    kernel_head("OUT=uq AT=uq*8 X=f*8 Y=f*8 H=hf*16 N=ud*8 LANE=uw*8 T6=T P1=P*8", "OUT")
    + """.input X offset=96 size=32
.kernel_attr SimdSize=8
mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
"""
)
STORE = """mul (M1, 8) AT(0,0)<1> LANE(0,0)<1;1,0> 4:uw
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 8) AT.0 Y.0
ret (M1, 1)
"""
ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])


def run(middle, engine, x=0.0, store=STORE, platform="tgllp"):
    """Y of eight lanes after some lines, and the launch."""
    out = np.zeros(64, np.float32)
    program = Program(build_text(HEAD + middle + "\n" + store, platform))
    x = np.full(8, x, np.float32) if np.isscalar(x) else np.asarray(x, np.float32)
    launch = Launch("k", (8,), (8,), args=[BufferArgument(out), ScalarArgument(x.tobytes())])
    return out[:8], program.run(launch, engine=engine, profile=True)


@ENGINES
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("vme_sic T6 X.0 X.0 X.0", "motion estimation"),
        ("raw_send (M1, 8) 0x2 1 1 0x2040000:ud X.0 Y.0", "messages to unit 2"),
        ("raw_sends.2.1.1.1 (M1, 8) 0xc:ud N(0,0)<0;1,0> X.0 X.0 Y.0", "messages to unit 2"),
    ],
)
def test_a_reachable_instruction_without_definition_is_refused(line, why, engine):
    with pytest.raises(LaunchError, match=why) as caught:
        run(line, engine)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "S022" and diagnostic.span.line == HEAD.count("\n") + 1
    assert line.split()[0].split(".")[0] in diagnostic.message


@ENGINES
def test_one_that_cannot_be_reached_is_not(engine):
    out, _ = run("mov (M1, 8) Y(0,0)<1> 3.0:f\ngoto (M1, 1) over\nvme_sic T6 X.0 X.0 X.0\nover:", engine)
    assert (out == 3).all()


@ENGINES
def test_the_report_names_executed_instructions(engine):
    _, result = run(
        "mov (M1, 8) Y(0,0)<1> X(0,0)<1;1,0>\ngoto (M1, 1) over\nsin (M1, 8) Y(0,0)<1> X(0,0)<1;1,0>\nover:", engine
    )
    found = report(result.executed, 32)
    assert "mov" in found.exact and "svm_scatter" in found.exact and not found.within
    assert not found.address and not found.branch
    assert result.fidelity == found


@ENGINES
def test_inexact_results_are_followed(engine):
    _, result = run("sin (M1, 8) Y(0,0)<1> X(0,0)<1;1,0>", engine)
    found = report(result.executed, 32)
    assert found.within == ["sin"] and not found.address and not found.branch
    branch = "exp (M1, 8) Y(0,0)<1> X(0,0)<1;1,0>\ncmp.gt (M1, 8) P1 Y(0,0)<1;1,0> 0x0:f\n(P1) goto (M1, 8) over\nmov (M1, 8) Y(0,0)<1> 0x0:f\nover:"
    found = report(run(branch, engine)[1].executed, 32)
    assert found.branch and not found.address
    address = "exp (M1, 8) Y(0,0)<1> X(0,0)<1;1,0>\nmov (M1, 8) LANE(0,0)<1> Y(0,0)<1;1,0>"
    found = report(run(address, engine)[1].executed, 32)
    assert found.address and not found.branch


THROUGH_MEMORY = """exp (M1, 8) Y(0,0)<1> X(0,0)<1;1,0>
mul (M1, 8) AT(0,0)<1> LANE(0,0)<1;1,0> 4:uw
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
lsc_store.ugm (M1, 8) flat[AT]:a64 STORED:d32
lsc_load.ugm (M1, 8) N:d32 flat[AT]:a64
and (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 0:d
add (M1, 8) LANE(0,0)<1> LANE(0,0)<1;1,0> N(0,0)<1;1,0>"""


@ENGINES
@pytest.mark.parametrize(("stored", "reached"), [("Y", True), ("X", False)])
def test_inexact_results_are_followed_through_memory(stored, reached, engine):
    """A store has a destination field in its encoding, and still writes memory."""
    middle, store = THROUGH_MEMORY.replace("STORED", stored), STORE.replace("Y.0", "N.0")
    out, dispatch = run(middle, engine, store=store, platform="dg2")
    assert (out == 0).all()
    found = report(dispatch.executed, 32)
    assert found.within == ["exp"] and "lsc_store" in found.exact
    assert found.address == reached and not found.branch


TINY = np.float32(1e-40)


@ENGINES
@pytest.mark.parametrize(
    ("control", "kept"), [("", False), ("0x4c0", True), ("0x80", True), ("0x40", False), ("0x440", False)]
)
def test_denormals_follow_the_control_register(control, kept, engine):
    head = f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {control}:ud\n" if control else ""
    out, _ = run(
        head + "mul (M1, 8) Y(0,0)<1> X(0,0)<1;1,0> 0x40000000:f", engine, [TINY, -TINY, 1, 0, -0.0, 1e-38, 2, 3]
    )
    expected = np.array([TINY, -TINY, 1, 0, -0.0, 1e-38, 2, 3], np.float32) * np.float32(2)
    if not kept:
        expected[0], expected[1] = 0.0, -0.0
        expected[5] = np.float32(0)
    assert out.tobytes() == expected.tobytes()
    out, _ = run(head + "mul (M1, 8) Y(0,0)<1> X(0,0)<1;1,0> 0x3f000000:f", engine, [1.2e-38] * 8)
    assert (out == (np.float32(1.2e-38) / 2 if kept else 0)).all()
    assert (run(head + "mov (M1, 8) Y(0,0)<1> X(0,0)<1;1,0>", engine, TINY)[0] == TINY).all()
    # A comparison takes them as zeros, too.
    picked, _ = run(
        head + "cmp.gt (M1, 8) P1 X(0,0)<1;1,0> 0x0:f\n(P1) sel (M1, 8) Y(0,0)<1> 0x3f800000:f 0x0:f", engine, TINY
    )
    assert (picked == (1 if kept else 0)).all()


@pytest.mark.parametrize(
    ("text", "flushed"),
    [
        ("or", set()),
        ("main:\nor", set()),
        ("jmp (M1, 1) main\nmain:\nor", {"df", "f", "hf"}),
        ("xor", {"df", "f", "hf"}),
    ],
)
def test_modes_set_at_the_beginning_are_known(text, flushed):
    """A mode of denormals that the first block sets costs nothing later."""
    line = f"{text} (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud"
    image = build_text(f'.version 4.1\n.kernel "k"\n{line}\nret (M1, 1)\n')
    assert {t.name for t in float_modes(image.module.kernels).flushed} == flushed


THIRDS = np.float32([1, 2, 5, 7, -1, -2, -5, -7])
TOGGLE = "xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud\n"
DIVIDE = "div (M1, 8) Y(0,0)<1> X(0,0)<1;1,0> 0x40400000:f\n"


@ENGINES
@pytest.mark.parametrize(
    ("text", "to_zero"),
    [
        (TOGGLE + DIVIDE, True),
        (TOGGLE + TOGGLE + DIVIDE, False),
        (TOGGLE + "and (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0xffffffcf:ud\n" + DIVIDE, False),
        (TOGGLE + "mov (M1_NM, 1) %cr0(0,0)<1> 0x4c0:ud\n" + DIVIDE, False),
        # A change on one of two paths: on the path that is taken, then on the other one.
        ("cmp.eq (M1_NM, 1) P1 N(0,0)<0;1,0> 0x0:d\n(P1) jmp (M1, 1) over\n" + TOGGLE + "over:\n" + DIVIDE, False),
        ("cmp.ne (M1_NM, 1) P1 N(0,0)<0;1,0> 0x0:d\n(P1) jmp (M1, 1) over\n" + TOGGLE + "over:\n" + DIVIDE, True),
        # Three rounds of a loop: the mode at its head is unknown from the second round on.
        ("again:\n" + TOGGLE + DIVIDE + "add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> 0x1:d\n"
         "cmp.lt (M1_NM, 1) P1 N(0,0)<0;1,0> 0x3:d\n(P1) jmp (M1, 1) again\n", True),
        ("again:\n" + TOGGLE + DIVIDE + "add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> 0x1:d\n"
         "cmp.lt (M1_NM, 1) P1 N(0,0)<0;1,0> 0x4:d\n(P1) jmp (M1, 1) again\n", False),
        # No constant, but the same bits out of a register; a constant under a predicate that does not hold.
        ("mov (M1_NM, 1) N(0,1)<1> 0x30:d\nor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> N(0,1)<0;1,0>\n" + DIVIDE, True),
        ("cmp.ne (M1_NM, 8) P1 N(0,0)<0;1,0> 0x0:d\n(P1) or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud\n" + DIVIDE, False),
    ],
)  # fmt: skip
def test_the_rounding_mode_is_that_of_the_moment(text, to_zero, engine):
    """The fast engine computes in the mode that it has proved, the reference engine in what %cr0 holds."""
    found, _ = run("mov (M1, 8) N(0,0)<1> 0x0:d\n" + text, engine, THIRDS)
    near, exact = THIRDS / np.float32(3), THIRDS.astype("f8") / 3
    cut = np.where(np.abs(near) > np.abs(exact), np.nextafter(near, np.float32(0)), near)
    assert (near != cut).any()
    assert found.tobytes() == (cut if to_zero else near).tobytes()


@ENGINES
def test_denormals_of_conversions_to_half(engine):
    line = "mov (M1, 8) H(0,0)<1> X(0,0)<1;1,0>\nmov (M1, 8) Y(0,0)<1> H(0,0)<1;1,0>"
    small = np.float32(np.float16(3e-6))
    assert (run("or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud\n" + line, engine, small)[0] == small).all()
    assert (run("or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0xc0:ud\n" + line, engine, small)[0] == 0).all()
