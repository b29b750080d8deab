"""What instructions do in pseudo-code, and an example of each with lanes before and after.

The pseudo-code of a lane is Python: it is computed for the lanes of the example, the example is executed, and the page
is made only if both agree. So a page says nothing that the semantics do not do.
"""

from __future__ import annotations

import math
import re
import sys
import textwrap
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.probe import Probe
from support.scalar import DTYPES
from worked_operations import ALU, MESSAGES, SCENES
from worked_pictures import PICTURES
from worked_records import (
    EACH_LANE,
    EXCHANGED,
    EXPLAINED,
    FLOATS,
    HELPERS,
    INPUTS,
    LANES,
    NUMBERS,
    PREDICATE,
    UNSIGNED,
    Example,
    Message,
    Operation,
    Scene,
)
from worked_samplers import SAMPLERS
from worked_settings import run_setting
from worked_threads import THREADS
from worked_values import VALUES

from visakit.isa import instruction_set

CALL_VARIABLES = [
    ".decl ARGUMENT v_type=G type=d num_elts=8 align=GRF alias=<%arg, 0>",
    ".decl TARGET v_type=G type=uq num_elts=1",
    ".decl LOW v_type=G type=ud num_elts=1 alias=<TARGET, 0>",
    ".decl RESULT v_type=G type=d num_elts=8 align=GRF alias=<%retval, 0>",
]
FUNCTION = [
    '.global_function "f"', ".kernel_attr SimdSize=8", ".kernel_attr Extern", ".kernel_attr ArgSize=2",
    ".kernel_attr RetValSize=2",
]  # fmt: skip


def examples() -> dict[str, Example]:
    """The examples by mnemonic, of further forms by their ``semantics``, executed.

    Raises:
        AssertionError: an instruction does something else than its pseudo-code.
    """
    messages = {name: _message(message) for name, message in MESSAGES.items()}
    scenes = {name: _scene(name, scene) for name, scene in SCENES.items()}
    settings = {
        name: run_setting(name, s) for table in (VALUES, PICTURES, SAMPLERS, THREADS) for name, s in table.items()
    }
    return _computations() | messages | scenes | settings


def _sources(name: str, operation: Operation) -> tuple[str, ...]:
    """The variables that an example reads."""
    return operation.sources or tuple(INPUTS[operation.type])[: len(_names(name))]


def _names(name: str) -> list[str]:
    """What the table calls the sources of an instruction."""
    return [f.name for f in instruction_set().by_mnemonic[name][0].fields if f.kind == "s"]


def _computations() -> dict[str, Example]:
    probe = Probe(lanes=LANES)
    for kind, variables in INPUTS.items():
        for name, values in variables.items():
            probe.variable(name, kind, values)
    probe.predicate("P1", PREDICATE)
    lines = {}
    for name, operation in ALU.items():
        result = f"D_{name}"
        if name == "cmp":
            probe.predicate("P2", 0)
        else:
            probe.variable(result, operation.type, [0] * LANES)
        sources = [s if ":" in s else f"{s}(0,0)<1;1,0>" for s in _sources(name, operation)]
        target = "P2" if name == "cmp" else f"{result}(0,0)<1>"
        line = f"{name}{operation.suffix} (M1, {LANES}) {target} {' '.join(sources)}"
        lines[name] = f"(P1) {line}" if name == "sel" else line
        probe.lines.append(lines[name])
    found = probe.run("numpy")
    return {name: _computed(name, operation, lines[name], found) for name, operation in ALU.items()}


def _computed(name: str, operation: Operation, line: str, found: dict[str, object]) -> Example:
    flags = [PREDICATE >> i & 1 for i in range(LANES)]
    sources = _sources(name, operation)
    values = {n: _values(operation.type, source) for n, source in zip(_names(name), sources, strict=True)}
    if name == "cmp":
        after = [found["P2"] >> i & 1 for i in range(LANES)]
    else:
        after = [x.item() for x in found[f"D_{name}"][:LANES]]
    for i in range(LANES):
        names = HELPERS | values | {"predicate": flags, "i": i, "j": i & ~3}
        _check(name, eval(operation.pseudo, names), after[i], operation.type)
    rows = [(f"`{s}`", _values(operation.type, s)) for s in dict.fromkeys(sources) if ":" not in s]
    rows += [("`P1`", flags)] if name == "sel" else []
    rows.append((f"`{'P2' if name == 'cmp' else 'D'}` after", after))
    dst = f"dst[i] = {operation.pseudo}"
    more = ["j = i & ~3            # the first lane of four"] if "[j" in operation.pseudo else []
    return Example(_indented(EACH_LANE, "\n".join([*more, dst])), "", line.replace(f"D_{name}(", "D("), rows)


def _values(kind: str, source: str) -> list[float]:
    return [int(source.partition(":")[0])] * LANES if ":" in source else INPUTS[kind][source]


def _check(name: str, told: float, done: float, kind: str) -> None:
    """Whether the pseudo-code and the execution agree: integers in their bits, floats to single precision."""
    if kind == FLOATS:
        same = math.isclose(told, done, rel_tol=1e-5, abs_tol=1e-6)
    else:
        same = (int(told) ^ int(done)) & 0xFFFFFFFF == 0
    assert same, f"{name}: the pseudo-code gives {told}, the instruction {done}"


class _Memory:
    """Memory of the pseudo-code: elements by their places, which differ by ``scale`` from one to the next."""

    def __init__(self, values: list[float], scale: int) -> None:
        self.values, self.scale = list(values), scale

    def __getitem__(self, place: int) -> float:
        return self.values[place // self.scale]

    def __setitem__(self, place: int, value: float) -> None:
        self.values[place // self.scale] = value


def _message(message: Message) -> Example:
    kind, dtype = message.type, DTYPES[message.type]
    is_pairs = "8 + i" in message.pseudo or "at + 4" in message.pseudo
    numbers = [2 * n for n in NUMBERS] if is_pairs else NUMBERS
    offsets = [n * message.scale for n in numbers]
    before = [100 + n for n in range(2 * LANES if is_pairs else LANES)]
    stored = [10 * (i + 1) for i in range(len(before))]
    if "== src0" in message.pseudo:  # every second lane finds its value
        stored = [before[n] if i % 2 else 0 for i, n in enumerate(NUMBERS)]
    probe = Probe("xe2" if "_strided" in message.line else "dg2", LANES)
    probe.buffer("MEMORY", np.array(before, dtype).tobytes())
    probe.fill(OFFSETS=("ud", offsets), WIDE=("uq", offsets), D=(kind, [0] * len(before)))
    probe.fill(S=(kind, stored), C=(kind, EXCHANGED))
    if "ADDRESSES" in message.line:
        probe.addresses("ADDRESSES", "MEMORY", offsets)
    probe.lines.append(message.line)
    found = probe.run("numpy")

    memory, results = _Memory(before, message.scale), [0] * len(before)
    names = {
        "memory": memory,
        "surface": memory,
        "addresses": offsets,
        "offsets": offsets,
        "src": stored,
        "dst": results,
    }
    names |= {"address": 0, "offset": 0, "global_offset": 0, "src0": stored, "src1": EXCHANGED}
    for i in range(LANES):
        exec(message.pseudo, names | {"i": i})
    after, made = found["MEMORY"].view(dtype).tolist(), found["D"][: len(before)].tolist()
    assert (after, made) == (memory.values, results), message.line

    rows: list[tuple[str, list[float]]] = [("memory before", before)]
    if "ADDRESSES" in message.line:
        rows.append(("bytes behind the address of the buffer", offsets))
    rows += [(f"`{name}`", offsets) for name in ("OFFSETS", "WIDE") if f" {name}." in message.line]
    rows += [("`S`", stored)] if "src" in message.pseudo else []
    rows += [("`C`", EXCHANGED)] if "src1" in message.pseudo else []
    rows += [("memory after", after)] if after != before else []
    rows += [("`D` after", made)] if "dst[" in message.pseudo else []
    return Example(_indented(message.each, message.pseudo), message.meaning, message.line, rows)


def _scene(name: str, scene: Scene) -> Example:
    probe = Probe(scene.platform, LANES)
    inputs = {n: values for kind in INPUTS.values() for n, values in kind.items()}
    text = f"{scene.lines}\n{scene.behind}\n{scene.function}"
    used = [n for n in inputs if re.search(rf"\b{n}\b", text)]
    for kind, variables in INPUTS.items():
        probe.fill(**{n: (kind, values) for n, values in variables.items() if n in used})
    probe.fill(D=("ud", [0] * 2 * LANES), E=("ud", [0] * LANES), FD=("f", [0.0] * LANES))
    probe.predicate("P1", PREDICATE)
    probe.predicate("P2", 0)
    probe.declarations += [".decl A0 v_type=A num_elts=1", *CALL_VARIABLES]
    probe.lines += scene.lines.split("\n")
    probe.subroutines += scene.behind.split("\n") if scene.behind else []
    if scene.function:
        probe.functions += [*FUNCTION, *CALL_VARIABLES, *scene.function.split("\n"), "fret (M1, 8)"]
    found = probe.run("numpy")

    results = {"D": [0] * 2 * LANES, "E": [0] * LANES, "FD": [0.0] * LANES, "P2": [0] * LANES}
    flags = [PREDICATE >> i & 1 for i in range(LANES)]
    names = HELPERS | {"e": math.e, "infinity": math.inf, "tanh": math.tanh, "P1": flags, **inputs, **results}
    for pair in scene.names.split():
        short, _, variable = pair.partition("=")
        names[short] = int(variable) if variable.isdigit() else names[variable]
    for i in range(LANES):
        exec(scene.effect or scene.pseudo, names | {"i": i})
    rows = [(f"`{n}`", inputs[n]) for n in used] + ([("`P1`", flags)] if "(P1)" in text else [])
    for n, told in results.items():
        done = [found[n] >> i & 1 for i in range(LANES)] if n == "P2" else found[n][: len(told)].tolist()
        for one, other in zip(told, done, strict=True):
            _check(name, one, other, FLOATS if n == "FD" else UNSIGNED)
        if re.search(rf"\b{n}\b", text):
            rows.append((f"`{n}` after", done if any(done[LANES:]) else done[:LANES]))
    shown = [scene.lines, *([f"...\n{scene.behind}"] if scene.behind else [])]
    shown += [f'...\n.function "f"\n...\n{scene.function}\nfret (M1, 8)'] if scene.function else []
    return Example(_indented(scene.each, scene.pseudo), scene.meaning, "\n".join(shown), rows)


def _indented(head: str, pseudo: str) -> str:
    return f"{head}\n{textwrap.indent(pseudo, '    ')}"


def lines_of(example: Example) -> list[str]:
    """The part of a page that shows an example."""
    out = ["Effect, in pseudo-code:", "", "```", example.pseudo, "```", ""]
    used = [f"`{name}`: {what}" for name, what in EXPLAINED.items() if f"{name}(" in example.pseudo]
    out += [f"{'; '.join(used)}.", ""] if used else []
    out += [example.meaning, ""] if example.meaning else []
    out += ["Executed when this page was made:", "", "```", example.line, "```", ""]
    lanes = example.lanes
    out += [f"| lane | {' | '.join(str(i) for i in range(lanes))} |", "|---" * (lanes + 1) + "|"]
    for name, values in example.rows:
        for first in range(0, len(values), lanes):
            more = f", from {first} on" if first else ""
            out.append(f"| {name}{more} | {' | '.join(_shown(x) for x in values[first : first + lanes])} |")
    return [*out, ""]


def _shown(value: float) -> str:
    """A number with six digits at most, large ones in hexadecimal."""
    return f"{value:.6g}" if isinstance(value, float) else f"{value:#x}" if value > 999999 else str(value)
