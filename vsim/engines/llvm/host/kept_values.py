"""Values that are kept across barriers: in front of the pass that splits coroutines.

LLVM computes anew behind each suspension what casts, comparisons, selections, addresses and operations on two operands
make, and what those are made from, however long the chain and however many suspensions follow. A value that takes more
than a few such operations is kept in the coroutine's frame instead: blocks of other phases read a ``freeze`` of it,
which LLVM does not compute anew, and which is no instruction of the processor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vsim.engines.llvm.ir.emitter import NAME
from vsim.engines.llvm.passes.lines import ARM, LABEL, TARGET

MOST_OPERATIONS = 8
"""Operations up to which a value is computed anew; one that several use counts for each of them."""
_FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}$", re.MULTILINE | re.DOTALL)
_DEFINITION = re.compile(rf"  ({NAME.pattern}) = (.*)")
_SUSPENSION = "@llvm.coro.suspend("
_TYPE = r"(<\d+ x \w+>|i\d+|half|float|double|ptr)"
_OPERATION = re.compile(
    rf"(?:add|sub|mul|[us]div|[us]rem|and|or|xor|shl|lshr|ashr|f(?:add|sub|mul|div|rem)) (?:[a-z]+ )*?{_TYPE} "
)
_SELECTION = re.compile(rf"select (?:i1|<\d+ x i1>) [^,<>]+, {_TYPE} ")
_CAST = re.compile(rf"(?:[sz]ext|trunc|bitcast|fpext|fptrunc|[us]itofp|fpto[us]i|ptrtoint|inttoptr) .* to {_TYPE}$")
_COMPARISON = re.compile(r"[if]cmp (?:[a-z]+ )*(?:<(\d+) x )?")


def _type(operation: str) -> str:
    """The type of what LLVM computes anew; none of other operations."""
    if found := _OPERATION.match(operation) or _SELECTION.match(operation) or _CAST.match(operation):
        return found[1]
    if found := _COMPARISON.match(operation):
        return f"<{found[1]} x i1>" if found[1] else "i1"
    return "ptr" if operation.startswith("getelementptr ") and "<" not in operation else ""


def with_kept_values(text: str) -> str:
    """A module whose coroutines keep in their frames what takes a long chain of operations."""
    return _FUNCTION.sub(lambda found: _Coroutine(found[0]).text(), text) if _SUSPENSION in text else text


class _Coroutine:
    """A function, and its values that live across suspensions."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.blocks: list[str] = []
        """The block of each line."""
        self.home: dict[str, str] = {}
        """The block of each value."""
        self.waits: set[str] = set()
        """Blocks that end with a suspension."""
        self.before: dict[str, set[str]] = {}
        """The blocks in front of each block."""
        block = ""
        for line in self.lines:
            if label := LABEL.match(line):
                block = label[1]
            self.blocks.append(block)
            if found := _DEFINITION.match(line):
                self.home[found[1]] = block
            if _SUSPENSION in line:
                self.waits.add(block)
            for target in TARGET.findall(line):
                self.before.setdefault(target, set()).add(block)

    def text(self) -> str:
        """The function, with a ``freeze`` behind each value that is kept."""
        kept = self._kept() if self.waits else {}
        return "\n".join(self._written(kept) if kept else self.lines)

    def _kept(self) -> dict[str, str]:
        """The values that are kept, with their types."""
        crossing, operations, kept = self._crossing(), dict[str, int](), dict[str, str]()
        for line in self.lines:
            if (found := _DEFINITION.match(line)) and (kind := _type(found[2])):
                name, operation = found.groups()
                count = 1 + sum(operations.get(used, 0) for used in set(NAME.findall(operation)))
                if count > MOST_OPERATIONS and name in crossing:
                    kept[name], count = kind, 0
                operations[name] = count
        return kept

    def _crossing(self) -> set[str]:
        """Values that are used behind a suspension."""
        number = {block: n for n, block in enumerate(dict.fromkeys(self.blocks))}
        ways, crossed = dict.fromkeys(number, 0), dict.fromkeys(number, 0)
        """Of each block, as bits: the blocks on a way to its beginning, and those behind which the way is suspended."""

        def behind(block: str) -> int:
            """The blocks behind which a way to the end of one is suspended."""
            own = 1 << number[block]
            return crossed[block] | ways[block] | own if block in self.waits else crossed[block] & ~own

        changed = True
        while changed:
            changed = False
            for block in number:
                for other in self.before.get(block, ()):
                    found = ways[block] | ways[other] | 1 << number[other], crossed[block] | behind(other)
                    changed |= found != (ways[block], crossed[block])
                    ways[block], crossed[block] = found
        return {
            used
            for used, block, at_end in self._uses()
            if (behind(block) if at_end else crossed[block]) >> number[self.home[used]] & 1
        }

    def _uses(self) -> Iterator[tuple[str, str, bool]]:
        """Each use of a value in another block or a phi: the value, the block, and whether that is at its end."""
        for line, block in zip(self.lines, self.blocks, strict=True):
            found = _DEFINITION.match(line)
            if found and found[2].startswith("phi "):
                yield from ((arm[1], arm[2], True) for arm in ARM.finditer(found[2]) if arm[1] in self.home)
            else:
                for used in NAME.findall(found[2] if found else line):
                    if self.home.get(used, block) != block:
                        yield used, block, False

    def _written(self, kept: dict[str, str]) -> Iterator[str]:
        """The lines; those in other blocks, and phis, read the kept names."""

        def use(name: str, block: str) -> str:
            return f"%kept.{name[1:]}" if name in kept and self.home[name] != block else name

        for line, block in zip(self.lines, self.blocks, strict=True):
            found = _DEFINITION.match(line)
            if found and found[2].startswith("phi "):
                line = ARM.sub(lambda arm: f"[ {use(arm[1], '')}, %{arm[2]} ]", line)
            else:
                line = NAME.sub(lambda used, here=block: use(used[0], here), line)  # type: ignore[misc]
            yield line
            if found and found[1] in kept:
                yield f"  %kept.{found[1][1:]} = freeze {kept[found[1]]} {found[1]}"
