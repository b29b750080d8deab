"""Values that coroutines keep across barriers: which they are, what shares a slot, and what LLVM makes of it."""

import re

import numpy as np
import pytest
from test_coroutine_frames import RUN

from vsim.engines.llvm import abi
from vsim.engines.llvm.host import native
from vsim.engines.llvm.host.kept_values import MOST_OPERATIONS, with_kept_values
from vsim.engines.llvm.support import driver

WAIT = "call i8 @llvm.coro.suspend(token none, i1 false)"


def chain(count, kind="i32", operation="mul"):
    """So many operations, each of which takes the result of the one before."""
    return [f"%v{n + 1} = {operation} {kind} %v{n}, %v0" for n in range(count)]


def phases(*texts, last=()):
    """A coroutine that waits between two phases and between their rounds; numbers are loaded in front of it."""
    ends = [
        f"  %wait{n} = {WAIT}\n  switch i8 %wait{n}, label %suspend [ i8 0, label %phase{n + 1} i8 1, label %cleanup ]"
        for n in range(len(texts) - 1)
    ]
    lines = ["  br label %phase0"]
    for n, text in enumerate(texts):
        lines += [f"phase{n}:", *(line if line.endswith(":") else f"  {line}" for line in text), *ends[n : n + 1]]
    return "\n".join(
        [
            driver.coroutine_declarations(),
            "define ptr @coroutine(ptr %worker, ptr %frame, ptr %numbers) presplitcoroutine {\nentry:",
            driver.coroutine_begin(),
            driver.coroutine_first_suspend(),
            *lines,
            *last,
            "  br label %exit\nexit:",
            driver.coroutine_exit(),
            "}",
            RUN,
        ]
    )


LOADED = "%v0 = load i32, ptr %numbers, align 4"


def stored(value, kind="i32"):
    return f"store {kind} {value}, ptr %numbers, align 4"


def slots(text):
    """The slot of each value that is kept."""
    return dict(re.findall(r"  store (?:<[^>]*>|\w+) (%[\w.]+), ptr (%slot\.\d+),", with_kept_values(text)))


def kept(text):
    """The values that are kept."""
    return list(slots(text))


def test_a_long_chain_is_kept_and_a_short_one_is_not():
    for count in (MOST_OPERATIONS, MOST_OPERATIONS + 1):
        text = phases([LOADED, *chain(count)], [stored(f"%v{count}")])
        assert kept(text) == ([f"%v{count}"] if count > MOST_OPERATIONS else [])


def test_what_is_made_of_a_kept_value_is_a_short_chain():
    count = MOST_OPERATIONS + 1
    more = f"%w = add i32 %v{count}, %v{count - 1}"
    assert kept(phases([LOADED, *chain(count), more], [stored(f"%v{count}"), stored("%w")])) == [f"%v{count}", "%w"]
    more = f"%w = add i32 %v{count}, 1"
    assert kept(phases([LOADED, *chain(count), more], [stored(f"%v{count}"), stored("%w")])) == [f"%v{count}"]


def test_a_value_of_one_phase_is_not_kept():
    """A block in the same phase reads the value itself."""
    count = MOST_OPERATIONS + 1
    text = phases([LOADED, *chain(count), "br label %more", "more:", stored(f"%v{count}")], [])
    assert kept(text) == []


def test_a_value_of_each_round_is_kept_only_across_its_own_rounds_barrier():
    """A loop around a barrier computes a value, and reads it in front of the barrier or behind the loop."""
    count = MOST_OPERATIONS + 1
    body = [
        *["br label %round", "round:", LOADED, *chain(count), "br label %use", "use:"],
        *[stored(f"%v{count}"), f"%w = {WAIT}"],
        "switch i8 %w, label %suspend [ i8 0, label %again i8 1, label %cleanup ]",
        *["again:", "%c = load volatile i1, ptr %numbers, align 1", "br i1 %c, label %round, label %behind", "behind:"],
    ]
    assert kept(phases(body)) == []
    assert kept(phases([*body, stored(f"%v{count}")])) == [f"%v{count}"]


def test_a_phi_reads_what_is_kept():
    count = MOST_OPERATIONS + 1
    text = phases(
        [LOADED, *chain(count)],
        ["br i1 undef, label %other, label %join"],
        last=["other:", "  br label %join", "join:", f"  %p = phi i32 [ %v{count}, %other ], [ 0, %phase1 ]"],
    )
    assert kept(text) == [f"%v{count}"]
    found = with_kept_values(text)
    loaded = re.search(r"other:\n  (%again\.\d+) = load i32, ptr %slot\.0, align 4\n  br label %join\n", found)
    assert loaded and f"phi i32 [ {loaded[1]}, %other ], [ 0, %phase1 ]" in found


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("or disjoint i32 %v9, 1", "i32"),
        ("add nuw nsw i32 %v9, 1", "i32"),
        ("icmp samesign ult i32 %v9, 1", "i1"),
        ("trunc nuw i32 %v9 to i8", "i8"),
        ("zext nneg i32 %v9 to i64", "i64"),
        ("select i1 true, i32 %v9, i32 %v0", "i32"),
        ("getelementptr inbounds nuw i8, ptr %numbers, i32 %v9", "ptr"),
        ("fcmp contract oeq float %f, 1.0", "i1"),
        ("fadd contract float %f, 1.0", "float"),
        ("icmp ult <4 x i32> %row, splat (i32 3)", "<4 x i1>"),
        ("select <4 x i1> splat (i1 true), <4 x i32> %row, <4 x i32> %row", "<4 x i32>"),
    ],
)
def test_types(operation, kind):
    """The types of what LLVM writes."""
    others = ["%f = bitcast i32 %v9 to float", "%q = zext i32 %v9 to i128", "%row = bitcast i128 %q to <4 x i32>"]
    text = phases([LOADED, *chain(9), *others, f"%r = {operation}"], [f"store {kind} %r, ptr %numbers, align 1"])
    assert f"  store {kind} %r, ptr %slot.0, align " in with_kept_values(text)
    native.compile_object(text)


ROW = "load volatile <4 x i32>, ptr %numbers, align 1"


def rows(*values):
    return [stored(value, "<4 x i32>") for value in values]


@pytest.mark.parametrize(
    "operation",
    [
        ROW,
        "call <4 x i32> @llvm.umin.v4i32(<4 x i32> %row, <4 x i32> %row)",
        "shufflevector <4 x i32> %row, <4 x i32> %row, <4 x i32> <i32 1, i32 0, i32 3, i32 2>",
        "insertelement <4 x i32> %row, i32 %v0, i64 0",
        "freeze <4 x i32> %row",
    ],
)
def test_vectors_are_kept_that_llvm_does_not_compute_anew(operation):
    assert kept(phases([LOADED, f"%row = {ROW}", f"%r = {operation}"], rows("%r"))) == ["%r"]


def test_what_all_lanes_share_is_made_anew():
    same = ["%one = insertelement <4 x i32> poison, i32 %v0, i64 0"]
    same += ["%all = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer"]
    text = phases([LOADED, *same], rows("%all"))
    assert not kept(text)
    assert with_kept_values(text).count(" = shufflevector ") == 2


def test_what_is_computed_anew_loads_what_is_kept():
    """Also in the block of the value: LLVM would compute that anew, too."""
    count = MOST_OPERATIONS + 1
    more = f"%w = add i32 %v{count}, 1"
    uses = [stored(f"%v{count}"), stored("%w"), "br label %more", "more:", stored("%w")]
    text = phases([LOADED, *chain(count), more], uses)
    found = with_kept_values(text)
    assert kept(text) == [f"%v{count}"]
    assert found.count("load i32, ptr %slot.0") == found.count(" = add i32 %again") == 2


def test_values_that_are_never_needed_together_share_a_slot():
    """The slot of a value is free in the first block that is behind all that load it."""
    text = phases([f"%a = {ROW}"], rows("%a"), [f"%b = {ROW}"], rows("%b"))
    assert slots(text) == {"%a": "%slot.0", "%b": "%slot.0"}
    text = phases([f"%a = {ROW}"], [*rows("%a"), f"%b = {ROW}"], rows("%b"))
    assert slots(text) == {"%a": "%slot.0", "%b": "%slot.1"}
    text = phases([f"%a = {ROW}"], [f"%b = {ROW}"], rows("%b"), rows("%a"))
    assert slots(text) == {"%a": "%slot.0", "%b": "%slot.1"}
    smaller = "%b = load volatile <2 x i32>, ptr %numbers, align 1"
    text = phases([f"%a = {ROW}"], rows("%a"), [smaller], [stored("%b", "<2 x i32>")])
    assert slots(text) == {"%a": "%slot.0", "%b": "%slot.1"}


def test_a_value_of_each_round_keeps_its_slot_all_round():
    """What a loop carries is alive from its end to its beginning, so nothing of the loop shares its slot."""
    body = [
        *[f"%a = {ROW}", "br label %round", "round:"],
        *["%p = phi <4 x i32> [ %a, %phase0 ], [ %b, %again ]", *rows("%p"), f"%b = {ROW}", f"%w = {WAIT}"],
        "switch i8 %w, label %suspend [ i8 0, label %other i8 1, label %cleanup ]",
        *["other:", f"%c = {ROW}", f"%x = {WAIT}"],
        "switch i8 %x, label %suspend [ i8 0, label %again i8 1, label %cleanup ]",
        *["again:", *rows("%c"), "%d = load volatile i1, ptr %numbers, align 1"],
        *["br i1 %d, label %round, label %behind", "behind:"],
    ]
    found = slots(phases(body))
    assert found.keys() == {"%b", "%c"} and len(set(found.values())) == 2


def test_a_kept_phi_is_stored_behind_all_phis():
    text = phases(
        [f"%a = {ROW}", "br i1 undef, label %other, label %join", "other:", "br label %join", "join:"]
        + [f"%{name} = phi <4 x i32> [ %a, %phase0 ], [ zeroinitializer, %other ]" for name in "pq"],
        rows("%p", "%q"),
    )
    assert kept(text) == ["%p", "%q"]
    native._verified(with_kept_values(text), native.target_machine(1))


def test_a_block_that_comes_again_behind_its_own_barrier():
    """The value of the round before is loaded behind the suspension that ends the block."""
    body = [
        *["br label %round", "round:", "%p = phi <4 x i32> [ zeroinitializer, %phase0 ], [ %b, %round ]", *rows("%p")],
        *[f"%b = {ROW}", f"%w = {WAIT}"],
        "switch i8 %w, label %suspend [ i8 0, label %round i8 1, label %cleanup ]",
        "behind:",
    ]
    assert kept(phases(body)) == ["%b"]


def test_other_functions_stay():
    text = phases([LOADED, *chain(9)], [stored("%v9")]).replace("call i8 @llvm.coro.suspend", "call i8 @other")
    assert with_kept_values(text) == text


def test_llvm_computes_a_kept_value_once():
    """Without a slot, LLVM has the products once more behind each barrier."""
    count, last = 40, 6
    text = phases([LOADED, *chain(count)], *[[stored(f"%v{count}")]] * last)

    def products(text):
        machine = native.target_machine(1)
        module = native._verified(text, machine)
        native._run_pipeline(module, machine)
        return str(module).count(" = mul i32 ")

    assert products(text) >= count * last
    assert products(with_kept_values(text)) == 2 * count  # Once more in the function that ends a coroutine.


def test_values_are_right_behind_barriers():
    count = 20
    text = phases([LOADED, *chain(count, operation="add")], [stored(f"%v{count}")])
    numbers, memory = np.full(1, 7, "u4"), np.zeros(4096, "u1")
    worker = memory[-memory.ctypes.data % abi.ARENA_ALIGN :]
    code = native.Native([native.compile_object(text)])
    code.run(worker.ctypes.data, numbers.ctypes.data)
    assert numbers[0] == 7 * (count + 1)
