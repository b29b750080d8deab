"""``visakit prove --peephole``: the report on a rule of compilers, and the engines that run what refutes it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, UsageError
from visakit.language.platforms import find

if TYPE_CHECKING:
    from vsim.prove.peephole import RewriteRule, RuleVerdict

NEWEST = "bmg"
"""The platform of rules that name none."""


def prove_rule(left: str, right: str, platform: str | None, seconds: int) -> list[RuleVerdict]:
    """Print the verdicts on a rule, by types.

    Raises:
        LaunchError: P004, the rule has no meaning; P005, an engine computes something else than the solver.
    """
    from vsim.prove.peephole import RewriteRule, engine_results, prove
    from vsim.prove.sequences import parse_sequence

    known = find(platform or NEWEST)
    if known is None:
        raise UsageError(f"there is no platform '{platform}'")
    rule = RewriteRule(parse_sequence(left), parse_sequence(right), known.name)
    print(f"{left}  =  {right}, on {rule.platform}", flush=True)
    found: list[RuleVerdict] = []
    for data_type, of_type in itertools.groupby(prove(rule, seconds), lambda v: v.variation.type):
        own = list(of_type)
        for verdict in [v for v in own if v.outcome == "refuted"][:1]:
            for engine, agrees in engine_results(rule, verdict, partial(run, known.name)).items():
                if not agrees:
                    raise _disagreement(verdict, engine)
        for line in _lines(rule, data_type, own):
            print(f"  {line}", flush=True)
        found += own
    return found


def _disagreement(verdict: RuleVerdict, engine: str) -> LaunchError:
    given = ", ".join(f"{name} = {value:#x}" for name, value in verdict.inputs.items())
    text = f"the engine '{engine}' computes something else than the solver for {verdict.variation} of {given}"
    return LaunchError(Diagnostic("P005", text, None, "this is a fault of visakit: please report it"))


def run(platform: str, text: str, engine: str, size: int) -> bytes:
    """The array that the kernel of a text leaves."""
    import vlink
    import vsim
    from vasm import assemble_text

    made, out = assemble_text(text, "rule.visaasm", platform).object_bytes(debug=True), np.zeros(size, np.uint8)
    vsim.load(vlink.link([made])).launch("rule", (1,), (1,), [out], engine=engine)
    return out.tobytes()


def _lines(rule: RewriteRule, data_type: str, verdicts: Sequence[RuleVerdict]) -> Iterator[str]:
    """The lines on a type: how many variations are proved, and the first of the others."""
    from vsim.prove.peephole import shown

    counts = Counter(v.outcome for v in verdicts)
    where = f"{data_type}: " if data_type else ""
    said = ", ".join(f"{n} of {len(verdicts)} variations {outcome}" for outcome, n in counts.items())
    yield where + (f"{verdicts[0].outcome}, {len(verdicts)} variations" if len(counts) == 1 else said)
    for outcome in ("refuted", "unknown"):
        first = next((v for v in verdicts if v.outcome == outcome), None)
        if first is None:
            continue
        modes = "" if first.keeps else ", denormals as zeros"
        yield f"  {first.variation}{modes}: {outcome}"
        if outcome == "refuted":
            yield "    " + ", ".join(f"{name} = {shown(rule, first, name, x)}" for name, x in first.inputs.items())
            for side, results in zip(rule.sides, first.results, strict=True):
                given = ", ".join(f"{name} = {shown(rule, first, name, x)}" for name, x in results.items())
                yield f"    {side.text}: {given}"
