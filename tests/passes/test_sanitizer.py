"""``VISAKIT_GUARD=1``: accesses that the engine's own checks let pass, since something was tampered with, are reported
and do not happen.
"""

import re

import numpy as np
import pytest
from support.programs import DATA, build_text, kernel_head, run_case

import visakit
import vsim
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm import engine
from vsim.engines.llvm.passes import sanitize

HEAD = (
    kernel_head("BUF=uq W=ud*16 A=uq*16 O=ud*16", SimdSize=16)
    + """.input BUF offset=64 size=8
"""
)
FAR = "add (M1, 1) BUF(0,0)<1> BUF(0,0)<0;1,0> 0x100000:uq"
LANES = "mov (M1, 16) A(0,0)<1> BUF(0,0)<0;1,0>"


@pytest.fixture
def guarded(monkeypatch):
    monkeypatch.setenv("VISAKIT_GUARD", "1")


def program(*lines):
    return vsim.load(build_text(HEAD + "\n".join([*lines, "ret (M1, 1)"])))


def launch(loaded, array):
    loaded.launch("k", 16, 16, [array], threads=1)


def tampered(array, *lines):
    """The error of a launch whose buffer seems to have 4 GiB."""
    loaded = program(*lines)
    with pytest.raises(visakit.SimulationError, match="S030"):
        launch(loaded, array)
    slots = loaded.engines.native.slots.words
    used = np.flatnonzero(slots[2::3])
    slots[3 * used + 2] = 1 << 32
    with pytest.raises(visakit.SimulationError) as caught:
        launch(loaded, array)
    return caught.value.diagnostics[0]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([FAR, "svm_block_ld (4) BUF(0,0)<0;1,0> W.0"], "read 64 bytes"),
        ([FAR, "svm_block_st (4) BUF(0,0)<0;1,0> W.0"], "written 64 bytes"),
        ([FAR, LANES, "svm_gather.4.1 (M1, 16) A.0 W.0"], "read 4 bytes"),
        ([FAR, LANES, "svm_scatter.4.1 (M1, 16) A.0 W.0"], "written 4 bytes"),
        ([FAR, LANES, "svm_atomic.add (M1, 16) A.0 W.0 %null.0 O.0"], "read 4 bytes"),
    ],
    ids=["block-load", "block-store", "gather", "scatter", "atomic"],
)
def test_an_access_outside_is_reported_by_its_address(guarded, lines, found):
    array = np.zeros(64, "u4")
    problem = tampered(array, *lines)
    assert problem.code == "S090"
    assert found in problem.message
    assert f"by '{lines[-1].split(' ')[0]}" in problem.message
    assert not array.any()


def test_the_driver_is_watched_too(guarded):
    loaded = program("mov (M1, 16) W(0,0)<1> 0x0:ud")
    array = np.zeros(64, "u4")
    launch(loaded, array)
    (plan,) = loaded.engines.native.plans.values()
    plan.initial[cx.SLM_SIZE // 8] = 1 << 20
    loaded.engines.native.prepared = None
    with pytest.raises(
        visakit.SimulationError, match=r"written 1048576 bytes .* around its instructions in 'k' \[S090\]"
    ):
        launch(loaded, array)


def test_registers_at_computed_places_stay_in_their_stack_slot(guarded, monkeypatch):
    original, size = sanitize.guarded, re.compile(r"(%file = alloca \[|ptr align 64 %file, i8 0, i64 )\d+")
    monkeypatch.setattr(sanitize, "guarded", lambda text: original(size.sub(r"\g<1>64", text)))
    loaded = program(
        ".decl AD v_type=A num_elts=1", "addr_add (M1, 1) AD(0)<1> &W 0:uw", "mov (M1, 1) r[AD(0),0]<1>:ud 0x7:ud"
    )
    with pytest.raises(visakit.SimulationError, match=r"written 4 bytes .* by 'mov .*S090"):
        launch(loaded, np.zeros(64, "u4"))


def test_texels_are_watched(guarded, monkeypatch):
    original = engine.fill_surfaces

    def moved(table, dispatch):
        original(table, dispatch)
        table[0 :: cx.SURFACE_ENTRY // 8] += np.uint64(1 << 40)

    monkeypatch.setattr(engine, "fill_surfaces", moved)
    folder = DATA / "cases" / "img_kinds"
    with pytest.raises(visakit.SimulationError, match=r"compiled code would have (read|written) .*S090"):
        run_case(folder / "tgllp", folder / "launch.json", "tgllp", "llvm")


@pytest.mark.parametrize("check", ("undefined", "all,guard"))
def test_memory_of_checks_is_known(guarded, check):
    """Shadows of buffers, of local memory and of surfaces, and where arguments end."""
    lines = (
        f"{LANES}\nmov (M1, 16) W(0,0)<1> 1:ud\nscatter_scaled.4 (M1, 16) %slm 0x0:ud O.0 W.0\n"
        "svm_scatter.4.1 (M1, 16) A.0 W.0\nsvm_block_st (4) BUF(0,0)<0;1,0> W.0\nmov (M1, 16) O(0,0)<1> 0:ud\n"
        "scatter_scaled.4 (M1, 16) T6 0x0:ud O.0 W.0"
    )
    text = HEAD.replace(".kernel_attr", ".decl T6 v_type=T num_elts=1\n.kernel_attr SLMSize=1\n.kernel_attr", 1)
    loaded, pool = vsim.load(build_text(f"{text}mov (M1, 16) O(0,0)<1> 0:ud\n{lines}\nret (M1, 1)")), np.zeros(64, "u4")
    loaded.usm(pool)
    result = loaded.launch("k", 16, 16, [pool[16:24]], engine="llvm", threads=1, check=check)
    assert {f.code for f in result.findings} == ({"K041"} if "guard" in check else set())


def test_only_unproved_accesses_are_checked():
    text = """define void @group(ptr %ctx, i64 %n) #0 {
entry:
  %slot = alloca [64 x i8], align 64
  %near = getelementptr i8, ptr %slot, i64 60
  %far = getelementptr i8, ptr %slot, i64 61
  %somewhere = getelementptr i8, ptr %slot, i64 %n
  store i32 0, ptr %near, align 4
  store i32 0, ptr %far, align 4
  store i32 0, ptr %somewhere, align 4
  store i32 0, ptr %ctx, align 4
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  call void @llvm.x86.sse.ldmxcsr(ptr %far)
  ret void
}"""
    checks = [
        line.split("guard_place(ptr ")[1].split(")")[0]
        for line in sanitize.guarded(text).splitlines()
        if "@guard_place(ptr %" in line
    ]
    assert [c.split(",")[0] for c in checks] == ["%far", "%somewhere", "%ctx", "%far"]
    assert "ptr %slot, i64 64" in checks[1]
    assert "ptr null, i64 0" in checks[2]


@pytest.mark.parametrize(
    "line", ["store i32 0, ptr @global", "%x = call ptr @llvm.strange(ptr %ctx)", "%x = load {i8}, ptr %ctx"]
)
def test_an_access_that_the_guard_does_not_know_is_an_error(line):
    with pytest.raises(AssertionError, match="the guard does not know"):
        sanitize.guarded(f"define void @group(ptr %ctx) {{\nentry:\n  {line}\n  ret void\n}}")


def test_copies_and_anchors_are_known():
    lines = ['%y = call i64 asm "", "=r,0"(i64 %x)', "call void (...) @llvm.fake.use(i64 %y)"]
    found = sanitize.guarded("\n  ".join(["define void @group(i64 %x) {\nentry:", *lines, "ret void\n}"]))
    assert all(f"  {line}\n" in found for line in lines)


def test_code_without_the_guard_has_nothing_of_it(monkeypatch):
    monkeypatch.delenv("VISAKIT_GUARD", raising=False)
    loaded = program("mov (M1, 16) W(0,0)<1> 0x0:ud")
    launch(loaded, np.zeros(64, "u4"))
    (plan,) = loaded.engines.native.plans.values()
    assert plan.kernel.native.guard is None


def test_slots_of_any_type_and_prefetches_are_known():
    """A slot is memory of its function, whatever its type; a prefetch touches none."""
    text = """define void @f(ptr %p) {
entry:
  %next = alloca <16 x i32>, align 64
  %at = alloca i64, align 8
  store <16 x i32> zeroinitializer, ptr %next, align 64
  call void @llvm.prefetch.p0(ptr %p, i32 0, i32 3, i32 1)
  %x = load i64, ptr %at, align 8
  ret void
}"""
    assert "call ptr @guard_place" not in sanitize.guarded(text)
    beyond = sanitize.guarded(text.replace("store <16 x i32> zero", "store <17 x i32> zero"))
    assert "@guard_place(ptr %next, i64 68, i64 1, ptr %next, i64 64, i64 %guard.site)" in beyond
