"""Commands that look: values, memory, threads, places, origins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from visakit.diagnostics import DebugError, did_you_mean
from visakit.language import types
from visakit.language.program import FIRST_VARIABLE
from visakit.language.source_lines import SourcePlace
from vsim.debug.console import CommandWords, Console, command
from vsim.debug.expressions import parse, plain
from vsim.debug.origin import lines as origin_lines
from vsim.debug.places import Places, Spot
from vsim.debug.problems import COMMAND, problem
from vsim.debug.scope import SCRATCH_WORD
from vsim.debug.session import Session
from vsim.debug.stops import TITLES, Breakpoint
from vsim.debug.threads import parse_threads
from vsim.debug.values import FORMATS, DebugValue, lane_list, shown_compact, shown_element, table, type_name
from vsim.engines.numpy.algebra import DTYPES
from vsim.launch.launch import BufferArgument, ImageArgument
from vsim.memory.memory import Buffer

DATA, PLACES, THREADS = "Data", "Source and instructions", "Threads and frames"
_UNITS = {"b": types.UB, "h": types.UW, "w": types.UD, "g": types.UQ}
_FLOATS = {2: types.HF, 4: types.F, 8: types.DF}
LISTED = 10


def variable_names(console: Console, rest: str) -> Iterable[str]:
    """The names that an expression may have here, for completion."""
    return console.session.scope().names()


def place_names(console: Console, rest: str) -> Iterable[str]:
    """The places that a command may be about, for completion."""
    return console.session.places.names(console.session.here)


# -- values ------------------------------------------------------------------------------------------------


def format_letter(words: CommandWords) -> str:
    """The letter of ``/x``.

    Raises:
        DebugError: D001, there is no such format.
    """
    if words.format and words.format not in tuple(FORMATS):
        raise problem(COMMAND, f"there is no format '{words.format}'", f"formats are {', '.join(FORMATS)}")
    return words.format


def shown_lines(console: Console, text: str, letter: str) -> list[str]:
    """A value as lines: one for a number, else a table."""
    session = console.session
    return value_lines(console, session.evaluate(text), letter)


def value_lines(console: Console, value: DebugValue, letter: str) -> list[str]:
    """A value as lines."""
    if value.count == 1:
        return [shown_compact(value, 0, None, letter)]
    return table(value, 0, console.session.active(), letter, console.color, console.width)


@command("print[/FORMAT] EXPRESSION", "p inspect", DATA, variable_names)
def print_(console: Console, words: CommandWords) -> None:
    """Show a value: V34, V34(1,0)<8;8,1>, P1, x[3]@8."""
    expression = parse(words.text, words.at, words.line)
    value = expression.value(console.session.scope())
    lines, name = value_lines(console, value, format_letter(words)), console.session.remember(value)
    if len(lines) == 1:
        console.write(f"{name} = {lines[0]}")
        return
    console.write(f"{name} = {expression.text}: {value.type} of {console.session.focus}")
    for line in lines:
        console.write(line)


@command("display[/FORMAT] [EXPRESSION]", "", DATA, variable_names)
def display(console: Console, words: CommandWords) -> None:
    """Show a value at each stop; without one, show all now."""
    if words.text:
        parse(words.text, words.at, words.line)
        number = max(console.displays, default=0) + 1
        console.displays[number] = words.text, format_letter(words)
        console.show_display(number, *console.displays[number])
        return
    for number, (text, letters) in console.displays.items():
        console.show_display(number, text, letters)


@command("undisplay [NUMBER]", "", DATA)
def undisplay(console: Console, words: CommandWords) -> None:
    """Show a value no more; without a number, none."""
    if not words.text:
        console.displays.clear()
    elif console.displays.pop(words.number(), None) is None:
        raise words.problem(f"there is no display {words.text}")


@command("x[/COUNT FORMAT UNIT] EXPRESSION", "", DATA, variable_names)
def examine(console: Console, words: CommandWords) -> None:
    """Show memory: at an address, or from an element on."""
    match = re.fullmatch(r"([0-9]{,9})([xdutfc]?)([bhwg]?)", words.format)
    if match is None:
        raise problem(COMMAND, f"'{words.format}' is no format", "as x/8fw: a count, one of xdutfc, one of bhwg")
    count, letter = int(match[1] or 1), match[2] or "x"
    session = console.session
    value = parse(words.text, words.at, words.line).value(session.scope())
    kind = _UNITS[match[3] or ("w" if value.location is None else _unit_of(value.data.dtype.itemsize))]
    if letter == "f":
        kind = _FLOATS.get(kind.size, types.F)
    location = value.location
    if location is not None and location.data is not None:
        start = int(location.columns.reshape(-1)[0])
        raw = location.data[start : start + count * kind.size]
        if raw.size < count * kind.size:
            raise words.problem(f"'{location.name}' ends before {count} elements from there")
        elements, base, name = np.ascontiguousarray(raw).view(DTYPES[kind]), start, f"{location.name}+"
    else:
        if value.data.dtype.kind == "f":
            raise words.problem("an address is a whole number", "write memory, as x[3], or a number")
        address = int(value.data.reshape(-1)[0])
        elements = session.scope().at_address(address, DTYPES[kind], count).row(0)
        base, name = address, ""
    step = max(1, 32 // kind.size)
    for first in range(0, count, step):
        at = base + first * kind.size
        shown = "  ".join(shown_element(e, letter) for e in elements[first : first + step])
        console.write(f"{name}{at if name else hex(at)}: {shown}")


def _unit_of(size: int) -> str:
    return {1: "b", 2: "h", 8: "g"}.get(size, "w")


@command("origin EXPRESSION", "", DATA, variable_names)
def origin(console: Console, words: CommandWords) -> None:
    """Show which instructions wrote a value, and from what, repeatedly."""
    parse(words.text, words.at, words.line)
    for found in console.session.origin(words.text):
        for line in origin_lines(found, console.session.places):
            console.write(line)


@command("set [var] TARGET = VALUE", "", DATA, variable_names)
def set_(console: Console, words: CommandWords) -> None:
    """Change a variable, predicate or memory, or set $NAME."""
    text, at = words.text, words.at
    if text.startswith(("var ", "variable ")):
        rest = text.partition(" ")[2]
        at, text = at + len(text) - len(rest), rest
    match = re.fullmatch(r"(.*?[^=!<>])=(?!=)(.*)", text)
    if match is None:
        raise words.problem("'set' is followed by TARGET = VALUE", "as 'set V34(0,2) = 5', 'set $n = 3'")
    target = match[1].strip()
    if not target.startswith("$"):
        parse(match[1], at, words.line)
    value = parse(match[2], at + match.start(2), words.line)
    console.session.set(target, value)


# -- info --------------------------------------------------------------------------------------------------

Info = Callable[[Console, str], None]
INFO: dict[str, tuple[str, Info]] = {}


def _info(name: str, summary: str) -> Callable[[Info], Info]:
    def enter(show: Info) -> Info:
        INFO[name] = summary, show
        return show

    return enter


@command("info WHAT [NAMES]", "i", DATA, lambda c, r: [*INFO, *variable_names(c, r)])
def info(console: Console, words: CommandWords) -> None:
    """Show lists: 'info' alone says which."""
    what, _, rest = words.text.partition(" ")
    if not what:
        for name, (summary, _) in INFO.items():
            console.write(f"info {name:12} {summary}")
        return
    names = [what] if what in INFO else [name for name in INFO if name.startswith(what)]
    if len(names) != 1:
        hint = did_you_mean(what, INFO) or f"there are {', '.join(INFO)}"
        raise words.problem(f"'info {what}' is not known" if not names else f"'{what}' may be {', '.join(names)}", hint)
    INFO[names[0]][1](console, rest.strip())


@_info("threads", "hardware threads of the groups that run, and where their lanes are")
def _threads(console: Console, rest: str) -> None:
    session = console.session
    states = session.threads()
    if rest:
        wanted = parse_threads(rest, session.focus.group)
        states = [s for s in states if s.group in wanted.groups and s.thread in wanted.threads]
    if not states:
        console.write("no thread runs")
    for state in states:
        mark = "*" if state[:2] == session.focus[:2] and session.focus.lane in state.lanes else " "
        who = f"{state.group}.{state.thread}:{lane_list(state.lanes)}"
        console.write(f"{mark} {who:16} {state.state:8} {where(session.places, state.spot)}")


@_info("lanes", "lanes of the thread: their work-items, and where they are")
def _lanes(console: Console, rest: str) -> None:
    session = console.session
    if session.execution.batch is None:
        console.write("no thread runs")
    for state, lane, item in session.lanes_in_focus():
        mark = "*" if lane == session.focus.lane else " "
        console.write(f"{mark} {lane:2}  work-item {item}  {state.state:8} {where(session.places, state.spot)}")


@_info("groups", "work-groups: how many have run, which run, how many follow")
def _groups(console: Console, rest: str) -> None:
    execution = console.session.execution
    total = execution.dispatch.group_count
    running = sorted({int(g) for g in execution.batch.numbers()[0]}) if execution.batch is not None else []
    done = sum(len(part) for part in execution.parts[: execution.part])
    console.write(f"{done} of {total} have run")
    if running:
        console.write(f"in flight: {lane_list(running)}")


@_info("registers", "variables of the function that its instructions use, and predicates; or only the named ones")
def _registers(console: Console, rest: str) -> None:
    session = console.session
    function = session.here.function
    names = rest.split() or [v.name for v in function.variables] + [p.name for p in function.predicates]
    names += ["%r0", "%cr0", "%ce0", "%sr0"] if not rest else []
    _compact(console, names, skip=not rest)


@_info("locals", "variables of the source, where it is known, else of the function without inputs, one line each")
def _locals(console: Console, rest: str) -> None:
    names = console.session.scope().source_names()
    if names:
        _source_locals(console, names)
        return
    if console.session.sources.problem:
        console.write(console.session.sources.problem)
    function = console.session.here.function
    inputs = {i.index for i in function.inputs}
    names = [v.name for n, v in enumerate(function.variables, FIRST_VARIABLE) if n not in inputs and v.alias is None]
    _compact(console, names, skip=True)


def _source_locals(console: Console, names: list[str]) -> None:
    """Variables of the source; a variable without a location here shows the reason."""
    scope, active = console.session.scope(), console.session.active()
    for name in names:
        try:
            found = scope.find(name)
        except DebugError as error:
            console.write(f"{name:12} <{error.diagnostics[0].message}>")
            continue
        if isinstance(found, DebugValue):
            console.write(f"{name:12} {found.type:5} {shown_compact(found, 0, active)}")
        else:
            count = found.size // found.dtype.itemsize
            console.write(f"{name:12} {type_name(found.dtype)}[{count}], as {name}[0]@{min(count, 8)}")


@_info("predicates", "predicates of the function, one line each")
def _predicates(console: Console, rest: str) -> None:
    _compact(console, [p.name for p in console.session.here.function.predicates], skip=True)


def _compact(console: Console, names: list[str], skip: bool) -> None:
    scope, active = console.session.scope(), console.session.active()
    for name in names:
        try:
            value = plain(scope.find(name), scope)
        except DebugError:
            if not skip:
                raise
            continue
        mark = " ?" if value.undefined is not None and value.undefined.any() else ""
        console.write(f"{name:12} {value.type:5} {shown_compact(value, 0, active)}{mark}")


@_info("args", "arguments of the kernel")
def _args(console: Console, rest: str) -> None:
    execution = console.session.execution
    signature = execution.dispatch.signature
    for number, name in enumerate(signature.names_in_order):
        given = execution.launch.args[number] if number < len(execution.launch.args) else None
        declared = signature.argument_types.get(number, "").partition(";")[0]
        if isinstance(given, (BufferArgument, ImageArgument)):
            buffer = execution.dispatch.arguments.buffers.get(number)
            at = f" at {buffer.address:#x}" if isinstance(buffer, Buffer) else ""
            console.write(f"{name:12} {declared or given.array.dtype.name}, array of {list(given.array.shape)}{at}")
            continue
        try:
            found = console.session.scope()._scalar(name)
            shown = shown_compact(found) if found is not None else "?"
        except DebugError:
            shown = type(given).__name__.removesuffix("Argument").lower()
        console.write(f"{name:12} {declared or 'scalar'} = {shown}")


@_info("breakpoints", "breakpoints, watchpoints and catchpoints")
def _breakpoints(console: Console, rest: str) -> None:
    known = console.session.breakpoints
    if not known:
        console.write("no breakpoints or watchpoints")
    for own in known.values():
        enabled = "" if own.enabled else ", disabled"
        text = breakpoint_text(console.session.places, own)
        console.write(f"{own.number:<3} {TITLES[own.kind].removeprefix('hw '):16} {text}{enabled}")
        if own.hits:
            console.write(f"    hit {own.hits} time{'s' if own.hits != 1 else ''}")
        for line in own.commands:
            console.write(f"    {line}")


def breakpoint_text(places: Places, own: Breakpoint) -> str:
    """What a breakpoint is about, in one line."""
    what = own.what
    if own.spots:
        at = where(places, own.spots[0])
        is_place = what.startswith("*") or what.isdigit() or what == own.spots[0].function.name
        what = at if is_place else f"{what}, {at}"
    parts = [what]
    parts += [f"thread {own.threads.text}"] if own.threads is not None else []
    parts += [f"if {own.condition.text}"] if own.condition is not None else []
    parts += [f'prints "{own.log}"'] if own.log else []
    parts += [f"ignores {own.ignore} hits"] if own.ignore else []
    parts += ["once"] if own.temporary else []
    return ", ".join(parts)


@_info("slm", "local memory of the group as dwords")
def _slm(console: Console, rest: str) -> None:
    _dwords(console, "slm", console.session.execution.dispatch.slm_size, "the group has no local memory")


@_info("scratch", "scratch memory of the thread as dwords")
def _scratch(console: Console, rest: str) -> None:
    size = console.session.execution.dispatch.scratch_size
    _dwords(console, SCRATCH_WORD, size, "the thread has no scratch memory")


def _dwords(console: Console, name: str, size: int, missing: str) -> None:
    """The first dwords of a memory."""
    if size < 4:
        console.write(missing)
        return
    examine(console, CommandWords(f"{name}[0]", f"x {name}[0]", 2, f"{min(64, size // 4)}xw"))


@_info("buffers", "memory of the launch, with addresses")
def _buffers(console: Console, rest: str) -> None:
    dispatch = console.session.execution.dispatch
    for buffer in console.session.program.memory.buffers():
        console.write(f"{buffer.address:#x}  {buffer.size:10} bytes  {dispatch.name_of(buffer)}")


@_info("time", "where the launch is: its group, and executed instructions there")
def _time(console: Console, rest: str) -> None:
    session = console.session
    execution = session.execution
    console.write(
        f"launch {session.launch_number} of '{execution.dispatch.kernel.name}', part {execution.part} of "
        f"{len(execution.parts)}, time {execution.time}, {len(execution.checkpoints)} checkpoints"
    )


@_info("functions", "kernels and functions of the program")
def _functions(console: Console, rest: str) -> None:
    for function in console.session.places.functions:
        what = "kernel" if function.is_kernel else "function"
        console.write(f"{what:9} {function.name}: {len(function.instructions)} instructions")


@_info("line", "the source line of an instruction, and its instructions")
def _line(console: Console, rest: str) -> None:
    session = console.session
    spot = session.places.find(rest, session.here) if rest else session.here
    console.write(where(session.places, spot))


@_info("display", "expressions that each stop shows")
def _displays(console: Console, rest: str) -> None:
    for number, (text, letter) in console.displays.items():
        console.write(f"{number}: {'/' + letter + ' ' if letter else ''}{text}")


# -- places ------------------------------------------------------------------------------------------------


def where(places: Places, spot: Spot) -> str:
    """An instruction by its function and number, with the source line."""
    span = places.span(spot)
    at = f" at {span.file}:{span.line}" if span.line else ""
    return f"{spot.function.name}+{spot.number}{at}"


def frame_lines(session: Session, number: int) -> Iterator[str]:
    """A frame as a stop shows it: where it is, the source line, the instruction."""
    frames = session.frames()
    if not frames:
        if session.execution.batch is None:
            yield "no group runs"
        else:
            yield f"lane {session.focus} has ended"
        return
    frame = frames[min(number, len(frames) - 1)]
    places, spot = session.places, frame.spot
    span = places.span(spot)
    yield f"{session.focus} in {where(places, spot)}, time {session.execution.time}"
    source = places.source_text(span)
    text = places.text(spot)
    if source:
        yield f"{span.line:<6}{source.strip()}"
    if not source or not places.is_text(spot):
        yield f"=> {text}"


@command("list [PLACE]", "l", PLACES, place_names, repeats=True)
def list_(console: Console, words: CommandWords) -> None:
    """Show source lines, and vISA beside them."""
    session = console.session
    places = session.places
    spot = places.find(words.text, session.here) if words.text else session.here
    span = places.span(spot)
    if not places.source_text(span):
        reason = places.files.problem(span.file) if span.line else "the program has no lines"
        console.write(f"{span.file}: {reason}" if span.line else reason)
        disassemble(console, CommandWords("", "disassemble", 0))
        return
    first = max(1, span.line - LISTED // 2)
    if not words.text and console.listed is not None and console.listed[0] == span.file:
        first = console.listed[1]
    beside: dict[int, list[int]] = {}
    for number, own in enumerate(places.spans(spot.function)):
        if own.file == span.file and not spot.function.instructions[number].desc.is_directive:
            beside.setdefault(own.line, []).append(number)
    for line in range(first, first + LISTED):
        text = places.files.text(SourcePlace(span.file, line))
        if text or line <= span.line:
            _list_line(console, spot, f"{line:<5} {text}", beside.get(line, []))
    console.listed = span.file, first + LISTED


def _list_line(console: Console, spot: Spot, source: str, numbers: list[int]) -> None:
    """A source line, and its instructions beside it; vISA text is beside itself already."""
    session, function = console.session, spot.function
    is_here = [Spot(function, n) == session.here for n in numbers]
    if numbers and session.places.is_text(Spot(function, numbers[0])):
        console.write(f"{'=>' if any(is_here) else '  '} {source}")
        return
    console.write(f"   {source}".rstrip())
    for number, here in zip(numbers, is_here, strict=True):
        console.write(f"{'=>' if here else '  '} {'':8}{number:4} {session.places.instruction_text(function, number)}")


@command("disassemble [PLACE]", "disas", PLACES, place_names)
def disassemble(console: Console, words: CommandWords) -> None:
    """Show vISA around a place, or a whole FUNCTION."""
    session = console.session
    here = session.here
    spot = session.places.find(words.text, here) if words.text else here
    function = spot.function
    is_whole = words.text == function.name
    last = len(function.instructions)
    first, end = (0, last) if is_whole else (max(0, spot.number - LISTED), min(last, spot.number + LISTED))
    console.write(f"'{function.name}', {last} instructions:")
    for number in range(first, end):
        mark = "=>" if Spot(function, number) == here else "  "
        text = session.places.instruction_text(function, number)
        label = function.instructions[number].desc.flow.is_label
        console.write(f"{mark} {number:4} {text}" if not label else f"   {text}")
