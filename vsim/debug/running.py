"""Commands that run the launch, forward and backwards, and those about where it stops."""

from __future__ import annotations

import re

from vsim.debug.console import TABLE, CommandWords, Console, command, find, topics
from vsim.debug.expressions import parse
from vsim.debug.looking import breakpoint_text, place_names, variable_names
from vsim.debug.problems import COMMAND, problem
from vsim.debug.stops import ACCESS_WATCH, EVENTS, READ_WATCH, TITLES, WATCH, Breakpoint
from vsim.debug.threads import Threads, parse_threads

RUN, STOPS, SUPPORT = "Running, forward and backwards", "Breakpoints", "The debugger"


# -- running -----------------------------------------------------------------------------------------------


@command("run", "r", RUN)
def run(console: Console, words: CommandWords) -> None:
    """Run from the beginning of the first launch."""
    console.shown_results = 0
    console.show_stop(console.session.run())


@command("start", "", RUN)
def start(console: Console, words: CommandWords) -> None:
    """Run from the beginning, and stop at the first instruction of the kernel."""
    session = console.session
    session.restart()
    console.shown_results = 0
    name = session.execution.dispatch.kernel.name
    session.add_breakpoint(name, temporary=True)
    console.show_stop(session.resume())


@command("continue [COUNT]", "c fg", RUN, repeats=True)
def continue_(console: Console, words: CommandWords) -> None:
    """Run on; COUNT ignores as many hits of the breakpoint less one."""
    session, count = console.session, words.number(1)
    for number in session.stop.numbers if session.stop is not None and count > 1 else ():
        if number in session.breakpoints:
            session.breakpoints[number].ignore = count - 1
    console.show_stop(session.resume())


@command("detach", "", RUN)
def detach(console: Console, words: CommandWords) -> None:
    """Let the launch end without stops, and leave the debugger; a program of 'visakit exec' continues."""
    stop = console.session.detach()
    if stop is not None and stop.reason == "interrupt":
        console.show_stop(stop)
        return
    console.show_results()
    for line in stop.lines if stop is not None else ():
        console.write(line[:1].upper() + line[1:] if stop is not None and stop.reason == "end" else line)
    console.has_ended = True
    console.session.leave()


@command("reverse-continue", "rc", RUN, repeats=True)
def reverse_continue(console: Console, words: CommandWords) -> None:
    """Run back to the last stop of a breakpoint."""
    console.show_stop(console.session.reverse_continue())


def _stepping(name: str, alias: str, summary: str, over: bool, instruction: bool) -> None:
    def forward(console: Console, words: CommandWords) -> None:
        console.show_stop(console.session.step(words.number(1), over=over, instruction=instruction))

    def backward(console: Console, words: CommandWords) -> None:
        stop = console.session.step(words.number(1), over=over, instruction=instruction, reverse=True)
        console.show_stop(stop)

    forward.__doc__, backward.__doc__ = summary.format("Go on"), summary.format("Go back")
    command(f"{name} [COUNT]", alias, RUN, repeats=True)(forward)
    command(f"reverse-{name} [COUNT]", f"r{alias}", RUN, repeats=True)(backward)


_stepping("step", "s", "{} to another source line.", False, False)
_stepping("next", "n", "{} to another source line, over calls.", True, False)
_stepping("stepi", "si", "{} by one instruction of the lane in focus.", False, True)
_stepping("nexti", "ni", "{} by one instruction, over calls.", True, True)


@command("finish", "fin", RUN)
def finish(console: Console, words: CommandWords) -> None:
    """Run until the function has returned."""
    console.show_stop(console.session.finish())


@command("reverse-finish", "", RUN)
def reverse_finish(console: Console, words: CommandWords) -> None:
    """Run back to the call of the function."""
    console.show_stop(console.session.finish(reverse=True))


@command("until [PLACE]", "u", RUN, place_names)
def until(console: Console, words: CommandWords) -> None:
    """Run to a later line, not around a loop again; or to a place."""
    session = console.session
    console.show_stop(session.advance(words.text) if words.text else session.until())


@command("reverse-until [PLACE]", "", RUN, place_names)
def reverse_until(console: Console, words: CommandWords) -> None:
    """Run back to an earlier line, or to a place."""
    session = console.session
    console.show_stop(session.advance(words.text, True) if words.text else session.until(True))


@command("advance PLACE", "", RUN, place_names)
def advance(console: Console, words: CommandWords) -> None:
    """Run until the lane in focus is at a place."""
    console.show_stop(console.session.advance(_needed(words, "a place")))


@command("reverse-advance PLACE", "", RUN, place_names)
def reverse_advance(console: Console, words: CommandWords) -> None:
    """Run back until the lane in focus is at a place."""
    console.show_stop(console.session.advance(_needed(words, "a place"), True))


@command("goto TIME [GROUP]", "", RUN)
def goto(console: Console, words: CommandWords) -> None:
    """Go to a time: so many instructions of the group executed."""
    numbers = [CommandWords(w, words.line, words.at).number() for w in words.split()]
    if not 1 <= len(numbers) <= 2:
        raise words.problem("'goto' is followed by a time, and a group if it is another one", "as 'goto 120 3'")
    console.show_stop(console.session.go_to(*numbers))


def _needed(words: CommandWords, what: str) -> str:
    if not words.text:
        name = words.line.split()[0]
        raise problem(COMMAND, f"'{name}' is followed by {what}", f"'help {name}' says more")
    return words.text


# -- breakpoints -------------------------------------------------------------------------------------------

_CONDITION = re.compile(r"(?:^|\s)if(?=[\s(])")
_THREADS = re.compile(r"(?:^|\s)thread\s+(\S+(?:\s+\d+[^\s]*\])*)")


def _parts(console: Console, words: CommandWords) -> tuple[str, str, Threads | None]:
    """What a breakpoint is about, its condition and its threads."""
    text, condition = words.text, ""
    match = _CONDITION.search(text)
    if match is not None:
        condition = text[match.end() :]
        parse(condition, words.at + match.end(), words.line)
        text = text[: match.start()]
    match, threads = _THREADS.search(text), None
    if match is not None:
        threads = parse_threads(match[1], console.session.focus.group)
        text = text[: match.start()] + text[match.end() :]
    return text.strip(), condition.strip(), threads


def _set_breakpoint(console: Console, words: CommandWords, temporary: bool) -> None:
    place, condition, threads = _parts(console, words)
    here = console.session.here
    own = console.session.add_breakpoint(place or f"*{here.number}", condition, threads, temporary)
    console.write(_added(console, own))


def _added(console: Console, own: Breakpoint) -> str:
    title = TITLES[own.kind].removeprefix("hw ")
    return f"{title[:1].upper()}{title[1:]} {own.number}: {breakpoint_text(console.session.places, own)}"


@command("break [PLACE] [thread THREADS] [if CONDITION]", "b br", STOPS, place_names)
def break_(console: Console, words: CommandWords) -> None:
    """Stop at FILE:LINE, LINE, *INSTRUCTION, FUNCTION, LABEL."""
    _set_breakpoint(console, words, False)


@command("tbreak [PLACE] [thread THREADS] [if CONDITION]", "tb", STOPS, place_names)
def tbreak(console: Console, words: CommandWords) -> None:
    """Stop there once."""
    _set_breakpoint(console, words, True)


@command("dprintf PLACE, TEXT", "", STOPS, place_names)
def dprintf(console: Console, words: CommandWords) -> None:
    """Show a text at a place, and run on; {EXPRESSION} is a value in it."""
    place, comma, text = words.text.partition(",")
    if not comma:
        raise words.problem("'dprintf' is followed by a place, a comma and a text", 'as dprintf 12, "x is {x[0]}"')
    own = console.session.add_breakpoint(place.strip(), log=text.strip().strip('"'))
    console.write(_added(console, own))


def _watching(name: str, kind: str, summary: str) -> None:
    def watch(console: Console, words: CommandWords) -> None:
        expression, condition, threads = _parts(console, words)
        if not expression:
            raise problem(COMMAND, f"'{name}' is followed by a variable, a predicate or memory", f"as '{name} x[3]@8'")
        parse(expression, words.at, words.line)
        console.write(_added(console, console.session.add_watchpoint(expression, kind, condition, threads)))

    watch.__doc__ = summary
    command(f"{name} EXPRESSION [thread THREADS] [if CONDITION]", "", STOPS, variable_names)(watch)


_watching("watch", WATCH, "Stop when a variable, predicate or memory changes.")
_watching("rwatch", READ_WATCH, "Stop when it is read.")
_watching("awatch", ACCESS_WATCH, "Stop when it is read or written.")


@command("catch EVENT [thread THREADS]", "", STOPS, lambda c, r: EVENTS)
def catch(console: Console, words: CommandWords) -> None:
    """Stop at an event: fault, barrier, call, check, launch."""
    event, _, threads = _parts(console, words)
    console.write(_added(console, console.session.add_catchpoint(event, threads)))


@command("delete [NUMBER...]", "d", STOPS)
def delete(console: Console, words: CommandWords) -> None:
    """Forget breakpoints, or all."""
    for own in _chosen(console, words):
        console.session.delete(own.number)


@command("enable [NUMBER...]", "", STOPS)
def enable(console: Console, words: CommandWords) -> None:
    """Use breakpoints again."""
    for own in _chosen(console, words):
        own.enabled = True
    console.session.changed()


@command("disable [NUMBER...]", "", STOPS)
def disable(console: Console, words: CommandWords) -> None:
    """Keep breakpoints, and do not stop for them."""
    for own in _chosen(console, words):
        own.enabled = False
    console.session.changed()


def _chosen(console: Console, words: CommandWords) -> list[Breakpoint]:
    session = console.session
    if not words.text:
        return list(session.breakpoints.values())
    return [session.breakpoint(CommandWords(w, words.line, words.at).number()) for w in words.split()]


def _one(console: Console, words: CommandWords) -> tuple[Breakpoint, str]:
    """The breakpoint at the beginning of the words, and the rest."""
    number, _, rest = words.text.partition(" ")
    return console.session.breakpoint(CommandWords(number, words.line, words.at).number()), rest.strip()


@command("condition NUMBER [CONDITION]", "", STOPS)
def condition(console: Console, words: CommandWords) -> None:
    """Stop only where a condition holds; without one, always."""
    own, text = _one(console, words)
    own.condition = parse(text, words.line.rfind(text), words.line) if text else None
    console.session.changed()


@command("ignore NUMBER COUNT", "", STOPS)
def ignore(console: Console, words: CommandWords) -> None:
    """Do not stop for the next COUNT hits."""
    own, text = _one(console, words)
    own.ignore = CommandWords(text, words.line, words.at).number()
    console.write(f"the next {own.ignore} hits of {own.number} do not stop")


@command("commands [NUMBER]", "", STOPS)
def commands(console: Console, words: CommandWords) -> None:
    """Run the lines that follow, up to 'end', at each stop of a breakpoint."""
    session = console.session
    number = words.number(max(session.breakpoints, default=0))
    session.breakpoint(number).commands = console.block()


# -- the debugger ------------------------------------------------------------------------------------------


@command("help [COMMAND]", "h", SUPPORT, lambda c, r: TABLE)
def help_(console: Console, words: CommandWords) -> None:
    """Show the commands, or what one does."""
    if words.text:
        own = find(words.text, words.line)
        console.write(own.usage)
        console.write(f"  {own.summary}")
        if own.aliases:
            console.write(f"  aliases: {', '.join(own.aliases)}")
        return
    for topic, known in topics().items():
        console.write(f"{topic}:")
        for own in known:
            names = ", ".join((own.name, *own.aliases))
            console.write(f"  {names:26} {own.summary}")


@command("source FILE", "", SUPPORT)
def source(console: Console, words: CommandWords) -> None:
    """Run the commands of a file."""
    if not console.script_file(_needed(words, "a file")):
        raise words.problem(f"'{words.text}' was left at the line above")


@command("echo TEXT", "", SUPPORT)
def echo(console: Console, words: CommandWords) -> None:
    """Show a text."""
    console.write(words.text)


@command("quit", "q exit kill", SUPPORT)
def quit_(console: Console, words: CommandWords) -> None:
    """Leave the debugger; a program of 'visakit exec' ends."""
    console.has_ended = True
