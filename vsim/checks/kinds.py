"""Messages, hints and operands by code of a finding: one table for both engines.

An engine reports an *instance*: a code with an instruction, thread and lane, and two numbers. This table has for each
code its check, message and hint, and the meaning of the first number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from visakit.diagnostics import counted
from vsim.checks.findings import Finding, OtherSide, Site, Who, site_of
from vsim.checks.names import CALLS, DIVERGENCE, GUARD, UNDEFINED
from vsim.memory.memory import shown_offset

if TYPE_CHECKING:
    from visakit.language.program import Function
    from vsim.launch.dispatch import Dispatch

FLAT, LOCAL, SCRATCH, REGISTER, ARGUMENT, NONE = "flat", "local", "scratch", "register", "argument", ""
"""Meaning of an instance's first number: an address, an offset in local or scratch memory, the number of a variable
of the instruction's function (as :mod:`visakit.language.program` counts them), an address outside the argument to which
it belongs (the second number is then the number of bytes accessed), nothing.
"""


class Instance(NamedTuple):
    """An instance of a finding: an instruction, thread and lane, and two numbers whose meaning depends on the code."""

    site: Site
    who: Who
    address: int = 0
    other: int = 0
    times: int = 1


class Kind(NamedTuple):
    """A code of findings.

    Attributes:
        check: the check that finds it.
        message: the defect; ``{other}`` is replaced by the instance's second number.
        hint: the cure.
        memory: the meaning of the first number.
        words: makes the text for the second number, where the number alone says too little.
        other: the other side's kind of access, of codes whose second number is a site.
        other_thread: the other side's thread in the same group; None for the instance's own thread.
    """

    check: str
    message: str
    hint: str = ""
    memory: str = NONE
    words: Callable[[Dispatch, Instance], str] | None = None
    other: str = ""
    other_thread: int | None = None


def stack_in_words(dispatch: Dispatch, instance: Instance) -> str:
    """The stack pointer's distance from the start of its block."""
    offset = instance.other - (1 << 64) if instance.other >> 63 else instance.other
    return f"%sp is {offset} bytes past its start, and the thread has {dispatch.private_size} bytes"


def ended_in_words(dispatch: Dispatch, instance: Instance) -> str:
    """How many threads of the group have ended, and how many wait."""
    count = dispatch.threads_of(dispatch.group(instance.who.group))
    return f"{instance.other} of its {count} threads have ended, the others wait"


_BOUNDS = "mend the index or its bound, or give the kernel a larger part of the memory"
_RESTORE = "a function must preserve this register: restore it before fret"

KINDS: dict[str, Kind] = {
    # -- races: K001 to K009
    # -- undefined values: K010 to K019
    "K010": Kind(UNDEFINED, "an undefined value decides which lanes go where"),
    "K011": Kind(UNDEFINED, "an undefined value is an address"),
    "K012": Kind(UNDEFINED, "an undefined value is an operand of an atomic operation, or its old value in memory"),
    "K013": Kind(
        UNDEFINED,
        "an undefined value is left in memory",
        "initialise the registers or the memory that it was computed from",
        FLAT,
    ),
    "K014": Kind(UNDEFINED, "an undefined predicate decides which lanes access memory"),
    # -- divergence: K020 to K029
    "K020": Kind(
        DIVERGENCE,
        "a barrier that part of the work-group never reaches: {other}",
        "all threads of a group come to a barrier equally often",
        NONE,
        ended_in_words,
    ),
    "K021": Kind(
        DIVERGENCE,
        "a barrier that a work-item does not reach with the others of its thread",
        "move the barrier to where all work-items of the group come",
    ),
    "K022": Kind(
        DIVERGENCE,
        "threads of a work-group wait for each other at different barriers",
        "the condition that leads to one or the other must be the same in the whole group",
        other="barrier",
        other_thread=0,
    ),
    "K023": Kind(
        DIVERGENCE,
        "a jump of the whole thread over a label where lanes of it wait",
        "where lanes have gone different ways, jump with goto",
        other="wait",
    ),
    "K024": Kind(
        DIVERGENCE,
        "a return of the whole thread while lanes of it wait at a label",
        "where lanes have gone different ways, return with an execution size of all lanes, or at the end",
        other="wait",
    ),
    "K025": Kind(
        DIVERGENCE,
        "a block that is not moved, as its lane is off while others of the thread run",
        "a message about a block ignores the execution mask if it is written with _NM",
    ),
    # -- calls: K030 to K039
    "K031": Kind(CALLS, "a call that changes the stack pointer", _RESTORE, REGISTER),
    "K032": Kind(CALLS, "a call that changes the frame pointer", _RESTORE, REGISTER),
    "K033": Kind(CALLS, "a call that changes the thread's header", _RESTORE, REGISTER),
    "K034": Kind(CALLS, "a call that changes the float controls", _RESTORE, REGISTER),
    "K035": Kind(
        CALLS,
        "the stack leaves its block: {other}",
        "the kernel asks for too little private memory, or a function moves the stack pointer too far",
        NONE,
        stack_in_words,
    ),
    # -- accesses outside an argument: K040 to K049
    "K040": Kind(GUARD, "a read outside an argument", _BOUNDS, ARGUMENT),
    "K041": Kind(GUARD, "a write outside an argument", _BOUNDS, ARGUMENT),
}
BY_ORDER = frozenset(("K001", "K003"))
"""The codes of races whose winner is another one where threads and groups run in another order."""
OUTSIDE = {False: "K040", True: "K041"}
"""The codes of accesses outside an argument, by whether they write."""


def ended_instance(dispatch: Dispatch, function: Function, number: int, who: Who, ended: int) -> Instance:
    """What is found where threads of a group wait at a barrier, and so many have ended."""
    return Instance(site_of(dispatch.image.module.all_functions, function, number), who, other=ended)


def number_of(code: str) -> int:
    """The number of a code, which compiled code has; it must be one of the table."""
    assert code in KINDS, code
    return int(code[1:])


def code_of(number: int) -> str:
    """The code with a number."""
    return f"K{number:03}"


def finding_of(dispatch: Dispatch, code: str, instance: Instance) -> Finding:
    """The finding that an instance stands for, in words."""
    kind = KINDS[code]
    other = str(instance.other) if kind.words is None else kind.words(dispatch, instance)
    if kind.memory == ARGUMENT:
        memory = outside_in_words(dispatch, instance.address, instance.other)
    else:
        memory = memory_name(dispatch, kind.memory, instance.site, instance.address)
    message = kind.message.format(other=other)
    side = None
    if kind.other:
        site = Site(instance.other >> 32, instance.other & 0xFFFF_FFFF)
        who = instance.who if kind.other_thread is None else instance.who._replace(thread=kind.other_thread)
        side = OtherSide(site, who, kind.other)
    return Finding(code, kind.check, message, instance.site, instance.who, memory, side, kind.hint, instance.times)


def memory_name(dispatch: Dispatch, kind: str, site: Site, address: int) -> str:
    """A place in words: ``'y' at offset 64``, ``local memory at offset 8``, ``'V32'``; empty for no place."""
    if kind == FLAT:
        buffer = dispatch.memory.slots.get(address >> 32)
        if buffer is None:
            return dispatch.nowhere(address)
        return f"'{dispatch.name_of(buffer)}' at offset {address - buffer.address}"
    if kind in (LOCAL, SCRATCH):
        size = dispatch.slm_size if kind == LOCAL else dispatch.scratch_size
        return f"{kind} memory at offset {shown_offset(address, size)}"
    if kind == REGISTER:
        return f"'{dispatch.image.module.all_functions[site.function].variable_name(address)}'"
    return ""


def outside_in_words(dispatch: Dispatch, address: int, size: int) -> str:
    """An access of so many bytes outside the argument that its address belongs to, and what lies there:
    ``'y' at offset 68, 4 bytes after its end, in 'x' at offset 4``.
    """
    memory, slot = dispatch.memory, address >> 32
    if not slot:
        return f"local memory, which has {counted(dispatch.slm_size, 'byte')}, at offset {address}"
    own = memory.slots[slot]
    first, room = memory.readable_ranges()[slot]
    last = first + room
    names = [
        dispatch.argument_name(index)
        for index, buffer in dispatch.arguments.buffers.items()
        if (buffer.address, buffer.size) == (first, last - first)
    ]
    found = f"'{' or '.join(dict.fromkeys(names)) or own.name}' at offset {address - first}, "
    if address < first:
        found += f"{counted(first - address, 'byte')} before its beginning"
    elif address < last:
        found += f"{counted(address + size - last, 'byte')} of it after its end"
    else:
        found += f"{counted(address - last, 'byte')} after its end" if address > last else "right after its end"
    place = own.host + (max(address, last) if address >= first else address) - own.address
    others = [
        f"in '{dispatch.argument_name(index)}' at offset {place - buffer.host}"
        for index, buffer in dispatch.arguments.buffers.items()
        if buffer.host <= place < buffer.host + buffer.size
    ]
    return f"{found}, {' and '.join(dict.fromkeys(others)) or 'where no argument is'}"
