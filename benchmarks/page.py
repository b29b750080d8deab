"""The page of ``make bench``."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from typing import Any

import kernels
import llvmlite
import numpy as np
from sections import machine
from suite import DEVICES

COLOURS = {"tgllp": "#3b6ea5", "bmg": "#5a9e6f"}
PEERS = {"PoCL": "PoCL", "newer PoCL": "newer PoCL", "Intel": "Intel's CPU runtime"}


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(r) + " |" for r in rows)]


def ratios(rows: dict[str, Any], device: str, peer: str) -> dict[str, float]:
    """Of the kernels that a peer can run, by name."""
    key = f"{device}/{peer}"
    return {name: row["ratios"][key] for name, row in rows.items() if key in row["ratios"]}


def _means(rows: dict[int, dict[str, Any]], peers: list[str]) -> list[str]:
    """Geometric means: over all kernels and over the six, one thread and two, and the worst."""
    lines = []
    for threads, found in rows.items():
        for peer in peers:
            for device in DEVICES:
                all_of_them = ratios(found, device, peer)
                those_six = [r for name, r in all_of_them.items() if name in kernels.KERNELS]
                worst = max(all_of_them, key=lambda n: all_of_them[n])
                lines.append([
                    f"{PEERS[peer]}, {threads} thread{'s' if threads > 1 else ''}", device,
                    f"**{geometric_mean(list(all_of_them.values())):.2f}**",
                    f"{geometric_mean(those_six):.2f}" if those_six else "-",
                    f"{all_of_them[worst]:.1f} ({worst})", str(sum(r > 1 for r in all_of_them.values())),
                ])  # fmt: skip
    count = len(rows[1])
    return table(["over", "device", f"all {count}", "the six", "worst", "slower than it"], lines)


def suite_tables(rows: dict[int, dict[str, Any]], versions: dict[str, str]) -> list[str]:
    """The kernels: means, then every one."""
    peers = list(versions)
    out = ["## Fast engine against other ways to run OpenCL on a CPU", "",
           "vsim's time over the peer's: medians of the ratios of launches in turn, results equal. Below 1, vsim is faster.", ""]  # fmt: skip
    out += [*_means(rows, peers), ""] if peers else []
    for threads, found in rows.items():
        out += [f"### {threads} thread{'s' if threads > 1 else ''}", "",
                "Milliseconds, medians; in parentheses the ratio to " + " and to ".join(PEERS[p] for p in peers) + ".", ""]  # fmt: skip
        lines = []
        for name, row in found.items():
            cells = [name, *(f"{row['times'][p]:.2f}" if p in row["times"] else "-" for p in peers)]
            for device in DEVICES:
                by = ", ".join(f"{row['ratios'].get(f'{device}/{p}', math.nan):.2f}".replace("nan", "-") for p in peers)
                cells.append(f"{row['times'][device]:.2f} ({by})")
            lines.append(cells)
        out += [*table(["kernel", *(PEERS[p] for p in peers), *DEVICES], lines), ""]
    return out


def _scaling(rows: dict[int, dict[str, Any]], peers: list[str]) -> list[str]:
    sides = [*peers, *DEVICES]
    lines = []
    for name, row in rows[1].items():
        two = rows[2][name]["times"]
        lines.append([name, *(f"{row['times'][s] / two[s]:.2f}" if s in two else "-" for s in sides)])
    return ["## One thread and two", "", "One thread's time by that of two.", "",
            *table(["kernel", *(PEERS.get(s, s) for s in sides)], lines), ""]  # fmt: skip


def _precisions(rows: dict[str, Any]) -> list[str]:
    if not rows:
        return []
    ours = [side for side in next(iter(rows.values())) if not side.startswith("Intel")]
    lines = [
        [n, f"{row['Intel'][0]:.2f}", f"{row['Intel, exact'][0]:.2f}"]
        + [f"{row[s][0]:.2f} ({row[s][1]:.2f}, {row[s][2]:.2f})" for s in ours]
        for n, row in rows.items()
    ]
    return ["### Precision", "",
            "Transcendental functions of floats are rounded once; under `--precision manual` they are as close as hardware must be "
            "([why the former is the default](../decisions/0033-exact-by-default.md)). The peer's native functions, which `mriq` and `nbody` name, are approximations; "
            "*exact* is the peer with the functions of full precision in their place. One thread, milliseconds; in parentheses the ratios to both.", "",
            *table(["kernel", PEERS["Intel"], "exact", *ours], lines), ""]  # fmt: skip


def _oclgrind(six: dict[str, Any], scales: dict[str, int]) -> list[str]:
    if not any("oclgrind" in row for row in six.values()):
        return []
    head = [
        "kernel",
        "Oclgrind",
        "scaled from",
        "numpy engine",
        "times faster",
        "fast, 1 thread",
        "times faster",
        "fast, 2 threads",
        "times faster",
    ]
    lines = []
    for name, row in six.items():
        grind = row["oclgrind"]
        cells = [name, f"{grind:.0f}", f"1/{scales[name]}", f"{row['numpy']:.0f}", f"{grind / row['numpy']:.0f}"]
        lines.append(cells + [text for n in (1, 2) for text in (f"{row[n]:.2f}", f"{grind / row[n]:.0f}")])
    return ["## Against Oclgrind", "",
            "Oclgrind's time at full size (its own threads) in milliseconds, and how many times faster the engines are (tgllp; the numpy engine has one thread).",
            "", *table(head, lines), ""]  # fmt: skip


def _compilation(six: dict[str, Any]) -> list[str]:
    def cell(found: dict[str, float]) -> str:
        return f"{found['compile']:.0f} ({found['instructions']} instructions, goal {30 + 0.3 * found['instructions']:.0f})"

    support = [found["support"] for row in six.values() for found in row["compile"].values()]
    return [
        "## Compile time", "",
        "Syntax tree to object code in milliseconds, without the cache, the least of ten; the goal is 30 + 0.3 for each instruction.", "",
        *table(["kernel", *kernels.DEVICES], [[n, *(cell(row["compile"][d]) for d in kernels.DEVICES)] for n, row in six.items()]), "",
        f"The driver and the functions that handle lanes one by one do not depend on the kernel. They are compiled once for a machine and kept: {min(support):.0f} "
        f"to {max(support):.0f} ms more for the first kernel that needs them.", "",
    ]  # fmt: skip


def _loops(loops: dict[int, dict[str, float]], cpu: str) -> list[str]:
    if not loops:
        return []
    lines = [
        [f"{n:,}", f"{found['C']:.2f}", *(f"{found[d]:.2f} ({found[d] / found['C']:.2f})" for d in kernels.DEVICES)]
        for n, found in loops.items()
    ]
    return ["## saxpy and a C loop", "", f"The same buffers, one thread each, gcc -O3 -march={cpu}; a whole launch against a call.",
            "Milliseconds, in parentheses the ratio to C.", "", *table(["elements", "C", *kernels.DEVICES], lines), ""]  # fmt: skip


@dataclass(frozen=True)
class Measurements:
    """What the page says: rows of the suite by number of threads, versions of peers, rows of kernels under other precisions, of the
    six, of C loops, lines about the rest, what native code is made for."""

    suite: dict[int, dict[str, Any]]
    versions: dict[str, str]
    precisions: dict[str, Any]
    six: dict[str, Any]
    loops: dict[int, dict[str, float]]
    tools: list[str]
    made_for: str
    repeats: int
    oclgrind_scales: dict[str, int]


def text(found: Measurements, stem: str) -> str:
    """The page as Markdown; its chart is ``stem``.svg."""
    named = "; ".join(f"{PEERS[p]}: {version}" for p, version in found.versions.items()) or "none installed"
    head = ["# Performance", "", f"Written by `make bench`. Kernel time alone, compiled and warm, median of {found.repeats} runs, in three processes one after the other; the sides in turn. Arrays begin at cache lines on all sides.", "",
            f"Machine: {machine()}. Python {platform.python_version()}, numpy {np.__version__}, llvmlite {llvmlite.__version__}. Native code for: {found.made_for}.",
            f"Peers: {named}. One thread is kept on one CPU.", "", f"![chart]({stem}.svg)", ""]  # fmt: skip
    parts = [suite_tables(found.suite, found.versions), _precisions(found.precisions), _scaling(found.suite, list(found.versions)),
             _oclgrind(found.six, found.oclgrind_scales), _compilation(found.six), _loops(found.loops, found.made_for), found.tools]  # fmt: skip
    return "\n".join(head + [line for part in parts for line in part])


def chart(rows: dict[str, Any]) -> str:
    """Ratios to Intel's runtime as bars, on a logarithmic scale from 1/16 to 16."""
    width, left, unit, height = 640, 110, 60, 9
    middle = left + 4 * unit
    bars, y = [], 40
    for name, row in rows.items():
        bars.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{name}</text>')
        for device in DEVICES:
            ratio = row["ratios"].get(f"{device}/Intel", 1.0)
            length = max(-4.0, min(4.0, math.log2(ratio))) * unit
            x = middle + min(length, 0)
            bars.append(
                f'<rect x="{x:.0f}" y="{y}" width="{max(abs(length), 1):.0f}" height="{height - 1}" fill="{COLOURS[device]}"/>'
            )
            y += height
        y += 4
    lines = [
        f'<line x1="{middle + k * unit}" y1="30" x2="{middle + k * unit}" y2="{y}" stroke="{"#333" if k == 0 else "#ddd"}"/>'
        f'<text x="{middle + k * unit}" y="{y + 14}" text-anchor="middle">{2.0**k:g}</text>'
        for k in range(-4, 5, 2)
    ]
    names = "".join(
        f'<text x="{width - 150 + 70 * n}" y="36" fill="{c}">{d}</text>' for n, (d, c) in enumerate(COLOURS.items())
    )
    title = '<text x="10" y="20">Kernel time over that of Intel&#8217;s CPU runtime, one thread (left of 1: vsim is faster)</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 24}" font-family="sans-serif" font-size="11">'
        f"{title}{names}{''.join(lines)}{''.join(bars)}</svg>\n"
    )
