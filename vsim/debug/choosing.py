"""Commands that choose the function and the lane that others are about."""

from __future__ import annotations

import re

from visakit.usage import whole_number
from vsim.debug.console import CommandWords, Console, command
from vsim.debug.looking import THREADS, where
from vsim.debug.threads import Focus, parse_threads


@command("backtrace", "bt where", THREADS)
def backtrace(console: Console, words: CommandWords) -> None:
    """Show the functions and subroutines that the lane in focus is in."""
    session = console.session
    frames = session.frames()
    if not frames:
        console.write("no stack")
    for number, frame in enumerate(frames):
        back = frame.activation.back
        name = frame.spot.function.name
        if back is not None and back.activation.registers is frame.activation.registers:
            name += f":{session.places.label_before(frame.spot.function, frame.spot.number)}"
        mark = "*" if number == session.frame_number else " "
        text = session.places.text(frame.spot)
        console.write(f"{mark}#{number}  {name} ({where(session.places, frame.spot)})  {text}")


def _select_frame(console: Console, number: int, words: CommandWords) -> None:
    count = len(console.session.frames())
    if not 0 <= number < count:
        raise words.problem(
            f"there is no frame {number}", f"'backtrace' shows frames 0 to {count - 1}" if count else ""
        )
    console.session.frame_number = number
    console.show_frame()


@command("frame [NUMBER]", "f", THREADS)
def frame(console: Console, words: CommandWords) -> None:
    """Choose the function whose variables are meant."""
    _select_frame(console, words.number(console.session.frame_number), words)


@command("up [COUNT]", "", THREADS, repeats=True)
def up(console: Console, words: CommandWords) -> None:
    """Choose the caller."""
    _select_frame(console, console.session.frame_number + words.number(1), words)


@command("down [COUNT]", "", THREADS, repeats=True)
def down(console: Console, words: CommandWords) -> None:
    """Choose the called function."""
    _select_frame(console, console.session.frame_number - words.number(1), words)


@command("thread [GROUP.THREAD:LANE] | apply THREADS COMMAND", "lane", THREADS)
def thread(console: Console, words: CommandWords) -> None:
    """Choose the lane that commands are about, as 1.2:3, 2 or :5; 'apply' runs a command for each thread, as 1.*."""
    session = console.session
    first, _, rest = words.text.partition(" ")
    if first == "apply":
        _apply(console, words, rest.strip())
        return
    if not words.text:
        console.write(f"lane {session.focus} is in focus")
        return
    match = re.fullmatch(r"(?:(\d+)\.)?(\d+)?(?::(\d+))?", words.text)
    if match is None:
        raise words.problem(f"'{words.text}' is no thread", "write GROUP.THREAD:LANE, as 1.2:3, 2 or :5")
    group, number, lane = (whole_number(part) if part else None for part in match.groups())
    old = session.focus
    if lane is None:
        lane = 0 if number is not None else old.lane
    session.select(Focus(*(o if n is None else n for n, o in zip((group, number, lane), old, strict=True))))
    console.show_frame()


def _apply(console: Console, words: CommandWords, rest: str) -> None:
    session = console.session
    text, _, line = rest.partition(" ")
    if not line.strip():
        raise words.problem("'thread apply' is followed by threads and a command", "as 'thread apply 0.* print N'")
    wanted = parse_threads("*.*" if text == "all" else text, session.focus.group)
    old, frame_number = session.focus, session.frame_number
    seen: set[tuple[int, int]] = set()
    by_lane = bool(wanted.lanes.text)
    for state in session.threads():
        if state.group not in wanted.groups or state.thread not in wanted.threads:
            continue
        lanes = [lane for lane in state.lanes if lane in wanted.lanes]
        for lane in lanes if by_lane else lanes[:1]:
            if not by_lane and state[:2] in seen:
                continue
            seen.add((state.group, state.thread))
            session.select(Focus(state.group, state.thread, lane))
            console.write(f"thread {session.focus}:")
            console.run(line.strip())
    session.focus, session.frame_number = old, frame_number
