"""Writes ``docs/fidelity.md`` out of the instruction table and the semantics (``make docs``)."""

from __future__ import annotations

import sys
from pathlib import Path

from visakit.isa import FORMS
from vsim.observe.fidelity import EXACT, REFUSED_CLASS, WITHIN, class_of
from vsim.semantics import ALLOWED_DEVIATION
from vsim.semantics.refused import RAW_MESSAGES, REFUSED

PATH = Path(__file__).resolve().parent / "fidelity.md"
sys.path.insert(0, str(PATH.parent))
sys.path.insert(0, str(PATH.parent.parent / "tests"))

from folding import folded  # noqa: E402
from support import forms, scalar  # noqa: E402

HEAD = """# What the simulator executes, and how exactly

Generated from the instruction table and the semantics by `make docs`.

Every instruction belongs to one of three classes. They are about results; time is not modelled.

* **exact**: the manual defines the result, to the bit;
* **within freedom**: the manual leaves something open, and the table gives the simulator's choice. Both engines make the
  same;
* **refused**: there is no public functional definition. A kernel that can reach such an instruction is refused when it is
  loaded (S022), with the instruction, its line and the reason. A kernel that contains but cannot reach one runs.

A raw message (`raw_send`, `raw_sends` and their kin) has the effect of the instruction with the same descriptor; a
descriptor without an instruction is refused. Where a descriptor is in a register and the text does not say its value,
it is decoded when the message is sent: one without an instruction is a fault then (S020). A raw message about blocks of
a matrix takes their shape from its payload; more blocks than the message has registers for are a fault.

`vsim --json` reports for each launch the executed instructions by class, and whether a result within the manual's freedom
may have reached an address or a branch. The latter follows values through registers, predicates and memory without regard
to order: a yes may be a false alarm, a no is certain.

## Rules for all instructions

* Floats are IEEE 754; results are rounded once, from the exact result to the type of the destination, to nearest even or,
  where the program changes it, in the rounding mode of `%cr0`: conversions, to bf, too, and `add`, `mul`, `mad`, `div`,
  `inv`, `sqrt` and their IEEE forms, with and without `.sat`. `frc`, `lrp`, `line`, `plane` and the dot products round
  each of their steps so. An exact zero sum is -0 when rounded down, unless all summands are +0. The others, `fcvt` among
  them, round to nearest even. Functions (`exp`, `log`, `pow`, `sin`, `cos`, `rsqrt`, `tanh`, `sigm`) are rounded once to
  the type that they execute in, the widest of their operands; a narrower destination gets that result converted, as
  from a math unit, so that f to hf is off by up to 0.5002 units.
* A program that writes `%cr0` keeps the denormals of the types whose bits it sets (df 0x40, f and bf 0x80, hf 0x400);
  computations and comparisons read denormals of the other types as zeros of the same sign, and they and conversions give
  such zeros. Plain copies keep them, `sel` with source modifiers, too, and a plain `mov` from bf to f, which the
  reference finalizer turns into a shift. A program that never writes `%cr0` keeps no others, as threads begin with 0
  there; `vsim --json` reports it if floats were computed (`denormals`).
* Integers are computed with as many bits as they need, for any mixture of types: (-) and (abs) of the least number of a
  type are its greatest plus one, and `.sat` gives the nearest number of the destination to the exact result. Without
  `.sat` its low bits remain.
* Float to integer truncates and clamps; NaN gives 0. A NaN result is quiet; its payload is not defined.
* Lanes of one message act in ascending order; of lanes that store to one address the highest wins. A message with
  several elements a lane stores the first one of all lanes, then the second one, and so on.
* Threads are interleaved in a fixed way (`--schedule` varies it), so that results are the same every time.
* Images have one level. Reads outside give the border colour, typed writes and atomics there do nothing.
"""

ORACLE = """## Tests against the oracle

Random forms of these instructions run on both engines against a model in Python's integers and fractions
(`tests/support/forms.py`, `tests/support/scalar.py`): registers and numbers, all source modifiers, modes of `%cr0` that are known at
compile time and modes that are not, denormals kept and not. The table lists the drawn forms: the types whose results are
rounded in every mode, or saturated, and the types of sources that are mixed, or hold NaN, infinities, zeros of both signs,
denormals and the ends of their range. It is made from the drawn forms. {approximate} are compared to one unit in the last
place.

| instructions | rounding modes | saturation | mixed types | special values |
|---|---|---|---|---|
"""


def oracle() -> str:
    """The table of the tests' coverage of each instruction; equal instructions share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name in forms.KINDS:
        drawn = forms.coverage(name)
        cells = tuple(" ".join(t for t in scalar.SIZES if t in drawn[axis]) or "-" for axis in forms.AXES)
        rows.setdefault(cells, []).append(name)
    approximate = ", ".join(f"`{name}`" for name in sorted(forms.APPROXIMATE))
    lines = [f"| {', '.join(f'`{n}`' for n in sorted(names))} | {' | '.join(cells)} |" for cells, names in rows.items()]
    return ORACLE.format(approximate=approximate) + "\n".join(lines) + "\n"


def text() -> str:
    """The page."""
    by_class: dict[str, dict[str, str]] = {EXACT: {}, WITHIN: {}, REFUSED_CLASS: {}}
    for desc in FORMS:
        if desc.mnemonic.startswith("."):
            continue
        name = (
            desc.mnemonic
            if desc.semantics == desc.mnemonic or desc.semantics in RAW_MESSAGES
            else f"{desc.mnemonic} ({desc.semantics.split('_')[0]})"
        )
        by_class[class_of(desc)][name] = REFUSED.get(desc.semantics) or ALLOWED_DEVIATION.get(desc.semantics, "")
    out = [
        HEAD,
        f"## Exact: {len(by_class[EXACT])}",
        "",
        ", ".join(f"`{name}`" for name in sorted(by_class[EXACT])),
        "",
    ]
    for title, rows in (("Within freedom", by_class[WITHIN]), ("Refused", by_class[REFUSED_CLASS])):
        by_reason: dict[str, list[str]] = {}
        for name, why in rows.items():
            by_reason.setdefault(why, []).append(name)
        out += [f"## {title}: {len(rows)}", "", "| instructions | |", "|---|---|"]
        out += [
            f"| {', '.join(f'`{n}`' for n in sorted(names))} | {why[0].upper()}{why[1:].rstrip('.')}. |"
            for why, names in by_reason.items()
        ] + [""]
    return folded("\n".join(out).rstrip() + "\n\n" + oracle())


if __name__ == "__main__":
    PATH.write_text(text())
