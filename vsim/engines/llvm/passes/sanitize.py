"""``VISAKIT_GUARD=1``: every access of compiled code is also checked, right before it, by its host address.

This is a second opinion for tests, like a sanitizer: it knows nothing of buffers, sizes and offsets that the engine
checks. It is a pass over the text of IR modules, of kernels as of the driver and helper functions, so that no access
can be forgotten: a line that touches memory in a way that the pass does not know is an error. Without the variable the
pass does not run, and nothing else differs.

A pointer belongs to the stack slot that it is computed from, or to memory that code was given, which is one of the
ranges of the launch (``observers/sanitizer.py``). Slots with constant offsets that lie inside are proved here; all else
calls ``guard_place``, which gives the pointer, or one to scratch memory, so that a forbidden access does not
happen. To functions out of line slots are passed with where they are and how large.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vsim.engines.llvm.passes.lines import ARM, MEMORY_TYPE, bytes_of

ROOTS = frozenset({"@run", "@group", "@kernel", "@guard_set"})
"""Functions whose pointers are all to memory that code was given."""
SITE_BITS = 32
"""A site is the number of a function above so many bits, and the number of its instruction, counted from 1; 0 for
unknown sites.
"""
UNKNOWN_SITE = 0
_DECLARATIONS = """declare ptr @guard_place(ptr, i64, i64, ptr, i64, i64)
declare i64 @guard_lanes(ptr, i64, i64, i64, ptr, i64, i64)"""
_HARMLESS = ("coro.", "frameaddress", "lifetime", "prefetch.")
"""Intrinsics with pointers that touch no memory of the program; a prefetch never faults, wherever it leads."""
_CONTROL_WORD = ("@llvm.x86.sse.stmxcsr", "@llvm.x86.sse.ldmxcsr")
"""Intrinsics that store and load the four bytes of the host's control register of floating point."""
_LOAD = re.compile(rf"(%[\w.]+ = load (?:atomic |volatile )*{MEMORY_TYPE}, )ptr (%[\w.]+)(.*)")
_STORE = re.compile(rf"(store (?:atomic |volatile )*{MEMORY_TYPE} .*, )ptr (%[\w.]+)(.*)")
_ATOMIC = re.compile(rf"(%[\w.]+ = (?:atomicrmw \w+|cmpxchg) )ptr (%[\w.]+)(, {MEMORY_TYPE} .*)")
_CALL = re.compile(r"((?:%[\w.]+ = )?call [^@(]*)(@[\w.]+)\((.*)\)([^)]*)")
_OF_HOST = re.compile(r'call void %[\w.]+\(\)|%[\w.]+ = call i64 asm "", .*|call void \(\.\.\.\) @llvm\.fake\.use\(.*')
"""A call of a function of the host, which is given no memory; a copy of a value, and an anchor, which are no code."""
_DEFINE = re.compile(r"(define [^@]*)(@[\w.]+)\((.*)\)([^)]*)")
_DECLARE = re.compile(r"(declare [^@]*)(@[\w.]+)\((.*)\)([^)]*)")
_ALLOCA = re.compile(rf"(%[\w.]+) = alloca {MEMORY_TYPE}")
_MOVED = re.compile(rf"(%[\w.]+) = getelementptr {MEMORY_TYPE}, ptr (%[\w.]+), (?:i64 (-?\d+)$)?")
_PICKED = re.compile(r"(%[\w.]+) = extractelement <\d+ x ptr> (%[\w.]+), i64 (\S+)")
_SPREAD = re.compile(r"(%[\w.]+) = (?:insertelement <\d+ x ptr> poison, ptr|shufflevector <\d+ x ptr>) (%[\w.]+),")
_SORTED = re.compile(r"(%[\w.]+) = select (<\d+ x i1> \S+), <\d+ x ptr> (\S+), <\d+ x ptr> (\S+)")
_JOINED = re.compile(r"(%[\w.]+) = phi ptr (.*)")
_CHOSEN = re.compile(r"(%[\w.]+) = select i1 (\S+), ptr (\S+), ptr (\S+)")
_TOUCHES = re.compile(r"(?:^|= )(?:load|store|atomicrmw|cmpxchg) ")
_INSTRUCTION = re.compile(r"; instruction (\d+)")
_FUNCTION = re.compile(r"@function(\d+)$")


def marker(pc: int) -> str:
    """The line in front of an instruction's code."""
    return f"  ; instruction {pc}"


def guarded(text: str) -> str:
    """A module whose accesses are checked."""
    lines: list[str] = []
    body: list[str] = []
    header: re.Match[str] | None = None
    for line in text.splitlines():
        if header is not None:
            body.append(line)
            if line == "}":
                lines += _Function(header, body).lines()
                header, body = None, []
        elif line.startswith("define "):
            header = _DEFINE.fullmatch(line)
            assert header, line
        else:
            lines.append(_declaration(line) if line.startswith("declare ") else line)
    return "\n".join([_DECLARATIONS, *lines])


class _Origin(NamedTuple):
    """The object that a pointer is computed from: where it is and how large; ``offset`` of the pointer in it if that is
    known.
    """

    base: str
    room: str
    offset: int | None = None


_GIVEN = _Origin("null", "0")
"""One of the ranges of the launch."""


def _split(arguments: str) -> list[str]:
    """The arguments of a call."""
    found, depth, start = [], 0, 0
    for n, c in enumerate(arguments):
        depth += (c in "<([{") - (c in ">)]}")
        if c == "," and not depth:
            found.append(arguments[start:n].strip())
            start = n + 1
    rest = arguments[start:].strip()
    return [*found, rest] if rest else found


def _is_extended(name: str) -> bool:
    """Whether a function takes the objects of its pointers."""
    return name not in ROOTS and not name.startswith(("@llvm.", "@guard_"))


def _declaration(line: str) -> str:
    match = _DECLARE.fullmatch(line)
    assert match, line
    if not _is_extended(match[2]):
        return line
    types = _split(match[3])
    return f"{match[1]}{match[2]}({', '.join([*types, *['ptr, i64'] * _pointers(types), 'i64'])}){match[4]}"


def _pointers(arguments: list[str]) -> int:
    return sum(a.startswith("ptr") for a in arguments)


class _Function:
    """The accesses of one function."""

    def __init__(self, header: re.Match[str], body: list[str]) -> None:
        self.header, self.body = header, body
        self.name = header[2]
        self.origins: dict[str, _Origin] = {}
        self.moved: dict[str, tuple[str, int | None]] = {}
        """Pointers that are others some bytes further."""
        self.joined: dict[str, list[str]] = {}
        """Pointers that are one of several others."""
        self.sorted: dict[str, tuple[str, str, str]] = {}
        """Vectors whose pointers are those of one vector or another: with the mask that says which."""
        self.counter = 0
        self.site = UNKNOWN_SITE
        self.uses_lanes = False
        self._define()

    # -- where pointers come from --------------------------------------------------------------------------

    def _define(self) -> None:
        """Read what all pointers are."""
        arguments = _split(self.header[3])
        if _is_extended(self.name):
            pointers = [a.split()[-1] for a in arguments if a.startswith("ptr")]
            for n, name in enumerate(pointers):
                self.origins[name] = _Origin(f"%guard.base{n}", f"%guard.room{n}")
        for line in self.body:
            text = line.strip()
            if match := _ALLOCA.match(text):
                self.origins[match[1]] = _Origin(match[1], str(bytes_of(match[2])), 0)
            elif match := _MOVED.match(text):
                self.moved[match[1]] = match[3], int(match[4]) * bytes_of(match[2]) if match[4] else None
            elif match := _JOINED.match(text):
                self.joined[match[1]] = [arm for arm, _ in ARM.findall(match[2])]
            elif match := _CHOSEN.match(text):
                self.joined[match[1]] = [match[3], match[4]]
            else:
                assert " = alloca " not in text, f"a stack slot that the guard does not know: {text}"
                self._define_vector(text)

    def _define_vector(self, text: str) -> None:
        """Note the sources of a vector of pointers, or of one of its lanes."""
        if (match := _PICKED.match(text)) and match[2] in self.sorted:
            self.joined[match[1]] = [*self.sorted[match[2]][1:]]
        elif match := _PICKED.match(text) or _SPREAD.match(text):
            self.moved[match[1]] = match[2], None
        elif match := _SORTED.match(text):
            self.sorted[match[1]] = match[2], match[3], match[4]

    def _roots(self, pointer: str, seen: set[str]) -> Iterator[_Origin]:
        """The objects that a pointer may be in."""
        if pointer in seen:
            return
        seen.add(pointer)
        if pointer in self.moved:
            yield from self._roots(self.moved[pointer][0], seen)
        elif pointer in self.joined:
            for other in self.joined[pointer]:
                yield from self._roots(other, seen)
        else:
            yield self.origins.get(pointer, _GIVEN)._replace(offset=None)

    def _origin(self, pointer: str) -> _Origin:
        found = self.origins.get(pointer)
        if found is not None:
            return found
        found = _GIVEN
        if pointer in self.moved:
            other, step = self.moved[pointer]
            whole = self._origin(other)
            found = whole._replace(offset=None if step is None or whole.offset is None else whole.offset + step)
        elif pointer in self.joined:
            roots = set(self._roots(pointer, set()))
            stem = pointer[1:]
            found = roots.pop() if len(roots) == 1 else _Origin(f"%guard.base.{stem}", f"%guard.room.{stem}")
        self.origins[pointer] = found
        return found

    def _is_proved(self, origin: _Origin, size: int) -> bool:
        return origin.offset is not None and 0 <= origin.offset <= int(origin.room) - size

    # -- emitted code --------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """The function with its checks."""
        function = _FUNCTION.match(self.name)
        number = int(function[1]) if function else 0
        is_compiled = function or self.name in ("@group", "@kernel")
        found = []
        for line in self.body:
            text = line.strip()
            if marked := _INSTRUCTION.match(text):
                self.site = (number << SITE_BITS) + int(marked[1]) + 1 if is_compiled else UNKNOWN_SITE
            else:
                found += self._line(text) if text.startswith(("%", "store ", "call ")) else [line]
        arguments = _split(self.header[3])
        if _is_extended(self.name):
            count = _pointers(arguments)
            arguments += [f"ptr %guard.base{n}, i64 %guard.room{n}" for n in range(count)] + ["i64 %guard.site"]
        if self.uses_lanes:
            at = found.index("entry:") + 1 if "entry:" in found else 0
            found.insert(at, "  %guard.lanes = alloca [64 x ptr], align 64")
        return [f"{self.header[1]}{self.name}({', '.join(arguments)}){self.header[4]}", *found]

    def _line(self, text: str) -> list[str]:
        """An instruction, behind the checks that it needs."""
        if match := _LOAD.fullmatch(text) or _STORE.fullmatch(text):
            checks, place = self._place(match[3], str(bytes_of(match[2])), write=text.startswith("store "))
            return [*checks, f"  {match[1]}ptr {place}{match[4]}"]
        if match := _ATOMIC.fullmatch(text):
            checks, place = self._place(match[2], str(bytes_of(match[4])), write=True)
            return [*checks, f"  {match[1]}ptr {place}{match[3]}"]
        assert not _TOUCHES.search(text), f"an access that the guard does not know: {text}"
        if match := _CALL.fullmatch(text):
            return self._call(text, match)
        assert "call " not in text or _OF_HOST.fullmatch(text), f"a call that the guard does not know: {text}"
        return [f"  {text}", *self._joined_origin(text)]

    def _joined_origin(self, text: str) -> list[str]:
        """Behind a pointer that is one of several: the object that it is in, where they differ."""
        name = text.partition(" = ")[0]
        if name not in self.joined or not (own := self._origin(name)).base.startswith("%guard.base."):
            return []
        origins = [self._origin(other) for other in self.joined[name]]
        chosen, picked = _CHOSEN.match(text), _PICKED.match(text)
        if chosen or picked:
            (x, y), condition, lines = origins, chosen[2] if chosen else f"%guard.bit.{name[1:]}", list[str]()
            if picked:
                lines.append(f"  {condition} = extractelement {self.sorted[picked[2]][0]}, i64 {picked[3]}")
            return [
                *lines,
                f"  {own.base} = select i1 {condition}, ptr {x.base}, ptr {y.base}",
                f"  {own.room} = select i1 {condition}, i64 {x.room}, i64 {y.room}",
            ]
        blocks = [block for _, block in ARM.findall(text)]
        bases = ", ".join(f"[ {o.base}, %{block} ]" for o, block in zip(origins, blocks, strict=True))
        rooms = ", ".join(f"[ {o.room}, %{block} ]" for o, block in zip(origins, blocks, strict=True))
        return [f"  {own.base} = phi ptr {bases}", f"  {own.room} = phi i64 {rooms}"]

    def _name(self) -> str:
        self.counter += 1
        return f"%guard{self.counter}"

    def _site(self) -> str:
        return "%guard.site" if _is_extended(self.name) and not _FUNCTION.match(self.name) else str(self.site)

    def _place(self, pointer: str, size: str, write: bool) -> tuple[list[str], str]:
        """What checks a place, and the pointer to use."""
        origin = self._origin(pointer)
        if size.isdigit() and self._is_proved(origin, int(size)):
            return [], pointer
        name = self._name()
        given = f"ptr {pointer}, i64 {size}, i64 {int(write)}, ptr {origin.base}, i64 {origin.room}, i64 {self._site()}"
        return [f"  {name} = call ptr @guard_place({given}) #2"], name

    def _call(self, text: str, match: re.Match[str]) -> list[str]:
        before, name, arguments, behind = match.groups()
        given = _split(arguments)
        if name.startswith("@llvm.masked."):
            checks, given = self._masked(name, given)
        elif name.startswith(("@llvm.memset.", "@llvm.memcpy.")):
            checks, given = self._block(name, given)
        elif name in _CONTROL_WORD:
            checks, place = self._place(given[0].split()[-1], "4", write=name == _CONTROL_WORD[0])
            given = [f"ptr {place}"]
        elif name == "@llvm.coro.begin":
            size = self._name()
            checks, place = self._place(given[1].split()[-1], size, write=True)
            checks.insert(0, f"  {size} = call i64 @llvm.coro.size.i64()")
            given = [given[0], f"ptr {place}"]
        elif name.startswith("@llvm."):
            assert name[6:].startswith(_HARMLESS) or "ptr" not in arguments, (
                f"an access that the guard does not know: {text}"
            )
            return [f"  {text}"]
        elif _is_extended(name):
            checks = []
            origins = [self._origin(a.split()[-1]) for a in given if a.startswith("ptr")]
            given += [f"ptr {o.base}, i64 {o.room}" for o in origins] + [f"i64 {self._site()}"]
        else:
            return [f"  {text}"]
        return [*checks, f"  {before}{name}({', '.join(given)}){behind}"]

    def _block(self, name: str, given: list[str]) -> tuple[list[str], list[str]]:
        """Bytes that are set or copied: none if that is not allowed."""
        length = given[2].split()[-1]
        targets = [(given[0], True)] + ([(given[1], False)] if "memcpy" in name else [])
        checks: list[str] = []
        for target, write in targets:
            pointer = target.split()[-1]
            more, place = self._place(pointer, length, write)
            if more:
                good, allowed = self._name(), self._name()
                checks += [*more, f"  {good} = icmp eq ptr {place}, {pointer}"]
                checks.append(f"  {allowed} = select i1 {good}, i64 {length}, i64 0")
                length = allowed
        return checks, [given[0], given[1], f"i64 {length}", given[3]]

    def _masked(self, name: str, given: list[str]) -> tuple[list[str], list[str]]:
        """A masked access, restricted to the allowed lanes."""
        reads = ".load." in name or ".gather." in name
        which = len(given) - (2 if reads else 1)
        mask_type, _, mask = given[which].partition("> ")
        lanes = int(mask_type[1:].split()[0])
        at = next(n for n, a in enumerate(given) if a.startswith(("ptr", f"<{lanes} x ptr>")) and n != which)
        value = name.split(".")[3]  # such as v16i32
        size = int(re.sub(r"^v\d+[a-z]+", "", value)) // 8
        pointers = given[at].split()[-1]
        origin = self._origin(pointers)
        checks: list[str] = []
        if given[at].startswith("ptr"):
            row, steps = self._name(), ", ".join(f"i64 {size * lane}" for lane in range(lanes))
            checks.append(f"  {row} = getelementptr i8, ptr {pointers}, <{lanes} x i64> <{steps}>")
            pointers = row
        self.uses_lanes = True
        packed, bits, allowed, cut, new = (self._name() for _ in range(5))
        checks += [
            f"  store <{lanes} x ptr> {pointers}, ptr %guard.lanes, align 64",
            f"  {packed} = bitcast <{lanes} x i1> {mask} to i{lanes}",
            f"  {bits} = " + (f"or i64 {packed}, 0" if lanes == 64 else f"zext i{lanes} {packed} to i64"),
            f"  {allowed} = call i64 @guard_lanes(ptr %guard.lanes, i64 {size}, i64 {bits}, i64 {int(not reads)}, "
            f"ptr {origin.base}, i64 {origin.room}, i64 {self._site()}) #2",
            f"  {cut} = " + (f"or i64 {allowed}, 0" if lanes == 64 else f"trunc i64 {allowed} to i{lanes}"),
            f"  {new} = bitcast i{lanes} {cut} to <{lanes} x i1>",
        ]
        return checks, [*given[:which], f"<{lanes} x i1> {new}", *given[which + 1 :]]
