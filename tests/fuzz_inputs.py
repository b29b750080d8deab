"""Mutated inputs of every kind: ``python tests/fuzz_inputs.py [TARGET...] [--seconds N] [--first SEED]``.

A seed names an input: the same seed gives the same one as long as the samples are the same. Inputs are read in child
processes with limits of memory and time. Anything but an answer or a ``VisaError``, a text or module that changes on its
way round, more than 2 GB and more than 20 s are findings, which are reported with target and seed; ``--show TARGET SEED``
writes the input, which belongs into tests/data/fuzzed.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import random
import re
import resource
import select
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import test_fuzzed

import visa
from visa import VisaError

DATA = Path(__file__).parent / "data"
MAXIMUM_MEMORY, MAXIMUM_SECONDS = 2 << 30, 20
BATCH = 2000
"""Inputs of one child process."""


class Changed(Exception):
    """What came back is not what went in."""


# -- the laws ----------------------------------------------------------------------------------------------------------


def text_law(data: bytes) -> None:
    """What assembles can be read, and disassembles to text that assembles to the same bytes."""
    isa = visa.assemble(data.decode("utf-8", "replace"))
    try:
        again = visa.assemble(visa.disassemble(isa))
    except VisaError as error:
        raise Changed(f"the way back: {error}") from error
    if again != isa:
        raise Changed("the bytes of a text changed on their way round")


def module_law(data: bytes) -> None:
    """What is read is written, and is refused by the disassembler or disassembles to text of the same bytes."""
    module = visa.read_module(data)
    for function in module.all_functions:  # of linked images; text has none
        function.variable_relocations, function.function_relocations = [], []
    try:
        isa = visa.write_module(module)
        if visa.write_module(visa.read_module(isa)) != isa:
            raise Changed("a module that was written is another one")
    except VisaError as error:
        raise Changed(f"what was read cannot be written: {error}") from error
    text = visa.disassemble(module)
    try:
        again = visa.assemble(text)
    except VisaError as error:
        raise Changed(f"what was disassembled: {error}") from error
    if again != isa:
        raise Changed("the bytes of a module changed on their way round")


LAWS: dict[str, Callable[[bytes], None]] = {
    **test_fuzzed.TARGETS,
    "visaasm": text_law,
    "isa": module_law,
    "a": test_fuzzed.object_file,
}


# -- inputs ------------------------------------------------------------------------------------------------------------


def archive(members: list[tuple[str, bytes]]) -> bytes:
    """An ``ar`` archive."""
    out = b"!<arch>\n"
    for name, data in members:
        out += (
            f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) & 1)
        )
    return out


@functools.cache
def samples(target: str) -> list[bytes]:
    """The files that inputs of a target are made of."""
    kept = [p.read_bytes() for p in sorted((DATA / "fuzzed").iterdir()) if p.suffix == f".{target}"]
    if target in ("visaasm", "isa"):
        return [p.read_bytes() for p in sorted((DATA / "golden").glob(f"*.{target}"))] + kept
    if target == "a":
        objects = [data for kind, data in test_fuzzed.samples() if kind == "o"]
        return [archive([(f"m{n}.o", data) for n, data in enumerate(objects)]), *kept]
    if target == "json":
        folder = DATA.parent.parent / "samples"
        return [p.read_bytes() for p in sorted(folder.glob("*/launch*.json"))] + kept
    return [data for kind, data in test_fuzzed.samples() if kind == target] + kept


_NUMBERS = (
    "0", "1", "-1", "31", "32", "127", "128", "255", "256", "32767", "32768", "65535", "65536", "0x7fffffff", "0xffffffff",
    "4294967296", "0xffffffffffffffff", "1e400", "nan", "07", "0x", "1.5", "~1", "(1<<200)", "9" * 40,
)  # fmt: skip
_PIECES = (
    "{", "}", '"', "\\x00", "\\xff", "\\u202e", "\u202e", "\0", "%null", "%arg", "%r0", "V21", "S31", "T6", "(", ")", "<", ">", ";", ",", ":ud", ":df",
    ":vf", "(M5, 32)", "(M8_NM, 1)", "(!P1.any)", ".sat", "(-)", "(abs)", "<0;1,0>", "<32;16,4>", "<1>", "r[A0(0),-1]<1;1,0>:ud", "alias=<V32, 4>",
    "attrs={Input}", "&V32", "/*", "//", "\r", "\t", ".kernel_attr OutputAsmPath=\"\\xff\"", "align=32word", "[", "]",
)  # fmt: skip
_TOKEN = re.compile(r"%?\w+|\s+|.", re.DOTALL)


def mutate_text(source: random.Random, data: bytes) -> bytes:
    """A few changes of words, numbers and lines."""
    lines = data.decode("utf-8", "replace").split("\n")
    others = source.choice(samples("visaasm")).decode("utf-8", "replace").split("\n")
    for _ in range(source.choice((1, 1, 2, 3, 8))):
        at = source.randrange(len(lines))
        what = source.randrange(8)
        if what == 0:
            lines.insert(at, source.choice(lines if source.random() < 0.5 else others))
        elif what == 1 and len(lines) > 2:
            del lines[at]
        elif what == 2:
            other = source.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            tokens = _TOKEN.findall(lines[at]) or [""]
            n = source.randrange(len(tokens))
            if what == 3:
                tokens[n] = source.choice(_NUMBERS)
            elif what == 4:
                tokens[n] = source.choice(_TOKEN.findall(source.choice(lines)) or [""])
            elif what == 5:
                tokens.insert(n, source.choice(_PIECES))
            elif what == 6:
                numbers = [k for k, t in enumerate(tokens) if t[0:1].isdigit()] or [n]
                tokens[source.choice(numbers)] = source.choice(_NUMBERS)
            else:
                tokens[n : n + source.randrange(4)] = []
            lines[at] = "".join(tokens)
    return "\n".join(lines).encode("utf-8", "replace")


def mutate_bytes(source: random.Random, data: bytes) -> bytes:
    """A few bytes, numbers of two and four bytes, pieces."""
    out = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        at = source.randrange(len(out) or 1)
        what = source.randrange(8)
        if what <= 2:
            out[at : at + 1] = bytes([source.randrange(256)])
        elif what == 3 and out:
            out[at] ^= 1 << source.randrange(8)
        elif what == 4:
            size = source.choice((1, 2, 4, 8))
            value = source.choice(
                (0, 1, -1, 127, 128, 255, 256, 0x7FFF, 0x8000, 1 << 31, 1 << 63, source.randrange(64))
            )
            out[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        elif what == 5:
            del out[at : at + source.choice((1, 2, 5, 20))]
        elif what == 6:
            out[at:at] = out[source.randrange(len(out) or 1) :][: source.choice((1, 2, 5, 20))]
        elif out:
            out[at] = (out[at] + source.choice((1, 255, 2, 16, 240))) & 255
    return bytes(out)


def input_of(target: str, seed: int) -> bytes:
    """The input of a seed."""
    source = random.Random(f"{target} {seed}")
    data = source.choice(samples(target))
    mutate = mutate_text if target == "visaasm" else mutate_bytes
    return mutate(source, data)


# -- running -----------------------------------------------------------------------------------------------------------


def child(target: str, first: int) -> None:
    """Read inputs one after the other; standard output tells seeds, ``!`` and findings."""
    resource.setrlimit(resource.RLIMIT_AS, (MAXIMUM_MEMORY, MAXIMUM_MEMORY))
    warnings.simplefilter("ignore")
    for seed in range(first, first + BATCH):
        print(seed, flush=True)
        try:
            with contextlib.suppress(VisaError):
                LAWS[target](input_of(target, seed))
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(
                f"! {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})".replace("\n", " | "),
                flush=True,
            )


def run_batch(target: str, first: int, stop: float) -> Iterator[tuple[int, str]]:
    """Seeds of a child process as it reads them, each with an empty text, and again with what was found."""
    command = [sys.executable, __file__, "--child", target, "--first", str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONHASHSEED": "0"}) as process:
        assert process.stdout is not None
        descriptor, rest, seed = process.stdout.fileno(), b"", first
        while time.monotonic() < stop:
            if not select.select([descriptor], [], [], MAXIMUM_SECONDS)[0]:
                yield seed, f"takes longer than {MAXIMUM_SECONDS} s"
                break
            data = os.read(descriptor, 1 << 16)
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                if line.startswith(b"! "):
                    yield seed, line[2:].decode("utf-8", "replace")
                else:
                    seed = int(line)
                    yield seed, ""
        ended = process.poll() if time.monotonic() < stop else None
        if ended is None and time.monotonic() < stop:
            with contextlib.suppress(subprocess.TimeoutExpired):
                ended = process.wait(1)
        process.kill()
    if ended:
        yield seed, f"the process ended with {ended}"


def run(target: str, first: int, seconds: float) -> int:
    """Read inputs for some time; gives the number of findings."""
    stop, seed, count, found = time.monotonic() + seconds, first, 0, 0
    while time.monotonic() < stop:
        last = seed
        for last, finding in run_batch(target, seed, stop):
            if finding:
                found += 1
                print(f"{target} {last}: {finding}", flush=True)
            else:
                count += 1
        seed = last + 1
    print(f"{target}: {count} inputs, seeds {first} to {seed - 1}, {found} findings", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(LAWS)}; all without any")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--show", nargs=2, metavar=("TARGET", "SEED"), help="write an input to standard output")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.first)
        return 0
    if given.show:
        sys.stdout.buffer.write(input_of(given.show[0], int(given.show[1])))
        return 0
    return int(sum(run(target, given.first, given.seconds) for target in given.targets or LAWS) > 0)


if __name__ == "__main__":
    sys.exit(main())
