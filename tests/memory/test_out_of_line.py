"""Accesses out of line: rows, also of some lanes, parts of the lanes, and pairs of elements that are stored at once."""

import pytest
from support.probe import Probe, run_on_both_engines
from support.strategies import ENGINES, rotated

from visakit import SimulationError
from vsim.engines.llvm.lower import state
from vsim.engines.llvm.memory import common_buffer
from vsim.engines.llvm.memory.scatter import OutOfLineAccess

LANES, SPACE = 16, 2048
PLACES = {
    "row": lambda n, whole, _: 256 + whole * n,
    "row from lane 8 on": lambda n, whole, _: whole * (n - 8) if n >= 8 else 1000 - n,
    "apart": lambda n, whole, _: 96 * (n * 5 % 16),
    "overlapping": lambda n, _, size: 512 + size * (n * 5 % 16),
    "overlapping by a byte": lambda n, whole, _: 512 + (whole - 1) * n,
    "one place": lambda *_: 128,
}
SHAPES = [(4, 1), (4, 2), (4, 4), (8, 1), (8, 2), (1, 1), (1, 2), (4, 3)]
RUNNING = [0xFFFF, 0xFF00, 0x1F00, 0x8421, 0x0100, 0x001F]


@pytest.fixture(autouse=True)
def nothing_inline(monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    monkeypatch.setattr(common_buffer, "checked_lanes", lambda *_: 0)


def probe_of(places, size, count, running):
    """A probe that loads elements at these places, and stores other ones there."""
    probe = Probe("dg2" if count == 3 else "xehp", running=running)
    probe.buffer("MEM", [n * 7 % 251 for n in range(SPACE)])
    probe.fill(LOADED=("ud", [0xABCDEF01] * 64), DATA=("ud", [0x01020304 * n % (1 << 32) for n in range(64)]))
    probe.addresses("FROM", "MEM", places)
    if count == 3:
        load, store = (
            "lsc_load.ugm (M1, 16) LOADED:d32x3 flat[FROM]:a64",
            "lsc_store.ugm (M1, 16) flat[FROM]:a64 DATA:d32x3",
        )
    else:
        load, store = (f"svm_{x}.{size}.{count} (M1, 16) FROM.0" for x in ("gather", "scatter"))
        load, store = f"{load} LOADED.0", f"{store} DATA.0"
    probe.lines += [load, store]
    return probe


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize(("shape", "running"), rotated(SHAPES, RUNNING))
def test_both_engines_agree(shape, running, places):
    size, count = shape
    run_on_both_engines(probe_of([PLACES[places](n, size * count, size) for n in range(LANES)], size, count, running))


@pytest.mark.parametrize("engine", ENGINES)
def test_second_elements_are_stored_behind_first_ones(engine):
    """Of lanes that share an element: a lane's second element stays, though the first one of a later lane is there, too."""
    found = probe_of([4 * n for n in range(LANES)], 4, 2, 0xFFFF).run(engine)
    stored = found["MEM"].view("u4")[: LANES + 1].tolist()
    assert stored == [0] + [0x01020304 * (LANES + n) for n in range(LANES)]


@pytest.mark.parametrize("running", [0xFFFF, 0xFFF0])
def test_the_pair_of_a_lane_ends_with_the_buffer(running):
    places = [SPACE - 8 if n == 9 else 32 * n for n in range(LANES)]
    assert run_on_both_engines(probe_of(places, 4, 2, running))["MEM"].view("u4")[-1] == 0x01020304 * (LANES + 9)
    messages = []
    for engine in ENGINES:
        with pytest.raises(SimulationError) as caught:
            probe_of(places, 4, 4, running).run(engine)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and "16 bytes" in messages[0] and "lane 9" in messages[0]


@pytest.mark.parametrize(("count", "inside"), [(2, 4), (4, 8)])
def test_a_pair_of_a_lane_is_outside(count, inside):
    """Stores of a pair near the end of a buffer: half of the first pair is inside, or all of it."""
    said = []
    for engine in ENGINES:
        probe = probe_of([SPACE - inside if n == 9 else 32 * n + inside % 8 for n in range(LANES)], 4, count, 0xFFFF)
        del probe.lines[-2]  # the load
        with pytest.raises(SimulationError) as fault:
            probe.run(engine)
        said.append(fault.value.diagnostics)
    assert said[0] == said[1]


@pytest.mark.parametrize(("most", "lanes", "inline"), [(256, 512, [1, 1]), (8, 512, [0, 0]), (256, 16, [1, 0])])
def test_short_loops_are_inline_where_other_code_is_not(monkeypatch, most, lanes, inline):
    """A loop of few accesses, behind code with all inline lanes of a function, is inline while there is room."""
    monkeypatch.setattr(common_buffer, "LOOP_LANES", lanes)
    monkeypatch.setattr(state, "MOST_IN_LOOP", most)
    load, rare = OutOfLineAccess.load, []
    monkeypatch.setattr(OutOfLineAccess, "load", lambda *a, **k: [rare.append(k["rare"]), load(*a, **k)][1])
    probe = Probe()
    probe.buffer("MEM", [n * 7 % 251 for n in range(SPACE)])
    probe.fill(LOADED=("ud", [0] * LANES), COUNT=("ud", [0] * LANES))
    probe.addresses("FROM", "MEM", [96 * (n * 5 % 16) for n in range(LANES)])
    probe.declarations.append(".decl P9 v_type=P num_elts=16")
    one = ["svm_gather.4.1 (M1, 16) FROM.0 LOADED.0", "xor (M1, 16) FROM(0,0)<1> FROM(0,0)<1;1,0> 0x40:uq"]
    probe.lines += [
        *one,
        "AGAIN:",
        *one * 2,
        "add (M1, 16) COUNT(0,0)<1> COUNT(0,0)<1;1,0> 0x1:ud",
        "cmp.lt (M1, 16) P9 COUNT(0,0)<1;1,0> 0x3:ud",
        "(P9) goto (M1, 16) AGAIN",
    ]
    run_on_both_engines(probe)
    emissions = [rare[n : n + 3] for n in range(0, len(rare), 3)]
    assert emissions and all(found == [False, *map(bool, inline)] for found in emissions)
