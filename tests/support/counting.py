"""Counts of launches, to be compared between engines."""

from support.strategies import ENGINES
from vsim.profile.counts import Counts


def counted_alike(launch):
    """Whether both engines count the same in a launch, an argument of which is the engine, and another its observers."""
    found = []
    for engine in ENGINES:
        counts = Counts()
        launch(engine=engine, observers=[counts])
        found.append([values_of(own) for own in counts.functions])
    assert any(own[1] for own in found[0])
    return found[0] == found[1]


def values_of(own):
    """All that was counted of a function: its name, executions, active lanes and the ways of branches."""
    numbers = range(len(own.executions))
    ran = [n for n in numbers if not own.function.instructions[n].desc.is_directive]
    return (
        own.function.name,
        own.executions.tolist(),
        [own.active(n) for n in ran],
        [own.ways(n) for n in numbers if own.executions[n]],
    )
