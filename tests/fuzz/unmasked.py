"""Kernels some of whose instructions ignore the execution mask, in one group of fewer work-items than a thread has lanes.

The texts are those of the cases and samples. Lanes that are no work-items compute and store then, too; both engines must
give them the same registers. One thread runs, so that nothing races with it.
"""

from __future__ import annotations

import functools
import random
import re
from dataclasses import replace

from fuzz.guarded import guard_workers
from fuzz.kernels import sources
from fuzz.launches import Execution, execute
from fuzz.target import Target

SHARES = (0.05, 0.3, 1.0)
"""Of the instructions that ignore the mask."""
_MASKED = re.compile(
    r"^\s*(?:\(.*?\) )?(?!goto|ret|jmp|call|fcall|ifcall|fret|barrier)[a-z]\w*[\w.]* \((M[1-8]), (?:4|8|16|32)\)"
)
_LANES = re.compile(r"SimdSize=(8|16|32)\b")


def _unmasked(source: random.Random, text: str) -> str:
    """A text with other masks."""
    share, lines = source.choice(SHARES), text.split("\n")
    for n, line in enumerate(lines):
        if (found := _MASKED.match(line)) and source.random() < share:
            lines[n] = f"{line[: found.end(1)]}_NM{line[found.end(1) :]}"
    return "\n".join(lines)


@functools.cache
def _chosen() -> list[Execution]:
    """The launches of texts with several lanes, whose buffers have types."""
    return [e for e in sources() if e.text and _LANES.search(e.text) and any("dtype" in a for a in e.arguments)]


def make(seed: int) -> bytes:
    """The input of a seed."""
    source = random.Random(f"unmasked {seed}")
    e = source.choice(_chosen())
    found = _LANES.search(e.text)
    items = source.randrange(1, int(found[1]) + 1) if found else 1
    width = source.choice([n for n in (items, items, 2, 3, 4) if n <= items])
    size = [width, items // width, 1][: max(1, len(e.global_size))]
    text, compare = _unmasked(source, e.text), {}
    for n, argument in enumerate(e.arguments):
        if "bytes" in argument and "dtype" in argument:
            dtype = str(argument["dtype"])
            compare[str(n)] = int(dtype[2:]), [(dtype, 0, 1)]
    return replace(e, text=text, global_size=size, local_size=size, compare=compare).to_bytes()


TARGETS = [
    Target(
        "unmasked",
        "kernels with instructions that ignore the mask, in groups smaller than a thread, on both engines",
        make,
        execute,
        100,
        guard_workers,
    )
]
