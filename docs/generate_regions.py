"""Writes docs/regions.svg: which elements of a variable the lanes of an operand read, for the page on the language.

Run it as ``make docs``; a test checks that the picture is that of the rule by which the tools read regions.
"""

from __future__ import annotations

from pathlib import Path

from visakit.language.operands import region_elements

TARGET = Path(__file__).parent / "regions.svg"
COLUMNS, CELL, LEFT, GAP = 8, 34, 260, 22
"""Elements of 32 bits in a register of 32 bytes; sizes in pixels."""
SHOWN: tuple[tuple[str, tuple[int, int], tuple[int, int, int], str], ...] = (
    ("V(0,0)<1;1,0>", (0, 0), (1, 1, 0), "every element"),
    ("V(1,2)<0;1,0>", (1, 2), (0, 1, 0), "one element for all lanes"),
    ("V(0,0)<2;1,0>", (0, 0), (2, 1, 0), "every second element"),
    ("V(0,0)<4;4,1>", (0, 0), (4, 4, 1), "rows of four, one behind the other"),
    ("V(0,0)<0;4,1>", (0, 0), (0, 4, 1), "the same four, twice"),
    ("V(0,0)<8;2,4>", (0, 0), (8, 2, 4), "two of every row, four apart"),
    ("V(0,4)<1;1,0>", (0, 4), (1, 1, 0), "across the boundary of a register"),
)
LANES = 8


def elements(origin: tuple[int, int], region: tuple[int, int, int]) -> list[int]:
    """The element that each lane reads, counted from the first of the variable."""
    first = origin[0] * COLUMNS + origin[1]
    return [first + n for n in region_elements(region, LANES)]


def picture() -> str:
    """All regions, one below the other, as SVG."""
    out, top = [], GAP
    for text, origin, region, meaning in SHOWN:
        read = elements(origin, region)
        rows = max(2, max(read) // COLUMNS + 1)
        out.append(f'<text x="8" y="{top + 18}" class="code">{_escaped(text)}</text>')
        out.append(f'<text x="8" y="{top + 38}">{meaning}</text>')
        for n in range(rows * COLUMNS):
            x, y = LEFT + n % COLUMNS * CELL, top + n // COLUMNS * CELL
            lanes = [str(lane) for lane, element in enumerate(read) if element == n]
            shade = "read" if lanes else "left"
            out.append(f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{CELL - 2}" class="{shade}"/>')
            label = f"{lanes[0]}-{lanes[-1]}" if len(lanes) > 2 else ",".join(lanes)
            out.append(f'<text x="{x + CELL // 2 - 1}" y="{y + 21}" class="lane">{label}</text>')
        top += rows * CELL + GAP
    style = (
        "text{font:13px sans-serif;fill:#222}.code{font:14px monospace;font-weight:bold}.lane{text-anchor:middle;font-size:12px}"
        ".read{fill:#9cc9f0;stroke:#2b6ca3}.left{fill:#f4f4f4;stroke:#bbb}"
    )
    width = LEFT + COLUMNS * CELL + 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}">'
    title = "<title>Regions of eight lanes: the numbers in the cells are lanes, a row is a register of 32 bytes</title>"
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, title, f"<style>{style}</style>", ground, *out, "</svg>"]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


if __name__ == "__main__":
    TARGET.write_text(picture())
