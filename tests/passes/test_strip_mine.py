"""Long straight code on integers runs in strips of lanes if it has more live values than registers."""

import random
import re

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES, rotated

from vsim.engines.llvm import target
from vsim.engines.llvm.passes import strip_mine
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

CPUS = [cpu for cpu in ("x86-64-v2", "x86-64-v3", "x86-64-v4") if cpu in target.possible()]
VALUES = 24
THREADS = 3
ITEMS = THREADS * 32
OUTPUTS = 3
HEAD = kernel_head("OUT=uq SEED=ud LANE=uw*32", "OUT SEED", SimdSize=32)
LANES = """mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv
add (M1_NM, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 8:uw
"""
SECOND = "add (M1_NM, 8) LANE({})<1> LANE(0,{})<1;1,0> 16:uw"


def in_lanes(template, halves):
    """An instruction for 32 lanes: one, or two of 16 lanes on separate variables."""
    if not halves:
        return [template.format(m="M1, 32", h="")]
    return [template.format(m="M1, 16", h="L"), template.format(m="M5, 16", h="H")]


def steps(rng, count):
    """Templates of random instructions on the values, so that nearly all of these are live all the time."""

    def value():
        return f"E{rng.randrange(VALUES)}{{h}}(0,0)"

    for n in range(count):
        to, x, y = f"E{n % VALUES}{{h}}(0,0)<1>", f"{value()}<1;1,0>", f"{value()}<1;1,0>"
        kind = rng.randrange(9)
        if kind == 0:
            yield f"rol ({{m}}) {to} {x} {rng.randrange(1, 32)}:ud"
        elif kind == 1:
            yield f"shr ({{m}}) {to} {x} {rng.randrange(1, 9)}:ud"
        elif kind == 2:
            yield f"cmp.lt ({{m}}) P{{h}} {x} {y}"
            yield f"(P{{h}}) sel ({{m}}) {to} {y} {rng.randrange(1 << 31)}:ud"
        elif kind == 3:
            yield f"mul ({{m}}) {to} {x} SEED(0,0)<0;1,0>"
        elif kind == 4:
            yield f"mov ({{m}}) W{{h}}(0,0)<1> {x}"
            yield f"add ({{m}}) {to} W{{h}}(0,0)<1;1,0> {y}"
        else:
            yield f"{rng.choice(['add', 'xor', 'and', 'or', 'add'])} ({{m}}) {to} {x} {y}"


def text_of(seed, halves, count=400, between=()):
    """A kernel of such code."""
    rng = random.Random(seed)
    lines = [HEAD]
    for h in "LH" if halves else [""]:
        kinds = {f"E{n}": "ud" for n in range(VALUES)} | {"W": "uw", "X": "ud", "AT": "uq", "B": "ud"}
        lanes = 16 if halves else 32
        lines += [f".decl {name}{h} v_type=G type={t} num_elts={lanes} align=GRF" for name, t in kinds.items()]
        lines.append(f".decl P{h} v_type=P num_elts=32")
    lines.append(LANES)
    lines += [SECOND.format(f"1,{at}" if halves else f"0,{16 + at}", at) for at in (0, 8)]
    for row, line in enumerate(in_lanes("mad ({m}) X{h}(0,0)<1> %thread_x(0,0)<0;1,0> 32:uw LANE", halves)):
        lines.append(f"{line}({row},0)<1;1,0>")
    for n in range(VALUES):
        lines += in_lanes(f"mad ({{m}}) E{n}{{h}}(0,0)<1> X{{h}}(0,0)<1;1,0> {n * 77 + 5}:uw SEED(0,0)<0;1,0>", halves)
    for template in steps(rng, count):
        lines += in_lanes(template, halves)
    lines += between
    store = "svm_scatter.4.1 ({m}) AT{h}.0 E%d{h}.0" if halves else "lsc_store.ugm ({m}) flat[AT{h}]:a64 E%d{h}:d32"
    for n in range(OUTPUTS):
        lines += in_lanes("shl ({m}) B{h}(0,0)<1> X{h}(0,0)<1;1,0> 2:ud", halves)
        lines += in_lanes(f"add ({{m}}) B{{h}}(0,0)<1> B{{h}}(0,0)<1;1,0> {4 * ITEMS * n}:ud", halves)
        lines += in_lanes("add ({m}) AT{h}(0,0)<1> B{h}(0,0)<1;1,0> OUT(0,0)<0;1,0>", halves)
        lines += in_lanes(store % (n * 7), halves)
    return "\n".join([*lines, "ret (M1, 1)"]) + "\n"


def image(text):
    return build_text(text, "tgllp" if "svm_scatter" in text else "pvc")


def ir(text, full=True):
    given = Program(image(text))
    arguments = given.convert("k", [np.zeros(ITEMS * OUTPUTS, "u4"), np.uint32(5)])
    return translate(given.bind(Launch("k", (ITEMS,), (ITEMS,), args=arguments)), full=full).text


def outcome(text, engine, items=ITEMS):
    out = np.zeros(ITEMS * OUTPUTS, "u4")
    Program(image(text)).launch("k", (items,), (items,), [out, np.uint32(2654435761)], engine=engine)
    return out.tolist()


MIDDLE = """shl (M1, 32) B(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 32) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>
lsc_store.ugm (M1, 32) flat[AT]:a64 E1:d32
xor (M1, 32) E2(0,0)<1> E1(0,0)<1;1,0> 5:ud
lsc_load.ugm (M1, 32) E1:d32 flat[AT]:a64
add (M1, 32) E1(0,0)<1> E1(0,0)<1;1,0> E2(0,0)<1;1,0>
mov (M1, 32) E0(0,0)<1> E1(0,0)<1;1,0>
mov (M1_NM, 1) SEED(0,0)<1> E1(0,3)<0;1,0>
add (M1, 32) E7(0,0)<1> E7(0,0)<1;1,0> SEED(0,0)<0;1,0>"""
JUMP = """cmp.lt (M1, 32) P E0(0,0)<1;1,0> E1(0,0)<1;1,0>
(P) goto (M1, 32) NEXT
NEXT:"""


def strips_of(text):
    """How many times the loop runs, and lanes of the strips."""
    code = ir(text)
    count = re.search(r"icmp ult i64 %strip.next, (\d+)", code)
    lanes = re.search(r"\.s = \w+ <(\d+) x i32>", code)
    return int(count[1]) if count else 1, int(lanes[1]) if lanes else 0


@pytest.mark.parametrize(("cpu", "halves"), rotated(CPUS, [True, False]))
def test_both_engines_agree(cpu, halves, monkeypatch):
    """With all lanes of all threads, and with some of the last one; twins of 16 lanes are taken as one of 32."""
    monkeypatch.setenv(target.VARIABLE, cpu)
    text = text_of(len(CPUS) + halves, halves)
    assert strips_of(text) == ((1, 32 * halves) if cpu == "x86-64-v4" else (4, 8))
    for items in ITEMS, ITEMS - 9:
        found = [outcome(text, engine, items) for engine in ENGINES]
        assert found[0] == found[1]


@pytest.mark.parametrize("between", [MIDDLE, JUMP], ids=["memory", "jump"])
def test_code_between(between, monkeypatch):
    """Loads behind a store of the code's own values are not part of the loop; accesses keep their order. A
    branch to the next instruction ends the block.
    """
    monkeypatch.setenv(target.VARIABLE, CPUS[1])
    text = text_of(7, False, between=[between])
    assert strips_of(text) == (4, 8)
    found = [outcome(text, engine) for engine in ENGINES]
    assert found[0] == found[1]


def test_uniform_values_behind_the_loop(monkeypatch):
    """Values that are the same in all lanes are stored for twins, too."""
    monkeypatch.setattr(strip_mine, "LEAST_LINES", 3)
    monkeypatch.setattr(strip_mine, "REGISTERS", dict.fromkeys(strip_mine.REGISTERS, 0))
    monkeypatch.setenv(target.VARIABLE, CPUS[1])
    module = """define void @group(ptr %p, i32 %x) {
entry:
  %a = load <16 x i32>, ptr %p, align 4
  %b = load <16 x i32>, ptr %p, align 4
  %e = insertelement <16 x i32> poison, i32 %x, i64 0
  %s = shufflevector <16 x i32> %e, <16 x i32> poison, <16 x i32> zeroinitializer
  %c = add <16 x i32> %a, %s
  %d = add <16 x i32> %b, %s
  %f = add <16 x i32> %c, ONES
  %g = add <16 x i32> %d, ONES
  store <16 x i32> %f, ptr %p, align 4
  store <16 x i32> %g, ptr %p, align 4
  store <16 x i32> %s, ptr %p, align 4
  ret void
}
"""
    found = strip_mine.strip_mine(module.replace("ONES", f"<{', '.join(['i32 1'] * 16)}>"), 256)
    assert re.findall(r"alloca <(\d+) x i32>", found) == ["32"] * 3
    assert "icmp ult i64 %strip.next, 4" in found and "%f.s = add <8 x i32> %c.s, splat (i32 1)" in found


def test_short_code_is_left_alone(monkeypatch):
    """Short code, and what fits into the registers."""
    monkeypatch.setenv(target.VARIABLE, CPUS[1])
    assert strips_of(text_of(1, False, count=60)) == (1, 0)
    monkeypatch.setattr(strip_mine, "REGISTERS", dict.fromkeys(strip_mine.REGISTERS, 1 << 10))
    assert strips_of(text_of(1, False)) == (1, 0)


def test_strips_of_words(monkeypatch):
    """A vector of words has twice as many lanes as one of dwords, so a strip has, too."""
    monkeypatch.setattr(strip_mine, "LEAST_LINES", 3)
    monkeypatch.setattr(strip_mine, "REGISTERS", dict.fromkeys(strip_mine.REGISTERS, 1))
    module = """define void @group(ptr %p) {
entry:
  %a = load <64 x WORD>, ptr %p, align 4
  %b = add <64 x WORD> %a, %a
  %c = icmp ult <64 x WORD> %b, %a
  %d = select <64 x i1> %c, <64 x WORD> %a, <64 x WORD> %b
  %e = icmp ult <64 x WORD> %d, %a
  %f = select <64 x i1> %e, <64 x WORD> %b, <64 x WORD> %d
  store <64 x WORD> %f, ptr %p, align 4
  ret void
}
"""
    for word, lanes in ("i16", 16), ("i32", 8), ("i64", 8):
        found = strip_mine.strip_mine(module.replace("WORD", word), 256)
        assert f"%b.s = add <{lanes} x {word}>" in found and f"%strip.next, {64 // lanes}\n" in found
