"""The Debug Adapter Protocol: an editor's requests over :class:`vsim.debug.session.Session`.

Messages are read in one thread, so that ``pause`` stops a launch that runs; the others are answered one after the
other. A thread of the protocol is a hardware thread of a group in flight, and its variables have an element for each
lane.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO

from visakit.diagnostics import VisaError, render
from visakit.usage import whole_number
from vsim.debug.console import Console
from vsim.debug.dap import messages
from vsim.debug.dap.streams import Request, read_message, write_message
from vsim.debug.dap.views import Arguments, Body, Views, focus_of, number_of, reference, spot_of, text_of, thread_id
from vsim.debug.places import Spot
from vsim.debug.problems import COMMAND, problem
from vsim.debug.session import Session
from vsim.debug.stops import ACCESS_WATCH, READ_WATCH, WATCH, Stop

Open = Callable[[Arguments], Session]
"""Begins the session that the arguments of ``launch`` describe."""
REASONS = {
    "watchpoint": "data breakpoint", "catchpoint": "exception", "fault": "exception", "begin": "entry",
    "launch": "entry", "interrupt": "pause",
}  # fmt: skip
HALTING = ("pause", "disconnect", "terminate")
"""Requests that stop a launch that runs, before they are answered."""
FILTERS = (("fault", "Faults"), ("barrier", "Barriers"), ("call", "Calls"), ("check", "Findings of checks"))
CAPABILITIES = (
    "supportsConfigurationDoneRequest", "supportsFunctionBreakpoints", "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints", "supportsLogPoints", "supportsInstructionBreakpoints",
    "supportsDataBreakpoints", "supportsStepBack", "supportsSetVariable", "supportsEvaluateForHovers",
    "supportsCompletionsRequest", "supportsRestartRequest", "supportsGotoTargetsRequest",
    "supportsDisassembleRequest", "supportsReadMemoryRequest", "supportsWriteMemoryRequest",
    "supportsLoadedSourcesRequest", "supportsTerminateRequest", "supportsSteppingGranularity",
)  # fmt: skip


class Server:
    """Answers one editor.

    Args:
        opens: begins a session.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO, opens: Open) -> None:
        self.source, self.sink, self.opens = source, sink, opens
        self.requests: queue.Queue[Request | Callable[[], None] | None] = queue.Queue()
        self.lock, self.sequence = threading.Lock(), 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self._session: Session | None = None
        self.views: Views | None = None
        self.targets: list[Spot] = []
        self.numbers: dict[str, list[int]] = {}
        """Breakpoints by the request (and source) that set them."""
        self.ends, self.stops_on_entry = False, False
        self.has_signals = False
        self.problem = ""
        """What is wrong with the editor's last message."""

    # -- messages ------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Answer until the editor leaves; 1 if it leaves without a word, or sends no message of the protocol."""
        self.reader.start()
        try:
            while not self.ends:
                request = self.requests.get()
                if request is None:
                    return 1
                if callable(request):
                    request()
                else:
                    self._answer(request)
        except BrokenPipeError:
            return 1
        return 0

    def _read(self) -> None:
        try:
            while (request := read_message(self.source)) is not None:
                is_pause = request["command"] == "pause" and self._session is not None
                if is_pause:  # The answer precedes the event that the launch has stopped.
                    self._succeed(request, None)
                if request["command"] in HALTING:
                    self._halt()
                self.requests.put(self._go_on if is_pause else request)
        except (ValueError, OSError) as error:
            self.problem = str(error)
        self._halt()
        self.requests.put(None)

    def _halt(self) -> None:
        """Let a launch that runs stop at its next instruction; a signal ends the wait for the fast engine."""
        if self._session is not None:
            self._session.execution.interrupt = True
            if self._session.execution.is_native and self.has_signals:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def halt(self) -> None:
        """Halt the launch: of a signal handler, which is there if :attr:`has_signals`.

        Raises:
            KeyboardInterrupt: the fast engine runs.
        """
        if self._session is not None:
            self._session.execution.halt()

    def _send(self, kind: str, **parts: object) -> None:
        with self.lock:
            self.sequence += 1
            write_message(self.sink, {"seq": self.sequence, "type": kind} | parts)

    def event(self, name: str, **body: object) -> None:
        """Send an event to the editor."""
        self._send("event", event=name, body=body)

    def _answer(self, request: Request) -> None:
        """Answer a request; a mistake is an answer, too."""
        name, arguments = request["command"], request.get("arguments", {})
        run = getattr(self, f"on_{name}", None) or getattr(self.views, f"on_{name}", None)
        after: Callable[[], None] | None = None
        try:
            if run is None and hasattr(Views, f"on_{name}"):
                raise problem(COMMAND, "nothing was launched")
            if run is None:
                raise problem(COMMAND, f"the request '{name}' is not known")
            found = run(arguments)
            body, after = found if isinstance(found, tuple) else (found, None)
        except VisaError as error:
            text = error.diagnostics[0].message
            shown = {"id": 1, "format": "{text}", "variables": {"text": text}, "showUser": True}
            head = {"request_seq": request["seq"], "command": name}
            self._send("response", success=False, message=text, body={"error": shown}, **head)
            return
        self._succeed(request, body)
        if after is not None:
            after()

    def _succeed(self, request: Request, body: Body) -> None:
        self._send("response", success=True, body=body or {}, request_seq=request["seq"], command=request["command"])

    @property
    def session(self) -> Session:
        """The launch that is debugged.

        Raises:
            DebugError: D001, no launch was begun yet.
        """
        if self._session is None:
            raise problem(COMMAND, "nothing was launched")
        return self._session

    # -- begin and end -------------------------------------------------------------------------------------

    def on_initialize(self, arguments: Arguments) -> Body:
        filters = [{"filter": name, "label": label, "default": name == "fault"} for name, label in FILTERS]
        return dict.fromkeys(CAPABILITIES, True) | {"exceptionBreakpointFilters": filters}

    def on_launch(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        if self._session is not None:
            raise problem(COMMAND, "a launch is debugged already: 'restart' runs it again")
        try:
            self._session = self.opens(arguments)
        except VisaError as error:
            raise problem(COMMAND, render(error.diagnostics, "gnu")) from None
        console = Console(self._session, lambda text: self.event("output", category="console", output=text + "\n"))
        self.views = Views(self._session, console, lambda stop: self._run(lambda: stop))
        self.stops_on_entry = bool(arguments.get("stopOnEntry"))
        return None, lambda: self.event("initialized")

    def on_attach(self, arguments: Arguments) -> Body:
        raise problem(COMMAND, "a launch is simulated, and there is nothing to attach to: use 'launch'")

    def on_configurationDone(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        session = self.session
        if self.stops_on_entry:
            session.add_breakpoint(session.execution.dispatch.kernel.name, temporary=True)
        return None, lambda: self._run(session.resume)

    def on_restart(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        session = self.session
        return None, lambda: self._run(session.run)

    def on_terminate(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        return None, lambda: self.event("terminated")

    def on_disconnect(self, arguments: Arguments) -> Body:
        self.ends = True
        return None

    def _run(self, go: Callable[[], Stop]) -> None:
        """Run the launch, and tell where it stops."""
        session = self.session
        try:
            stop = go()
        except VisaError as error:
            self.event("output", category="stderr", output=f"{error}\n")
            stop = Stop("step", [error.diagnostics[0].message])
        if self.views is not None:
            self.views.forget()
        for text in (*session.watching.logged, *session.results):
            self.event("output", category="stdout", output=text.rstrip("\n") + "\n")
        session.watching.logged.clear()
        session.results.clear()
        if stop.reason == "end":
            self.event("output", category="console", output="\n".join(stop.lines) + "\n")
            self.event("exited", exitCode=0)
            self.event("terminated")
            return
        text = "\n".join(stop.lines)
        body: messages.StoppedEventBody = {
            "reason": REASONS.get(stop.reason, stop.reason), "threadId": thread_id(session, session.focus),
            "description": text.partition("\n")[0], "text": text, "allThreadsStopped": True,
            "hitBreakpointIds": list(stop.numbers),
        }  # fmt: skip
        self.event("stopped", **body)

    # -- breakpoints ---------------------------------------------------------------------------------------

    def _replace(self, key: str, items: object, add: Callable[[Arguments], int]) -> messages.SetBreakpointsResponseBody:
        """Set the breakpoints of a request in place of its earlier ones."""
        session = self.session
        for number in self.numbers.pop(key, []):
            if number in session.breakpoints:
                session.delete(number)
        found: list[messages.DapBreakpoint] = []
        numbers = self.numbers.setdefault(key, [])
        for item in items if isinstance(items, Sequence) else ():
            try:
                if not isinstance(item, Mapping):
                    raise problem(COMMAND, "a breakpoint is an object")
                number = add(item)
            except VisaError as error:
                found.append({"verified": False, "message": error.diagnostics[0].message})
                continue
            numbers.append(number)
            own = session.breakpoints[number]
            hits = str(item.get("hitCondition") or "")
            own.ignore = max(0, (whole_number(hits) or 0) - 1)
            info: messages.DapBreakpoint = {"id": number, "verified": True}
            if own.spots:
                info["line"] = session.places.span(own.spots[0]).line
                info["instructionReference"] = reference(session.places.functions, own.spots[0])
            found.append(info)
        return {"breakpoints": found}

    def _add_at(self, place: str, item: Arguments) -> int:
        log, condition = str(item.get("logMessage") or ""), str(item.get("condition") or "")
        return self.session.add_breakpoint(place, condition, log=log).number

    def on_setBreakpoints(self, arguments: Arguments) -> messages.SetBreakpointsResponseBody:
        source = arguments.get("source")
        path = str(source.get("path") or source.get("name") or "") if isinstance(source, Mapping) else ""
        items = arguments.get("breakpoints") or ()
        return self._replace(path, items, lambda i: self._add_at(f"{self._known(path)}:{number_of(i, 'line')}", i))

    def _known(self, path: str) -> str:
        """A file as the program names it."""
        names = {span.file for f in self.session.places.functions for span in self.session.places.spans(f) if span.line}
        exact = path in names
        return path if exact else next((n for n in names if os.path.basename(n) == os.path.basename(path)), path)

    def on_setFunctionBreakpoints(self, arguments: Arguments) -> messages.SetFunctionBreakpointsResponseBody:
        return self._replace("functions", arguments.get("breakpoints"), lambda i: self._add_at(text_of(i, "name"), i))

    def on_setInstructionBreakpoints(self, arguments: Arguments) -> messages.SetInstructionBreakpointsResponseBody:
        def add(item: Arguments) -> int:
            spot = spot_of(self.session, text_of(item, "instructionReference"), number_of(item, "offset"))
            return self._add_at(f"*{spot.function.name}+{spot.number}", item)

        return self._replace("instructions", arguments.get("breakpoints"), add)

    def on_dataBreakpointInfo(self, arguments: Arguments) -> messages.DataBreakpointInfoResponseBody:
        name = str(arguments.get("name") or "")
        if self.session.evaluate(name).location is None:
            return {"dataId": None, "description": f"'{name}' is a result"}
        return {"dataId": name, "description": name, "accessTypes": ["read", "write", "readWrite"]}

    def on_setDataBreakpoints(self, arguments: Arguments) -> messages.SetDataBreakpointsResponseBody:
        kinds = {"read": READ_WATCH, "readWrite": ACCESS_WATCH}

        def add(item: Arguments) -> int:
            kind = kinds.get(str(item.get("accessType")), WATCH)
            return self.session.add_watchpoint(text_of(item, "dataId"), kind, str(item.get("condition") or "")).number

        return self._replace("data", arguments.get("breakpoints"), add)

    def on_setExceptionBreakpoints(self, arguments: Arguments) -> messages.SetBreakpointsResponseBody:
        filters = arguments.get("filters")
        items = [{"event": name} for name in filters] if isinstance(filters, Sequence) else []
        return self._replace("exceptions", items, lambda i: self.session.add_catchpoint(str(i["event"])).number)

    # -- running -------------------------------------------------------------------------------------------

    def _go(self, arguments: Arguments, go: Callable[[], Stop]) -> tuple[Body, Callable[[], None]]:
        """Run in the thread that is meant."""
        session = self.session
        thread = arguments.get("threadId")
        if isinstance(thread, int) and thread != thread_id(session, session.focus):
            session.select(focus_of(session, thread))
        return {"allThreadsContinued": True}, lambda: self._run(go)

    def on_continue(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        return self._go(arguments, self.session.resume)

    def on_reverseContinue(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        return self._go(arguments, self.session.reverse_continue)

    def _step(self, arguments: Arguments, over: bool, reverse: bool = False) -> tuple[Body, Callable[[], None]]:
        instruction = arguments.get("granularity") == "instruction"
        step = self.session.step
        return self._go(arguments, lambda: step(over=over, instruction=instruction, reverse=reverse))

    def on_next(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        return self._step(arguments, True)

    def on_stepIn(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        return self._step(arguments, False)

    def on_stepBack(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        return self._step(arguments, True, True)

    def on_stepOut(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        return self._go(arguments, self.session.finish)

    def on_pause(self, arguments: Arguments) -> Body:
        self._go_on()
        return None

    def _go_on(self) -> None:
        """After a pause, which has halted the launch, or nothing ran."""
        self.session.execution.interrupt = False

    def on_gotoTargets(self, arguments: Arguments) -> messages.GotoTargetsResponseBody:
        line = number_of(arguments, "line")
        spot = self.session.places.find(str(line), self.session.here)
        self.targets.append(spot)
        return {"targets": [{"id": len(self.targets), "label": self.session.places.text(spot), "line": line}]}

    def on_goto(self, arguments: Arguments) -> tuple[Body, Callable[[], None]]:
        """Run to the target, forward or back: lanes of a thread cannot jump."""
        target = number_of(arguments, "targetId")
        if not 0 < target <= len(self.targets):
            raise problem(COMMAND, f"there is no target {target}")
        spot = self.targets[target - 1]
        place, here = f"*{spot.function.name}+{spot.number}", self.session.here
        for frame in self.session.frames():
            here = frame.spot if frame.spot.function is spot.function else here
        is_behind = spot.number <= here.number
        return self._go(arguments, lambda: self.session.advance(place, reverse=is_behind))
