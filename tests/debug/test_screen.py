"""The full-screen view: keys, commands, and the contents of the panels."""

import asyncio

import numpy as np
import pytest
from support.programs import build_text, kernel_head

from visakit import UsageError
from vsim.command.debugger import Scripts, debug_in_window
from vsim.debug import Session
from vsim.launch.launch import Launch
from vsim.program import Program

pytest.importorskip("textual", reason="Textual is not installed")

from textual.widgets import Input, RichLog, Static

from vsim.command.screen import DebuggerWindow

TEXT = (
    kernel_head("Y=uq@qword N=d*8 I=d P=P", "Y", SimdSize=8)
    + """mov (M1, 8) N(0,0)<1> 0x76543210:uv
mov (M1, 1) I(0,0)<1> 0:d
more:
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 100:d
add (M1, 1) I(0,0)<1> I(0,0)<0;1,0> 1:d
cmp.ge (M1, 1) P I(0,0)<0;1,0> 0:d
(P) jmp (M1, 1) more
svm_block_st (2) Y(0,0)<0;1,0> N.0
ret (M1, 1)
"""
)
ENDLESS = TEXT
ENDING = TEXT.replace("cmp.ge (M1, 1) P I(0,0)<0;1,0> 0:d", "cmp.lt (M1, 1) P I(0,0)<0;1,0> 3:d")


class Screen:
    """A window that a test looks at and types into."""

    def __init__(self, app, pilot):
        self.app, self.pilot = app, pilot

    async def rest(self):
        """Until no command runs any more."""
        while (self.app.is_busy or self.app.waiting) and self.app.is_running:
            await self.pilot.pause(0.01)
        await self.pilot.pause()

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.rest()

    async def enter(self, line):
        self.app.query_one(Input).value = line
        await self.press("enter")

    def panel(self, name):
        return str(self.app.query_one(f"#{name}", Static).content).splitlines()

    def output(self):
        return [strip.text.rstrip() for strip in self.app.query_one("#output", RichLog).lines]

    def marked(self, name, style):
        """The lines of a panel in a style."""
        text = self.app.query_one(f"#{name}", Static).content
        return [text.plain[span.start : span.end].strip() for span in text.spans if style in str(span.style)]


def looked_at(test, text=ENDING, commands=()):
    """Run a test in a window; the exit status."""
    program = Program(build_text(text))
    launch = Launch("k", (16,), (16,), (0, 0, 0), program.convert("k", [np.zeros(16, "i4")]))
    app = DebuggerWindow(Session(program, [launch]), commands)

    async def run():
        async with app.run_test(size=(150, 50)) as pilot:
            screen = Screen(app, pilot)
            await screen.rest()
            await test(screen)

    asyncio.run(run())
    return app.return_value


def test_panels_follow_the_launch():
    async def look(screen):
        assert screen.panel("title")[0].startswith("k: 0.0:0 in k+0")
        assert screen.panel("threads") == ["0.0:[0-7]     running  k+0", "0.1:[0-7]     running  k+0"]
        assert screen.panel("lanes")[3].startswith(" 3 (3, 0, 0)") and len(screen.panel("lanes")) == 8
        assert screen.panel("memory") == ["Y[0]@8       d     {0 x8}"]
        await screen.press("f8")
        assert screen.marked("instructions", "reverse") == ["=>   1 mov (M1, 1) I(0,0)<1> 0x0:d"]
        assert screen.marked("registers", "yellow") == ["N            d     {0..7}"]
        await screen.enter("break 12")
        assert any(line.startswith("b    3 add") for line in screen.panel("instructions"))
        await screen.press("f5")
        await screen.press("f5")
        assert screen.marked("registers", "yellow") == [
            "N            d     {100..107}",
            "I            d     1",
            "P            bool  1",
        ]
        await screen.press("shift+f5")
        assert "I            d     0" in screen.panel("registers")
        assert "> reverse-continue" in screen.output()

    looked_at(look)


def test_commands_history_and_completion():
    async def look(screen):
        await screen.enter("print N[2] + 5")
        assert "$1 = 5" in screen.output()
        await screen.enter("prnt N")
        assert "there is no command 'prnt'" in " ".join(screen.output())
        await screen.press("up", "up")
        assert screen.app.query_one(Input).value == "print N[2] + 5"
        own = screen.app.query_one(Input)
        assert await own.suggester.get_suggestion("reverse-s") == "reverse-step"
        assert await own.suggester.get_suggestion("info regi") == "info registers"
        await screen.enter("quit")

    assert looked_at(look) == 0


def test_an_interrupt_stops_an_endless_launch():
    async def look(screen):
        screen.app.query_one(Input).value = "continue"
        await screen.pilot.press("enter")
        while screen.app.session.execution.time < 100:
            await screen.pilot.pause(0.01)
        await screen.press("ctrl+c")
        assert "Interrupted" in screen.output() and screen.app.session.execution.time >= 100
        await screen.pilot.press("ctrl+q")

    assert looked_at(look, ENDLESS) == 0


def test_commands_of_the_command_line_come_first():
    async def look(screen):
        assert screen.output()[0] == "> break 12"
        assert screen.panel("title")[0].startswith("k: 0.0:0 in k+3")

    looked_at(look, commands=("break 12", "run"))


def test_a_window_needs_a_terminal():
    with pytest.raises(UsageError, match="--tui needs a terminal"):
        debug_in_window(None, Scripts())
