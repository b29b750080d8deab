"""Races of groups that atomics and fences order: against a model in which every order is an edge, for records and on both engines."""

from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import ENGINES, effort
from test_races import KINDS, LETTERS, findings

from vsim.checks import races
from vsim.checks.accesses import DEVICE_FENCE, GLOBAL, GROUP_FENCE, AccessLog
from vsim.checks.findings import Findings
from vsim.checks.names import RACE
from vsim.checks.selection import Checking

GROUPS, THREADS, PLACES = 2, 2, 2
FENCES = {"f": GROUP_FENCE, "F": DEVICE_FENCE}

# -- the model: a program is a list of steps, each of one thread, or a barrier of a group ------------------------------

WHO = st.tuples(st.integers(0, GROUPS - 1), st.integers(0, THREADS - 1))
STEP = st.one_of(
    st.tuples(WHO, st.sampled_from("rwaaa"), st.integers(0, PLACES - 1)),
    st.tuples(WHO, st.sampled_from("fFF"), st.just(0)),
    st.tuples(st.tuples(st.integers(0, GROUPS - 1), st.none()), st.just("barrier"), st.just(0)),
)
"""Who, what, and where: ``f`` is a fence of the group's scope, ``F`` one of the device's."""
IDIOM = st.builds(
    lambda one, other, fences, place, inner: [
        (one, "w", 1 - place), (one, fences[0], 0), *inner, (one, "a", place), (other, "a", place), (other, fences[1], 0), (other, "r", 1 - place),
    ],
    WHO, WHO, st.tuples(st.sampled_from("fF"), st.sampled_from("fF")), st.integers(0, PLACES - 1), st.lists(STEP, max_size=1),
)  # fmt: skip
"""What hand-made locks are made of: publish, and find."""
PROGRAM = st.lists(st.one_of(STEP.map(lambda s: [s]), STEP.map(lambda s: [s]), IDIOM), max_size=7).map(
    lambda parts: list(chain(*parts))[:16]
)


def closed(before):
    """The transitive closure of edges, by event."""
    changed = True
    while changed:
        changed = False
        for earlier in before.values():
            more = set().union(*(before[e] for e in earlier)) - earlier
            earlier |= more
            changed |= bool(more)
    return before


def modelled(steps):
    """The pairs of steps with their kinds that race, of steps in the order in which they are executed."""
    events = [(n, who, what, place) for n, (who, what, place) in enumerate(steps)]
    plain = {n: set() for n, *_ in events}
    for (n, (g, t), _, _), (m, (h, u), _, _) in combinations(events, 2):
        if g == h and (t == u or t is None or u is None):
            plain[m].add(n)
    closed(plain)
    fences = [(n, who, what) for n, who, what, _ in events if what in "fF"]
    order = {n: set(earlier) for n, earlier in plain.items()}
    for (n, (g, _), scope), (m, who, scope2) in product(fences, fences):
        for (a, _, kind, place), (b, reader, kind2, place2) in combinations(events, 2):
            meets = kind == kind2 == "a" and place == place2 and n in plain[a] and reader == who and b < m
            carrier = steps[a][0][0]
            if meets and (carrier == g == who[0] or scope == scope2 == "F"):
                order[m].add(n)
    closed(order)
    found = set()
    for (n, who, kind, place), (m, who2, kind2, place2) in combinations(events, 2):
        both = kind in KINDS and kind2 in KINDS and place == place2 and who != who2
        if both and not kind == kind2 != "w" and n not in order[m]:
            found.add((frozenset([(n, kind), (m, kind2)]), "K001" if who[0] == who2[0] else "K003"))
    return found


def analysed(steps):
    """The same of the records that the steps leave."""
    log, epochs = AccessLog(), [0] * GROUPS
    for n, ((group, thread), what, place) in enumerate(steps):
        if what == "barrier":
            epochs[group] += 1
            continue
        who = {"group": group, "thread": thread, "signals": epochs[group], "waits": epochs[group], "instruction": n}
        if what in FENCES:
            log.add(1, **who, kind=FENCES[what], sequence=log.begin())
        else:
            log.add(1, **who, kind=KINDS[what], address=64 * place, size=4, space=GLOBAL, sequence=log.begin())
    found = Findings(Checking(frozenset([RACE])))
    races.report(log.records(), found, lambda space, address: "")
    return pairs(found, lambda n: n)


def pairs(found, step_of):
    """The pairs of steps with their kinds, and the codes."""
    sides = [(f, f.message.split(": ")[1].split()) for f in found]
    return {
        (
            frozenset(
                [(step_of(f.site.instruction), LETTERS[w[1]]), (step_of(f.other.site.instruction), LETTERS[w[4]])]
            ),
            f.code,
        )
        for f, w in sides
    }


@effort(200)
@given(PROGRAM)
def test_races_of_groups_are_exactly_those_of_the_model(steps):
    assert analysed(steps) == modelled(steps)


def test_the_model_has_both_answers():
    """Publishing with fences of the device orders groups; with one of the group on either side it does not."""
    publish = [
        ((0, 0), "w", 0),
        ((0, 0), "F", 0),
        ((0, 0), "a", 1),
        ((1, 1), "a", 1),
        ((1, 1), "F", 0),
        ((1, 1), "r", 0),
    ]
    assert modelled(publish) == analysed(publish) == set()
    for n in (1, 4):
        narrow = [(who, "f" if m == n else what, place) for m, (who, what, place) in enumerate(publish)]
        assert modelled(narrow) == analysed(narrow) == {(frozenset([(0, "w"), (5, "r")]), "K003")}


# -- both engines --------------------------------------------------------------------------------------------------

HEAD = ['.version 4.1', '.kernel "k"', ".decl OUT v_type=G type=uq num_elts=1", ".input OUT offset=64 size=8",
        ".decl AT v_type=G type=uq num_elts=16 align=GRF", ".decl X v_type=G type=ud num_elts=16 align=GRF", ".decl OLD v_type=G type=ud num_elts=16 align=GRF",
        ".decl NUMBER v_type=G type=ud num_elts=1", ".decl P1 v_type=P num_elts=16", ".kernel_attr SimdSize=16",
        "and (M1_NM, 1) NUMBER(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud", "mad (M1_NM, 1) NUMBER(0,0)<1> %r0(0,1)<0;1,0> 2:ud NUMBER(0,0)<0;1,0>",
        "mov (M1, 16) X(0,0)<1> 1:ud"]  # fmt: skip
LINES = {
    "r": "svm_gather.4.1 (M1_NM, 1) AT.0 OLD.0", "w": "svm_scatter.4.1 (M1_NM, 1) AT.0 X.0",
    "a": "svm_atomic.add (M1_NM, 1) AT.0 OLD.0 X.0 %null.0", "f": "lsc_fence.ugm.none.group", "F": "lsc_fence.ugm.none.gpu",
}  # fmt: skip


def text(steps):
    """A kernel that does the steps, and which step an instruction is."""
    lines, numbers = list(HEAD), {}
    for n, ((group, thread), what, place) in enumerate(steps):
        if what == "barrier":
            number, line = 2 * group, "barrier"
            lines.append(f"cmp.ne (M1, 16) P1 %r0(0,1)<0;1,0> {group}:ud")
        else:
            number, line = 2 * group + thread, LINES[what]
            lines += [
                f"add (M1_NM, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {64 * place}:ud",
                f"cmp.ne (M1, 16) P1 NUMBER(0,0)<0;1,0> {number}:ud",
            ]
        lines += [f"(P1) goto (M1, 16) L{n}", line, f"L{n}:"]
    lines.append("ret (M1, 1)")
    instructions = [line for line in lines if not line.startswith(".")]
    for at, line in enumerate(instructions):
        if line.startswith("L") and line.endswith(":"):
            numbers[at - 1] = int(line[1:-1])
    return "\n".join(lines), numbers


def executed(steps, engine):
    """The steps in the order of an engine, and the number of each in the text: groups one after the other; the reference engine
    takes the threads of a group through the text together, the other one by one from barrier to barrier."""
    epochs, keys = [0] * GROUPS, []
    for n, ((group, thread), what, _) in enumerate(steps):
        alone = 0 if engine == "numpy" or thread is None else thread
        keys.append((group, epochs[group], what == "barrier", alone, n))
        epochs[group] += what == "barrier"
    order = [key[-1] for key in sorted(keys)]
    return [steps[n] for n in order], order


@pytest.mark.parametrize("engine", ENGINES)
@effort(12)
@given(steps=PROGRAM)
def test_both_engines_find_the_races_of_the_models_order(engine, steps):
    source, numbers = text(steps)
    found = findings(source, engine, GROUPS * THREADS * 16, THREADS * 16, [np.zeros(64, np.uint32)])
    ran, order = executed(steps, engine)
    wanted = {(frozenset((order[n], kind) for n, kind in pair), code) for pair, code in modelled(ran)}
    assert pairs(found, numbers.get) == wanted
