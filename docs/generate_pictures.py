"""Writes the pictures of the documents (``make pictures``): the output of commands, run here, the debugger's window, and
the speed chart.

The fault needs the compiler driver ``ocloc``. The chart shows the last ``docs/measurements/performance.md``.
"""

from __future__ import annotations

import io
import math
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "pictures"
WIDTH = 110
TWICE = """\
.version 4.1
.kernel "twice"
.decl X v_type=G type=f num_elts=16 align=GRF
.decl Y v_type=G type=f num_elts=16 align=GRF
    mull (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> 2.0:f
    add (M1, 16) Y(0,0)<1> X(0,0)<1;1> 1.0:f
    ret (M1, 1)
"""
SAXPY = """\
kernel void saxpy(global float *y, global const float *x, float a) {
  size_t i = get_global_id(0);
  y[i] += a * x[i];
}
"""
FILES = {"twice.visaasm": TWICE, "saxpy.cl": SAXPY}
COMMANDS = {
    "error": "vasm twice.visaasm",
    "fault": "vsim saxpy.cl --platform tgllp --build-options=-g --global-size 64"
    " --arg y=ones:64:f4 --arg x=iota:40:f4 --arg a=2.5",
}
"""The command line of each picture, which runs in a directory with FILES."""


def coloured(command: str) -> str:
    """What a command prints on a terminal, colours included; its directory is left out."""
    words = command.split()
    program = shutil.which(words[0], path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if program is None:
        raise FileNotFoundError(f"{words[0]} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text)
        ours, theirs = pty.openpty()
        # A terminal with colours that shows no progress.
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "dumb"}
        child = subprocess.Popen([program, *words[1:]], cwd=folder, env=environment, stdout=theirs, stderr=theirs)
        os.close(theirs)
        found = b""
        while part := _read(ours):
            found += part
        os.close(ours)
        child.wait()
    return found.decode().replace("\r\n", "\n").replace(f"{Path(folder).resolve()}/", "")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the end of a terminal on Linux
        return b""


def session(name: str) -> str:
    """The command line and the output of a picture, with colours."""
    command = COMMANDS[name]
    return f"\x1b[1m$ {command}\x1b[0m\n{coloured(command)}"


def terminal(name: str) -> str:
    """A session as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(session(name)))
    picture = console.export_svg(title=COMMANDS[name].split()[0], unique_id=name)
    return re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.S)  # nothing is loaded from elsewhere


# -- the debugger's window -------------------------------------------------------------------------------------

SUM = """\
kernel void sums(global const int *x, global int *out, int n) {
  int i = get_global_id(0);
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    int v = x[i + k];
    sum += v * v;
  }
  out[i] = sum;
}
"""


def window() -> str:
    """The window of the debugger in the middle of a loop, as SVG."""
    import asyncio

    from vsim.command.debugger import debugged
    from vsim.command.driver import CommandLine
    from vsim.command.screen import DebuggerWindow
    from vsim.sources.programs import loaded

    async def shown(app: DebuggerWindow) -> str:
        async with app.run_test(size=(150, 40)) as pilot:
            await pilot.pause()
            for lines in ([], ["continue"], ["print k", "print sum"]):
                app.run_commands(lines)
                while app.is_busy:
                    await pilot.pause(0.01)
            await pilot.pause()
            return app.export_screenshot(title="visakit debug sums.cl --tui")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sums.cl")
        path.write_text(SUM)
        program = loaded(str(path), SUM.encode(), "tgllp", "-g")
        given = ["x=iota:40:i4", "out=zeros:32:i4", "n=4"]
        session = debugged(program, CommandLine(None, "sums", "32", "16", given), False)
        picture = asyncio.run(shown(DebuggerWindow(session, ["break 6", "run"])))
    return re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.S)


# -- the chart of speed ----------------------------------------------------------------------------------------

LEFT, UNIT, ROW, FIRST, LAST = 190, 34, 46, -2, 15
"""Sizes in pixels; powers of two at both ends."""
STYLE = """
    text { font: 13px sans-serif; fill: #24292f; } .note { font-size: 11px; fill: #57606a; }
    .dot { fill: #3b6ea5; fill-opacity: .45; } .mean { stroke: #b35900; stroke-width: 3; }
    .grid { stroke: #d0d7de; } .even { stroke: #57606a; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; } .note { fill: #9da7b1; } .dot { fill: #6ca4dd; } .mean { stroke: #f0a35e; }
      .grid { stroke: #30363d; } .even { stroke: #9da7b1; }
    }
"""


def speeds() -> dict[str, tuple[float, list[float]]]:
    """How many times as fast as each peer vsim is, tgllp, one thread: the geometric mean, and each kernel."""
    page = (DOCS / "measurements" / "performance.md").read_text()
    means = dict(re.findall(r"^\| (.*), 1 thread \| tgllp \| \*\*([\d.]+)\*\*", page, re.M))
    table = page[page.index("### 1 thread") : page.index("### 2 threads")]
    head, _, *lines = (line.strip("| ").split(" | ") for line in table.split("\n") if line.startswith("|"))
    ratios = [re.findall(r"[\d.-]+(?=[,)])", line[head.index("tgllp")]) for line in lines]
    rows = {}
    for peer in ("PoCL", "Intel's CPU runtime"):
        n = head.index(peer) - 1
        rows[peer] = 1 / float(means[peer]), [1 / float(row[n]) for row in ratios if row[n] != "-"]
    against = page[page.index("## Against Oclgrind") : page.index("## Compile time")]
    times = [float(row.split(" | ")[6]) for row in re.findall(r"^\| (\w+ \| \d.*) \|$", against, re.M)]
    return rows | {"Oclgrind": (math.exp(sum(map(math.log, times)) / len(times)), times)}


def chart() -> str:
    """A dot for each kernel and a line for their geometric mean, one row for each peer, on a logarithmic scale."""
    rows = speeds()
    width, bottom = LEFT + (LAST - FIRST) * UNIT + 30, 34 + ROW * len(rows)

    def x(ratio: float) -> float:
        return LEFT + (math.log2(ratio) - FIRST) * UNIT

    out = []
    for power in range(FIRST, LAST + 1, 2):
        at, kind = x(2.0**power), "even" if power == 0 else "grid"
        label = f"{2**power:,}" if power >= 0 else f"1/{2**-power}"
        out.append(f'<line class="{kind}" x1="{at}" x2="{at}" y1="28" y2="{bottom}"/>')
        out.append(f'<text class="note" x="{at}" y="{bottom + 15}" text-anchor="middle">{label}</text>')
    for n, (peer, (mean, values)) in enumerate(rows.items()):
        y = 34 + ROW * n + ROW // 2
        shown = f"{mean:,.0f}" if mean >= 100 else f"{mean:.1f}"
        out.append(f'<text x="8" y="{y}">{peer}</text>')
        out.append(f'<text class="note" x="8" y="{y + 15}">{shown} times, {len(values)} kernels</text>')
        out += [f'<circle class="dot" cx="{x(v):.1f}" cy="{y}" r="4"/>' for v in values]
        out.append(f'<line class="mean" x1="{x(mean):.1f}" x2="{x(mean):.1f}" y1="{y - 15}" y2="{y + 15}"/>')
    title = "How many times as fast as each peer vsim runs a kernel, one thread: dots are kernels, bars geometric means"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 24}"'
        f' viewBox="0 0 {width} {bottom + 24}" role="img">\n  <title>{title}</title>\n  <style>{STYLE}  </style>\n'
        f'  <text x="8" y="18">{title}</text>\n  ' + "\n  ".join(out) + "\n</svg>\n"
    )


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in COMMANDS:
        (FOLDER / f"{name}.svg").write_text(terminal(name))
    (FOLDER / "debugger.svg").write_text(window())
    (FOLDER / "speed.svg").write_text(chart())


if __name__ == "__main__":
    main()
