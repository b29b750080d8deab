"""The map file: addresses of all symbols, references between them, and omitted symbols."""

from __future__ import annotations

from visakit.objects.elf import STB_GLOBAL, STT_OBJECT, ElfSymbol
from vlink.linker import Linked
from vlink.symbols import Definition, Reference


def map_text(linked: Linked) -> str:
    """The map as text."""
    out = ["Bodies", f"  {'address':>10} {'insts':>6} {'kind':<8} {'arg':>3} {'ret':>3} {'simd':>4}  name (object)"]
    out += [_definition_row(linked, i, d) for i, d in enumerate(linked.definitions)]
    if linked.image.data:
        bases = {s.name: s.address for s in linked.image.data}
        out += ["", "Data"] + [f"  {s.address:#18x} {len(s.contents):8} {s.name}" for s in linked.image.data]
        for name, symbol in linked.data_symbols.items():
            out.append(f"  {bases[symbol.section] + symbol.offset:#18x} {symbol.size:8}   {name}")
    out += ["", "References"]
    out += [_reference_row(linked, reference) for d in linked.definitions for reference in linked.references[d]]
    out += ["", "Deepest call chain of each kernel"]
    chains = _CallChains(linked)
    out += [f"  {d.function.name}: {chains.text(d)}" for d in linked.definitions if d.function.is_kernel]
    if linked.discarded:
        out += ["", "Discarded"] + [f"  {d.function.name} ({d.object.name}): {why}" for d, why in linked.discarded]
    return "\n".join(out) + "\n"


def _definition_row(linked: Linked, index: int, d: Definition) -> str:
    function = d.function
    kind = "kernel" if function.is_kernel else "global" if function.is_exported else "static"
    head = f"  {linked.image.function_address(index):#10x} {d.object.described(function).instructions:6} {kind:<8}"
    sizes = f"{function.integer_attribute('ArgSize'):3} {function.integer_attribute('RetValSize'):3}"
    return f"{head} {sizes} {function.simd_size:4}  {function.name} ({d.object.name})"


def _reference_row(linked: Linked, reference: Reference) -> str:
    if reference.target:
        meaning = reference.target.function.name
    else:
        meaning = "data" if reference.name in linked.data_symbols else "undefined"
    call = f"{reference.call.mnemonic}, instruction {reference.call.number}"
    return f"  {reference.source.function.name} -> {reference.name} ({call}, {meaning})"


class _CallChains:
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
        reason = self.best[kernel]
        if reason is None:
            return "recursive"
        names, callee = [kernel.function.name], reason[1]
        while callee is not None:
            names.append(callee.function.name)
            below = self.best[callee]
            callee = below[1] if below else None
        return f"{reason[0]} deep: {' > '.join(names)}"


def symbol_row(symbol: ElfSymbol) -> str:
    """Address, size, kind (U undefined, D data, T and t exported and private code) and name of a symbol."""
    if symbol.section:
        letter = "D" if symbol.kind == STT_OBJECT else "T" if symbol.binding == STB_GLOBAL else "t"
    else:
        letter = "U"
    return f"{symbol.value:#18x} {symbol.size:8} {letter} {symbol.name}"


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
    definition = next((d for d in linked.definitions if d.function.name == name), None)
    if definition is None:
        gone = next((why for d, why in linked.discarded if d.function.name == name), None)
        return f"{name} is discarded: {gone}" if gone else f"{name} is not a kernel or function of this link"
    chain = [definition]
    while chain[-1] in users:
        chain.append(users[chain[-1]])
    return " <- ".join(d.function.name for d in chain) + (
        " (entry)" if chain[-1].function.is_kernel else " (kept without --gc-sections)"
    )
