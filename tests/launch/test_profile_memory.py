"""Counts of accesses to memory: what plain Python counts lane by lane, on cases and on small kernels with known numbers."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from support.programs import COPY, DATA, build, build_text
from support.strategies import ENGINES

import vsim
from vsim.engines.llvm import abi as cx
from vsim.engines.numpy.observers.messages import MessageObserver
from vsim.launch.launch_file import parse_launch
from vsim.profile.memory import MemoryObserver

CASES = [(path.parent.parent.name, path.parent.name) for path in sorted(DATA.glob("cases/*/*/ze_info.yaml"))]
FIELDS = ("messages", "read", "written", "lines", "used", "unaligned", "strides", "passes", "fewest_passes", "atomics",
          "serial")  # fmt: skip


class ByLane(MessageObserver):
    """Takes the accesses that the reference engine counts, and counts them again thread by thread, lane by lane."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def after(self, event):
        accesses = [(a, self._kind(a)) for a in self._seen]
        super().after(event)
        if not accesses:
            return
        own = self.found.setdefault((event.function.name, event.number), Counter())
        threads = {row for a, _ in accesses for row in a.rows.tolist()}
        own["messages"] += len(threads)
        for thread in threads:
            lanes = [
                (a, kind, offset) for a, kind in accesses
                for row, offset in zip(a.rows.tolist(), a.offsets.tolist(), strict=True) if row == thread
            ]  # fmt: skip
            self._bytes(own, lanes)
            self._lines(own, [(a, offset) for a, kind, offset in lanes if kind in ("global", "image")])
            self._stride(own, thread)
            for access, kind in accesses:
                offsets = [offset for a, _, offset in lanes if a is access]
                if kind == "local" and offsets:
                    dwords = {o // 4 for start in offsets for o in range(start, start + access.size)}
                    own["passes"] += max(Counter(d % 16 for d in dwords).values())
                    own["fewest_passes"] += -(-len(dwords) // 16)
                if access.kind == "atomic" and offsets:
                    own["serial"] += max(Counter(offsets).values())

    def _bytes(self, own, lanes):
        for access, _, _ in lanes:
            own["read"] += access.size * (access.kind != "write")
            own["written"] += access.size * (access.kind != "read")
            own["atomics"] += access.kind == "atomic"

    def _lines(self, own, lanes):
        touched = {(a.space, o) for a, start in lanes for o in range(start, start + a.size)}
        lines = {(space, o // 64) for space, o in touched}
        own["lines"] += len(lines)
        own["used"] += len(touched)
        offsets = sorted(o for _, o in touched)
        follows = len({space for space, _ in touched}) == 1 and offsets[-1] - offsets[0] + 1 == len(offsets)
        own["unaligned"] += bool(follows and len(lines) > -(-len(touched) // 64))

    def _stride(self, own, thread):
        of_accesses = ([a for row, a in zip(*map(list, lanes), strict=True) if row == thread] for lanes in self._lanes)
        addresses = next(filter(None, of_accesses))
        steps = {int(b - a) for a, b in pairwise(addresses)}
        name = "irregular" if len(steps) > 1 else str(steps.pop()) if steps else "one lane"
        own[f"stride {name}"] += 1


def compare(seen):
    assert seen.counts.keys() == seen.found.keys()
    for key, counts in seen.counts.items():
        own = seen.found[key]
        for name in FIELDS:
            if name == "strides":
                strides = {n.removeprefix("stride "): c for n, c in own.items() if n.startswith("stride ")}
                assert counts.strides == strides, key
            else:
                assert getattr(counts, name) == own[name], (key, name)


@pytest.mark.parametrize(("case", "platform"), [c for c in CASES if "nqueens" not in c[0]], ids="-".join)
def test_counts_are_those_of_plain_python(case, platform):
    folder = DATA / "cases" / case / platform
    program, path = vsim.Program(build(folder, platform)), folder.parent / "launch.json"
    file = parse_launch(path.read_text(), str(folder.parent), str(path))
    seen = ByLane()
    program.run(file.launch(0), engine="numpy", observers=[seen])
    compare(seen)


def seen_by(engine, folder, platform):
    """The messages of the launches of a case."""
    program, path, seen = vsim.Program(build(folder, platform)), folder.parent / "launch.json", MemoryObserver()
    file = parse_launch(path.read_text(), str(folder.parent), str(path))
    for index in range(len(file)):
        assert program.run(file.launch(index), engine=engine, observers=[seen]).engine == engine
    return seen


@pytest.mark.parametrize(("case", "platform"), CASES, ids="-".join)
def test_engines_count_the_same_messages(case, platform):
    reference, fast = (seen_by(engine, DATA / "cases" / case / platform, platform) for engine in ("numpy", "llvm"))
    assert reference.messages == fast.messages
    assert reference.buffers.keys() == fast.buffers.keys()
    for name, counts in reference.buffers.items():
        own = fast.buffers[name]
        assert (own.read, own.written, own.atomics, own.lines) == (
            *(counts.read, counts.written, counts.atomics, counts.lines),
        )
        if "private memory" not in name:  # The engines have different numbers of threads under way.
            assert (own.size, own.footprint, own.reuse.total()) == (counts.size, counts.footprint, counts.reuse.total())


def counts_of(engine, shift=0, scale=1, size=64):
    """A copy of dwords, 8 lanes a thread, whose source begins at an offset and has a stride, in dwords."""
    text = COPY.replace("MIDDLE\n", "").replace("shl (M1, 8) OFFSET(0,0)<1> X(0,0)<1;1,0> 2:ud",
        f"mul (M1, 8) OFFSET(0,0)<1> X(0,0)<1;1,0> {4 * scale}:uw\nadd (M1, 8) OFFSET(0,0)<1> OFFSET(0,0)<1;1,0> {4 * shift}:uw")  # fmt: skip
    program, seen = vsim.Program(build_text(text)), MemoryObserver()
    words = np.zeros(size * scale + shift, np.uint32)
    ran = program.launch("copy", size, size, [words, words.copy()], engine=engine, observers=[seen])
    assert ran.engine == engine
    loads = [c for (_, n), c in seen.messages.items() if c.read]
    return loads[0], seen


@pytest.mark.parametrize("engine", ENGINES)
def test_consecutive_dwords_use_half_a_line_of_each_message(engine):
    load, seen = counts_of(engine)
    assert (load.messages, load.read, load.lines, load.used, load.unaligned) == (8, 256, 8, 256, 0)
    assert load.strides == {"4": 8}
    assert {name: (b.footprint, b.lines) for (name, _), b in seen.buffers.items()} == {"IN": (256, 8), "OUT": (256, 8)}
    assert all(b.reuse.total() == 4 for b in seen.buffers.values())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_shift_makes_messages_unaligned(engine):
    load, _ = counts_of(engine, shift=8)
    assert (load.messages, load.lines, load.unaligned) == (8, 8, 0)
    load, _ = counts_of(engine, shift=12)
    assert (load.messages, load.lines, load.unaligned) == (8, 12, 4)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stride_of_a_line_takes_a_line_for_each_lane(engine):
    load, _ = counts_of(engine, scale=16)
    assert (load.messages, load.lines, load.used, load.strides) == (8, 64, 256, {"64": 8})


@pytest.mark.parametrize(("engine", "distance"), [("llvm", 2), ("numpy", 1)])
def test_reuse_is_in_the_order_of_the_engine(engine, distance):
    """Two threads, and for each a half of the only line of both buffers: one after the other, or in step."""
    _, seen = counts_of(engine, size=16)
    assert [b.reuse for b in seen.buffers.values()] == [{distance: 1}] * 2


@pytest.mark.parametrize("engine", ENGINES)
def test_atomics_at_more_addresses_than_the_table_of_compiled_code_has_room_for(engine):
    text, atomic = COPY.replace("MIDDLE\n", ""), "svm_atomic.inc (M1, 8) ADDRESS.0 %null.0 %null.0 %null.0"
    program = vsim.Program(build_text(text.replace("svm_scatter.4.1 (M1, 8) ADDRESS.0 X.0", atomic)))
    words, seen = np.zeros(3 << cx.VALUES_TABLE_BITS - 1, np.uint32), MemoryObserver()
    ran = program.launch("copy", words.size, 64, [words, words.copy()], engine=engine, observers=[seen])
    (found,) = (c for c in seen.messages.values() if c.atomics)
    assert (ran.engine, found.atomics, found.serial, found.hottest) == (engine, words.size, words.size // 8, 1)


@pytest.mark.parametrize("check", [None, "guard"])
def test_parts_of_an_array_are_counted_at_any_of_their_addresses(check):
    """With a guard they have addresses besides those of the array."""
    found = []
    for engine in ENGINES:
        program, seen, words = (
            vsim.Program(build_text(COPY.replace("MIDDLE\n", ""))),
            MemoryObserver(),
            np.zeros(96, "u4"),
        )
        program.launch("copy", 32, 32, [words[:32], words[32:]], engine=engine, observers=[seen], check=check)
        found.append((seen.messages, {name: (b.read, b.written, b.lines) for (name, _), b in seen.buffers.items()}))
    assert found[0] == found[1] and sum(read for read, _, _ in found[0][1].values()) == 128
