"""Live registers, compared with two models: walks of each byte along the edges, and executions lane by lane."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import effort

from visakit.text.parser import parse_module
from vsim.analysis.register_liveness import live_registers
from vsim.cost.pressure import pressure

GRF, LANES = 32, 8
REGISTER_BYTES = LANES * 4


@dataclass
class Line:
    """An instruction of a generated program: registers that it reads and writes, and where it may jump."""

    text: str
    reads: tuple[str, ...] = ()
    writes: str = ""
    predicated: bool = False
    target: str = ""
    label: str = ""


@dataclass
class Text:
    """A text under construction."""

    lines: list[Line] = field(default_factory=list)

    def visa(self) -> str:
        declared = [f".decl {name} v_type=G type=d num_elts=8 align=GRF" for name in NAMES]
        head = [".version 4.1", '.kernel "k"', *declared, ".decl P1 v_type=P num_elts=8", ".kernel_attr SimdSize=8"]
        return "\n".join([*head, *(line.text for line in self.lines), "ret (M1, 8)", ""])


NAMES = ("A", "B", "C", "D")


@st.composite
def texts(draw):
    """Programs of moves, sums and jumps of lanes, forward and backward."""
    count = draw(st.integers(2, 12))
    labels = [f"L{n}" for n in range(draw(st.integers(0, 3)))]
    places = {label: draw(st.integers(0, count)) for label in labels}
    lines = []
    for at in range(count + 1):
        lines += [Line(f"{label}:", label=label) for label, place in places.items() if place == at]
        if at == count:
            break
        kind = draw(st.sampled_from(["move", "sum", "goto"] if labels else ["move", "sum"]))
        if kind == "goto":
            target, conditional = draw(st.sampled_from(labels)), draw(st.booleans())
            lines.append(Line(f"{'(P1) ' if conditional else ''}goto (M1, 8) {target}", (), "", conditional, target))
            continue
        predicated, dst = draw(st.booleans()), draw(st.sampled_from(NAMES))
        sources = tuple(draw(st.sampled_from(NAMES)) for _ in range(1 if kind == "move" else 2))
        operands = " ".join(f"{name}(0,0)<1;1,0>" for name in sources)
        mnemonic = "mov" if kind == "move" else "add"
        head = "(P1) " if predicated else ""
        lines.append(Line(f"{head}{mnemonic} (M1, 8) {dst}(0,0)<1> {operands}", sources, dst, predicated))
    return Text(lines)


def analysed(text):
    """Names of the registers that are live, and that are held, at each line; the last is the return."""
    (function,) = parse_module(text).kernels
    found = live_registers(function, GRF)

    def names(sets):
        chosen = [[r for n, r in enumerate(found.registers) if one >> n & 1] for one in sets]
        return [{function.variable_name(r.number) for r in one if not r.file} for one in chosen]

    return names(found.live), names(found.held)


def edges(lines):
    """For each line the lines that may follow; the return has none."""
    labels = {line.label: n for n, line in enumerate(lines) if line.label}
    found = []
    for n, line in enumerate(lines):
        found.append([labels[line.target]] if line.target else [])
        if not line.target or line.predicated:
            found[-1].append(n + 1)
    return [*found, []]


def walked(lines, name):
    """The lines at which a register is live: a walk from its reads back, and one from its writes on, meet there."""
    following = edges(lines)
    live_in, ahead = set(), [n for n, line in enumerate(lines) if name in line.reads]
    while ahead:
        n = ahead.pop()
        if n in live_in:
            continue
        live_in.add(n)
        for before, after in enumerate(following):
            kills = before < len(lines) and lines[before].writes == name and not lines[before].predicated
            if n in after and not kills:
                ahead.append(before)
    reached, ahead = set(), [s for n, line in enumerate(lines) if line.writes == name for s in following[n]]
    while ahead:
        n = ahead.pop()
        if n not in reached:
            reached.add(n)
            ahead += following[n]
    live_out = {n for n, after in enumerate(following) if set(after) & live_in}
    for n, after in enumerate(following):
        written = n in reached or (n < len(lines) and lines[n].writes == name)
        used = n < len(lines) and (name in lines[n].reads or lines[n].writes == name)
        if used or (n in live_in and n in reached) or (n in live_out and written and set(after) & reached):
            yield n


@effort(60)
@given(texts())
def test_a_register_is_live_where_walks_from_reads_and_writes_meet(text):
    live, _ = analysed(text.visa())
    for name in NAMES:
        assert {n for n, names in enumerate(live) if name in names} == set(walked(text.lines, name))


def executed(lines, lanes, seed, steps=60):
    """The lines that run, each with the lanes that run it: those at the smallest pc; branches go either way."""
    rng, following = random.Random(seed), edges(lines)
    at = dict.fromkeys(range(lanes), 0)
    for _ in range(steps):
        if not at:
            return
        pc = min(at.values())
        active = [lane for lane, where in at.items() if where == pc]
        yield pc, active
        for lane in active:
            if pc >= len(lines):
                del at[lane]
            elif lines[pc].target:
                at[lane] = rng.choice(following[pc])
            else:
                at[lane] = pc + 1


@effort(60)
@given(texts(), st.integers(0, 1 << 16))
def test_registers_that_any_lane_reads_later_are_live(text, seed):
    _, held = analysed(text.visa())
    steps = list(executed(text.lines, 3, seed))
    rng = random.Random(seed)
    for name in NAMES:
        for lane in range(3):
            needs = needed_after(text.lines, steps, lane, name, rng)
            for t, (pc, _) in enumerate(steps):
                if needs[t] and name in writes_before(text.lines, steps[:t], lane):
                    assert name in held[pc], (name, pc)


def needed_after(lines, steps, lane, name, rng):
    """For each step, whether a lane reads a register before it writes it."""
    needed, needs = False, []
    for pc, active in reversed(steps):
        if lane in active and pc < len(lines):
            line = lines[pc]
            writes = line.writes == name and (not line.predicated or rng.random() < 0.5)
            needed = (needed and not writes) or name in line.reads
        needs.append(needed)
    return needs[::-1]


def writes_before(lines, steps, lane):
    return {lines[pc].writes for pc, active in steps if lane in active and pc < len(lines)}


DECLARED = """\
.version 4.1
.kernel "k"
.decl A v_type=G type=d num_elts=16 align=GRF
.decl B v_type=G type=d num_elts=16 align=GRF
.decl H v_type=G type=w num_elts=8 align=GRF alias=<A, 32>
.decl S v_type=G type=d num_elts=1 align=dword
.decl W v_type=G type=w num_elts=1 align=GRF
.decl P1 v_type=P num_elts=16
.decl A0 v_type=A num_elts=1
.kernel_attr SimdSize=16
"""


def held_names(body):
    return analysed(DECLARED + body)[1]


def test_a_variable_is_not_live_before_the_parts_that_fill_it():
    held = held_names(
        "mov (M1_NM, 16) B(0,0)<1> 0:d\nmov (M1_NM, 8) A(0,0)<1> B(0,0)<1;1,0>\n"
        "mov (M1_NM, 8) A(1,0)<1> B(1,0)<1;1,0>\nmov (M1, 16) B(0,0)<1> A(0,0)<1;1,0>\nret (M1, 1)\n"
    )
    assert held == [{"B"}, {"A", "B"}, {"A", "B"}, {"A", "B"}, set()]


def test_a_part_that_is_not_written_stays():
    held = held_names(
        "mov (M1_NM, 16) A(0,0)<1> 0:d\nmov (M1_NM, 8) A(0,0)<1> 1:d\nmov (M1, 16) B(0,0)<1> A(0,0)<1;1,0>\nret (M1, 1)\n"
    )
    assert [sorted(names) for names in held] == [["A"], ["A"], ["A", "B"], []]


def test_an_alias_is_a_part_of_its_variable():
    held = held_names("mov (M1_NM, 8) H(0,0)<1> 0:w\nmov (M1_NM, 8) B(0,0)<1> A(1,0)<1;1,0>\nret (M1, 1)\n")
    assert held == [{"A"}, {"A", "B"}, set()]


def test_a_predicated_write_ends_no_life():
    body = "mov (M1_NM, 16) A(0,0)<1> 0:d\n{}mov (M1, 16) A(0,0)<1> 1:d\nadd (M1, 16) B(0,0)<1> A(0,0)<1;1,0> 1:d\nret (M1, 1)\n"
    gap = "mov (M1, 1) S(0,0)<1> 0:d\n"
    assert "A" in held_names(body.format(gap + "(P1) "))[1]
    assert "A" not in held_names(body.format(gap))[1]


def test_a_masked_write_does_not_kill_a_register_that_other_lanes_broadcast():
    body = (
        "mov (M1_NM, 16) A(0,0)<1> 0:d\ncmp.lt (M1, 16) P1 A(0,0)<1;1,0> 1:d\n(P1) goto (M1, 16) END\n"
        "mov (M1, 1) S(0,0)<1> 0:d\nmov (M1, 16) A(0,0)<1> 1:d\nadd (M1, 16) B(0,0)<1> A(0,0){} 1:d\n"
        "END:\nret (M1, 16)\n"
    )
    assert "A" in held_names(body.format("<0;1,0>"))[3]
    assert "A" not in held_names(body.format("<1;1,0>"))[3]


def test_a_register_whose_address_is_taken_is_read_by_address():
    held = held_names(
        "mov (M1_NM, 16) A(0,0)<1> 0:d\naddr_add (M1_NM, 1) A0(0)<1> &A 0:w\nmov (M1_NM, 1) S(0,0)<1> 0:d\n"
        "mov (M1_NM, 1) S(0,0)<1> r[A0(0),0]<0;1,0>:d\nret (M1, 1)\n"
    )
    assert "A" in held[2]


def test_a_mark_of_lifetime_kills_the_old_value():
    body = "mov (M1_NM, 16) A(0,0)<1> 0:d\nmov (M1_NM, 1) S(0,0)<1> 0:d\n{}(P1) mov (M1, 16) A(0,0)<1> 1:d\nmov (M1, 16) B(0,0)<1> A(0,0)<1;1,0>\nret (M1, 1)\n"
    assert "A" in held_names(body.format(""))[1]
    assert "A" not in held_names(body.format("lifetime.start A\n"))[1]


def test_registers_of_callers_are_live_in_subroutines():
    held = held_names(
        "mov (M1_NM, 16) A(0,0)<1> 0:d\ncall (M1, 16) F\nmov (M1, 16) B(0,0)<1> A(0,0)<1;1,0>\nret (M1, 16)\n"
        '.function "F"\nF:\nmov (M1, 1) S(0,0)<1> 0:d\nret (M1, 16)\n'
    )
    assert all("A" in held[n] for n in range(1, len(held)) if n not in (2, 3))


@pytest.mark.parametrize(("name", "size"), [("S", 4), ("W", 4), ("A", 64)])
def test_small_variables_take_their_bytes_and_room_for_alignment(name, size):
    text = f"mov (M1_NM, 1) {name}(0,0)<1> 0:{'w' if name == 'W' else 'd'}\nret (M1, 1)\n"
    (kernel,) = parse_module(DECLARED + text).kernels
    assert pressure(kernel, GRF).peak_bytes == size
