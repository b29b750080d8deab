"""Loops that wait for their own results: several threads of a group run at once as long as they go the same way."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.counting import counted_alike
from support.programs import LANE_NUMBERS, build_text, kernel_head
from support.strategies import ENGINES, effort

from visakit import SimulationError
from vsim.engines.llvm.ir.emitter import LIKELY, UNLIKELY
from vsim.engines.llvm.passes import unroll_and_jam
from vsim.engines.llvm.passes.blocks import blocks_of, innermost_loops, postdominators, reaching
from vsim.engines.llvm.passes.lines import Line, bits_of, bytes_of, read_end, result_type
from vsim.engines.llvm.passes.recurrence import loop_cost
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.launch.threads import threads_in_flight
from vsim.program import Program

LANES = 16
HEAD = (
    kernel_head(
        "ROUNDS=uq TABLE=uq OUT=uq LANE=uw*16 X=ud*16 N=d*16 A=ud*16 B=ud*16 C=ud*16 F=f*16 I=d*16 S=d AT=uq*16 P1=P*16 P2=P*16",
        "ROUNDS TABLE OUT",
        SimdSize=16,
    )
    + LANE_NUMBERS
    + """mad (M1, 16) X(0,0)<1> %thread_x(0,0)<0;1,0> 16:uw LANE(0,0)<1;1,0>
shl (M1, 16) B(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> ROUNDS(0,0)<0;1,0>
svm_gather.4.1 (M1, 16) AT.0 N.0
mov (M1, 16) A(0,0)<1> X(0,0)<1;1,0>
"""
)
TAIL = """
shl (M1, 16) B(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 16) AT.0 A.0
ret (M1, 1)
"""
STEP = "mad (M1, 16) A(0,0)<1> A(0,0)<1;1,0> A(0,0)<1;1,0> X(0,0)<1;1,0>"
STEPS, FEWER = ("\n".join([STEP] * n) for n in (8, 6))
COUNT = """add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d
cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d
(P1) goto (M1, 16) again"""
WAYS = """and (M1, 16) B(0,0)<1> A(0,0)<1;1,0> 1:ud
cmp.ne (M1, 16) P2 B(0,0)<1;1,0> 0:ud
(P2) goto (M1, 16) odd
shr (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 1:ud
goto (M1, 16) joined
odd:
mad (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 3:uw X(0,0)<1;1,0>
joined:"""
LOOKUP = """shl (M1, 16) B(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 1:ud
add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> TABLE(0,0)<0;1,0>
svm_gather.4.1 (M1, 16) AT.0 B.0
xor (M1, 16) A(0,0)<1> A(0,0)<1;1,0> B(0,0)<1;1,0>"""
SINE = """mov (M1, 16) F(0,0)<1> N(0,0)<1;1,0>
mul (M1, 16) F(0,0)<1> F(0,0)<1;1,0> 0x46800000:f
sin (M1, 16) F(0,0)<1> F(0,0)<1;1,0>
mul (M1, 16) F(0,0)<1> F(0,0)<1;1,0> 0x4a000000:f
mov (M1, 16) I(0,0)<1> F(0,0)<1;1,0>
add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> I(0,0)<1;1,0>"""
"""Of N * 2**14: from eight rounds on the argument is a large one."""
LOOPS = {
    "sines of large arguments": f"again:\n{SINE}\n{STEPS}\n{COUNT}",
    "chain": f"again:\n{STEP}\n{COUNT}",
    "two ways in it": f"again:\n{WAYS}\n{STEP}\n{COUNT}",
    "a table": f"mov (M1, 16) C(0,0)<1> X(0,0)<1;1,0>\nagain:\n{LOOKUP}\n{FEWER}\n{COUNT}\nmov (M1, 16) X(0,0)<1> C(0,0)<1;1,0>",
    "left in the middle": f"""again:
{STEP}
cmp.eq (M1, 16) P2 N(0,0)<1;1,0> 3:d
(P2) goto (M1, 16) out
{STEP}
{COUNT}
out:""",
    "only for some": f"""cmp.lt (M1, 16) P2 N(0,0)<1;1,0> 4:d
(P2) goto (M1, 16) out
again:
{STEP}
{COUNT}
out:""",
    "a scalar jump": f"""mov (M1_NM, 1) S(0,0)<1> N(0,0)<0;1,0>
again:
{STEP}
add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> -1:d
cmp.gt (M1_NM, 1) P2 S(0,0)<0;1,0> 0:d
(P2) jmp (M1, 1) again""",
    "a loop around it": f"""mov (M1_NM, 1) S(0,0)<1> 3:d
outer:
add (M1, 16) N(0,0)<1> X(0,0)<1;1,0> S(0,0)<0;1,0>
and (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 7:d
again:
{STEP}
{COUNT}
{WAYS}
add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> -1:d
cmp.gt (M1_NM, 1) P2 S(0,0)<0;1,0> 0:d
(P2) jmp (M1, 1) outer""",
    "one behind another": f"again:\n{STEP}\n{COUNT}\nadd (M1, 16) N(0,0)<1> X(0,0)<1;1,0> 2:d\n"
    + f"again:\n{WAYS}\n{COUNT}".replace("again", "second").replace("odd", "odd2").replace("joined", "joined2"),
}


@pytest.fixture(scope="module", autouse=True)
def four_threads():
    """Run at once whatever it takes to compile them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unroll_and_jam, "LINES_OF_FOUR", 10_000)
        yield


def program(loop, lanes=LANES):
    text = HEAD + LOOPS[loop] + TAIL
    if lanes == 8:
        text = text.replace("add (M1, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 8:uw\n", "").replace("(M1, 16)", "(M1, 8)")
        text = text.replace("num_elts=16", "num_elts=8").replace("SimdSize=16", "SimdSize=8").replace(" 16:uw", " 8:uw")
    return Program(build_text(text))


def outcome(loop, rounds, engine, table=128, lanes=LANES):
    """The results of a loop, or its fault."""
    out = np.zeros(rounds.size, "u4")
    arguments = [rounds, np.arange(table, dtype="u4"), out]
    try:
        program(loop, lanes).launch("k", (rounds.size,), (rounds.size,), arguments, engine=engine)
    except SimulationError as problem:
        return str(problem)
    return out.tolist()


def dispatch_of(loop, threads):
    """A launch of one group."""
    given, items = program(loop), (threads * LANES,)
    arguments = given.convert("k", [np.zeros(items, "i4"), np.zeros(64, "u4"), np.zeros(items, "u4")])
    return given.bind(Launch("k", items, items, args=arguments))


@pytest.mark.parametrize("loop", LOOPS)
def test_counters_are_of_each_thread(loop):
    rounds = np.random.default_rng(7).integers(1, 9, 8 * LANES, "i4")
    args = [rounds, np.arange(256, dtype="u4"), np.zeros(rounds.size, "u4")]
    given = program(loop)
    assert counted_alike(lambda **options: given.launch("k", rounds.size, rounds.size, args, **options))


def plain_text(loop, threads, monkeypatch):
    """The code of one thread at a time, for a processor with fused products; others have more lines for sines."""
    monkeypatch.setattr("vsim.engines.llvm.pipeline.unroll_and_jam", lambda text, *_: text)
    monkeypatch.setattr("vsim.engines.llvm.ir.rounded.fuses", lambda: True)
    return translate(dispatch_of(loop, threads), full=True).text


@pytest.mark.parametrize("loop", LOOPS)
def test_several_threads_are_compiled(loop, monkeypatch):
    """At once, for each of these loops: two, and four where processors have registers for what these hold."""
    plain = plain_text(loop, 2, monkeypatch)
    assert "%t.step = select i1 %t.all, i64 2, i64 1" in unroll_and_jam.unroll_and_jam(plain, 512, 2, 50)
    most = 2 if loop == "a table" else 4  # of which two do enough between the steps of their chains
    assert f"%t.step = select i1 %t.all, i64 {most}, i64 1" in unroll_and_jam.unroll_and_jam(plain, 512, 4, 50)
    assert "%t.step = select i1 %t.all, i64 2, i64 1" in unroll_and_jam.unroll_and_jam(plain, 256, 4, 50)
    monkeypatch.setattr(unroll_and_jam, "LINES_OF_FOUR", 0)
    assert "%t.step = select i1 %t.all, i64 2, i64 1" in unroll_and_jam.unroll_and_jam(
        plain, 512, 4, 10
    )  # Else compiling takes long.


def test_threads_share_the_branch_around_rare_code(monkeypatch):
    """Sines of large arguments: one branch leads around the code of all threads, behind what all of them compute."""
    plain = plain_text("sines of large arguments", 4, monkeypatch)
    text = unroll_and_jam.unroll_and_jam(plain, 512, 4, 50)
    in_front = text[: text.index(", label %rare.")]
    assert all(f".t{thread} = fptrunc <16 x double>" in in_front for thread in range(4))


MOVED = "  %moved = fneg <16 x float> {value}\n  br label %{behind}"
WAYS = {
    "computes": "{branch}label %rare.way, label %around{weights}\naround:\n" + MOVED,
    "leads on": "{branch}label %rare.way, label %first{weights}\nfirst:\n  br label %around\naround:\n" + MOVED,
    "in the other sense": "  %not = xor i1 {condition}, true\n  br i1 %not, label %around, label %rare.way" + LIKELY
    + "\naround:\n  %moved = bitcast <16 x float> {value} to <16 x float>\n  br label %{behind}",
    "straight": "  %not = xor i1 {condition}, true\n  br i1 %not, label %{behind}, label %rare.way" + LIKELY,
}  # fmt: skip
"""Ways around the code for large arguments that are no empty block behind an unlikely branch."""


@pytest.mark.parametrize("kind", WAYS)
def test_threads_go_around_what_is_rare_by_an_empty_block_alone(kind, monkeypatch):
    """Otherwise each thread tests for itself."""
    plain = plain_text("sines of large arguments", 4, monkeypatch)
    form = rf"(  br i1 (%\w+), )label %([\w.]+), label %([\w.]+){re.escape(UNLIKELY)}\n\3:\n  (%\w+) = call <16 x float> @rare_"
    found = re.search(form, plain)
    branch, condition, rare, behind = found[1], found[2], found[3], found[4]
    arm = re.search(rf"{re.escape(behind)}:\n.*, \[ (%\w+), %([\w.]+) \]\n", plain)
    way = WAYS[kind].format(branch=branch, condition=condition, value=arm[1], behind=behind, weights=UNLIKELY)
    text = (
        plain[: found.start()]
        + way.replace("rare.way", rare)
        + plain[found.start() :][plain[found.start() :].index("\n") :]
    )
    if kind != "straight":
        text = text.replace(arm[0], arm[0].replace(f"[ {arm[1]}, %{arm[2]} ]", "[ %moved, %around ]"))
    jammed = unroll_and_jam.unroll_and_jam(text, 512, 4, 50)
    assert (
        jammed.count(", label %rare.") == unroll_and_jam.unroll_and_jam(plain, 512, 4, 50).count(", label %rare.") - 1
    )
    assert "%t.step = select i1 %t.all, i64 4" in jammed


def test_threads_of_a_group():
    """One thread has none beside it; of three or five, too few would be left for four at once."""
    found = [threads_in_flight(dispatch_of("chain", n)) for n in (1, 2, 3, 4, 5, 8, 9, 17)]
    assert found == [1, 2, 2, 4, 2, 4, 2, 4]
    assert "%t.step" not in translate(dispatch_of("chain", 1), full=True).text


@pytest.mark.parametrize("loop", LOOPS)
@effort(8, 0.5, shrink=False)
@given(
    st.sampled_from([1, 2, 3, 4, 8, 17]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 3, 12]),
    st.sampled_from([8, LANES]),
)
def test_threads_that_go_on_for_other_times(loop, threads, seed, most, lanes):
    """Some lanes leave a loop early; then one thread does, or several at once.

    If several threads fault, the reference engine names the first instruction, the fast one the first thread.
    """
    rounds = np.random.default_rng(seed).integers(0, most + 1, threads * lanes).astype("i4")
    found = [outcome(loop, rounds, engine, lanes=lanes) for engine in ENGINES]
    assert found[0] == found[1] or (threads > 1 and all(isinstance(problem, str) for problem in found))


@pytest.mark.parametrize("thread", range(4))
@pytest.mark.parametrize("threads", [4, 6])
def test_a_fault_of_one_of_several_threads(thread, threads):
    """Is that of its lane and work-item, whichever of them it is, together with the others or alone."""
    rounds = np.full(threads * LANES, 2, "i4")
    rounds[thread * LANES + 5] = 400  # which comes to the table's end
    found = [outcome("a table", rounds, engine, table=threads * LANES + 16) for engine in ENGINES]
    assert found[0] == found[1] and "lane 5" in found[0]


def test_kernels_with_fixed_order_are_left_alone(monkeypatch):
    """Kernels without a loop that waits, with atomics, or with more lines than are worth three copies."""
    dispatch = dispatch_of("chain", 2)
    monkeypatch.setattr("vsim.engines.llvm.pipeline.unroll_and_jam", lambda text, *_: text)
    plain = translate(dispatch, full=True).text
    assert unroll_and_jam.unroll_and_jam(plain, 512, 2, 50) != plain
    assert unroll_and_jam.unroll_and_jam(plain, 32, 2, 50) == plain  # of which a thread holds too many in the loop
    for line in "fence seq_cst", "switch i32 0, label %next [ ]", "\n".join(["; many"] * unroll_and_jam.MAXIMUM_LINES):
        other = plain.replace("block0:", f"block0:\n  {line}")
        assert unroll_and_jam.unroll_and_jam(other, 512, 2, 50) == other


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("add nuw i32 %a, 1", "i32"),
        ("fmul <16 x float> %a, %b", "<16 x float>"),
        ("load <8 x i64>, ptr %p, align 8", "<8 x i64>"),
        ("zext <4 x i1> %a to <4 x i32>", "<4 x i32>"),
        ("icmp ne i16 %a, 0", "i1"),
        ("fcmp olt <16 x float> %a, %b", "<16 x i1>"),
        ("select <8 x i1> %m, <8 x half> %a, <8 x half> %b", "<8 x half>"),
        ("shufflevector <4 x i8> %a, <4 x i8> %b, <2 x i32> <i32 0, i32 5>", "<2 x i8>"),
        ("extractelement <4 x ptr> %a, i64 0", "ptr"),
        ("insertelement <4 x i32> poison, i32 %a, i64 0", "<4 x i32>"),
        ("call { <4 x i32>, i1 } @llvm.f(i32 %a)", "{ <4 x i32>, i1 }"),
        ("extractvalue { <4 x i32>, i1 } %a, 1", "i1"),
        ("getelementptr i8, ptr %a, i64 %b", "ptr"),
        ("landingpad { ptr }", None),
    ],
)
def test_result_types(text, kind):
    assert result_type(text) == kind


def test_bits():
    kinds = "i1", "ptr", "<16 x float>", "<3 x i1>", "[6 x i8]"
    assert [bits_of(kind) for kind in kinds] == [1, 64, 512, 3, 48]
    assert [bytes_of(kind) for kind in kinds] == [1, 8, 64, 1, 6]


@pytest.mark.parametrize(
    ("text", "result", "names", "place", "kind", "opcode", "repeatable"),
    [
        ("  %a = add nuw i32 %b, %c", "%a", ("%b", "%c"), "", "", "add", True),
        ("  %a = load volatile i8, ptr %p, align 1, !invariant.load !0", "%a", (), "%p", "i8", "load", True),
        ("  %a = load atomic i8, ptr %p seq_cst, align 1", "%a", ("%p",), "", "", "load", True),
        ("  store <2 x i8> %v, ptr %p, align 1", "", ("%v",), "%p", "<2 x i8>", "store", False),
        ("  %a = alloca [8 x i8], align 64", "%a", (), "", "[8 x i8]", "alloca", True),
        ("  %a = call i32 @llvm.ctpop.i32(i32 %b)", "%a", ("%b",), "", "", "ctpop", True),
        ("  %a = call <2 x i8> @llvm.masked.gather.v2i8.v2p0(<2 x ptr> %p)", "%a", ("%p",), "", "", "gather", False),
        ("  call void @f(ptr %p, i32 %n)", "", ("%p", "%n"), "", "", "", False),
    ],
)
def test_lines_are_records(text, result, names, place, kind, opcode, repeatable):
    line = Line(text)
    assert (line.text, line.operation) == (text, text.partition(" = ")[2] or text.strip())
    assert (line.result, line.names, line.place, line.kind, line.is_repeatable) == (
        result, names, place, kind, repeatable,
    )  # fmt: skip
    assert line.opcode == opcode
    assert line.uses == (*names, *([place] if place else []))


def test_ends_are_records():
    branch = read_end("  br i1 %c, label %a, label %b, !prof !1")
    assert (branch.condition, branch.targets, branch.likely_targets()) == ("%c", ("a", "b"), ("b",))
    assert branch.renamed("{}.t".format, "w.{}".format) == "  br i1 %c.t, label %w.a, label %w.b, !prof !1"
    assert read_end("  br i1 %c, label %a, label %a") == read_end("  br label %a")
    assert read_end("  br label %a").renamed(str, "w.{}".format) == "  br label %w.a"
    assert read_end("  ret ptr %p").renamed("{}.t".format, str) == "  ret ptr %p.t"


NESTED = """begin:
  br label %outer
outer:
  br i1 %a, label %inner, label %odd
inner:
  br i1 %b, label %inner, label %joined, !prof !2
odd:
  br i1 %c, label %fault, label %joined, !prof !1
joined:
  %x = phi i32 [ 1, %inner ], [ 2, %odd ]
  br i1 %d, label %outer, label %exit
fault:
  ret void
exit:
  br label %next""".splitlines()


def test_blocks():
    blocks = blocks_of(NESTED)
    assert blocks["joined"].phis == {"%x": ("i32", {"inner": "1", "odd": "2"})}
    assert blocks["joined"].before == ["inner", "odd"]
    likely = [blocks[b].end.likely_targets() for b in ("inner", "odd", "joined")]
    assert likely == [("inner",), ("joined",), ("outer", "exit")]
    fatal = blocks.keys() - reaching(blocks, "next")
    assert fatal == {"fault"}
    behind = postdominators(blocks, "next", fatal)
    assert behind == {
        "begin": "outer",
        "outer": "joined",
        "inner": "joined",
        "odd": "joined",
        "joined": "exit",
        "exit": "next",
    }
    assert innermost_loops({n: b.successors for n, b in blocks.items()}) == {"inner": ["inner"]}
    assert blocks_of(["begin:", "  unreachable"]) is None


def cost(lines, bits=512):
    return loop_cost(map(Line, lines), {"%s"}, bits)


def test_bounds_of_a_loop():
    """A product that needs the one before waits for it; a sum of products that do not need each other hardly does."""
    load, store = "  %x = load <16 x float>, ptr %s, align 64", "  store <16 x float> %y, ptr %s, align 64"
    chain = [load, *(f"  %{b} = fmul <16 x float> %{a}, %{a}" for a, b in ("xa", "ab", "by")), store]
    assert cost(chain) == (12, 1.5, 1)
    assert cost(chain, 256) == (12, 3, 2)
    free = [f"  %f{n} = fmul <16 x float> %p{n}, %p{n}" for n in range(8)]
    free += [f"  %p{n} = load <16 x float>, ptr %q{n}, align 4" for n in range(8)]
    assert cost([load, *free[8:], *free[:8], "  %y = fadd <16 x float> %x, %f0", store])[:2] == (
        4,
        8.5,
    )
