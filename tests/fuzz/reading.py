"""Targets that read: everything that a command takes, mutated. What is accepted goes round unchanged."""

from __future__ import annotations

import contextlib
import functools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import visakit
from fuzz import test_fuzzed
from fuzz.mutation import mutate_bytes, mutate_text
from fuzz.target import Finding, Target
from visakit import VisaError, ctm

DATA = Path(__file__).parent.parent / "data"


# -- the laws ----------------------------------------------------------------------------------------------------------


def text_law(data: bytes) -> None:
    """A text that assembles can be read, and disassembles to text that assembles to the same bytes."""
    isa = visakit.assemble(data.decode("utf-8", "replace"))
    try:
        again = visakit.assemble(visakit.disassemble(isa))
    except VisaError as error:
        raise Finding(f"the way back: {error}") from error
    if again != isa:
        raise Finding("the bytes of a text changed on their way round")


def module_law(data: bytes) -> None:
    """A module that is read can be written, and is refused by the disassembler or has a text of the same bytes."""
    module = visakit.read_module(data)
    for function in module.all_functions:  # of linked images; text has none
        function.variable_relocations, function.function_relocations = [], []
    try:
        isa = visakit.write_module(module)
        if visakit.write_module(visakit.read_module(isa)) != isa:
            raise Finding("a module that was written is another one")
    except VisaError as error:
        raise Finding(f"a module that was read cannot be written: {error}") from error
    text = visakit.disassemble(module)
    try:
        again = visakit.assemble(text)
    except VisaError as error:
        raise Finding(f"a disassembled text: {error}") from error
    if again != isa:
        raise Finding("the bytes of a module changed on their way round")


# -- inputs ------------------------------------------------------------------------------------------------------------


def archive(members: list[tuple[str, bytes]]) -> bytes:
    """An ``ar`` archive."""
    out = b"!<arch>\n"
    for name, data in members:
        head = f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n"
        out += head.encode() + data + b"\n" * (len(data) & 1)
    return out


def kept(target: str) -> list[bytes]:
    """Inputs of a target that once were findings."""
    return [p.read_bytes() for p in sorted((DATA / "fuzzed").iterdir()) if p.suffix == f".{target}"]


@functools.cache
def samples(target: str) -> list[bytes]:
    """The files that inputs of a target are made of."""
    if target in ("visaasm", "isa"):
        return [p.read_bytes() for p in sorted((DATA / "golden").glob(f"*.{target}"))] + kept(target)
    if target == "a":
        objects = [data for kind, data in test_fuzzed.samples() if kind == "o"]
        return [archive([(f"m{n}.o", data) for n, data in enumerate(objects)]), *kept(target)]
    if target == "json":
        folder = DATA.parent.parent / "samples"
        return [p.read_bytes() for p in sorted(folder.glob("*/launch*.json"))] + kept(target)
    found = [data for kind, data in test_fuzzed.samples() if kind == target] + kept(target)
    return found + [data for kind, data in golden_programs() if kind == target]


def golden_programs() -> Iterator[tuple[str, bytes]]:
    """The texts of the CTM target's golden files, and the objects of texts that assemble."""
    for path in sorted((DATA.parent / "golden" / "ctm").glob("*.test")):
        for text in re.findall(r"^# FILE \w+\.ctm\n(.*?)(?=^# [A-Z]|\Z)", path.read_text(), re.M | re.S):
            yield "ctm", text.encode()
            with contextlib.suppress(VisaError):
                yield "ctmo", ctm.assemble(text, "x").to_bytes()


def input_of(target: str, seed: int) -> bytes:
    """The input of a seed."""
    source = random.Random(f"{target} {seed}")
    data = source.choice(samples(target))
    if target == "visaasm" or (target == "ctm" and seed % 2):
        return mutate_text(source, data, samples(target))
    return mutate_bytes(source, data)


def _target(name: str, what: str, law: Callable[[bytes], None]) -> Target:
    def check(data: bytes) -> str:
        law(data)
        return "accepted"

    return Target(name, what, functools.partial(input_of, name), check)


READERS = (
    ("ctm", "texts of the CTM target, which run if they link", test_fuzzed.ctm_text),
    ("ctmo", "objects and images of the CTM target, which run if they link", test_fuzzed.ctm_file),
    ("visaasm", "vISA texts, and their way round", text_law),
    ("isa", "CISA modules, and their way round", module_law),
    ("o", "objects", test_fuzzed.object_file),
    ("a", "archives", test_fuzzed.archive),
    ("bin", "images", test_fuzzed.image),
    ("yaml", "ze_info", test_fuzzed.ze_info),
    ("json", "launch files", test_fuzzed.launch),
)
TARGETS = [_target(*reader) for reader in READERS]
