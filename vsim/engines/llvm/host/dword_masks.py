"""Masks of loops as dwords, for processors with AVX2: after LLVM's passes, in front of code generation.

Such a processor compares lanes of dwords to dwords of ones or zeros, and selects dwords by these. But LLVM keeps a mask
that lives from block to block in words or bytes: a loop whose lanes leave it one by one packs each comparison and
unpacks each mask again. Here such masks are vectors of dwords: their ``phi``, the operations on masks around that, and
the tests whether any lane is left. What else needs a mask has a comparison with zero, which is no instruction for a
selection of dwords. LLVM's own passes would turn all of that back.

Masks of 32 lanes stay, as their dwords would take four registers of sixteen.

Example: ``%em = phi <8 x i1> [ splat (i1 true), %a ], [ %left, %b ]`` becomes a phi of ``<8 x i32>``, and for ``select
<8 x i1> %em, ...`` there is ``icmp slt <8 x i32> %dwords.em, zeroinitializer``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from vsim.engines.llvm.ir.emitter import NAME
from vsim.engines.llvm.passes.blocks import FUNCTION
from vsim.engines.llvm.passes.lines import ARM, LABEL, TARGET, Line

_NAME = NAME.pattern
_PHI_OF_MASKS = re.compile(r" = phi <(?:8|16) x i1> ")
_PHI = re.compile(r"(phi) <(8|16) x i1> (.*)$")
_BITWISE = re.compile(r"(and|or|xor)(?: disjoint)? <(8|16) x i1> (.+), ([^,<>]+|<[^>]+>)$")
_SELECTION = re.compile(r"select (?:i1 ([^,]+)|<\d+ x i1> ([^,]+)), <(8|16) x i1> (.+), <\d+ x i1> (.+)$")
_COMPARISON = re.compile(r"[if]cmp (?:[a-z]+ )*<\d+ x (\w+)> ")
_SPLAT = re.compile(rf"shufflevector <\d+ x i1> ({_NAME}), <\d+ x i1> poison, <\d+ x i32> zeroinitializer$")
_INSERTED = re.compile(r"insertelement <\d+ x i1> poison, i1 ([^,]+), i64 0$")
_BITS = re.compile(rf"bitcast <\d+ x i1> ({_NAME}) to i\d+$")
_TEST = re.compile(rf"icmp (?:samesign )?(eq|ne) i\d+ ({_NAME}), 0$")
_BY_DWORDS = re.compile(rf"select <\d+ x i1> {_NAME}, <\d+ x (?:i32|float)>|call .*@llvm\.masked\.\w+\.v\d+[if]32\b")
_COSTS = {8: (0, 2, 0), 16: (3, 5, 1)}
"""By lanes: instructions that pack the dwords of a comparison, instructions that unpack a mask, and how many more an
operation takes on dwords than on bytes.
"""
_CONSTANT = re.compile(r"poison|undef|zeroinitializer|splat \(i1 \w+\)|<(?:i1 \w+(?:, )?)+>")
_CONSTANT_BITS = re.compile(r"bitcast \((?:<1 x i\d+> splat \()?i(\d+) (-?\d+)\)? to <\d+ x i1>\)")
_DWORD_OF = {"true": "-1", "false": "0"}
_TRUE, _FALSE = "splat (i1 true)", "zeroinitializer"
_VECTOR = 8
"""Dwords of a register."""


class _Use(NamedTuple):
    """Where a name is used: the name that is defined there, if one is, the number of the block, and the text."""

    by: str
    block: int
    text: str


class _Mask(NamedTuple):
    """A ``phi``, ``and``, ``or``, ``xor`` or ``select`` of masks.

    ``condition`` is the bit by which all lanes select; a mask that selects is the first operand.
    """

    kind: str
    lanes: int
    operands: tuple[str, ...]
    condition: str = ""


def with_dword_masks(text: str) -> str:
    """A module whose loops have masks of dwords, where that takes fewer instructions."""
    if not _PHI_OF_MASKS.search(text):
        return text
    return FUNCTION.sub(lambda found: _in_function(found[0]), text)


def _in_function(text: str) -> str:
    if not _PHI_OF_MASKS.search(text) or '%"' in text:
        return text
    function = _Function(text.split("\n"))
    masks = {name for web in function.webs() if function.pays(web) for name in web}
    return "\n".join(_Writer(function, masks).lines()) if masks else text


def _mask(operation: str) -> _Mask | None:
    """An operation on masks, if it is one."""
    if found := _PHI.match(operation):
        return _Mask("phi", int(found[2]), tuple(value for value, _ in ARM.findall(found[3])))
    if found := _BITWISE.match(operation):
        return _Mask(found[1], int(found[2]), (found[3], found[4]))
    if found := _SELECTION.match(operation):
        mask = (found[2],) if found[2] else ()
        return _Mask("select", int(found[3]), (*mask, found[4], found[5]), found[1] or "")
    return None


class _Function:
    """A function's lines, what its names are, and its innermost loops."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = [Line(text) for text in lines]
        self.blocks: list[int] = []
        """Of each line the number of its block."""
        self.operations: dict[str, str] = {}
        self.places: dict[str, int] = {}
        """Of each name the number of its block."""
        self.uses: dict[str, list[_Use]] = defaultdict(list)
        self.masks: dict[str, _Mask] = {}
        labels, ways = dict[str, int](), list[tuple[int, str]]()
        block = 0
        for line in self.lines:
            name, operation = line.result, line.operation
            if label := LABEL.match(line.text):
                block += 1
                labels[label[1]] = block
            self.blocks.append(block)
            if operation.startswith("br "):  # Switches choose between threads, and seldom run.
                ways += [(block, target) for target in TARGET.findall(operation)]
            for used in set(line.uses):
                self.uses[used].append(_Use(name, block, operation))
            if name:
                self.operations[name], self.places[name] = operation, block
                if " x i1> " in operation and (mask := _mask(operation)):
                    self.masks[name] = mask
        self.headers, self.inside = _innermost((block, labels[target]) for block, target in ways)

    def webs(self) -> Iterator[list[str]]:
        """Masks that depend on each other: phis, of which one begins an innermost loop, and what such loops compute."""
        known = {n for n, mask in self.masks.items() if mask.kind == "phi" or self.places[n] in self.inside}
        while known:
            todo, web = [known.pop()], list[str]()
            while todo:
                web.append(todo.pop())
                near = {*self.masks[web[-1]].operands, *(use.by for use in self.uses[web[-1]])} & known
                known -= near
                todo += near
            if any(self.places[n] in self.headers and self.masks[n].kind == "phi" for n in web):
                yield web

    def pays(self, web: Sequence[str]) -> bool:
        """Whether innermost loops have fewer instructions with dwords for these masks."""
        names = set(web)
        pack, unpack, own = _COSTS[self.masks[web[0]].lanes]
        operands = {x for name in names for x in self.masks[name].operands} - names
        sources = {x for x in operands if x.startswith("%")}
        if not (sources <= self.operations.keys() and all(map(_dwords, operands - sources))):
            return False
        gain = -own * sum(self.places[name] in self.inside for name in names)
        for source in sources:
            compared = _COMPARISON.match(self.operations[source])
            if self.places[source] in self.inside and not _SPLAT.match(self.operations[source]):
                gain += pack if compared and compared[1] in ("i32", "float") else -unpack
        unpacked, packed = self._other_uses(names)
        return gain + unpack * unpacked > pack * packed

    def _other_uses(self, names: Set[str]) -> tuple[int, int]:
        """In how many blocks of innermost loops others use masks as vectors, and in how many as bits."""
        unpacked, packed = set[tuple[str, int]](), set[tuple[str, int]]()
        for name in names:
            for use in self.uses[name]:
                if use.by in names or use.block not in self.inside:
                    continue
                if _BY_DWORDS.match(use.text):
                    unpacked.add((name, use.block))
                elif not self.tests(use):
                    packed.add((name, use.block))
        return len(unpacked), len(packed)

    def tests(self, use: _Use) -> bool:
        """Whether a use of a mask makes bits of it that the same block only compares with zero."""
        if not _BITS.match(use.text):
            return False
        return all(_TEST.match(other.text) for other in self.uses[use.by] if other.block == use.block)


def _innermost(ways: Iterable[tuple[int, int]]) -> tuple[set[int], set[int]]:
    """The headers of innermost loops and all their blocks, by branches from one block to another."""
    ends: dict[int, int] = {}
    for block, target in ways:
        if target <= block:
            ends[target] = max(block, ends.get(target, 0))
    headers = {h for h, end in ends.items() if ends.keys().isdisjoint(range(h + 1, end + 1))}
    return headers, {block for h in headers for block in range(h, ends[h] + 1)}


def _dwords(operand: str) -> str:
    """The name of a mask's dwords, or a constant of them; nothing for an unknown kind of constant."""
    if operand.startswith("%"):
        return f"%dwords.{operand[1:]}"
    if found := _CONSTANT_BITS.fullmatch(operand):
        bits = int(found[2])
        return f"<{', '.join(f'i32 {-(bits >> lane & 1)}' for lane in range(int(found[1])))}>"
    if not _CONSTANT.fullmatch(operand):
        return ""
    return re.sub(r"i1 (true|false|poison|undef)", lambda m: f"i32 {_DWORD_OF.get(m[1], m[1])}", operand)


class _Writer:
    """The lines of a function in which some masks are dwords."""

    def __init__(self, function: _Function, masks: Set[str]) -> None:
        self.function, self.masks = function, masks
        used = {x: function.masks[name].lanes for name in masks for x in function.masks[name].operands}
        self.sources = {x: lanes for x, lanes in used.items() if x.startswith("%") and x not in masks}
        self.bits: dict[str, str] = {}
        """Bits of these masks by name, if their own block only tests them; other blocks make new ones."""
        for name in masks:
            for use in function.uses[name]:
                is_late = function.tests(use)
                if is_late and not any(other.text.startswith("phi ") for other in function.uses[use.by]):
                    self.bits[use.by] = name
        self.made: dict[tuple[str, int], str] = {}
        """Masks and bits that a block has, by their names."""

    def lines(self) -> Iterator[str]:
        """All of them."""
        for line, block in zip(self.function.lines, self.function.blocks, strict=True):
            name = line.result
            if name in self.masks:
                yield from self._operation(name)
            elif name in self.bits:
                continue
            elif (test := _TEST.match(line.operation)) and test[2] in self.bits:
                yield from self._test(name, test[1], self.bits[test[2]])
            else:
                yield from self._with_masks(line, block)
                if name in self.sources:
                    yield from self._source(name)

    def _operation(self, name: str) -> Iterator[str]:
        """An operation on dwords in the place of one on a mask."""
        mask, kind = self.function.masks[name], f"<{self.function.masks[name].lanes} x i32>"
        result, operands = f"  {_dwords(name)} =", [_dwords(x) for x in mask.operands]
        if mask.kind == "phi":
            arms = (f"[ {_dwords(value)}, %{block} ]" for value, block in ARM.findall(self.function.operations[name]))
            yield f"{result} phi {kind} {', '.join(arms)}"
        elif mask.condition:
            yield f"{result} select i1 {mask.condition}, {kind} {operands[0]}, {kind} {operands[1]}"
        elif mask.kind != "select":
            yield f"{result} {mask.kind} {kind} {operands[0]}, {operands[1]}"
        elif mask.operands[2] == _FALSE or mask.operands[1] == _TRUE:
            # What is not selected may be poison.
            operation, other = ("and", operands[1]) if mask.operands[2] == _FALSE else ("or", operands[2])
            yield f"  %dwords.frozen.{name[1:]} = freeze {kind} {other}"
            yield f"{result} {operation} {kind} {operands[0]}, %dwords.frozen.{name[1:]}"
        else:
            chosen = f"%dwords.chosen.{name[1:]}"
            yield f"  {chosen} = icmp slt {kind} {operands[0]}, zeroinitializer"
            yield f"{result} select <{mask.lanes} x i1> {chosen}, {kind} {operands[1]}, {kind} {operands[2]}"

    def _source(self, name: str) -> Iterator[str]:
        """The dwords of another mask."""
        lanes, splat = self.sources[name], _SPLAT.match(self.function.operations[name])
        inserted = _INSERTED.match(self.function.operations.get(splat[1], "")) if splat else None
        kind, scalar = f"<{lanes} x i32>", f"%dwords.scalar.{name[1:]}"
        if not inserted:
            yield f"  {_dwords(name)} = sext <{lanes} x i1> {name} to {kind}"
            return
        yield f"  {scalar} = sext i1 {inserted[1]} to i32"
        yield f"  {scalar}.first = insertelement {kind} poison, i32 {scalar}, i64 0"
        yield f"  {_dwords(name)} = shufflevector {kind} {scalar}.first, {kind} poison, {kind} zeroinitializer"

    def _test(self, name: str, relation: str, mask: str) -> Iterator[str]:
        """A test whether a mask has any lane."""
        lanes, found = self.function.masks[mask].lanes, _dwords(mask)
        if lanes > _VECTOR:
            halves = f"%dwords.low.{name[1:]}", f"%dwords.high.{name[1:]}"
            for half, first in zip(halves, (0, _VECTOR), strict=True):
                numbers = ", ".join(f"i32 {n}" for n in range(first, first + _VECTOR))
                whole = f"<{lanes} x i32> {found}, <{lanes} x i32> poison"
                yield f"  {half} = shufflevector {whole}, <{_VECTOR} x i32> <{numbers}>"
            found = f"%dwords.either.{name[1:]}"
            yield f"  {found} = or <{_VECTOR} x i32> {halves[0]}, {halves[1]}"
        yield f"  %dwords.any.{name[1:]} = bitcast <{_VECTOR} x i32> {found} to i{32 * _VECTOR}"
        yield f"  {name} = icmp {relation} i{32 * _VECTOR} %dwords.any.{name[1:]}, 0"

    def _with_masks(self, line: Line, block: int) -> Iterator[str]:
        """A line that needs masks or their bits as they were, behind lines that make these."""
        text = line.text
        for name in sorted(set(line.uses) & (self.masks | self.bits.keys())):
            if (name, block) not in self.made:
                self.made[name, block] = made = f"%dwords.{block}.{name[1:]}"
                mask = self.bits.get(name, name)
                lanes = self.function.masks[mask].lanes
                compared = f"{made}.lanes" if name in self.bits else made
                yield f"  {compared} = icmp slt <{lanes} x i32> {_dwords(mask)}, zeroinitializer"
                if name in self.bits:
                    yield f"  {made} = bitcast <{lanes} x i1> {compared} to i{lanes}"
            text = re.sub(rf"{re.escape(name)}(?![-\w.$])", self.made[name, block], text)
        yield text
