"""The texts of random forms, in a program under construction."""

from support import scalar
from support.forms import KEEPS, LANES, MODES


def settings_of(f):
    """The bits of %cr0 of a form."""
    return MODES[f.mode] | sum(KEEPS[t] for t in f.kept)


def line(f, n):
    """The text of a form whose variables have its number."""
    size = 8 if f.name in ("line", "plane") else LANES
    sources = [s.immediate or f"{s.modifier}S{n}_{k}(0,0){s.region}" for k, s in enumerate(f.sources)]
    if f.name in ("line", "plane"):
        sources[0] = sources[0].replace("<1;1,0>", "<0;4,1>")
    second = f"E{n}(0,0)<1> " if f.name in ("addc", "subb") else ""
    predicate = f"(P{n}) " if f.name in ("sel", "add3.o") else ""
    return f"{predicate}{f.mnemonic} (M1, {size}) D{n}(0,0)<1> {second}{' '.join(sources)}"


def declare(probe, f, n):
    """The declarations and registers of a form."""
    bits = settings_of(f)
    given = f"{bits:#x}:ud" if f.known else f"C{n}(0,0)<0;1,0>"
    probe.fill(**{f"C{n}": ("ud", [bits]), f"D{n}": (f.dst, bytes(2 * LANES * scalar.SIZES[f.dst]))})
    probe.fill(**{f"S{n}_{k}": (s.type, list(s.numbers)) for k, s in enumerate(f.sources) if not s.immediate})
    if f.name in ("addc", "subb"):
        probe.fill(**{f"E{n}": ("ud", [7] * LANES)})
    if f.name in ("sel", "add3.o"):
        probe.predicate(f"P{n}", f.chosen)
    if probe.keeps_denormals:
        probe.lines += [
            "and (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0xfffffb0f:ud",
            f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {given}",
        ]
    probe.lines.append(line(f, n))


def second_results(f, n, found):
    """The second result of a form."""
    if f.name == "madw":
        return scalar.decode(found[f"D{n}"], f.dst)[LANES:]
    if f.name == "add3.o":
        return [found[f"P{n}"] >> i & 1 for i in range(LANES)]
    return scalar.decode(found[f"E{n}"], "ud")
