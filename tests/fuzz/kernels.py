"""Kernels that are mutated and executed: of the cases, the samples, and one for each instruction of the table.

Their lanes may race after that, so that only safety is judged: no signal, no traceback, nothing touched outside.
"""

from __future__ import annotations

import base64
import functools
import json
import random
import re
import zlib
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import yaml

import visakit
from fuzz.guarded import guard_workers
from fuzz.launches import Execution, Json, execute, packed
from fuzz.mutation import mutate_bytes, mutate_text
from fuzz.reading import DATA, kept
from fuzz.target import Target
from visakit import VisaError
from vsim.launch.launch import BufferArgument, ImageArgument, Launch, LocalArgument, ScalarArgument
from vsim.launch.launch_file import parse_launch

LARGEST = 1 << 20
"""Bytes of the arrays of a launch that is taken."""
_PLATFORMS = ("skl", "icllp", "tgllp", "xehp", "dg2", "pvc", "bmg", "ptl", "cri", "nvl")


# -- inputs ------------------------------------------------------------------------------------------------------------


def _argument(argument: object) -> Json:
    """An argument of a launch file as JSON of an input."""
    if isinstance(argument, BufferArgument):
        return {"bytes": packed(argument.array), "dtype": argument.array.dtype.str}
    if isinstance(argument, ImageArgument):
        array = argument.array
        return {"image": packed(array), "dtype": array.dtype.str, "shape": list(array.shape), "format": argument.format,
                "layered": argument.layered}  # fmt: skip
    if isinstance(argument, ScalarArgument):
        return {"scalar": argument.data.hex()}
    if isinstance(argument, LocalArgument):
        return {"local": argument.size}
    return {"sampler": asdict(argument)}  # type: ignore[call-overload]


def _joined(folder: Path) -> str:
    """The texts of a folder as one."""
    texts = [p.read_text() for p in sorted(folder.glob("*.visaasm")) if ".inline." not in p.name]
    return "\n".join([texts[0], *(re.sub(r"^\.version.*$", "", t, flags=re.MULTILINE) for t in texts[1:])])


def _ze_info(folder: Path) -> str:
    path = folder / "ze_info.yaml"
    return json.dumps(yaml.safe_load(path.read_text())) if path.exists() else ""


def _of_launches(folder: Path, texts: Path, platform: str) -> list[Execution]:
    """The launches of a folder that are small enough."""
    found = []
    for path in sorted(folder.glob("launch*.json")):
        file = parse_launch(path.read_text(), str(path.parent), str(path))
        for n in range(len(file)):
            launch: Launch = file.launch(n)
            arrays = [a.array for a in launch.args if isinstance(a, (BufferArgument, ImageArgument))]
            if sum(a.nbytes for a in arrays) > LARGEST:
                continue
            local = list(launch.local_size) if launch.local_size else None
            found.append(Execution(_joined(texts), platform, launch.kernel, list(launch.global_size), local, "", _ze_info(texts),
                                   [_argument(a) for a in launch.args]))  # fmt: skip
    return found


_PROLOGUE = """.decl FUZZ_IN v_type=G type=uq num_elts=1
.input FUZZ_IN offset=64 size=8
"""
_SETUP = """setp (M1_NM, {simd}) P1 0x5555:ud
mov (M1, {half}) VUD(0,0)<1> 0x76543210:uv
mul (M1, {half}) VUD(0,0)<1> VUD(0,0)<1;1,0> 8:uw
add (M1, {half}) VUQ(0,0)<1> VUD(0,0)<1;1,0> FUZZ_IN(0,0)<0;1,0>
"""


def _of_golden(path: Path) -> Execution | None:
    """One instruction's golden text as a kernel with addresses in its registers; None if it is no such text."""
    text = path.read_text()
    body = re.search(r"^(?![./])\S.*\(M\d", text, re.MULTILINE)
    if not body or "VUQ" not in text or "P1 v_type=P" not in text or text.count(".kernel ") != 1:
        return None
    simd = int(match[1]) if (match := re.search(r"SimdSize=(\d+)", text)) else 16
    setup = _SETUP.format(simd=min(simd, 16), half=8)
    text = text[: body.start()] + _PROLOGUE + setup + text[body.start() :]
    platform = "pvc" if "lsc" in path.name or "dpas" in path.name or "nbarrier" in path.name else "tgllp"
    buffers: list[Json] = [{"random": [4096, len(text)]}]
    return Execution(text, platform, "", [2 * simd], [simd], arguments=buffers)


@functools.cache
def sources() -> list[Execution]:
    """All that is mutated."""
    root = DATA.parent.parent
    found = [Execution.of(data) for data in kept("kernel")]
    for folder in sorted((DATA / "cases").iterdir()):
        for texts in sorted(p for p in folder.iterdir() if p.is_dir()):
            found += _of_launches(folder, texts, texts.name)
    for folder in sorted((root / "samples").iterdir()):
        if folder.is_dir() and list(folder.glob("*.visaasm")) and list(folder.glob("launch*.json")):
            found += _of_launches(folder, folder, "tgllp")
    golden = [_of_golden(path) for path in sorted((DATA / "golden").glob("*.visaasm"))]
    return found + [e for e in golden if e is not None]


# -- mutations ---------------------------------------------------------------------------------------------------------


def _changed_launch(source: random.Random, e: Execution) -> Execution:
    """Other sizes of the range, buffers, values and addresses."""
    arguments = [dict(a) for a in e.arguments]
    what = source.randrange(5)
    item = source.choice(arguments) if arguments else {}
    if what == 0:
        return replace(e, global_size=[source.choice((1, 7, 16, 33, 64)) for _ in e.global_size], local_size=None)
    if what == 1:
        return replace(e, platform=source.choice(_PLATFORMS))
    if "bytes" in item:
        array = np.frombuffer(zlib.decompress(base64.b64decode(str(item["bytes"]))), np.uint8)
        step = np.dtype(str(item.get("dtype", "u1"))).itemsize
        item["bytes"] = packed(array[: max(step, len(array) // source.choice((2, 3, 16, 1 << 20)) // step * step)])
    elif "random" in item:
        item["random"] = [source.choice((1, 4, 60, 1000, 65536)), 1]
    elif "scalar" in item:
        size = len(str(item["scalar"])) // 2
        item["scalar"] = source.choice((bytes(size), b"\xff" * size, source.randbytes(size))).hex()
    elif "local" in item:
        item["local"] = source.choice((1, 16, 4096))
    return replace(e, arguments=arguments)


def _changed_info(source: random.Random, e: Execution) -> Execution:
    """Other numbers in ze_info."""
    numbers = list(re.finditer(r"(?<=: )-?\d+", e.ze_info))
    if not numbers:
        return e
    chosen = source.choice(numbers)
    value = source.choice((0, 1, 4, 8, 16, 32, 33, 64, 128, int(chosen[0]) + 4, int(chosen[0]) * 2, 4096, -1))
    return replace(e, ze_info=e.ze_info[: chosen.start()] + str(value) + e.ze_info[chosen.end() :])


_OPERAND = re.compile(r"\w+\(\d+(?:,\d+)?\)(?:<[\d;,]+>)?|\w+\.\d+\b|-?\b\d+:\w+|\bM[1-8](?:_NM)?, \d+|<[\d;,]+>")
_OPERANDS = ("%r0(0,1)<0;1,0>", "%retval(0,0)<1;1,0>", "%arg.0", "0:ud", "-1:d", "0x80000000:ud", "M1_NM, 1", "M5, 8", "M8_NM, 4", "M1, 32", "M3, 8",
             "<0;1,0>", "<1;1,0>", "<32;16,4>", "<2;1,0>", "<1>", "<4>")  # fmt: skip


def _changed_operands(source: random.Random, text: str) -> str:
    """Operands and masks of one instruction replaced by those of others; most such texts assemble."""
    lines = text.split("\n")
    places = [n for n, line in enumerate(lines) if "(M" in line]
    for _ in range(source.choice((1, 1, 2, 4))) if places else ():
        n, other = source.choice(places), lines[source.choice(places)]
        chosen = list(_OPERAND.finditer(lines[n]))
        donors = [m[0] for m in _OPERAND.finditer(other)] + [source.choice(_OPERANDS)]
        if chosen and source.random() < 0.7:
            m = source.choice(chosen)
            kind = [d for d in donors if d[0] == m[0][0] or d[-1] == m[0][-1]] or donors
            lines[n] = lines[n][: m.start()] + source.choice(kind) + lines[n][m.end() :]
        elif source.random() < 0.5:
            lines.insert(n, other)
        else:
            lines[n] = other
    return "\n".join(lines)


def make(seed: int) -> bytes:
    """The input of a seed."""
    source = random.Random(f"kernel {seed}")
    e = source.choice(sources())
    what = source.randrange(10)
    if what == 0:
        e = _changed_launch(source, e)
    if what == 1:
        e = _changed_info(source, e)
    if what == 2 and e.text:
        try:
            isa = visakit.assemble(e.text)
        except VisaError:
            isa = b""
        changed = mutate_bytes(source, isa)
        e = replace(e, text="", isa=packed(np.frombuffer(changed, np.uint8)))
    elif what <= 5:
        text = mutate_text(source, e.text.encode(), [e.text.encode(), source.choice(sources()).text.encode()])
        e = replace(e, text=text.decode("utf-8", "replace"))
    else:
        e = replace(e, text=_changed_operands(source, e.text))
    return replace(e, at_end=source.random() < 0.8).to_bytes()


TARGETS = [Target("kernel", "mutated kernels, executed on both engines", make, execute, 100, guard_workers)]
