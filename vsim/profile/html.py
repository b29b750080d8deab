"""A profile as one HTML file: source lines and instructions side by side with heat, the mix, branches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from string import Template

from visakit import __version__
from visakit.language.source_lines import SourcePlace, printable
from visakit.notebook import escape
from vsim.observe.messages import LINE_BYTES, BufferCounts
from vsim.profile.profile import InstructionRow, KernelProfile, LineRow, share
from vsim.profile.summary import looks

Row = tuple[str, str]
"""Attributes of a row of a table, and its cells."""


def profile_html(profiles: Sequence[KernelProfile]) -> str:
    """The report of some kernels; nothing outside of the file is loaded."""
    names = ", ".join(profile.kernel for profile in profiles)
    body = "\n".join(part for number, profile in enumerate(profiles) for part in _kernel(profile, number))
    page = Template((Path(__file__).parent / "report.html").read_text("utf-8"))
    return page.substitute(title=f"Profile of {_text(names)}", version=__version__, body=body)


def _kernel(profile: KernelProfile, number: int) -> Iterator[str]:
    launches = len(profile.launches)
    threads = sum(launch.threads for launch in profile.launches)
    engines = " and ".join(sorted({launch.engine for launch in profile.launches}))
    yield f"<h2>{_text(profile.kernel)}</h2>"
    yield (
        f"<p>{launches} launch{'' if launches == 1 else 'es'}, {threads:,} hardware threads of {profile.simd} "
        f"work-items, {profile.executions:,} instructions executed, SIMD utilisation {profile.utilization:.1%}. "
        f"Counted by the engine {engines}; platform {_text(profile.image.platform or 'unknown')}.</p>"
    )
    if advice := looks(profile):
        yield f"<h3>Look at</h3><ul>{''.join(f'<li>{_text(text)}</li>' for text in advice)}</ul>"
    yield "<h3>Instruction mix</h3>" + _table(("pipe", "#executed", "", "#SIMD", "#instructions"), _pipes(profile))
    yield "<h3>Source lines and instructions</h3>"
    top = max((line.executions for line in profile.lines), default=0)
    most = max((row.executions for row in profile.rows), default=0)
    lines = _rows(("#executed", "#share", "#SIMD", "#line", "source"), _lines(profile, number, top))
    heads = ("#executed", "#SIMD", "pipe", "#line", "instruction")
    rows = _rows(heads, (_instruction(row, number, most) for row in profile.rows))
    yield f'<div class="sides"><div class="side">{lines}</div><div class="side">{rows}</div></div>'
    yield from _memory(profile)
    barriers = [row for row in profile.rows if row.waits]
    if barriers:
        columns = ["#line", "barrier", "#threads", "#instructions waited", "#a thread", "#longest"]
        yield "<h3>Barriers</h3>" + _table(columns, map(_barrier, barriers))
    branches = [row for row in profile.rows if row.ways and row.executions]
    if branches:
        columns = ["#line", "branch", "#executed", "#taken by all lanes", "#by none", "#by some", "#divided"]
        yield "<h3>Branches</h3>" + _table(columns, map(_branch, branches))


def _pipes(profile: KernelProfile) -> Iterator[Row]:
    for row in profile.pipes:
        part = share(row.executions, profile.executions)
        bar = f'<td><span class="bar" style="width:{part * 20:.2f}em"></span> {part:.1%}</td>'
        cells = f"<td>{row.pipe}</td>{_number(row.executions)}{bar}{_share(row.active, row.possible)}"
        yield "", cells + _number(row.instructions)


def _lines(profile: KernelProfile, number: int, top: int) -> Iterator[Row]:
    """The lines of each file whose text is known, also those without instructions; else those with instructions."""
    files = profile.image.source_files()
    known: dict[str, dict[int, LineRow]] = {}
    for line in profile.lines:
        known.setdefault(line.place.file, {})[line.place.line] = line
    for file, own in known.items():
        yield "", f'<td colspan="5" class="soft">{_text(file)}</td>'
        texts = files.lines(file)
        shown = own if texts is None else range(min(own), min(max(own), len(texts)) + 1)
        for at in shown:
            if at in own:
                yield _line(profile, own[at], number, top)
            elif texts is not None:
                cells = f'<td colspan="3"></td>{_number(at)}<td class="code">{_text(texts[at - 1])}</td>'
                yield ' class="off"', cells


def _line(profile: KernelProfile, line: LineRow, number: int, top: int) -> Row:
    cells = (
        _heat(line.executions, top),
        f'<td class="n">{share(line.executions, profile.executions):.1%}</td>',
        _share(line.active, line.possible),
        _number(line.place.line),
        f'<td class="code">{_text(line.text)}</td>',
    )
    return _place(line.place, number), "".join(cells)


def _instruction(row: InstructionRow, number: int, most: int) -> Row:
    cells = (
        _heat(row.executions, most),
        _share(row.active, row.possible),
        f"<td>{row.pipe}</td>",
        f'<td class="n">{row.place.line if row.place else ""}</td>',
        f'<td class="code">{_text(row.text)}</td>',
    )
    return _place(row.place, number) + ("" if row.executions else ' class="off"'), "".join(cells)


def _memory(profile: KernelProfile) -> Iterator[str]:
    """Tables of buffers and messages, if accesses were counted."""
    if not profile.buffers:
        return
    heads = ["memory", "kind", "#bytes", "#read", "#written", "#atomics", "#lines", "#footprint", "used again after"]
    yield "<h3>Memory</h3>" + _table(heads, map(_buffer, profile.buffers.values()))
    columns = ["#line", "instruction", "#messages", "#read", "#written", "#cache lines", "#used", "#unaligned"]
    columns += ["stride", "#bank turns", "#atomics", "#turns"]
    yield "<h3>Messages</h3>" + _table(columns, (_message(row) for row in profile.rows if row.messages))
    yield (
        '<p class="soft">A message is an execution by a hardware thread. Cache lines have 64 bytes. Turns of banks '
        "assume that local memory has 16 banks of 4 bytes; that is an assumption. Reuse counts line accesses in the "
        "order of the engine.</p>"
    )


def _buffer(buffer: BufferCounts) -> Row:
    reuse = ", ".join(f"{distance:,}: {count:,}" for distance, count in sorted(buffer.reuse.items()))
    numbers = buffer.size, buffer.read, buffer.written, buffer.atomics, buffer.lines, buffer.footprint
    return "", f"<td>{_text(buffer.name)}</td><td>{buffer.kind}</td>{''.join(map(_number, numbers))}<td>{reuse}</td>"


def _message(row: InstructionRow) -> Row:
    m = row.messages
    assert m is not None
    strides = ", ".join(f"{stride}: {count:,}" for stride, count in m.strides.most_common(4))
    line = f'<td class="n">{row.place.line if row.place else ""}</td><td class="code">{_text(row.text)}</td>'
    moved = "".join(map(_number, (m.messages, m.read, m.written, m.lines)))
    banks = f'<td class="n">{m.passes:,} of {m.fewest_passes:,}</td>' if m.passes else "<td></td>"
    used = _share(m.used, m.lines * LINE_BYTES) + _number(m.unaligned)
    return "", f"{line}{moved}{used}<td>{strides}</td>{banks}{_number(m.atomics)}{_number(m.serial)}"


def _barrier(row: InstructionRow) -> Row:
    waits = row.waits
    assert waits is not None
    line = f'<td class="n">{row.place.line if row.place else ""}</td><td class="code">{_text(row.text)}</td>'
    each = f'<td class="n">{share(waits.waited, waits.threads):.1f}</td>'
    return "", f"{line}{_number(waits.threads)}{_number(waits.waited)}{each}{_number(waits.longest)}"


def _branch(row: InstructionRow) -> Row:
    ways = row.ways or (0, 0, 0)
    line = f'<td class="n">{row.place.line if row.place else ""}</td><td class="code">{_text(row.text)}</td>'
    divided = f'<td class="n">{share(ways[2], row.executions):.1%}</td>'
    return "", line + "".join(map(_number, (row.executions, *ways))) + divided


def _table(heads: Sequence[str], rows: Iterable[Row]) -> str:
    """A table that scrolls sideways where the page is too narrow."""
    return f'<div class="wide">{_rows(heads, rows)}</div>'


def _rows(heads: Sequence[str], rows: Iterable[Row]) -> str:
    """A table; heads that begin with ``#`` are of columns of numbers."""
    shown = "".join(f'<th class="n">{h[1:]}</th>' if h.startswith("#") else f"<th>{h}</th>" for h in heads)
    body = "\n".join(f"<tr{attributes}>{cells}</tr>" for attributes, cells in rows)
    return f"<table><thead><tr>{shown}</tr></thead><tbody>{body}</tbody></table>"


def _place(place: SourcePlace | None, number: int) -> str:
    return "" if place is None else f' data-place="{number} {_text(str(place))}"'


def _heat(value: int, most: int) -> str:
    return f'<td class="n heat" style="--h:{0.75 * share(value, most):.2f}">{value:,}</td>'


def _number(value: int) -> str:
    return f'<td class="n">{value:,}</td>'


def _share(part: int, whole: int) -> str:
    return f'<td class="n">{share(part, whole):.0%}</td>' if whole else '<td class="n"></td>'


def _text(text: str) -> str:
    return escape(printable(text))
