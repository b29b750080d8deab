"""A sample of the programs with one defect each and their mended twins under proofs; ``pairs.py`` asks all of them."""

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver")

from prove.pairs import SOURCES, pairs, verdicts

PROVED, REFUTED = "proved", "refuted"


@pytest.mark.parametrize(
    ("image", "kernel", "kind", "name", "wanted"),
    [
        # The whole thread stores where one of its lanes is the first of the group.
        ("races.old", "counter_local", "race", "races", REFUTED),
        ("races.old", "counter_local", "mended", "races", PROVED),
        # Two lanes of one thread.
        ("items.old.dg2", "words", "race", "races", REFUTED),
        # The thread stores for one lane, and loads for the others.
        ("items.old.tgllp", "first_item_tells_all", "race", "races", REFUTED),
        # The last lane loads the elements of the others, in one message of the thread.
        ("items.old.tgllp", "last_item_counts", "race", "races", REFUTED),
        # What lanes have loaded decides how often they come to the barrier.
        ("values.old", "around_in_a_loop", "wrong", "divergence", REFUTED),
        ("values.old", "around_in_a_loop", "mended", "divergence", PROVED),
        # Both are of groups before the last one.
        ("races.old", "swap_halves", "race", "races", REFUTED),
        # The compiler loads an element that the program does not read.
        ("races.new", "reduce_tree", "mended", "races", PROVED),
    ],
)
def test_the_verdict_on_a_program(image, kernel, kind, name, wanted):
    (source,) = (s for s in SOURCES if image in s.images)
    (pair,) = (p for p in pairs(source) if p.kernel == kernel)
    (verdict,) = verdicts(pair, image, kind, 120, (name,))
    assert verdict.outcome == wanted
