"""``make demo``: builds and runs every sample with the command-line tools, checks the results and shows them."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent

SAMPLES = (
    ("saxpy", "tgllp", "y = a * x + y, as the compiler writes it"),
    ("mandelbrot", "bmg", "escape times, a divergent loop"),
    ("calls", "tgllp", "FCALL with arguments and recursion across two objects"),
    ("dispatch", "tgllp", "FADDR and IFCALL through a table, divergent targets"),
    ("bitfields", "tgllp", "BFE and BFI: colours packed and unpacked"),
    ("ctm/mandelbrot", "ctm", "escape times on the R5xx: divergent exits from a loop"),
    ("ctm/collatz", "ctm", "conditional calls between two modules on the R5xx"),
)


def tool(*words: object) -> str:
    """Run one of the commands; its output."""
    result = subprocess.run([str(BIN / str(words[0])), *map(str, words[1:])], capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def build(sample: Path, platform: str, out: Path) -> Path:
    """Assemble all texts of a sample and link them."""
    image = out / f"{sample.name}.bin"
    if platform == "ctm":
        texts = sorted(sample.glob("*.ctm"))
        tool("vasm", *texts, "--out-dir", out)
        tool("vlink", *[out / f"{t.stem}.o" for t in texts], "-o", image)
        return image
    texts = sorted(sample.glob("*.visaasm"))
    tool("vasm", *texts, "--platform", platform, "-g", "--out-dir", out)
    info = ["--ze-info", sample / "ze_info.yaml"] if (sample / "ze_info.yaml").exists() else []
    tool("vlink", *[out / f"{t.stem}.o" for t in texts], "--platform", platform, *info, "-o", image)
    return image


def colours(counts: np.ndarray, limit: int) -> np.ndarray:
    """A palette from black over blue and gold to white, the set itself black."""
    stops = np.array([[0, 7, 100], [32, 107, 203], [237, 255, 255], [255, 170, 0], [90, 20, 0]], float)
    t = (np.log2(np.maximum(counts, 1)) / np.log2(limit)) * (len(stops) - 1)
    low = np.clip(t.astype(int), 0, len(stops) - 2)
    rgb = stops[low] + (stops[low + 1] - stops[low]) * (t - low)[..., None]
    rgb[counts >= limit] = 0
    return rgb.astype(np.uint8)


def png(rgb: np.ndarray) -> bytes:
    """An RGB picture as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = rgb.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), rgb.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + chunk(b"IEND", b"")
    )


def show(console: Console, rgb: np.ndarray) -> None:
    """The picture in the terminal: two pixels to a character."""
    from rich.style import Style
    from rich.text import Text

    step = -(-rgb.shape[1] // min(console.width - 1, 96))
    small = rgb[::step, ::step]
    if not console.is_terminal:
        shades = " .:-=+*#%@"
        light = (small[::2].mean(axis=2) / 256 * len(shades)).astype(int)
        for row in light:
            console.print("".join(shades[v] for v in row), highlight=False)
        return
    for top, bottom in zip(small[0::2], small[1::2], strict=False):
        line = Text()
        for a, b in zip(top, bottom, strict=True):
            line.append("▀", Style(color=f"rgb({a[0]},{a[1]},{a[2]})", bgcolor=f"rgb({b[0]},{b[1]},{b[2]})"))
        console.print(line)


def main() -> None:
    """Run all samples; exit 1 if a check fails."""
    console = Console()
    table = Table(title="Samples", title_justify="left")
    for heading in ("sample", "shows", "platform", "checks", "seconds"):
        table.add_column(heading)
    failed = False
    picture = Path("mandelbrot.png").resolve()
    with tempfile.TemporaryDirectory() as name:
        for sample, platform, what in SAMPLES:
            out = Path(name) / sample
            started = time.perf_counter()
            image = build(HERE / sample, platform, out)
            result = subprocess.run(
                [str(BIN / "vsim"), str(image), "--launch", str(HERE / sample / "launch.json"), "--out-dir", str(out)],
                capture_output=True,
                text=True,
            )
            ok = result.returncode == 0
            failed |= not ok
            table.add_row(
                sample,
                what,
                platform,
                "[green]ok[/]" if ok else "[red]FAILED[/]",
                f"{time.perf_counter() - started:.2f}",
            )
            if not ok:
                console.print(result.stdout + result.stderr, markup=False)
            if sample == "mandelbrot" and ok:
                rgb = colours(np.load(out / "mandelbrot.npy"), 64)
                picture.write_bytes(png(rgb.repeat(3, 0).repeat(3, 1)))
                show(console, rgb)
        if shutil.which("make"):
            made = subprocess.run(
                ["make", "-C", str(HERE / "calls"), f"BIN={BIN}/", f"OUT={name}/make"], capture_output=True, text=True
            )
            failed |= made.returncode != 0
            table.add_row(
                "calls/Makefile",
                "a build driven by make",
                "tgllp",
                "[green]ok[/]" if made.returncode == 0 else "[red]FAILED[/]",
                "",
            )
            if made.returncode:
                console.print(made.stdout + made.stderr, markup=False)
    console.print(table)
    console.print(f"The picture is in {picture.name}.")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
