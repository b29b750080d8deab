"""``visakit prove --witness``: launches that come to a place of a kernel, and both ways from a branch there; and
``--cover``: launches that cover all of a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.diagnostics import UsageError

if TYPE_CHECKING:
    from vsim.prove.cover import Cover
    from vsim.prove.goals import Goal
    from vsim.prove.subject import Subject


def find_witnesses(subject: Subject, place: str, limits: tuple[int, int, int], out: str | None, image: str) -> set[str]:
    """The outcomes of the goals of a place, which are printed as they come.

    Args:
        limits: seconds for each goal, megabytes, and rounds of loops that run one by one.
        out: the folder for launch files.
        image: the program's file.

    Raises:
        DebugError: D003, there is no such place.
        UsageError: the place is in a function that the kernel does not call.
    """
    from vsim.debug.places import Places, Spot
    from vsim.prove import refutation
    from vsim.prove.reaching import lines_of
    from vsim.prove.witness import WitnessSearch

    subject = subject._replace(kernel=subject.signature.kernel.name)
    goals = _goals(subject, place)
    kernel = Spot(subject.signature.kernel, 0)
    if later := Places(subject.program.image).later_line(place, kernel):
        print(f"{subject.kernel}: note: '{place}' has no instructions; the next line that has some is {later}")
    search, outcomes = WitnessSearch(subject, *limits), set[str]()
    for name, goal in goals.items():
        found = search.find(goal)
        if found.launch is not None and out is not None:
            found.where = refutation.write(subject, found.launch, out, name, [image])
        for line in lines_of(subject, found):
            print(line, flush=True)
        outcomes.add(found.outcome)
    return outcomes


def _goals(subject: Subject, text: str) -> dict[str, Goal]:
    """The goals of a place, by the names of their files: both ways of its branches, or the place itself."""
    from vsim.debug.places import Places, Spot
    from vsim.prove.cover import divides, name_of, ways_of
    from vsim.prove.goals import Goal

    signature, places = subject.signature, Places(subject.program.image)
    spots = places.all_at(text, Spot(signature.kernel, 0))
    called = [id(function) for function in signature.image.functions_of(signature.kernel)]
    own = tuple((spot.function, spot.number) for spot in spots if id(spot.function) in called)
    if not own:
        name = spots[0].function.name
        raise UsageError(f"--witness: '{text}' is in '{name}', which '{subject.kernel}' does not call")
    branches = [spot for spot in own if divides(subject, *spot)]
    if not branches:
        return {"witness": Goal(name_of(subject, *own[0]), own)}
    found = {}
    for function, number in branches:
        found[f"{number}.taken"], found[f"{number}.not-taken"] = ways_of(subject, function, number)
    return found


def cover_kernel(subject: Subject, limits: tuple[int, int, int], out: str | None, image: str) -> Cover:
    """The launches that cover a kernel, which are printed; arguments as of :func:`find_witnesses`."""
    from vsim.prove import refutation
    from vsim.prove.cover import cover
    from vsim.prove.reaching import cover_lines
    from vsim.prove.witness import WitnessSearch

    found = cover(WitnessSearch(subject, *limits))
    if out is not None:
        for number, own in enumerate(found.launches):
            own.where = refutation.write(subject, own.launch, out, str(number), [image])
    for line in cover_lines(subject, found):
        print(line, flush=True)
    return found
