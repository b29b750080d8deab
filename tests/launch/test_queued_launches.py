"""Races of launches: which commands come before which, against a model that has every order written out; ranges of memory, against sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import effort

from visakit.runtime.order import Order
from vsim.checks.queued import meeting, united

QUEUES = 3
COMMAND = st.tuples(
    st.just("command"), st.integers(0, QUEUES - 1), st.sampled_from(["plain", "plain", "plain", "barrier", "marker"]),
    st.lists(st.integers(0, 30), max_size=2),
)  # fmt: skip
"""The queue, the kind of the command, and the commands whose events it waits for, by number modulo their count."""
MAP = st.tuples(st.just("map"), st.integers(0, QUEUES - 1))
UNMAP = st.tuples(st.just("unmap"), st.integers(0, QUEUES - 1), st.integers(0, 30))
STEP = st.one_of(COMMAND, COMMAND, COMMAND, MAP, UNMAP, st.tuples(st.just("wait"), st.integers(0, 30)), st.tuples(st.just("finish"), st.integers(0, QUEUES - 1)))  # fmt: skip


def modelled(steps, in_order):
    """The predecessors of each command: edges one by one, then closed. An access of the program to mapped memory
    is a command of no queue.
    """
    edges, commands, seen, barrier, mapped = [], [], set(), {}, []
    for what, *rest in steps:
        if what in ("command", "map", "unmap"):
            queue, kind, waits = rest if what == "command" else (rest[0], "plain", [])
            me, before = len(commands), set(seen)
            if what == "unmap" and mapped:
                before.add(mapped.pop(rest[1] % len(mapped)))
            chosen = {w % me for w in waits} if me else set()
            before |= chosen
            earlier = {n for n, q in enumerate(commands) if q == queue}
            if in_order[queue] or (kind != "plain" and not chosen):
                before |= earlier
            if queue in barrier:
                before.add(barrier[queue])
            if kind == "barrier":
                barrier[queue] = me
            commands.append(queue)
            edges.append(before)
            if what == "map":
                mapped.append(len(commands))
                commands.append(None)
                edges.append({me})
        elif what == "wait" and commands:
            seen |= {rest[0] % len(commands)}
        elif what == "finish":
            seen |= {n for n, q in enumerate(commands) if q == rest[0]}
    closed = []
    for before in edges:
        closed.append(before.union(*(closed[n] for n in before)))
    return closed


@effort(300)
@given(steps=st.lists(STEP, max_size=14), in_order=st.lists(st.booleans(), min_size=QUEUES, max_size=QUEUES))
def test_commands_are_apart_where_no_chain_of_orders_joins_them(steps, in_order):
    order = Order()
    queues, turns, mapped = [order.queue(o) for o in in_order], [], []
    for what, *rest in steps:
        if what == "map":
            turns.append(order.take(queues[rest[0]], [], False, False))
            order.map(turns[-1])
            mapped.append(turns[-1].mapped)
            turns.append(mapped[-1])
        elif what == "unmap":
            ended = [mapped.pop(rest[1] % len(mapped))] if mapped else []
            turns.append(order.take(queues[rest[0]], ended, False, False))
        elif what == "command":
            queue, kind, waits = rest
            chosen = [turns[w % len(turns)] for w in waits] if turns else []
            turns.append(order.take(queues[queue], chosen, kind == "barrier", kind != "plain" and not chosen))
        elif what == "wait" and turns:
            order.seen([turns[rest[0] % len(turns)]])
        elif what == "finish":
            order.seen_all_of(queues[rest[0]])
    numbers = {turn.number: n for n, turn in enumerate(turns)}
    found = [{numbers[x] for x in turn.apart} for turn in turns]
    wanted = [set(range(n)) - before for n, before in enumerate(modelled(steps, in_order))]
    assert found == wanted


RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=6)


def places(ranges):
    return {p for first, size in ranges for p in range(first, first + size)}


def as_ranges(given):
    return np.array([(first, first + size) for first, size in given], np.uint64).reshape(-1, 2)


@effort(200)
@given(one=RANGES, other=RANGES)
def test_ranges_meet_where_both_have_a_place(one, other):
    a, b = united([as_ranges(one)]), united([as_ranges(other)])
    for found, wanted in (
        (a, places(one)),
        (united([a, b]), places(one) | places(other)),
        (meeting(a, b), places(one) & places(other)),
    ):
        assert places((int(first), int(end - first)) for first, end in found) == wanted
        assert (found[1:, 0] > found[:-1, 1]).all()
