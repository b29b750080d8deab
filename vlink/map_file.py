"""The map file: where everything went, who refers to whom, and what was left out."""

from __future__ import annotations

from vlink.linker import Definition, Linked


def map_text(linked: Linked) -> str:
    """The map as text."""
    image, out = linked.image, ["Bodies", f"  {'address':>10} {'insts':>6} {'kind':<8} {'arg':>3} {'ret':>3} {'simd':>4}  name (object)"]
    for i, d in enumerate(linked.definitions):
        kind = "kernel" if d.body.is_kernel else "global" if d.body.is_exported else "static"
        sizes = (d.body.integer_attribute("ArgSize"), d.body.integer_attribute("RetValSize"), d.body.simd_size)
        out.append(
            f"  {image.function_at(i):#10x} {len(d.body.instructions):6} {kind:<8} {sizes[0]:3} {sizes[1]:3} {sizes[2]:4}  {d.body.name} ({d.object.name})"
        )
    if image.data:
        out += ["", "Data"] + [f"  {s.address:#18x} {len(s.contents):8} {s.name}" for s in image.data]
        bases = {s.name: s.address for s in image.data}
        out += [f"  {bases[section] + offset:#18x} {size:8}   {name}" for name, (section, offset, size) in linked.data_symbols.items()]
    out += ["", "References"]
    for d in linked.definitions:
        for reference, target in linked.edges[d]:
            place = target.body.name if target else "data" if reference.name in linked.data_symbols else "undefined"
            out.append(f"  {d.body.name} -> {reference.name} ({reference.instruction.form.mnemonic}, instruction {reference.number}, {place})")
    out += ["", "Call depth"]
    for d in linked.definitions:
        if d.body.is_kernel:
            depth = _depth(linked, d, ())
            out.append(f"  {d.body.name}: {'recursive' if depth is None else depth}")
    if linked.discarded:
        out += ["", "Discarded"] + [f"  {d.body.name} ({d.object.name}): {why}" for d, why in linked.discarded]
    return "\n".join(out) + "\n"


def _depth(linked: Linked, d: Definition, path: tuple[Definition, ...]) -> int | None:
    if d in path:
        return None
    deepest = 0
    for target in {t for _, t in linked.edges.get(d, []) if t}:
        below = _depth(linked, target, (*path, d))
        if below is None:
            return None
        deepest = max(deepest, below + 1)
    return deepest


def why_live(linked: Linked, name: str) -> str:
    """A chain of references from an entry to a symbol."""
    users: dict[Definition, Definition] = {}
    work = [d for d in linked.definitions if d.body.is_kernel]
    for d in work:
        for _, target in linked.edges[d]:
            if target and target not in users and target not in work:
                users[target] = d
                work.append(target)
    found = next((d for d in linked.definitions if d.body.name == name), None)
    if found is None:
        gone = next((why for d, why in linked.discarded if d.body.name == name), None)
        return f"{name} is discarded: {gone}" if gone else f"{name} is not a kernel or function of this link"
    chain = [found]
    while chain[-1] in users:
        chain.append(users[chain[-1]])
    return " <- ".join(d.body.name for d in chain) + (" (entry)" if chain[-1].body.is_kernel else " (kept without --gc-sections)")
