"""Properties of all checks: how a launch selects them, and that both engines report the same findings."""

import numpy as np
import pytest
from support.programs import build_text
from support.strategies import ENGINES
from support.waiting import HEAD, TAIL, function

from visakit import UsageError
from vsim.program import Program

ITEMS = 64


def kernel(lines, *functions):
    return "\n".join([*HEAD, *lines, *TAIL, *(line for found in functions for line in found)])


def findings(source, engine, check="all", items=3 * ITEMS, **options):
    """Findings of a launch over some groups of four threads with 16 work-items each."""
    out = np.zeros(items, np.uint32)
    result = Program(build_text(source, "pvc")).launch("k", items, ITEMS, [out], engine=engine, check=check, **options)
    assert result.engine == engine
    return result.findings


PARTIAL = ["cmp.lt (M1, 16) P1 LANE(0,0)<1;1,0> 5:ud", "(P1) goto (M1, 16) over", "barrier", "over:"]
CALLED = [*PARTIAL[:2], "fcall (M1, 16) f 8 2", "over:"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", ("", "reverse", "round-robin"))
@pytest.mark.parametrize(
    "source", (kernel(["barrier", *PARTIAL]), kernel(["barrier", *CALLED], function("f", ["barrier"])))
)
def test_a_finding_names_instruction_place_and_first_work_item(source, schedule, engine):
    """In each thread five work-items go around a barrier: the first one of the first thread is named, all are counted."""
    (found,) = findings(source, engine, schedule=schedule)
    assert (found.code, found.check, found.count) == ("K021", "divergence", 12)
    assert found.who == (0, 0, 0, 1)
    assert found.site == ((0, 9) if "fcall" not in source else (1, 3))


@pytest.mark.parametrize("engine", ENGINES)
def test_no_findings_without_a_check_or_without_a_defect(engine):
    assert findings(kernel(PARTIAL), engine, check="") == []
    assert findings(kernel(["barrier"]), engine) == []


def test_an_unknown_check_is_wrong_usage():
    with pytest.raises(UsageError, match=r"check names 'divergense', which is not a check"):
        findings(kernel([]), "numpy", check="divergense")
