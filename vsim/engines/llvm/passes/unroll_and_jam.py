"""Unroll-and-jam of the loop over the threads of a group: several threads in flight.

A thread whose loop is one chain of dependent instructions waits for each of them; the instructions of other threads
fill these gaps. The text of ``group`` (``lower/assembly.py``) gets a second body, for two or four threads
(:mod:`thread_copies`). Branches of profitable loops are taken together while all threads go the same way.
Where they diverge, the first thread continues alone in the body for one thread, to its end; then the next one does,
from the place that it had reached, with its state in memory meanwhile.

What is live where a thread enters that body goes through stack slots, of which LLVM makes SSA values again.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from vsim.engines.llvm.ir.emitter import NAME
from vsim.engines.llvm.passes.blocks import Block, blocks_of, innermost_loops, live_in
from vsim.engines.llvm.passes.lines import Line, bytes_of, result_type
from vsim.engines.llvm.passes.recurrence import REGISTERS, loop_cost, vectors_of
from vsim.engines.llvm.passes.thread_copies import ORDERED, Impossible, ThreadCode, ThreadCopies

LEAST_STALL = 0.3
"""Of the time that a loop's instructions take what its recurrences must take, so that two threads run at once."""
LEAST_STALL_OF_TWO = 0.45
"""Of the time that the instructions of two threads take, so that four run at once."""
MAXIMUM_LINES = 2000
"""Lines of a thread's code, of which one copy more is compiled than threads run at once."""
LINES_OF_FOUR, LINES_PER_INSTRUCTION = 450, 14
"""Lines of what four threads are compiled to up to which they run at once, and so many more for each instruction of
the kernel: a hundred take 5 to 6 ms to compile, and an instruction is to take less than one.
"""
MOST_VECTORS = 10
"""What a thread may hold in a loop, in vectors of the processor, so that two are run at once."""
MOST_REGISTERS = 0.75
"""Of the processor's registers what four threads may hold in a loop; the others are for what lives shortly."""
_NEXT = "next"
"""The label behind the code of a thread (``support/driver.ll``)."""
_LINE = 64
"""What a value that waits in memory is aligned to, in bytes."""
_COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def unroll_and_jam(text: str, bits: int, threads: int, instructions: int) -> str:
    """A module whose ``group`` runs several threads at once, if that may pay; else the unchanged text.

    Args:
        bits: of the processor's vectors.
        threads: that may run at once.
        instructions: of the kernel.
    """
    lines = text.split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("define void @group("))
    begin, end = lines.index("begin:", start), lines.index(f"{_NEXT}:", start)
    if threads < 2 or end - begin > MAXIMUM_LINES or any(ORDERED.match(line) for line in lines[begin:end]):
        return text
    blocks = blocks_of([lines[begin], *lines[begin + 2 : end]])  # without the thread's number
    if blocks is None:
        return text
    head = lines[start + 2 : begin]
    headers = _profitable_loops(blocks, {line.result for line in map(Line, head) if line.is_slot}, bits)
    if not headers:
        return text
    try:
        code = JammedThread(head, blocks, headers)
    except Impossible:
        return text
    may_be_four = threads >= 4 and code.lines_of(4) <= LINES_OF_FOUR + LINES_PER_INSTRUCTION * instructions
    count = 4 if may_be_four and _stalls_with_two(code, bits) else 2
    found = "\n".join([*lines[: start + 2], *JammedGroup(code, count).lines(), *lines[end:]])
    found = found.replace("  %t1 = add i64 %t, 1\n", "  %t1 = add i64 %t, %t.step\n")
    return found if _COPY in found else f"{_COPY}\n{found}"


def _profitable_loops(blocks: Mapping[str, Block], slots: Set[str], bits: int) -> set[str]:
    """Headers of the innermost loops that two threads run at once: all that hold little, if one of them waits."""
    headers, stalls = set[str](), False
    for header, loop in innermost_loops({name: block.end.likely_targets() for name, block in blocks.items()}).items():
        found = loop_cost((line for name in loop for line in blocks[name].body), slots, bits)
        if found.vectors <= MOST_VECTORS:
            headers.add(header)
            stalls |= found.recurrence >= LEAST_STALL * found.resources
    return headers if stalls else set()


def _stalls_with_two(code: JammedThread, bits: int) -> bool:
    """Whether one of the loops waits even when two threads run at once, and what four hold finds place in registers."""
    stalls = False
    for header, loop in innermost_loops({n: block.end.likely_targets() for n, block in code.blocks.items()}).items():
        if header in code.inside:
            continue
        lines = [line for name in loop for line in code.blocks[name].body]
        varying = [line for line in lines if code.varies(line)]
        found, every = (
            loop_cost(varying, code.bytes.keys(), bits),
            loop_cost(lines, code.bytes.keys(), bits),
        )
        used = {name for line in lines for name in line.names}
        outside = {x for x in used & code.varying if code.home.get(x, header) not in loop}
        held = found.vectors + sum(vectors_of(code.type_of(x), bits) for x in outside)
        if 4 * held > MOST_REGISTERS * REGISTERS[bits]:
            return False
        stalls |= found.recurrence >= LEAST_STALL_OF_TWO * (every.resources + found.resources)
    return stalls


class JammedThread(ThreadCode):
    """The code of a thread with loops that wait for their own results.

    Args:
        head: lines in front of the loop over threads.
        blocks: those of a thread, whose number is ``%t``.
        headers: of loops that several threads are to run at once.

    Raises:
        Impossible: threads run nothing together, slots are used in front of the loop, a pointer to one is kept, or the
            type of something that is kept is not known.
    """

    def __init__(self, head: list[str], blocks: dict[str, Block], headers: Set[str]) -> None:
        self.headers = headers
        self.divergent: set[str] = set()
        """Blocks behind which threads part."""
        super().__init__(head, blocks, "%t", (_NEXT,))
        defined = {
            name: {*block.phis, *(line.result for line in block.body if line.result)}
            for name, block in self.blocks.items()
        }
        self.home = {value: name for name, values in defined.items() for value in values}
        """The defining block of each value of a thread."""
        self.definitions = {line.result: line for line in self.lines() if line.result}
        """The defining line of each, unless it is a phi."""
        self.types = {phi: kind for block in self.blocks.values() for phi, (kind, _) in block.phis.items()}
        """Types of values; those of lines are computed on demand."""
        self.used = {name: self._used(block) for name, block in self.blocks.items()}
        self.live = live_in(self.blocks, {name: used - defined[name] for name, used in self.used.items()}, defined)
        """The values of the thread that are live in front of each block, behind its phis."""
        self.bytes = self._slot_bytes()
        """Stack slots with their used bytes."""
        self.live_slots = self._live_slots()
        targets = [o for name in self.blocks if name in self.divergent for o in self.blocks[name].successors]
        self.targets = {name: number for number, name in enumerate(targets, 1)}
        """Blocks at which the body for one thread is entered, by numbers from 1."""
        self.kept = sorted(set[str]().union(*(self.live[name] for name in self.targets)))
        """What is live where a thread enters."""
        self._check()

    def diverge(self, name: str) -> None:
        """Serialise the blocks behind a branch if they hold no loop to jam; else threads diverge there."""
        postdominator = self.postdominator.get(name, _NEXT)
        inside = self.between(name, postdominator)
        entered = self.entered(inside)
        if postdominator == _NEXT or name in inside or inside & self.headers or not entered <= inside | {name}:
            self.divergent.add(name)
        else:
            self.add_region(name, postdominator, inside)
            self.divergent -= inside

    def lines_of(self, count: int) -> int:
        """IR lines of the body for one thread plus those of the body for ``count`` threads, without lines that all
        share.
        """
        phis = {phi for block in self.blocks.values() for phi in block.phis}
        lines = [*self.lines()]
        varying = len(phis & self.varying) + sum(map(self.varies, lines))
        worklist = sum(len(self.live[name]) + len(self.live_slots[name]) for name in self.targets)
        return 2 * (len(phis) + len(lines)) + (count - 1) * (varying + worklist)

    def type_of(self, name: str) -> str:
        """The type of a value that is computed in the code of a thread; nothing if that is not known."""
        if name not in self.types:
            self.types[name] = result_type(self.definitions[name].operation) or ""
        return self.types[name]

    def _used(self, block: Block) -> set[str]:
        """What of the thread a block uses, for the phis of those behind it, too."""
        found = {name for line in block.body for name in line.uses}
        found.update(NAME.findall(block.end.text))
        for other in block.successors:
            if other in self.blocks:
                found.update(values[block.name] for _, values in self.blocks[other].phis.values())
        return found & self.home.keys()

    def _slot_bytes(self) -> dict[str, int]:
        found = {x.result: 0 if x.result in self.slots else bytes_of(x.kind) for x in self.head if x.is_slot}
        for line in self.lines():
            if line.place in self.slots:
                found[line.place] = max(found[line.place], bytes_of(line.kind))
        return found

    def _live_slots(self) -> dict[str, set[str]]:
        """Stack slots that have something in front of each block which is read there or behind."""
        others = self.bytes.keys() - self.slots
        read: dict[str, set[str]] = {}
        written: dict[str, set[str]] = {}
        for name, block in self.blocks.items():
            read[name], written[name] = set(others), set()
            for line in block.body:
                if line.place not in self.slots:
                    continue
                if not line.is_store and line.place not in written[name]:
                    read[name].add(line.place)
                elif line.is_store and bytes_of(line.kind) == self.bytes[line.place]:
                    written[name].add(line.place)
        return live_in(self.blocks, read, written)

    def _check(self) -> None:
        inner = {line.result for line in self.head} & self.varying
        if (
            not self.headers - self.inside
            or any(self.blocks[name].phis for name in self.targets)
            or any(not x.result and not (self.bytes.keys() | inner).isdisjoint(x.uses) for x in self.head)
        ):
            raise Impossible
        inner |= self.bytes.keys()
        self._note_pointers(inner)
        kinds = [self.type_of(name) for name in self.kept]
        if not inner.isdisjoint(self.kept) or any(kind[:1] in ("", "{") for kind in kinds):
            raise Impossible

    def _note_pointers(self, inner: set[str]) -> None:
        """Add the pointers that the threads' code computes from some names to these."""
        for block in self.blocks.values():
            for line in block.body:
                uses = line.result and (line.place in inner or not inner.isdisjoint(line.names))
                if uses and self.type_of(line.result) == "ptr":
                    inner.add(line.result)


class JammedGroup(ThreadCopies):
    """Both bodies: that for several threads, and that for one.

    ``%t.turn`` is the number of the next thread that waits, 0 if none does. Each has a place in ``%t.waiting`` for its
    state: first the number of its place in the code.
    """

    code: JammedThread

    def __init__(self, code: JammedThread, count: int) -> None:
        super().__init__(code, count, code.home.keys())
        worklist = set[str]().union(*(code.live_slots[name] for name in code.targets))
        self.slots = {slot: size for slot, size in code.bytes.items() if slot in worklist}
        self.at: dict[str, int] = {}
        """Where in the memory of a thread that waits something has its place."""
        self.size = _LINE
        for name, size in [*((n, bytes_of(code.type_of(n))) for n in code.kept), *self.slots.items()]:
            self.at[name] = self.size
            self.size += -(-size // _LINE) * _LINE

    def lines(self) -> list[str]:
        """The code in front of ``%next``, which advances by ``%t.step`` threads."""
        several = f"label %{self.label(self.code.first)}"
        return [
            *self._head(),
            "begin:",
            "  %t = phi i64 [ 0, %group ], [ %t1, %next ]",
            *(f"  %t.t{thread} = add i64 %t, {thread}" for thread in self.threads[1:]),
            f"  %t.all = icmp ult i64 %t.t{self.count - 1}, %row_t_end",
            f"  %t.step = select i1 %t.all, i64 {self.count}, i64 1",
            "  store i32 0, ptr %t.turn, align 4",
            f"  br i1 %t.all, {several}, label %{self._single_label(self.code.first)}",
            *self._jammed_body(),
            *self._single_body(),
            *self._next_waiting_thread(),
        ]

    def _head(self) -> list[str]:
        """Slots of live values, and the code in front of the loop, with slots of the other threads."""
        code = self.code
        lines = [
            "  %t.turn = alloca i32, align 4",
            f"  %t.waiting = alloca [{(self.count - 1) * self.size} x i8], align {_LINE}",
        ]
        lines += [f"  {name}.kept = alloca {code.type_of(name)}, align 64" for name in code.kept]
        for line in code.head:
            lines += self.line(line) if line.result else [line.text]
        return lines

    def _single_label(self, block: str) -> str:
        return "alone" if block == self.code.first else block

    # -- several threads -----------------------------------------------------------------------------------

    def _jammed_body(self) -> list[str]:
        converged = self._converged_blocks()
        for name in converged:
            self.edges[name] = self.edges_of(name)
        return [*(line for name in converged for line in self._block(name)), *self.faults(converged)]

    def _converged_blocks(self) -> list[str]:
        reached, worklist = {self.code.first}, [self.code.first]
        while worklist:
            for other in self.edges_of(worklist.pop()):
                if other != _NEXT and other not in reached:
                    reached.add(other)
                    worklist.append(other)
        return [name for name in self.blocks if name in reached]

    def edges_of(self, name: str) -> dict[str, str]:
        found = super().edges_of(name)
        if name in self.code.divergent:
            first, second = self._order(self.blocks[name])
            found |= {first: f"w.{name}", second: f"apart.{name}"}
        return found

    def _block(self, name: str) -> list[str]:
        """A block for all threads: lines between changes of memory for one thread, then for the next."""
        block = self.blocks[name]
        lines = [f"{self.label(name)}:"]
        for phi in block.phis:
            lines += self.phi(block, phi)
        copies: list[list[str]] = []
        for line, of_threads in self.body(block):
            copies.append(of_threads)
            if self._may_change_memory(line):  # which what comes is to find changed by all threads
                lines += self._one_by_one(copies)
                copies = []
        lines += self._one_by_one(copies)
        if name in self.code.regions:
            return lines + self.serialised(block)
        if name in self.code.divergent:
            return [*lines, *self._divergent_end(block), *self._spill_threads(block)]
        return lines + self.end(block)

    def _may_change_memory(self, line: Line) -> bool:
        return not line.is_repeatable and not line.is_counter and line.place not in self.code.slots

    def _one_by_one(self, copies: list[list[str]]) -> list[str]:
        """Copies of lines: all of the first thread, with the uniform ones; then those of the next."""
        return [copy[thread] for thread in self.threads for copy in copies if thread < len(copy)]

    def _order(self, block: Block) -> tuple[str, str]:
        """The successors of a block with divergent threads, in the order of their tests."""
        one, other = block.successors
        return (other, one) if block.end.likely_targets() == (other,) else (one, other)

    def _divergent_end(self, block: Block) -> list[str]:
        """The end of a block behind which threads may part."""
        name, (_, condition, (one, other), weights) = block.name, block.end
        all_lines, all_of = self.over_threads("and", condition, f"all{{}}.{name}")
        any_lines, any_of = self.over_threads("or", condition, f"any{{}}.{name}")
        apart = f"apart.{name}"
        if self._order(block)[0] == other:
            return [
                *any_lines, f"  br i1 {any_of}, label %{apart}, label %w.{other}{weights}",
                f"{apart}:", *all_lines, f"  br i1 {all_of}, label %w.{one}, label %parting.{name}",
            ]  # fmt: skip
        return [
            *all_lines, f"  br i1 {all_of}, label %w.{one}, label %{apart}{weights}",
            f"{apart}:", *any_lines, f"  br i1 {any_of}, label %parting.{name}, label %w.{other}",
        ]  # fmt: skip

    def _spill_threads(self, block: Block) -> list[str]:
        """Code for diverging threads: their state goes to slots and memory, the first thread continues."""
        code, here = self.code, block.name
        _, condition, (one, other), _ = block.end
        live = sorted(code.live[one] | code.live[other])
        lines = [f"parting.{here}:"]
        lines += [f"  store {code.type_of(x)} {self.renamed(x, 0)}, ptr {x}.kept, align 64" for x in live]
        for thread in self.threads[1:]:
            place = f"%place{thread}.{here}"
            choice = f"i32 {code.targets[one]}, i32 {code.targets[other]}"
            lines.append(f"  {place} = select i1 {self.renamed(condition, thread)}, {choice}")
            at = f"{place}.at"
            first = (thread - 1) * self.size
            lines.append(f"  {at} = getelementptr i8, ptr %t.waiting, i64 {first}")
            lines.append(f"  store i32 {place}, ptr {at}, align 4")
            for x in live:
                address = f"{x}.{here}.at{thread}"
                lines.append(f"  {address} = getelementptr i8, ptr %t.waiting, i64 {first + self.at[x]}")
                lines.append(f"  store {code.type_of(x)} {self.renamed(x, thread)}, ptr {address}, align {_LINE}")
            for slot, size in self.slots.items():
                if slot not in code.live_slots[one] | code.live_slots[other]:
                    continue
                address = f"{slot}.{here}.at{thread}"
                lines.append(f"  {address} = getelementptr i8, ptr %t.waiting, i64 {first + self.at[slot]}")
                lines.append(_copy(address, self.renamed(slot, thread), size))
        return [
            *lines,
            "  store i32 1, ptr %t.turn, align 4",
            f"  br i1 {self.renamed(condition, 0)}, label %{one}, label %{other}",
        ]

    # -- one thread ----------------------------------------------------------------------------------------

    def _single_body(self) -> list[str]:
        """The body for one thread, which can be entered at the targets."""
        lines: list[str] = []
        code, kept = self.code, frozenset(self.code.kept)
        loaded = {
            here: {name: f"{name}.{here}" for name in sorted(used & kept) if code.home[name] != here}
            for here, used in code.used.items()
        }

        def local(text: str, here: str) -> str:
            names = loaded[here]
            return NAME.sub(lambda m: names.get(m[0], m[0]), text) if names else text

        def keep(name: str) -> list[str]:
            return [f"  store {code.type_of(name)} {name}, ptr {name}.kept, align 64"] if name in kept else []

        for here, block in self.blocks.items():
            lines.append(f"{self._single_label(here)}:")
            for phi, (kind, values) in block.phis.items():
                ways = ", ".join(f"[ {local(values[b], b)}, %{self._single_label(b)} ]" for b in block.before)
                lines.append(f"  {phi} = phi {kind} {ways}")
            for phi in block.phis:
                lines += keep(phi)
            lines += [f"  {new} = load {code.type_of(n)}, ptr {n}.kept, align 64" for n, new in loaded[here].items()]
            for line in block.body:
                lines.append(local(line.text, here))
                lines += keep(line.result)
            lines.append(local(block.end.text, here).replace(f"label %{_NEXT}", "label %t.over"))
        return lines

    def _next_waiting_thread(self) -> list[str]:
        """Code behind the body for one thread: the next waiting thread continues."""
        code = self.code
        if not code.targets:
            return ["t.over:", f"  br label %{_NEXT}"]
        places = " ".join(f"i32 {number}, label %{target}" for target, number in code.targets.items())
        lines = [
            "t.over:",
            "  %t.thread = load i32, ptr %t.turn, align 4",
            "  %t.none = icmp eq i32 %t.thread, 0",
            f"  br i1 %t.none, label %{_NEXT}, label %t.change",
            "t.change:",
            "  %t.behind = add i32 %t.thread, 1",
            f"  %t.last = icmp eq i32 %t.behind, {self.count}",
            "  %t.turn.next = select i1 %t.last, i32 0, i32 %t.behind",
            "  store i32 %t.turn.next, ptr %t.turn, align 4",
            "  %t.number = sub i32 %t.thread, 1",
            f"  %t.from = getelementptr [{self.size} x i8], ptr %t.waiting, i32 %t.number",
            "  %t.place = load i32, ptr %t.from, align 4",
        ]
        for x in code.kept:
            lines.append(f"  {x}.again.at = getelementptr i8, ptr %t.from, i64 {self.at[x]}")
            lines.append(f"  {x}.again = load {code.type_of(x)}, ptr {x}.again.at, align {_LINE}")
            lines.append(f"  store {code.type_of(x)} {x}.again, ptr {x}.kept, align 64")
        for slot, size in self.slots.items():
            lines.append(f"  {slot}.again.at = getelementptr i8, ptr %t.from, i64 {self.at[slot]}")
            lines.append(_copy(slot, f"{slot}.again.at", size))
        return [*lines, f"  switch i32 %t.place, label %{_NEXT} [ {places} ]"]


def _copy(to: str, source: str, size: int) -> str:
    return f"  call void @llvm.memcpy.p0.p0.i64(ptr align 1 {to}, ptr align 1 {source}, i64 {size}, i1 false)"
