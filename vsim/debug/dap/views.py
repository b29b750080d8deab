"""What an editor shows of a launch that has stopped: threads, frames, variables, memory, sources."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from visakit.diagnostics import VisaError
from visakit.language.program import FIRST_VARIABLE, Function
from vsim.debug.console import Console
from vsim.debug.dap import messages
from vsim.debug.dap.messages import DapDisassembledInstruction, DapSource, DapStackFrame, DapVariable
from vsim.debug.footprints import MEMORY, Holder, Use
from vsim.debug.places import Spot
from vsim.debug.problems import COMMAND, problem
from vsim.debug.session import Session
from vsim.debug.stops import Stop
from vsim.debug.threads import Focus
from vsim.debug.values import DebugValue, shown_compact, shown_element
from vsim.launch.arrays import Array, Bytes, address_of

Arguments: TypeAlias = Mapping[str, object]
Body: TypeAlias = Mapping[str, object] | None


MOST_INSTRUCTIONS = 100_000
"""That one request disassembles."""


class ShownVariable(NamedTuple):
    """What a ``variablesReference`` means: the variables of a scope, or the elements of one value."""

    list: Callable[[int, int], list[DapVariable]]
    set: Callable[[str, str], str]


class Views:
    """Answers requests that look at a launch.

    Args:
        console: runs commands of the debugger that the user types.
        tells: tells the editor of a stop that such a command has made.
    """

    def __init__(self, session: Session, console: Console, tells: Callable[[Stop], None]) -> None:
        self.session, self.console, self.tells = session, console, tells
        self.frames: list[tuple[Focus, int]] = []
        self.shown: list[ShownVariable] = []
        self.texts: list[str] = []

    def forget(self) -> None:
        """The launch runs: frames and variables of the last stop have no meaning any more."""
        self.frames.clear()
        self.shown.clear()

    # -- threads, frames, variables ------------------------------------------------------------------------

    def on_threads(self, arguments: Arguments) -> messages.ThreadsResponseBody:
        session = self.session
        known = sorted({state[:2] for state in session.threads()}) or [session.focus[:2]]
        return {"threads": [{"id": thread_id(session, Focus(*t)), "name": f"thread {t[0]}.{t[1]}"} for t in known]}

    def on_stackTrace(self, arguments: Arguments) -> messages.StackTraceResponseBody:
        session, old = self.session, self.session.focus
        found: list[DapStackFrame] = []
        focus = focus_of(session, number_of(arguments, "threadId"))
        if focus != old:
            session.select(focus)
        for level, frame in enumerate(session.frames()):
            self.frames.append((focus, level))
            span = session.places.span(frame.spot)
            shown: DapStackFrame = {
                "id": len(self.frames), "name": frame.spot.function.name, "line": span.line, "column": 1,
                "instructionPointerReference": reference(session.places.functions, frame.spot),
            }  # fmt: skip
            if span.line:
                shown["source"] = self._source(span.file)
            found.append(shown)
        session.focus = old
        return {"stackFrames": found, "totalFrames": len(found)}

    def _source(self, file: str) -> DapSource:
        path = os.path.join(os.path.dirname(self.session.places.image.file), file)
        if os.path.exists(path):
            return {"name": os.path.basename(file), "path": os.path.abspath(path)}
        if file not in self.texts:
            self.texts.append(file)
        return {"name": os.path.basename(file), "sourceReference": self.texts.index(file) + 1}

    def _enter(self, arguments: Arguments) -> Session:
        """Put the frame of a request into focus."""
        number = arguments.get("frameId")
        if isinstance(number, int) and 0 < number <= len(self.frames):
            focus, level = self.frames[number - 1]
            self.session.focus, self.session.frame_number = focus, level
        return self.session

    def on_scopes(self, arguments: Arguments) -> messages.ScopesResponseBody:
        session = self._enter(arguments)
        function = session.here.function
        inputs = {i.index for i in function.inputs}
        declared = [v.name for n, v in enumerate(function.variables, FIRST_VARIABLE) if n not in inputs]
        known = {
            "Source variables": session.scope().source_names(),
            "Arguments": session.execution.dispatch.signature.names_in_order, "Variables": declared,
            "Predicates": [p.name for p in function.predicates], "Registers": ["%r0", "%cr0", "%ce0", "%sr0"],
        }  # fmt: skip
        if session.execution.dispatch.slm_size:
            known["Local memory"] = ["slm"]
        if session.execution.dispatch.scratch_size:
            known["Scratch memory"] = ["scratch"]
        frame = session.focus, session.frame_number
        found: list[messages.DapScope] = []
        for name, names in known.items():
            if names:
                reference = self._list(names, frame)
                found.append(
                    {"name": name, "variablesReference": reference, "expensive": False, "namedVariables": len(names)}
                )
        return {"scopes": found}

    def _list(self, names: Sequence[str], frame: tuple[Focus, int]) -> int:
        """A reference to variables by name."""

        def values(start: int, count: int) -> list[DapVariable]:
            self.session.focus, self.session.frame_number = frame
            chosen = names[start : start + count] if count else names[start:]
            return [v for name in chosen if (v := self._variable(name)) is not None]

        def change(name: str, value: str) -> str:
            self.session.focus, self.session.frame_number = frame
            return shown_compact(self.session.set(name, value))

        self.shown.append(ShownVariable(values, change))
        return len(self.shown)

    def _variable(self, name: str) -> DapVariable | None:
        try:
            return self._shown(name, self.session.evaluate(name))
        except VisaError:
            return None

    def _shown(self, name: str, value: DebugValue) -> DapVariable:
        """A value as the protocol has it; one of several elements has a reference to them."""
        text = shown_compact(value, 0, self.session.active())
        found: DapVariable = {
            "name": name,
            "value": text,
            "type": value.type,
            "variablesReference": 0,
            "evaluateName": name,
        }
        if value.count > 1:
            found["variablesReference"], found["indexedVariables"] = self._elements(name, value), value.count
        if value.location is not None and value.location.is_memory:
            found["memoryReference"] = name
        return found

    def _elements(self, name: str, value: DebugValue) -> int:
        def values(start: int, count: int) -> list[DapVariable]:
            row = value.row(0)
            end = min(row.size, start + count) if count else row.size
            active = self.session.active()
            return [
                {"name": f"[{n}]", "value": shown_element(row[n]) + _off(value, active, n), "variablesReference": 0}
                for n in range(start, end)
            ]

        def change(element: str, text: str) -> str:
            return shown_compact(self.session.set(f"{name}{element}", text))

        self.shown.append(ShownVariable(values, change))
        return len(self.shown)

    def _reference(self, arguments: Arguments) -> ShownVariable:
        number = number_of(arguments, "variablesReference")
        if not 0 < number <= len(self.shown):
            raise problem(COMMAND, f"there are no variables {number} at this stop")
        return self.shown[number - 1]

    def on_variables(self, arguments: Arguments) -> messages.VariablesResponseBody:
        start, count = number_of(arguments, "start"), number_of(arguments, "count")
        return {"variables": self._reference(arguments).list(start, count)}

    def on_setVariable(self, arguments: Arguments) -> messages.SetVariableResponseBody:
        return {"value": self._reference(arguments).set(text_of(arguments, "name"), text_of(arguments, "value"))}

    def on_evaluate(self, arguments: Arguments) -> messages.EvaluateResponseBody:
        session, text = self._enter(arguments), str(arguments.get("expression") or "")
        if arguments.get("context") == "repl":
            return {"result": self._command(text), "variablesReference": 0}
        shown = self._shown(text, session.evaluate(text))
        found: messages.EvaluateResponseBody = {
            "result": shown["value"], "type": shown["type"], "variablesReference": shown["variablesReference"],
        }  # fmt: skip
        if "indexedVariables" in shown:
            found["indexedVariables"] = shown["indexedVariables"]
        if "memoryReference" in shown:
            found["memoryReference"] = shown["memoryReference"]
        return found

    def _command(self, text: str) -> str:
        """What a command of the debugger says."""
        lines: list[str] = []
        console, old = self.console, self.session.stop
        console.write = console.complain = lines.append
        console.run(text)
        if self.session.stop is not old and self.session.stop is not None:
            self.tells(self.session.stop)
        return "\n".join(lines)

    def on_completions(self, arguments: Arguments) -> messages.CompletionsResponseBody:
        text = str(arguments.get("text") or "")[: max(0, number_of(arguments, "column") - 1)]
        found = self.console.complete(text)
        return {"targets": [{"label": word} for word in found]}

    # -- instructions, memory, sources ---------------------------------------------------------------------

    def on_disassemble(self, arguments: Arguments) -> messages.DisassembleResponseBody:
        session = self.session
        spot = spot_of(session, text_of(arguments, "memoryReference"), number_of(arguments, "offset"))
        first, count = spot.number + number_of(arguments, "instructionOffset"), number_of(arguments, "instructionCount")
        if count > MOST_INSTRUCTIONS:
            raise problem(COMMAND, f"{count} instructions are too many, up to {MOST_INSTRUCTIONS}")
        found: list[DapDisassembledInstruction] = []
        for number in range(first, first + count):
            own = Spot(spot.function, number)
            if not 0 <= number < len(spot.function.instructions):
                found.append({"address": hex(max(0, number)), "instruction": "(outside)"})
                continue
            span = session.places.span(own)
            address = reference(session.places.functions, own)
            shown: DapDisassembledInstruction = {"address": address, "instruction": session.places.text(own)}
            if span.line:
                shown |= {"location": self._source(span.file), "line": span.line}
            found.append(shown)
        return {"instructions": found}

    def _memory(self, arguments: Arguments) -> tuple[Bytes, int]:
        """The bytes behind a reference, and where they begin."""
        location = self.session.evaluate(text_of(arguments, "memoryReference")).location
        if location is None or location.data is None:
            raise problem(COMMAND, f"'{arguments['memoryReference']}' is no memory")
        return location.data, int(location.columns.reshape(-1)[0]) + number_of(arguments, "offset")

    def on_readMemory(self, arguments: Arguments) -> messages.ReadMemoryResponseBody:
        data, start = self._memory(arguments)
        count = number_of(arguments, "count")
        own = data[max(0, start) : max(0, start + count)].tobytes()
        return {"address": hex(start), "data": base64.b64encode(own).decode(), "unreadableBytes": count - len(own)}

    def on_writeMemory(self, arguments: Arguments) -> messages.WriteMemoryResponseBody:
        data, start = self._memory(arguments)
        try:
            new = base64.b64decode(text_of(arguments, "data"), validate=True)
        except ValueError:
            raise problem(COMMAND, "'data' is no base64") from None
        if not 0 <= start <= start + len(new) <= data.size:
            raise problem(COMMAND, f"'{arguments['memoryReference']}' has no {len(new)} bytes there")

        written = np.arange(start, start + len(new))[:, None] + address_of(data)

        def edit() -> list[Use]:
            self.session.execution.checkpoints[-1].pages.keep_all([data])
            data[start : start + len(new)] = np.frombuffer(new, np.uint8)
            return [Use(Holder(None, MEMORY), True, written)]

        self.session.execution.edit(edit)
        return {"bytesWritten": len(new)}

    def on_loadedSources(self, arguments: Arguments) -> messages.LoadedSourcesResponseBody:
        places = self.session.places
        files = dict.fromkeys(span.file for f in places.functions for span in places.spans(f) if span.line)
        return {"sources": [self._source(file) for file in files]}

    def on_source(self, arguments: Arguments) -> messages.SourceResponseBody:
        number = number_of(arguments, "sourceReference")
        if not 0 < number <= len(self.texts):
            raise problem(COMMAND, f"there is no source {number}")
        file, places = self.texts[number - 1], self.session.places
        lines = places.files.lines(file)
        if lines is None:
            raise problem(COMMAND, f"{file}: {places.files.problem(file)}")
        return {"content": "\n".join(lines)}


def thread_id(session: Session, focus: Focus) -> int:
    """The number of a thread in the protocol."""
    dispatch = session.execution.dispatch
    return 1 + focus.thread + focus.group * dispatch.threads_of(dispatch.group(0))


def focus_of(session: Session, thread: int) -> Focus:
    """The first lane of a thread; of the thread in focus, the lane in focus."""
    dispatch = session.execution.dispatch
    group, number = divmod(thread - 1, dispatch.threads_of(dispatch.group(0)))
    if (group, number) == session.focus[:2]:
        return session.focus
    return Focus(group, number, next((s.lanes[0] for s in session.threads() if s[:2] == (group, number)), 0))


def _off(value: DebugValue, active: Array, lane: int) -> str:
    return " (off)" if value.by_lane and lane < active.size and not active[lane] else ""


def number_of(arguments: Arguments, name: str) -> int:
    """A whole number of a request; 0 if it has none."""
    value = arguments.get(name)
    return value if isinstance(value, int) else 0


def text_of(arguments: Arguments, name: str) -> str:
    """A text that a request needs.

    Raises:
        DebugError: D001, it has none.
    """
    value = arguments.get(name)
    if not isinstance(value, str):
        raise problem(COMMAND, f"'{name}' is missing, or no text")
    return value


def reference(functions: Sequence[Function], spot: Spot) -> str:
    """An instruction as an address: the number of its function, and its number there."""
    index = next(n for n, f in enumerate(functions) if f is spot.function)
    return hex((index + 1 << 32) + spot.number)


def spot_of(session: Session, address: str, offset: int) -> Spot:
    """The instruction that :func:`reference` gave an address.

    Raises:
        DebugError: D001, it is no such address.
    """
    try:
        index, number = divmod(int(address, 16) + offset, 1 << 32)
    except ValueError:
        index, number = 0, 0
    functions = session.places.functions
    if not (0 < index <= len(functions) and number < len(functions[index - 1].instructions)):
        raise problem(COMMAND, f"'{address}' is no instruction")
    return Spot(functions[index - 1], number)
