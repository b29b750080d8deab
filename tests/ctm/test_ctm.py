"""The conformance programs T1 to T19 of the flow-control sheet, on groups of four processors; x, y, z are r1.r, r2.r, r3.r, a processor's number is r0.r."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visakit import AssemblyError, LinkError, SimulationError
from visakit.ctm import assemble, table
from visakit.ctm.builder import ModuleBuilder
from visakit.ctm.checks import check_module
from visakit.ctm.flow import FlowEncoder
from visakit.ctm.linker import link
from visakit.ctm.machine import ProcessorGroup, ProcessorGroups
from visakit.ctm.printer import print_module
from visakit.ctm.processors import Options
from visakit.ctm.program import InstructionSlot, ShaderModule, read_module

P = np.arange(4)
X, Y, Z = 1, 2, 3


def execute(module, start=None, tables=None, options=None, full=True, code_offset=0, trace=None):
    """x, y and z of a program. ``start``: registers at the start by number; ``tables``: constants from c32 on."""
    module.full = full
    for n, value in enumerate(tables or ()):
        module.floats[32 + n] = (float(value),) * 4
    machine = ProcessorGroup(module, options or Options(group=4), code_offset=code_offset, trace=trace)
    machine.temps[0, 0] = P
    for register, values in (start or {}).items():
        machine.temps[register, 0] = values
    machine.run()
    assert (machine.counts == -1).all() and not machine.frames and not machine.addresses
    return [machine.temps[n, 0].tolist() for n in (X, Y, Z)]


def inc(name, amount="1.0"):
    return f"add r{name}.r, r{name}, {amount}"


TEST = "test.ne r10"  # alu = r10 != 0
CONSTANTS = ".const c1 100 10 5 4\n"


def program(*lines):
    return CONSTANTS + "\n".join(lines) + "\nend\n"


def simulate(lines, **more):
    return execute(link([assemble(program(*lines))]), **more)


@pytest.mark.parametrize(
    ("alu", "x"),
    [([1, 1, 1, 1], [1, 1, 1, 1]), ([0, 0, 0, 0], [0, 0, 0, 0]), (P % 2, [0, 1, 0, 1])],
    ids=["T1", "T2", "T3"],
)
def test_if(alu, x):
    lines = [TEST, "fc jump func=0x0f b0=incr to=4", inc(X), "fc jump any=1 pop=1 b0=decr", inc(Y)]
    assert simulate(lines, start={10: alu})[:2] == [x, [1] * 4]
    assert simulate([TEST, "if alu", inc(X), "endif", inc(Y)], start={10: alu})[:2] == [x, [1] * 4]


@pytest.mark.parametrize(("alu", "x"), [(P % 2, [10, 1, 10, 1]), ([1] * 4, [1] * 4), ([0] * 4, [10] * 4)])
def test_t4_else(alu, x):
    assert simulate([TEST, "if alu", inc(X), "else", "add r1.r, r1, c1.g", "endif", inc(Y)], start={10: alu})[:2] == [
        x,
        [1] * 4,
    ]


def test_t5_nested_else():
    lines = [
        "test.ne r10",
        "if alu",
        "test.ne r11",
        "if alu",
        inc(X),
        "else",
        inc(X, "2.0"),
        "endif",
        "else",
        inc(X, "4.0"),
        "endif",
        inc(Y),
    ]
    steps = []
    assert simulate(lines, start={10: P < 2, 11: P % 2 == 0}, trace=steps.append)[:2] == [[1, 2, 4, 4], [1] * 4]
    assert steps[3].counts == [-1, 0, 1, 1]


@pytest.mark.parametrize(("second", "x"), [(P >= 2, [0, 1, 2, 3]), ([0] * 4, [0, 1, 1, 1])])
def test_t6_merged(second, x):
    lines = [
        "test.ne r10",
        "if alu",
        inc(X),
        "test.ne r11",
        "if alu",
        inc(X),
        "test.ne r12",
        "if alu",
        inc(X),
        "endif 3",
        inc(Y),
    ]
    module = assemble(program(*lines))
    words = [s.words[2] for s in module.slots if s.words[0] & 3 == table.FC]
    assert words == [0x02000F00, 0x06010F00, 0x06020F00, 0x01030020]
    assert execute(link([module]), start={10: P >= 1, 11: second, 12: P >= 3})[:2] == [x, [1] * 4]


@pytest.mark.parametrize("value", [0, 1])
def test_t7_boolean(value):
    lines = [f".bool b5 {value}", "if b5", inc(X), "endif", inc(Y)]
    module = link([assemble(program(*lines))])
    assert module.slots[0].words[2:4] == (0x02005500, 0x00030005)
    assert execute(module)[:2] == [[value] * 4, [1] * 4]


def test_t8_predicates():
    lines = ["set.ne p.g, r10.rrrr", "if p.g", inc(X), "endif", "if !p.g", "add r1.r, r1, c1.r", "endif"]
    module = link([assemble(program(*lines))])
    assert (
        module.slots[1].words[2:4] == (0x02003300, 0x00040000)
        and module.slots[1].words[0] >> 3 & 7 == table.PRED_SELECTS["g"]
    )
    assert execute(module, start={10: P >= 2})[0] == [100, 100, 1, 1]


@pytest.mark.parametrize(("count", "x"), [(3, 20610), (0, 0)])
def test_t9_loop(count, x):
    lines = [f".int i0 {count} 2 4", "loop i0", "mad r1.r, r1, c1.r, c[aL+32].r", "endloop", inc(Y)]
    module = link([assemble(program(*lines))])
    assert module.slots[0].words[2:4] == (0x00000021, 0x00030000) and module.slots[2].words[2:4] == (
        0x0000FF22,
        0x00010000,
    )
    assert execute(module, tables=range(20))[:2] == [[x] * 4, [1] * 4]


def test_t10_nested_loops():
    lines = [
        ".int i0 2 10 1",
        ".int i1 3 5 -1",
        "loop i0",
        "loop i1",
        "add r1.r, r1, c[aL+32]",
        "endloop",
        "add r2.r, r2, c[aL+32]",
        "endloop",
    ]
    module = link([assemble(program(*lines))])
    assert module.slots[1].words[3] == 0x00040100
    assert execute(module, tables=range(20))[:2] == [[24] * 4, [21] * 4]


@pytest.mark.parametrize(("count", "x"), [(10, [0, 1, 2, 3]), (2, [0, 1, 2, 2])])
def test_t11_break(count, x):
    lines = [f".int i0 {count} 0 0", "rep i0", "test.ge r1, r0", "break if alu", inc(X), "endrep", inc(Y)]
    module = link([assemble(program(*lines))])
    assert module.slots[2].words[2:4] == (0x0000F006, 0x00050000)
    assert execute(module)[:2] == [x, [1] * 4]


LOOP_12 = [".int i0 10 0 0", "rep i0", "test.ge r1, r0", "if alu", "break", "endif", inc(X), inc(Z), "endrep"]


def test_t12_break_inside_if():
    module = link([assemble(program(*LOOP_12, inc(Y)))])
    assert module.slots[3].words[2:4] == (0x0401FF06, 0x00080000)
    assert execute(module) == [[0, 1, 2, 3], [1] * 4, [0, 1, 2, 3]]
    literal = execute(link([assemble(program(*LOOP_12, inc(Y)))]), options=Options(group=4, break_rule="literal"))
    assert literal[0] == [0] * 4, "D1: by the literal rule the first processor to break takes all others with it"


def test_t13_continue():
    head = [".int i0 6 0 1", "loop i0", "test.eq c[aL+32], r0"]
    tables = [n % 4 for n in range(8)]
    assert simulate([*head, "continue if alu", inc(X), "endloop", inc(Y)], tables=tables)[:2] == [[4, 4, 5, 5], [1] * 4]
    module = link([assemble(program(*head, "if alu", "continue", "endif", inc(X), "endloop", inc(Y)))])
    assert 0x0401FF07 in [s.words[2] for s in module.slots]
    assert execute(module, tables=tables)[:2] == [[4, 4, 5, 5], [1] * 4]


T14 = [TEST, "call sub if alu", inc(Y), "jump behind", "function sub", "add r1.r, r1, c1.b", "ret", "behind:", inc(Z)]


@pytest.mark.parametrize(("alu", "x"), [(P % 2, [0, 5, 0, 5]), ([0] * 4, [0] * 4)])
def test_t14_conditional_call(alu, x):
    module = link([assemble(program(*T14))])
    assert module.slots[1].words[2:4] == (0x0800F0A0, 0x00040000) and module.slots[5].words[2] == 0x0401FF40
    assert execute(module, start={10: alu}) == [x, [1] * 4, [1] * 4]


@pytest.mark.parametrize(("alu", "x"), [(P >= 2, [11, 11, 1, 1]), ([1] * 4, [1] * 4)])
def test_t15_conditional_return(alu, x):
    lines = [
        "call sub",
        inc(Y),
        "jump behind",
        "function sub",
        inc(X),
        TEST,
        "ret if alu",
        "add r1.r, r1, c1.g",
        "ret",
        "behind:",
        inc(Z),
    ]
    module = link([assemble(program(*lines))])
    assert [module.slots[n].words[2] for n in (0, 5, 7)] == [0x0800FFA0, 0x0601F040, 0x0402FF40]
    assert execute(module, start={10: alu}) == [x, [1] * 4, [1] * 4]


def test_t15b_loop_inside_if():
    assert simulate([TEST, "if alu", *LOOP_12, "endif", inc(Y)], start={10: P % 2}) == [
        [0, 1, 0, 3],
        [1] * 4,
        [0, 1, 0, 3],
    ]


def test_t16_quantifiers():
    lines = [
        "test.ne r10",
        "jump a if alu",
        inc(X),
        "a:",
        "test.ne r11",
        "jump b if any alu",
        inc(X, "2.0"),
        "b:",
        "test.ne r11",
        "jump c if alu",
        inc(X, "4.0"),
        "c:",
        inc(Y),
    ]
    module = link([assemble(program(*lines))])
    assert module.slots[4].words[2] == 0x0000F020
    assert execute(module, start={10: [0] * 4, 11: P == 3})[:2] == [[5] * 4, [1] * 4]


def test_t17_nobody_active():
    lines = ["fc jump func=0xff any=1 else=1 to=2", inc(X), "fc jump func=0 pop=1 b1=decr to=4", inc(X, "2.0"), inc(Y)]
    module = link([assemble(program(*lines))])
    assert (module.slots[0].words[2:4], module.slots[2].words[2:4]) == (
        (0x0000FF30, 0x00020000),
        (0x04010000, 0x00040000),
    )
    assert execute(module)[:2] == [[0] * 4, [1] * 4]


def nested(depth):
    lines = ["test.ne r10", "if alu"]
    for _ in range(depth - 1):
        lines += ["test.ge r0", "if alu"]
    return [*lines, inc(X), *["endif"] * depth]


def test_t18_depth():
    steps = []
    assert simulate(nested(32), start={10: P >= 1}, trace=steps.append)[0] == [0, 1, 1, 1]
    assert max(s.counts[0] for s in steps) == 31
    with pytest.raises(SimulationError, match="T041"):
        simulate(nested(33), start={10: P >= 1})
    assert simulate(nested(4), start={10: P >= 1}, full=False)[0] == [0, 1, 1, 1]
    with pytest.raises(SimulationError, match="T041"):
        simulate(nested(5), start={10: P >= 1}, full=False)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([TEST, "if alu", "if alu", "endif", "endif"], "T031"), (["fc jump func=0xcc pred=rgba to=1"], "T038"), (["ret"], "T015"), (["endloop"], "T013"),
        (["fc jump func=0xff to=600"], "T002"), ([".mode partial", ".int i0 1 0 0", "loop i0", "endloop"], "T034"), (["if alu"], "T031"),
        ([".int i0 1 0 0", "loop i0", "endrep"], "T013"), (["break"], "T013"), (["add r1.r, r200, r1"], "T004"), (["mul r1.r, r2"], "T007"),
        (["add r1.r, r1, 0.3"], "T003"), (["mad r1.r, r2, r3, r4 | mad r1.a, r5.a, r6.a, r7.r"], "T009"), (["bogus r1"], "T001"), (["rcp r1.r, r2"], "T008"),
    ],
)  # fmt: skip
def test_t19_known_when_assembled(lines, code):
    with pytest.raises(AssemblyError) as caught:
        assemble(program(*lines))
    assert code in [d.code for d in caught.value.diagnostics] and all(d.span.line for d in caught.value.diagnostics)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["fc jump func=0xff a=pop"], "T032"), (["fc endloop func=0xff any=1"], "T035"), (["add r1.r, r1, c[aL+0]"], "T042"),
        ([".int i0 1 0 0", "fc loop func=0 any=1 int=i0 to=3", "fc breakrep func=0xff to=3", "fc endloop func=0xff any=1 int=i0 to=1"], "T036"),
        ([".int i0 3 0 0", "fc loop func=0 any=1 int=i0 to=3", inc(X), "fc endloop func=0xff any=1 int=i1 to=1"], "T037"),
        ([*["call a"], "jump z", "function a", "call a", "ret", "z:"], "T033"), (["fc jump func=0xff to=100"], "T030"), (["ld r1.rgba, t3, r0"], "T043"),
    ],
)  # fmt: skip
def test_t19_known_when_run(lines, code):
    with pytest.raises(SimulationError, match=code) as caught:
        simulate(lines)
    assert caught.value.diagnostics[0].span.line > 0


def test_the_last_instruction_must_be_an_output_that_waits():
    module = assemble(program(inc(X)))
    module.slots[module.end] = InstructionSlot(table.encode(table.ALU, {}), "", 1)
    findings = check_module(module, FlowEncoder(ModuleBuilder("x")), 1)
    assert [found.error.code for found in findings] == ["T017"]


def test_a_call_between_modules():
    main = assemble(program(TEST, ".extern sub", "call sub if alu", inc(Y), "jump behind", "behind:", inc(Z)), "main")
    library = assemble(CONSTANTS + "function sub\nadd r1.r, r1, c1.b\nret\n", "library")
    together = link([read_module(m.to_bytes(), m.name) for m in (main, library)])
    assert execute(together, start={10: P % 2})[0] == [0, 5, 0, 5]
    alone = assemble(program(*T14))
    call, other = next(s for s in together.slots if s.words[2] == 0x0800F0A0), alone.slots[1]
    assert call.words[3] >> 16 == together.labels["sub"] and call.words[:3] == other.words[:3]
    with pytest.raises(LinkError, match="T023"):
        link([main])
    with pytest.raises(LinkError, match="T020"):
        link([main, library, library])
    with pytest.raises(LinkError, match="T021"):
        link([main, ShaderModule("big", [InstructionSlot((0,) * 6)] * 512)])


def test_objects_without_kinds_of_functions():
    """Objects of earlier versions; their calls are not checked."""
    main = assemble(program(".extern sub plain", "call sub", inc(Y)), "main")
    library = assemble("function sub plain\nadd r1.r, r1, 1.0\nret\n", "library")
    assert (main.plain, library.plain) == ({"sub": True}, {"sub": True})
    for module in (main, library):
        old = read_module(replace(module, plain={}).to_bytes(), module.name)
        other = library if module is main else main
        assert old.plain == {} and execute(link([old, other] if module is main else [other, old]))[:2] == [[1] * 4] * 2


def test_constants_are_merged_or_renumbered():
    one = assemble(".const c0 1 1 1 1\n.int i0 2 0 0\nrep i0\nadd r1.r, r1, c0\nendrep\ncall more\nend\n", "one")
    two = assemble(
        ".const c0 4 4 4 4\n.const c1 1 1 1 1\n.int i0 3 0 0\nfunction more\nrep i0\nadd r2.r, r2, c0\nadd r3.r, r3, c1\nendrep\nret\n",
        "two",
    )
    image = link([one, two])
    assert image.floats == {0: (1.0,) * 4, 2: (4.0,) * 4, 1: (1.0,) * 4} and image.integers == {
        0: (2, 0, 0),
        1: (3, 0, 0),
    }
    assert execute(image) == [[2] * 4, [12] * 4, [3] * 4]


def test_code_offset_and_global_jumps():
    module = link([assemble(program(*T14))])
    assert execute(module, start={10: P % 2}, code_offset=77)[0] == [0, 5, 0, 5]
    slot = module.slots[1]
    kind, f = table.decode(slot.words)
    module.slots[1] = InstructionSlot(table.encode(kind, f | {"jump_global": 1, "jump": f["jump"] + 77}))
    assert execute(module, start={10: P % 2}, code_offset=77)[0] == [0, 5, 0, 5]


TEXT = (
    CONSTANTS
    + """.int i3 4 0 1
.bool b1 1
start:
    mad r1.rgb, -r2.rrg, |c1.gba|, 0.5 | rcp r1.a, r3.aaaa {clamp, omod=x2}
    set.ge p.g, r1.rrrr, r2
    mov o1.rg, r1 {pred=!g}
    ld r4.rgba, t2, r0.rg
    texkill r1.rgb
    dp4 r5.r, r1, c[aL+3]
    loop i3
        continue if b1
    endloop
    test.lt r1.g, 2
    if !alu
        min r2.rgba, r2, r3
    endif
    end
"""
)


def test_text_and_words_go_round():
    module = link([assemble(TEXT)])
    again = link([assemble(print_module(module))])
    assert [s.words for s in again.slots] == [s.words for s in module.slots]
    assert (again.floats, again.integers, again.booleans, again.end) == (
        module.floats,
        module.integers,
        module.booleans,
        module.end,
    )
    back = read_module(module.to_bytes(), "x")
    assert [s.words for s in back.slots] == [s.words for s in module.slots] and back.end == module.end


def test_known_words():
    """Words that ran on the hardware: an output of all channels that waits, three unused sources, MAX, inline 0.5 and 1.5."""
    assert table.encode(table.OUT, {"sem_wait": 1, "omask_rgb": 7, "omask_a": 1})[0] == 0x00078005
    assert table.encode(table.ALU, {f"rgb_addr{k}": 0x80 for k in range(3)})[1] == 0x08020080
    assert table.encode(table.TEX, {"inst": 1, "sem_acquire": 1})[1] == 0x02400000
    assert table.encode(table.ALU, {"rgb_op": 5})[5] == 5
    assert [table.inline_value(n) for n in (48, 56, 60, 64, 127)] == [0.5, 1.0, 1.5, 2.0, 480.0]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([TEST, "if alu", "endif"], [0x02000F00, 0x01010020]), ([TEST, "if alu", "else", "endif"], [0x0A000F00, 0x04010010, 0x01010020]),
        (["if p.r", "endif"], [0x02003300, 0x01010020]), (["if b0", "endif"], [0x02005500, 0x01010020]),
        (["loop i0", "endloop"], [0x00000021, 0x0000FF22]), (["rep i0", "endrep"], [0x00000023, 0x0000FF24]),
        (["loop i0", TEST, "break if alu", "endloop"], [0x00000021, 0x0000F005, 0x0000FF22]),
        (["rep i0", TEST, "break if alu", "endrep"], [0x00000023, 0x0000F006, 0x0000FF24]),
        (["loop i0", TEST, "if alu", "break", "endif", "endloop"], [0x00000021, 0x02000F00, 0x0401FF05, 0x01010020, 0x0000FF22]),
        (["loop i0", TEST, "continue if alu", "endloop"], [0x00000021, 0x0000F007, 0x0000FF22]),
        (["loop i0", TEST, "if alu", "continue", "endif", "endloop"], [0x00000021, 0x02000F00, 0x0401FF07, 0x01010020, 0x0000FF22]),
        (["jump l", "l:"], [0x0000FF00]), ([".extern f plain", "call f", "function f plain", "ret"], [0x0000FFA0, 0x0000FF40]),
        ([TEST, "call f if alu", "function f", "ret"], [0x0800F0A0, 0x0401FF40]),
        (["function f", TEST, "ret if alu", "ret"], [0x0601F040, 0x0402FF40]),
    ],
)  # fmt: skip
def test_idioms_have_the_words_of_the_sheet(lines, words):
    module = assemble(program(".int i0 3 0 1", *lines))
    assert [s.words[2] for s in module.slots if s.words[0] & 3 == table.FC] == words


def value(operation, a, b=0.0, c=0.0, options=None):
    """The result of an operation on numbers in r10, r11 and r12."""
    count = table.OPERATIONS[operation].operands
    registers = ["r10.r", "r11.r", "r12.r"][:count]
    machine = ProcessorGroup(link([assemble(f"{operation} r1.{'a' if operation in ('rcp', 'ex2', 'ln2', 'rsq', 'sin', 'cos') else 'r'}, {', '.join(registers)}\nend")]),
                      options or Options(group=4))  # fmt: skip
    machine.temps[10:13, 0] = np.array([[a], [b], [c]], np.float32)
    machine.run()
    return machine.temps[1, 3 if operation in ("rcp", "ex2", "ln2", "rsq", "sin", "cos") else 0, 0]


def test_special_values():
    nan, inf, tiny = float("nan"), float("inf"), 1e-40
    assert value("min", nan, 2) == 2 and value("max", nan, 2) == 2 and np.isnan(value("min", 2, nan))
    assert value("cnd", nan, 3, 1) == 3 and value("cmp", 1, 3, nan) == 3
    assert np.signbit(value("max", 0.0, -0.0)) and not np.signbit(value("min", -0.0, 0.0))
    assert value("mad", 2, 3, 4) == 10 and value("mad", tiny, 1, 0) == 0 and value("frc", -1.25) == 0.75
    assert (
        value("mad", inf, 0, 1).view("u4") == 0x7FFFFFFF
        and value("mad", inf, 0, 1, Options(group=4, legacy_multiply=True)) == 1
    )
    assert value("rcp", 4) == 0.25 and value("ex2", 3) == 8 and value("ln2", 8) == 3 and value("rsq", 4) == 0.5
    assert abs(value("sin", 0.25) - 1) < 1e-6 and abs(value("cos", 0.5) + 1) < 1e-6


def test_fields_do_not_overlap():
    for fields in table.FIELDS.values():
        taken = [(f.word, bit) for f in fields for bit in range(f.low, f.low + f.width)]
        assert len(taken) == len(set(taken)) and all(bit < 32 for _, bit in taken)


# -- random structured programs against one processor at a time ------------------------------------------------


class Exit(Exception):
    """Leaves a loop or begins its next turn, by ``kind``."""

    def __init__(self, kind):
        self.kind = kind


@st.composite
def statements(draw, depth=0, loops=0, budget=3):
    """A list of ("add", k), ("if", register, negated, then, else), ("loop", i, body) and ("break" or "continue", register or None)."""
    found = []
    for _ in range(draw(st.integers(1, budget))):
        kind = draw(st.sampled_from(["add", "add", "if", "loop", "break", "continue", "call"]))
        if kind == "if" and depth < 4:
            body = draw(statements(depth + 1, loops, 2))
            other = draw(statements(depth + 1, loops, 2)) if draw(st.booleans()) else None
            found.append(("if", draw(st.integers(10, 13)), draw(st.booleans()), body, other))
        elif kind == "loop" and loops < 3 and depth < 4:
            found.append(
                (
                    "loop",
                    draw(st.integers(0, 2)),
                    draw(st.sampled_from(["loop", "rep"])),
                    draw(statements(depth + 1, loops + 1, 2)),
                )
            )
        elif kind in ("break", "continue") and loops:
            found.append((kind, draw(st.none() | st.integers(10, 13))))
        elif kind == "call":
            found.append(("call", draw(st.none() | st.integers(10, 13))))
        else:
            found.append(("add", draw(st.integers(1, 3))))
    return found


def written(tree, out):
    """The program as text; a condition changes with every look, so that processors part and meet again."""
    for s in tree:
        if s[0] == "add":
            out.append(f"add r{s[1]}.r, r{s[1]}, 1.0")
        elif s[0] == "if":
            out += [f"sub r{s[1]}.r, r{s[1]}, 1.0", f"test.ge r{s[1]}", "if !alu" if s[2] else "if alu"]
            written(s[3], out)
            if s[4] is not None:
                out.append("else")
                written(s[4], out)
            out.append("endif")
        elif s[0] == "loop":
            out.append(f"{s[2]} i{s[1]}")
            written(s[3], out)
            out.append(f"end{s[2]}")
        else:
            if s[1] is not None:
                out += [f"sub r{s[1]}.r, r{s[1]}, 1.0", f"test.ge r{s[1]}"]
            name = "call sub" if s[0] == "call" else s[0]
            out.append(name + (" if alu" if s[1] is not None else ""))


COUNTS = (2, 3, 0)


def alone(tree, registers):
    """The result of one processor, by a model of the statements."""

    def true(register):
        registers[register] -= 1
        return registers[register] >= 0

    for s in tree:
        if s[0] == "add":
            registers[s[1]] += 1
        elif s[0] == "if":
            taken = s[3] if true(s[1]) != s[2] else s[4]
            alone(taken or [], registers)
        elif s[0] == "loop":
            for _ in range(COUNTS[s[1]]):
                try:
                    alone(s[3], registers)
                except Exit as leaving:
                    if leaving.kind == "break":
                        break
        elif s[1] is None or true(s[1]):
            if s[0] == "call":
                registers[3] += 4
            else:
                raise Exit(s[0])


@settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "200")), deadline=None, suppress_health_check=list(HealthCheck)
)
@given(statements(), st.lists(st.lists(st.integers(-2, 6), min_size=12, max_size=12), min_size=4, max_size=4))
def test_groups_agree_with_single_processors(tree, start):
    lines = [f".int i{n} {c} 0 1" for n, c in enumerate(COUNTS)]
    written(tree, lines)
    lines += ["end", "function sub", "add r3.r, r3, 4", "ret"]
    machine = ProcessorGroups(link([assemble("\n".join(lines))]), Options(group=4), groups=3)
    for register, values in enumerate(start, 10):
        machine.temps[register, 0] = values
    machine.run()
    for processor in range(12):
        registers = {r: 0 for r in (1, 2, 3)} | {r: start[r - 10][processor] for r in range(10, 14)}
        alone(tree, registers)
        assert {r: machine.temps[r, 0, processor] for r in registers} == registers
    assert (machine.counts == -1).all() and not machine.disabled.any() and not machine.waiting
