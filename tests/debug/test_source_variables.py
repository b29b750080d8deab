"""Variables of the source: DWARF of both versions of the compiler, and values in kernels that are compiled here."""

import contextlib
import random
import struct
import sys

import numpy as np
import pytest
from support.ocloc import needs_ocloc

from visakit import DebugError
from visakit.compiler.ocloc import compile_source
from visakit.objects.allocation import DWARF, MAGIC, read_allocations
from visakit.objects.elf import Section, read_elf, with_sections
from vsim.debug import Session
from vsim.debug.source.dwarf import read_variables
from vsim.debug.source.dwarf_places import PlaceMachine, RegisterBits, UnknownLocation, ValuePart
from vsim.launch.launch import Launch
from vsim.program import Program
from vsim.sources.zebins import read_program

SOURCE = b"""
typedef struct { int a; float b; short c[2]; } rec;
__attribute__((noinline)) int twice(int q) {
  int w = q * 2;
  return w;
}
__kernel void k(__global const int *x, __global int *out, int n, float f) {
  __local int part[16];
  int g = get_global_id(0);
  float4 v = (float4)(g, g + 1, f, 2.5f);
  rec r; r.a = g; r.b = f * g; r.c[0] = 3; r.c[1] = (short)g;
  char ch = (char)(g - 2);
  ulong big = (ulong)g << 33;
  int acc = 0;
  for (int i = 0; i < n; ++i) {
    int own = x[g + i];
    acc += own * 3;
  }
  part[get_local_id(0)] = acc;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[g] = twice(acc) + part[get_local_id(0) ^ 1] + (int)(v.x + v.y + r.b) + r.c[1] + ch + (int)(big >> 32);
}
"""
UNOPTIMIZED = "-g -cl-opt-disable"


def line_of(text):
    return SOURCE[: SOURCE.index(text.encode())].count(b"\n") + 1


def begun(options, source=SOURCE):
    zebin = compile_source("k.cl", source, "tgllp", options, None).zebin
    program = Program(read_program(zebin, "k.cl"))
    x, out = np.arange(64, dtype="i4"), np.zeros(32, "i4")
    launch = Launch("k", (32,), (16,), (0, 0, 0), program.convert("k", [x, out, 3, 1.5]))
    return Session(program, [launch])


def values(session, name):
    """The values of a variable in the lanes that run; one for all where the compiler keeps one."""
    found = session.evaluate(name)
    return found.row(0)[session.active()[: found.count]].tolist() if found.by_lane else found.row(0).tolist()


def lanes(session):
    group, thread, _ = session.focus
    width = session.scope().simd
    return np.flatnonzero(session.active()) + 16 * group + width * thread


@needs_ocloc
@pytest.mark.parametrize("options", ["-g", UNOPTIMIZED])
def test_a_loop_of_the_source(options):
    session = begun(options)
    session.add_breakpoint(str(line_of("acc += own")))
    for i in range(3):
        assert session.resume().reason == "breakpoint"
        g = lanes(session)
        session.add_breakpoint(f"*{session.here.number}")  # A line has several instructions: this is its first.
        assert values(session, "own") == (g + i).tolist()
        assert set(values(session, "i")) == {i}
        assert values(session, "acc") == [3 * sum(range(n, n + i)) for n in g.tolist()]
        assert values(session, "g") == g.tolist()
        while session.resume().numbers == (1,) and set(values(session, "i")) == {i}:
            pass
        session.step(instruction=True, reverse=True)


@needs_ocloc
def test_types_of_the_source():
    session = begun(UNOPTIMIZED)
    session.add_breakpoint(str(line_of("out[g] =")))
    session.resume()
    g = lanes(session)
    assert values(session, "v.y") == [n + 1.0 for n in g.tolist()] and values(session, "v.w") == [2.5] * len(g)
    assert values(session, "r.b") == [1.5 * n for n in g.tolist()]
    assert values(session, "r.c[1]") == g.tolist() and set(values(session, "r.c[0]")) == {3}
    assert values(session, "ch") == [n - 2 for n in g.tolist()] and session.evaluate("ch").type == "char"
    assert values(session, "big") == [n << 33 for n in g.tolist()]
    assert session.evaluate("part[1]@2").row(0).tolist() == [18, 27]
    assert set(values(session, "n")) == {3} and set(values(session, "f")) == {1.5}
    for text, said in (("r", "has members: a, b, c"), ("r.d", "has no member 'd'"), ("r.c", "name one element")):
        with pytest.raises(DebugError, match=said):
            session.evaluate(text)


CONSTANT_PART = b"""
typedef struct { int a; float b; } pair;
__kernel void k(__global const int *x, __global int *out, int n, float f) {
  pair p = {1, 2.0f};
  int g = get_global_id(0);
  for (int i = 0; i < n; i++)
    p.a += x[g + i];
  out[g] = p.a + (int)p.b;
}
"""


@needs_ocloc
def test_a_constant_part_of_a_structure():
    """The compiler writes ``p.a`` as a constant of ``p``, without its place in it: so ``p.b`` would seem to be 0."""
    session = begun("-g", CONSTANT_PART)
    session.add_breakpoint("6")
    session.resume()
    for name in ("p.a", "p.b"):
        with pytest.raises(DebugError, match="which part of the variable is constant"):
            session.evaluate(name)


@needs_ocloc
def test_a_function_of_the_source():
    session = begun(UNOPTIMIZED)
    session.add_breakpoint(str(line_of("return w")))
    session.resume()
    assert session.here.function.name == "twice"
    assert values(session, "w") == [2 * n for n in values(session, "q")]
    session.frame_number = 1
    with pytest.raises(DebugError, match="on the stack of a function that waits"):
        session.evaluate("acc")


@needs_ocloc
def test_changes_and_origins_of_the_source():
    session = begun("-g")
    session.add_breakpoint(str(line_of("acc += own")))
    session.resume()
    session.resume()
    assert session.origin("acc")[0].spot is not None
    session.set("acc", "7")
    assert set(values(session, "acc")) == {7}
    assert session.origin("acc")[0].spot is None
    watch = session.add_watchpoint("acc")
    stop = session.resume()
    assert watch.number in stop.numbers and stop.lines[0].startswith("watchpoint 2, acc: ")


@needs_ocloc
def test_integers_of_which_the_compiler_keeps_the_lower_half():
    source = b"kernel void k(global int *out) {\n  size_t i = get_global_id(0);\n  out[i] = i * 3;\n}\n"
    program = Program(read_program(compile_source("k.cl", source, "tgllp", "-g", None).zebin, "k.cl"))
    out = np.zeros(64, "i4")
    session = Session(program, [Launch("k", (32,), (16,), (0, 0, 0), program.convert("k", [out]))])
    session.add_breakpoint("3")
    session.resume()
    assert values(session, "i") == list(range(16)) and session.evaluate("i").data.dtype == np.uint64
    assert session.origin("i[3]")[0].spot is not None
    session.set("i[3]", "40")
    assert values(session, "i")[2:5] == [2, 40, 4]
    with pytest.raises(DebugError, match=r"the compiler keeps 'i\[3\]' in 32 bits here"):
        session.set("i[3]", "-1")
    session.add_watchpoint("i")
    session.resume()
    session.resume()
    assert out[40] == 120 and out[3] == 0


@needs_ocloc
def test_names_that_are_nowhere():
    session = begun("-g")
    with pytest.raises(DebugError, match="nothing is called 'acc'"):  # Nothing runs.
        session.evaluate("acc")
    session.add_breakpoint("k")
    session.resume()
    with pytest.raises(DebugError, match="'acc' has no value here: the compiler keeps it nowhere"):
        session.evaluate("acc")
    assert "acc" in session.scope().source_names() and "r.b" in session.scope().source_names()


@needs_ocloc
def test_a_program_without_tables():
    zebin = compile_source("k.cl", SOURCE, "tgllp", "-g", None).zebin
    plain = bytes(zebin).replace(b".visakit.", b".unknown.")
    program = Program(read_program(plain, "k.cl"))
    launch = Launch(
        "k", (32,), (16,), (0, 0, 0), program.convert("k", [np.zeros(64, "i4"), np.zeros(32, "i4"), 3, 1.5])
    )
    session = Session(program, [launch])
    session.add_breakpoint("k")
    session.resume()
    with pytest.raises(DebugError, match="nothing is called 'acc'") as caught:
        session.evaluate("acc")
    assert "'visakit' has not compiled the program" in caught.value.diagnostics[0].hint


# -- expressions, as both versions of the compiler write them ----------------------------------------------

LANE_OF_16 = "ed3325231debed371a08201e0820ec9f"  # older
LANES_OF_32 = "ed402a281000ed33252325ed371a08201efe202f0f00ed401c33252327ed371a08201efe209f"
PIECES_OF_32 = ("ed402a281300ed33252325ed371a08201efe209d20002f1200ed401c33252327ed371a08201efe209f9d2000"
                "9e04000000409304")  # fmt: skip


def where(text, lane=0, registers=0):
    return PlaceMachine(lane, lambda bits: registers, lambda address, size: 0).run(bytes.fromhex(text))


@pytest.mark.parametrize(
    "text, lane, expected",
    [
        ("659d208001", 0, [ValuePart(32, RegisterBits(21, 128, 0))]),
        ("4930fe209f", 0, [ValuePart(0, RegisterBits(25, 0, 32))]),
        (LANE_OF_16, 9, [ValuePart(0, RegisterBits(30, 32, 32))]),
        (LANES_OF_32, 1, [ValuePart(0, RegisterBits(37, 32, 32))]),
        (LANES_OF_32, 31, [ValuePart(0, RegisterBits(40, 224, 32))]),
        (PIECES_OF_32, 2, [ValuePart(32, RegisterBits(37, 64, 32)), ValuePart(32, bytes.fromhex("00000040"))]),
        (PIECES_OF_32, 18, [ValuePart(32, RegisterBits(39, 64, 32)), ValuePart(32, bytes.fromhex("00000040"))]),
        ("4930fe200affff1a9f", 0, [ValuePart(0, RegisterBits(25, 0, 16))]),
        ("9e080300000000000000", 0, [ValuePart(0, bytes.fromhex("0300000000000000"))]),
        ("0e000000000000000a", 0, [ValuePart(0, 0x0A << 56)]),
        ("030000001000000000", 0, [ValuePart(0, 1 << 28)]),
        ("088f0880fe402310ed341e222340", 3, [ValuePart(0, 5000 + 16 + 3 * 4 + 64)]),
        ("908f0108800840ec2310ed341e222300", 3, [ValuePart(0, 5000 + 16 + 3 * 4)]),
        ("ed32252334ebed331a08401e0840ec", 3, [ValuePart(0, 5000)]),
        ("3210051e9f", 0, [ValuePart(0, (10).to_bytes(8, "little"))]),
    ],
)
def test_expressions(text, lane, expected):
    assert where(text, lane, 5000) == expected


@pytest.mark.parametrize("text", ["ff00", "22", "0a01", "2ffdff", "3031", "65ec", "3110e8031e9f"])
def test_expressions_without_a_meaning(text):
    with pytest.raises(UnknownLocation):
        where(text)


# -- the table of the finalizer ----------------------------------------------------------------------------


def table(tail):
    def name(text):
        return struct.pack("<H", len(text)) + text.encode()

    own = name("k") + struct.pack("<I", 32)
    own += struct.pack("<I", 1) + struct.pack("<II", 0, 0)
    own += struct.pack("<I", 2) + struct.pack("<IIII", 3, 16, 1, 0)
    own += struct.pack("<I", 2) + name("V34") + struct.pack("<HHHBBHH", 1, 0, 9, 2, 2, 5, 16)
    own += name("P1") + struct.pack("<HHHBBHH", 1, 0, 9, 1, 1, 0, 0)
    own += struct.pack("<H", 1) + name("sub") + struct.pack("<IIH", 4, 5, 0)
    own += struct.pack("<HB", 64, 1) + struct.pack("<HIIBBHH", 1, 0, 99, 2, 2, 127, 16) + b"\0\0"
    return struct.pack("<IH", MAGIC, 1) + own + tail


@pytest.mark.parametrize(
    "tail",
    [
        struct.pack("<HH", 0, 0),
        struct.pack("<HHH", 0, 0, 1) + struct.pack("<IHHHBHH", 8, 1, 0, 32, 1, 5, 0) + struct.pack("<I", 0),
    ],
    ids=["older", "newer"],
)
def test_tables_of_the_finalizer(tail):
    (own,) = read_allocations(table(tail))
    assert (own.name, own.begin, own.offsets) == ("k", 32, [(1, 32), (3, 48)])
    assert [(v.name, v.first, v.last, v.register, v.byte) for v in own.variables] == [("V34", 0, 9, 5, 16)]
    assert [own.offset_of(n) for n in range(5)] == [32, 32, 48, 48, 48]
    assert (own.number_at(32), own.number_at(47), own.number_at(900)) == (1, 3, 3)


@pytest.mark.parametrize("size", range(0, 60, 7))
def test_damaged_tables(size):
    with pytest.raises(ValueError, match="cannot be read"):
        read_allocations(table(struct.pack("<HH", 0, 0))[:size])


def test_sections_are_added_and_nothing_else_changes():
    from visakit.objects.elf import Elf

    before = Elf(2, 205, sections=[Section(".one", 1, b"first")]).write()
    after = with_sections(before, "x", {".two": b"second", ".three": b""})
    found = {s.name: s.data for s in read_elf(after, "x").sections}
    assert after[64 : 64 + 5] == b"first" and found[".one"] == b"first"
    assert (found[".two"], found[".three"]) == (b"second", b"")


@needs_ocloc
def test_damaged_dwarf_is_an_error():
    zebin = compile_source("k.cl", SOURCE, "tgllp", "-g", None).zebin
    (whole,) = (s.data for s in read_elf(zebin, "k", False).sections if s.name.startswith(DWARF))
    choose = random.Random(1)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(4):
            data[choose.randrange(len(data))] = choose.choice((0, 255, choose.randrange(256)))
        with contextlib.suppress(ValueError):
            read_variables(bytes(data))


@needs_ocloc
def test_a_program_without_pyelftools(monkeypatch):
    monkeypatch.setitem(sys.modules, "elftools.elf.elffile", None)
    session = begun("-g")
    session.add_breakpoint("k")
    session.resume()
    with pytest.raises(DebugError, match="nothing is called 'acc'") as caught:
        session.evaluate("acc")
    assert "pip install 'visakit[debug]'" in caught.value.diagnostics[0].hint


@needs_ocloc
def test_a_constant_of_the_compiler_can_only_be_shown():
    session = begun("-g")
    session.add_breakpoint(str(line_of("acc += own")))
    session.resume()
    while session.evaluate("acc").location is not None:
        session.step(instruction=True, reverse=True)
    assert values(session, "acc") == [0]
    for use in (session.add_watchpoint, lambda name: session.set(name, "5"), session.origin):
        with pytest.raises(DebugError, match="'acc' is a constant of the compiler here, and cannot be "):
            use("acc")
