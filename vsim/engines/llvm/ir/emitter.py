"""The text of one function, block by block, with value numbering and loop-invariant code motion while it is written.

*Value numbering.* An instruction without side effects whose text was emitted before, in a place that dominates this
one, is not emitted again: its name is its value number. Which places dominate is known by construction: a label says up
to which mark the emitted instructions still dominate it (a scoped hash table). *Invariants.* A kernel without barriers
is a
function with three nested loops: launch, groups of a row, threads of a group. An instruction whose operands do not
change within a loop is emitted in front of it, in the loop's preheader.

Both work on the text of instructions, since every SSA name is assigned once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vsim.engines.llvm.ir.ranges import Ranges

LAUNCH, GROUP, THREAD = range(3)
"""The loops around a kernel's code, outermost first, by which its invariants are sorted."""
_PURE = frozenset((
    "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "icmp", "zext", "sext", "trunc",
    "insertelement", "shufflevector", "extractelement", "bitcast", "getelementptr", "select",
    "fadd", "fsub", "fmul", "fdiv", "fneg", "fcmp", "fpext", "fptrunc", "sitofp", "uitofp", "fptosi", "fptoui",
))  # fmt: skip
CALLED = "called_"
"""What the name of a function of the module begins with that has no effects."""
_PURE_CALL = re.compile(
    rf"call [^@]*@({CALLED}|llvm\.(usub\.sat\.i64|fma\.|sqrt\.|fabs\.|floor\.|ceil\.|trunc\.|roundeven\."
    r"|x86\.[\w.]*cvtt|x86\.avx512\.(add|mul|div|sqrt|vfmadd|mask\.cvtpd2)))"
)
NAME = re.compile(r"%[-\w.$]+")
"""The name of a value or a label in IR, also of one that LLVM made."""
INVARIANT_LOAD = "!invariant.load !0"
DEEPEST_SUM = 3
"""Depth up to which :meth:`Emitter.less` looks for an invariant in sums."""
COUNTER = "!counter !0"
"""At the end of a load of something that each thread adds to."""
FLUSHED = ", !flushed !0"
"""What a product ends with that makes zeros of denormals (``denormals.py``)."""
UNLIKELY, LIKELY = ", !prof !1", ", !prof !2"
"""What a conditional branch ends with whose first target is seldom, or nearly always, taken (see
:func:`module.module`).
"""


class NotEmitted(Exception):
    """An instruction that a repetition asked for is not there."""


def _is_pure(word: str, text: str) -> bool:
    """Whether a call or load has no side effects; ``word`` is the first of its text."""
    return text.endswith(INVARIANT_LOAD) if word == "load" else word == "call" and bool(_PURE_CALL.match(text))


class Emitter:
    """The text of a function while it is emitted."""

    def __init__(self, declarations: dict[str, str]) -> None:
        self.declarations = declarations
        """What the module declares, by name; shared by the functions of a module."""
        self.lines: list[str] = []
        self.block = "entry"
        self.counter = 0
        self.temporary_bytes = 0
        self.inline_lanes = 0
        """Lanes with inline code (``memory/scalarised.py``)."""
        self.checked_lanes = 0
        """Lanes of accesses of which nothing was proved (``memory/common_buffer.py``)."""
        self.loop_lanes = 0
        """Those of short loops that are inline beyond the limit for all others."""
        self.lanes_beside_tables = 0
        """Those of tables that may not be whole."""
        self.nonempty = set[str]()
        """Masks (SSA names) that hold in some lane."""
        self.assigned = False
        """Whether an instruction with a result was emitted since the last reset by a caller."""
        self.has_floats = False
        """Whether an instruction with a result had to do with floats, in this emission or one before.

        Variables need not be of floats for that: texels are.
        """
        self.numbers: dict[str, str] = {}
        """Value numbers: the name of each instruction that dominates this place, by its text."""
        self.scope: list[str] = []
        """The keys of ``numbers`` in the order in which they were found."""
        self.invariants: dict[str, str] = {}
        """Value numbers of the instructions in the preheaders, which dominate all other places."""
        self.preheaders: tuple[list[str], list[str], list[str]] = ([], [], [])
        """What is emitted in front of the loops over groups, threads, and at the beginning of a thread."""
        self.levels: dict[str, int] = {}
        """Names of invariants, and of arguments, with the innermost loop in which they change."""
        self.ranges = Ranges()
        """What scalars are at most."""
        self.sums: dict[str, tuple[str, str]] = {}
        """Operands of sums of 64 bits in loops, by name."""
        self.repeats = False
        """Whether an instruction must be there already, in a place that dominates this one."""
        self.hoisting = False
        """Whether the loops over groups and threads are part of the function."""

    def begin(self, block: str, levels: dict[str, int] | None = None) -> None:
        """Begin the function, or begin it anew, with a block; with ``levels`` of its arguments if the loops are part of
        it.
        """
        self.lines, self.block, self.counter, self.temporary_bytes, self.assigned = [], block, 0, 0, False
        self.inline_lanes = self.checked_lanes = self.loop_lanes = self.lanes_beside_tables = 0
        self.nonempty = set()
        self.numbers, self.scope, self.invariants, self.preheaders = {}, [], {}, ([], [], [])
        self.ranges, self.sums = Ranges(), {}
        self.levels, self.hoisting = dict(levels or {}), levels is not None

    # -- instructions --------------------------------------------------------------------------------------

    def new_name(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def emit(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + text)

    def assign(self, text: str) -> str:
        """An instruction with a result; its name, or that of an equal one without side effects which dominates this
        place.
        """
        self.assigned = True
        if not self.has_floats and ("float" in text or "half" in text or "double" in text):
            self.has_floats = True
        word = text[: text.find(" ")]
        pure = word in _PURE or _is_pure(word, text)
        if pure and (found := self.numbers.get(text) or self.invariants.get(text)) is not None:
            return found
        if self.repeats:
            raise NotEmitted
        if pure and self.hoisting and "<" not in text and (level := self._level(text)) < THREAD:
            return self._into_preheader(text, level)
        name = self.new_name()
        self.lines.append(f"  {name} = {text}")
        self.ranges.note(name, text)
        if text.startswith("add i64 "):
            x, y = text[8:].split(", ")
            self.sums[name] = x, y
        return self.number(text, name) if pure else name

    def hoist(self, text: str) -> str:
        """A pure instruction over what does not change in a launch, a group or a thread, in
        that preheader; its name.
        """
        return self.invariants.get(text) or self._into_preheader(text, self._level(text))

    def less(self, x: str, known: str) -> str:
        """``x - known`` in 64 bits, where the latter is an invariant. A sum with another invariant becomes ``rest +
        (invariant - known)``: loops need one value instead of two (page 141).
        """
        found = self._less(x, known, DEEPEST_SUM)
        return self.assign(f"sub i64 {x}, {known}") if found is None else found

    def _less(self, x: str, known: str, depth: int) -> str | None:
        """:meth:`less` of a sum with an invariant; None of other numbers."""
        if not depth or x not in self.sums:
            return None
        terms = self.sums[x]
        for one, other in (terms, terms[::-1]):
            if self.levels.get(other, THREAD) < THREAD:
                return self.assign(f"add i64 {one}, {self.hoist(f'sub i64 {other}, {known}')}")
        for one, other in (terms, terms[::-1]):
            if (rest := self._less(other, known, depth - 1)) is not None:
                return self.assign(f"add i64 {one}, {rest}")
        return None

    def _level(self, text: str) -> int:
        """The innermost loop in which an operand of an instruction changes."""
        return max([self.levels.get(name, THREAD) for name in NAME.findall(text)], default=THREAD)

    def _into_preheader(self, text: str, level: int) -> str:
        found = self.invariants[text] = self.new_name()
        self.preheaders[level].append(f"  {found} = {text}")
        self.ranges.note(found, text)
        self.levels[found] = level
        return found

    def number(self, what: str, name: str) -> str:
        """Give an expression a name, as far as this place dominates."""
        if what not in self.numbers:
            self.numbers[what] = name
            self.scope.append(what)
        return name

    def is_available(self, text: str, name: str) -> bool:
        """Whether an instruction's name may be used here."""
        return self.numbers.get(text) == name or self.invariants.get(text) == name

    def field(self, base: str, offset: int, ir: str = "i64") -> str:
        """A field that does not change while the function runs, of a structure that it is given."""
        pointer = self.hoist(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base
        return self.hoist(f"load {ir}, ptr {pointer}, align 8, {INVARIANT_LOAD}")

    def offset(self, pointer: str, byte: int | str) -> str:
        """A pointer some bytes further."""
        if byte == 0:
            return pointer
        return self.assign(f"getelementptr i8, ptr {pointer}, i64 {byte}")

    def declare(self, name: str, result: str, arguments: str) -> None:
        """An intrinsic or helper function that the module needs."""
        self.declarations.setdefault(name, f"declare {result} @{name}({arguments})")

    def temporary(self, size: int) -> str:
        """Temporary memory in the frame (``%scratch``): there is one place, which the next call gives again."""
        self.temporary_bytes = max(self.temporary_bytes, size)
        return "%scratch"

    # -- blocks --------------------------------------------------------------------------------------------

    def mark(self) -> int:
        """This place, for :meth:`label`."""
        return len(self.scope)

    def label(self, name: str, dominated_by: int = 0) -> None:
        """Begin a block; instructions in front of the mark dominate it."""
        for text in self.scope[dominated_by:]:
            del self.numbers[text]
        del self.scope[dominated_by:]
        self.block = name
        self.lines.append(f"{name}:")

    def new_label(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}.{self.counter}"

    def jump(self, target: str) -> str:
        """End this block with a branch to a label; the name of this block."""
        self.emit(f"br label %{target}")
        return self.block

    def branch(self, condition: str, then: str, otherwise: str, weights: str = "") -> None:
        """End this block with a conditional branch."""
        self.emit(f"br i1 {condition}, label %{then}, label %{otherwise}{weights}")

    def if_then(self, condition: str, act: Callable[[], None], stems: tuple[str, str]) -> None:
        """What ``act`` emits, where the condition (i1) holds; value numbers from before are forgotten."""
        then, behind = self.new_label(stems[0]), self.new_label(stems[1])
        self.branch(condition, then, behind)
        self.label(then)
        act()
        self.jump(behind)
        self.label(behind)

    def for_each_bit(self, bits: str, act: Callable[[str], None]) -> None:
        """A loop through the set bits of an i64, from the lowest one on; ``act`` emits the body for the number of a bit
        (i64).
        """
        self.declare("llvm.cttz.i64", "i64", "i64, i1")
        head, body, behind = self.new_label("head"), self.new_label("body"), self.new_label("behind")
        here, before = self.jump(head), self.mark()
        self.label(head, before)
        left, rest, at = self.new_name(), self.new_name(), len(self.lines)
        self.branch(self.assign(f"icmp eq i64 {left}, 0"), behind, body)
        self.label(body, before)
        act(self.assign(f"call i64 @llvm.cttz.i64(i64 {left}, i1 true)"))
        self.emit(f"{rest} = and i64 {left}, {self.assign(f'sub i64 {left}, 1')}")
        self.lines.insert(at, f"  {left} = phi i64 [ {bits}, %{here} ], [ {rest}, %{self.jump(head)} ]")
        self.label(behind, before)

    def leave_if(self, condition: str, target: str, stem: str) -> None:
        """Go to a label if a condition that seldom does so holds, else on in a new block."""
        behind = self.new_label(stem)
        self.branch(condition, target, behind, UNLIKELY)
        self.label(behind)
