"""The map file: where everything went, who refers to whom, and what was left out."""

from __future__ import annotations

from vlink.linker import Definition, Linked


def map_text(linked: Linked) -> str:
    """The map as text."""
    image, out = (
        linked.image,
        ["Bodies", f"  {'address':>10} {'insts':>6} {'kind':<8} {'arg':>3} {'ret':>3} {'simd':>4}  name (object)"],
    )
    for i, d in enumerate(linked.definitions):
        kind = "kernel" if d.function.is_kernel else "global" if d.function.is_exported else "static"
        sizes = (
            d.function.integer_attribute("ArgSize"),
            d.function.integer_attribute("RetValSize"),
            d.function.simd_size,
        )
        out.append(
            f"  {image.function_address(i):#10x} {d.object.described(d.function)[0]:6} {kind:<8} {sizes[0]:3} {sizes[1]:3} {sizes[2]:4}  {d.function.name} ({d.object.name})"
        )
    if image.data:
        out += ["", "Data"] + [f"  {s.address:#18x} {len(s.contents):8} {s.name}" for s in image.data]
        bases = {s.name: s.address for s in image.data}
        out += [
            f"  {bases[section] + offset:#18x} {size:8}   {name}"
            for name, (section, offset, size) in linked.data_symbols.items()
        ]
    out += ["", "References"]
    for d in linked.definitions:
        for reference in linked.references[d]:
            place = (
                reference.target.function.name
                if reference.target
                else "data"
                if reference.name in linked.data_symbols
                else "undefined"
            )
            out.append(
                f"  {d.function.name} -> {reference.name} ({reference.call.mnemonic}, instruction {reference.call.number}, {place})"
            )
    out += ["", "Deepest call chain of each kernel"]
    chains = _Chains(linked)
    for d in linked.definitions:
        if d.function.is_kernel:
            out.append(f"  {d.function.name}: {chains.text(d)}")
    if linked.discarded:
        out += ["", "Discarded"] + [f"  {d.function.name} ({d.object.name}): {why}" for d, why in linked.discarded]
    return "\n".join(out) + "\n"


class _Chains:
    """Longest chains of calls, worked out once for every function."""

    def __init__(self, linked: Linked) -> None:
        self.linked = linked
        self.best: dict[Definition, tuple[int, Definition | None] | None] = {}  # None: recursive

    def _targets(self, d: Definition) -> list[Definition]:
        return list(dict.fromkeys(r.target for r in self.linked.references[d] if r.target))

    def _work_out(self, start: Definition) -> None:
        """Depth-first, without Python's own stack, for calls may be nested deeply."""
        path = [(start, iter(self._targets(start)))]
        open_now = {start}
        while path:
            d, targets = path[-1]
            target = next(targets, None)
            if target is None:
                path.pop()
                open_now.discard(d)
                below = [(t, self.best[t]) for t in self._targets(d) if t in self.best]
                if d not in self.best:
                    known = [(depth[0] + 1, t) for t, depth in below if depth is not None]
                    self.best[d] = (
                        None
                        if any(depth is None for _, depth in below)
                        else max(known, key=lambda k: k[0], default=(0, None))
                    )
            elif target in open_now:
                for open_one, _ in path[next(n for n, (p, _) in enumerate(path) if p is target) :]:
                    self.best[open_one] = None
            elif target not in self.best:
                open_now.add(target)
                path.append((target, iter(self._targets(target))))

    def text(self, kernel: Definition) -> str:
        """The chain of a kernel, or that there is no longest one."""
        if kernel not in self.best:
            self._work_out(kernel)
        found = self.best[kernel]
        if found is None:
            return "recursive"
        names, place = [kernel.function.name], found[1]
        while place is not None:
            names.append(place.function.name)
            below = self.best[place]
            place = below[1] if below else None
        return f"{found[0]} deep: {' > '.join(names)}"


def why_live(linked: Linked, name: str) -> str:
    """A chain of references from an entry to a symbol."""
    users: dict[Definition, Definition] = {}
    work = [d for d in linked.definitions if d.function.is_kernel]
    seen = set(work)
    for d in work:
        for target in [r.target for r in linked.references[d]]:
            if target and target not in seen:
                seen.add(target)
                users[target] = d
                work.append(target)
    found = next((d for d in linked.definitions if d.function.name == name), None)
    if found is None:
        gone = next((why for d, why in linked.discarded if d.function.name == name), None)
        return f"{name} is discarded: {gone}" if gone else f"{name} is not a kernel or function of this link"
    chain = [found]
    while chain[-1] in users:
        chain.append(users[chain[-1]])
    return " <- ".join(d.function.name for d in chain) + (
        " (entry)" if chain[-1].function.is_kernel else " (kept without --gc-sections)"
    )
