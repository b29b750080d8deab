"""What instructions do in pseudo-code, and an example of each with lanes before and after.

The pseudo-code of a lane is Python: it is computed for the lanes of the example, the example is executed, and the page
is made only if both agree. So a page says nothing that the semantics do not do.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from probe import Probe

from visa.isa import instruction_set

LANES = 8
SIGNED, UNSIGNED, FLOATS = "d", "ud", "f"
INPUTS: dict[str, dict[str, list[float]]] = {
    SIGNED: {
        "A": [1, 2, 3, -4, 25, 100, -7, 2147483647],
        "B": [10, 20, -30, 40, 3, 7, 2, 1],
        "C": [5, 5, 5, 5, -1, -1, -1, -1],
    },
    UNSIGNED: {
        "UA": [1, 2, 3, 12, 255, 4096, 0x80000001, 0xFFFFFFFF],
        "UB": [4, 1, 8, 3, 5, 12, 31, 2],
        "UC": [0, 1, 2, 3, 240, 0xFF00, 0x12345678, 0xFFFFFFFF],
    },
    FLOATS: {
        "FA": [1.0, 0.5, 2.5, -1.25, 3.5, 0.75, -2.5, 8.0],
        "FB": [2.0, 4.0, 0.5, 3.0, -1.0, 8.0, 2.0, 0.25],
        "FC": [0.25, 0.5, 1.0, 2.0, 4.0, 0.5, 1.5, 3.0],
        "FP": [1.0, 0.5, 2.5, 1.25, 3.5, 0.75, 2.25, 8.0],
    },
}
PREDICATE = 0b01011010
NUMBERS = [3, 0, 2, 7, 5, 1, 4, 6]
"""Elements that the lanes of a message read or write, none twice."""
MEMORY = [100, 101, 102, 103, 104, 105, 106, 107]


class Operation(NamedTuple):
    """The pseudo-code of an instruction's result in lane i, the type of its operands, what they are, and its suffix."""

    pseudo: str
    type: str
    sources: tuple[str, ...] = ()
    suffix: str = ""


class Message(NamedTuple):
    """A message: its line, pseudo-code, what suffixes and offsets mean, and how far offsets of neighbours are apart."""

    line: str
    pseudo: str
    meaning: str
    scale: int
    is_store: bool = False
    adds: bool = False


def _bits(x: int) -> str:
    return f"{x & 0xFFFFFFFF:032b}"


def _byte(x: int, k: int) -> int:
    return ((x >> 8 * k & 0xFF) ^ 0x80) - 0x80


HELPERS = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "sqrt": math.sqrt, "log2": math.log2, "sin": math.sin,
    "cos": math.cos, "bits": _bits, "byte": _byte,
}  # fmt: skip
"""Names that the pseudo-code may use beside Python's own: ``bits`` are 32 digits, the highest bit first; ``byte`` is
a signed byte of a number, 0 the lowest."""

ALU = {
    "add": Operation("src0[i] + src1[i]", SIGNED),
    "mul": Operation("src0[i] * src1[i]", SIGNED),
    "mad": Operation("src0[i] * src1[i] + src2[i]", SIGNED),
    "add3": Operation("src0[i] + src1[i] + src2[i]", SIGNED),
    "avg": Operation("src0[i] + src1[i] + 1 >> 1", SIGNED),
    "div": Operation("trunc(src0[i] / src1[i])", SIGNED),
    "mod": Operation("src0[i] - src1[i] * trunc(src0[i] / src1[i])", SIGNED),
    "min": Operation("min(src0[i], src1[i])", SIGNED),
    "max": Operation("max(src0[i], src1[i])", SIGNED),
    "mulh": Operation("src0[i] * src1[i] >> 32", UNSIGNED),
    "and": Operation("src0[i] & src1[i]", UNSIGNED),
    "or": Operation("src0[i] | src1[i]", UNSIGNED),
    "xor": Operation("src0[i] ^ src1[i]", UNSIGNED),
    "not": Operation("~src0[i]", UNSIGNED),
    "shl": Operation("src0[i] << (src1[i] & 31)", UNSIGNED),
    "shr": Operation("src0[i] >> (src1[i] & 31)", UNSIGNED),
    "asr": Operation("src0[i] >> (src1[i] & 31)", SIGNED),
    "rol": Operation("src0[i] << (src1[i] & 31) | src0[i] >> (-src1[i] & 31)", UNSIGNED),
    "ror": Operation("src0[i] >> (src1[i] & 31) | src0[i] << (-src1[i] & 31)", UNSIGNED),
    "bfrev": Operation("int(bits(src0[i])[::-1], 2)", UNSIGNED),
    "cbit": Operation("bits(src0[i]).count('1')", UNSIGNED),
    "fbl": Operation("bits(src0[i])[::-1].find('1')", UNSIGNED),
    "fbh": Operation("bits(src0[i]).find('1')", UNSIGNED),
    "lzd": Operation("32 - len(bits(src0[i]).lstrip('0'))", UNSIGNED),
    "bfe": Operation("src[i] >> offset[i] & (1 << width[i]) - 1", UNSIGNED, ("5:ud", "3:ud", "UC")),
    "bfi": Operation(
        "base[i] & ~((1 << width[i]) - 1 << offset[i]) | (insert[i] & (1 << width[i]) - 1) << offset[i]",
        UNSIGNED,
        ("4:ud", "8:ud", "UA", "UC"),
    ),
    "dp4a": Operation("src0[i] + sum(byte(src1[i], k) * byte(src2[i], k) for k in range(4))", SIGNED),
    "mov": Operation("src0[i]", SIGNED),
    "sel": Operation("src0[i] if predicate[i] else src1[i]", SIGNED),
    "cmp": Operation("src0[i] < src1[i]", SIGNED, suffix=".lt"),
    "frc": Operation("src0[i] - floor(src0[i])", FLOATS),
    "rndd": Operation("floor(src0[i])", FLOATS),
    "rndu": Operation("ceil(src0[i])", FLOATS),
    "rnde": Operation("round(src0[i])", FLOATS),
    "rndz": Operation("trunc(src0[i])", FLOATS),
    "inv": Operation("1 / src0[i]", FLOATS),
    "sqrt": Operation("sqrt(src0[i])", FLOATS, ("FP",)),
    "rsqrt": Operation("1 / sqrt(src0[i])", FLOATS, ("FP",)),
    "sqrtm": Operation("sqrt(src0[i])", FLOATS, ("FP",)),
    "divm": Operation("src0[i] / src1[i]", FLOATS),
    "exp": Operation("2 ** src0[i]", FLOATS),
    "log": Operation("log2(src0[i])", FLOATS, ("FP",)),
    "pow": Operation("src0[i] ** src1[i]", FLOATS, ("FP", "FB")),
    "sin": Operation("sin(src0[i])", FLOATS),
    "cos": Operation("cos(src0[i])", FLOATS),
    "lrp": Operation("src0[i] * src1[i] + (1 - src0[i]) * src2[i]", FLOATS),
    "dp2": Operation("src0[j] * src1[j] + src0[j + 1] * src1[j + 1]", FLOATS),
    "dp3": Operation("sum(src0[j + k] * src1[j + k] for k in range(3))", FLOATS),
    "dp4": Operation("sum(src0[j + k] * src1[j + k] for k in range(4))", FLOATS),
    "dph": Operation("sum(src0[j + k] * src1[j + k] for k in range(3)) + src1[j + 3]", FLOATS),
}
"""``j`` is the first lane of the four to which lane i belongs. Results are cut to the type of the destination."""

_ELEMENT = "`.4` is the size of an element in bytes (`.1` and `.2` are the others). Offsets count elements, not bytes."
_BLOCK = "`.4` is the bytes of a lane's block (`.1` and `.2` are the others). Offsets are in bytes."
_ATOMIC = (
    "The lanes do this one after the other, in no order that a program may rely on, and no other thread comes between. "
    "What was in memory before goes into the destination; `%null` drops it, and stands for operands that an operation lacks."
)
_LSC = (
    "`D:d32` is the size of the data, 32 bits for each lane (`d8u32` and `d16u32` are a byte and a word in a dword each, `d64` "
    "64 bits). `:a64` says that addresses have 64 bits; they are in bytes. `.ugm` is global memory, `.slm` local memory."
)
_BLOCKS = (
    "`.4.1` is one block of four bytes for each lane: the size of a block (1, 4 or 8), then the number of blocks. "
    "Addresses are in bytes."
)
MESSAGES = {
    "gather": Message("gather.4 (M1, 8) T8 0:ud OFFSETS.0 D.0", "surface[global_offset + offsets[i]]", _ELEMENT, 1),
    "scatter": Message(
        "scatter.4 (M1, 8) T8 0:ud OFFSETS.0 S.0", "surface[global_offset + offsets[i]]", _ELEMENT, 1, True
    ),
    "gather_scaled": Message(
        "gather_scaled.4 (M1, 8) T8 0:ud OFFSETS.0 D.0", "surface[(global_offset + offsets[i]) / 4]", _BLOCK, 4
    ),
    "scatter_scaled": Message(
        "scatter_scaled.4 (M1, 8) T8 0:ud OFFSETS.0 S.0", "surface[(global_offset + offsets[i]) / 4]", _BLOCK, 4, True
    ),
    "svm_gather": Message("svm_gather.4.1 (M1, 8) ADDRESSES.0 D.0", "memory[addresses[i]]", _BLOCKS, 4),
    "lsc_load": Message("lsc_load.ugm (M1, 8) D:d32 flat[ADDRESSES]:a64", "memory[addresses[i]]", _LSC, 4),
    "lsc_store": Message("lsc_store.ugm (M1, 8) flat[ADDRESSES]:a64 S:d32", "memory[addresses[i]]", _LSC, 4, True),
    "svm_atomic": Message(
        "svm_atomic.add (M1, 8) ADDRESSES.0 D.0 S.0 %null.0", "memory[addresses[i]]", _ATOMIC, 4, True, True
    ),
    "lsc_atomic_iadd": Message(
        "lsc_atomic_iadd.ugm (M1, 8) D:d32 flat[ADDRESSES]:a64 S %null",
        "memory[addresses[i]]",
        _ATOMIC,
        4,
        True,
        True,
    ),
    "svm_scatter": Message("svm_scatter.4.1 (M1, 8) ADDRESSES.0 S.0", "memory[addresses[i]]", _BLOCKS, 4, True),
}


class Example(NamedTuple):
    """What a page shows: pseudo-code, an example, and its lanes before and after, each row with its name."""

    pseudo: list[str]
    meaning: str
    line: str
    rows: list[tuple[str, list[float]]]


def examples() -> dict[str, Example]:
    """The examples by mnemonic, executed.

    Raises:
        AssertionError: an instruction does something else than its pseudo-code.
    """
    return _computations() | {name: _message(message) for name, message in MESSAGES.items()}


def _sources(name: str, operation: Operation) -> tuple[str, ...]:
    """The variables that an example reads."""
    return operation.sources or tuple(INPUTS[operation.type])[: len(_names(name))]


def _names(name: str) -> list[str]:
    """What the table calls the sources of an instruction."""
    return [f.name for f in instruction_set().by_mnemonic[name][0].fields if f.kind == "s"]


def _computations() -> dict[str, Example]:
    probe = Probe(lanes=LANES)
    for kind, variables in INPUTS.items():
        for name, values in variables.items():
            probe.variable(name, kind, values)
    probe.predicate("P1", PREDICATE)
    lines = {}
    for name, operation in ALU.items():
        result = f"D_{name}"
        if name == "cmp":
            probe.predicate("P2", 0)
        else:
            probe.variable(result, operation.type, [0] * LANES)
        sources = [s if ":" in s else f"{s}(0,0)<1;1,0>" for s in _sources(name, operation)]
        target = "P2" if name == "cmp" else f"{result}(0,0)<1>"
        line = f"{name}{operation.suffix} (M1, {LANES}) {target} {' '.join(sources)}"
        lines[name] = f"(P1) {line}" if name == "sel" else line
        probe.lines.append(lines[name])
    found = probe.run("numpy")
    return {name: _computed(name, operation, lines[name], found) for name, operation in ALU.items()}


def _computed(name: str, operation: Operation, line: str, found: dict[str, object]) -> Example:
    flags = [PREDICATE >> i & 1 for i in range(LANES)]
    sources = _sources(name, operation)
    values = {n: _values(operation.type, source) for n, source in zip(_names(name), sources, strict=True)}
    if name == "cmp":
        after = [found["P2"] >> i & 1 for i in range(LANES)]
    else:
        after = [x.item() for x in found[f"D_{name}"][:LANES]]
    for i in range(LANES):
        names = HELPERS | values | {"predicate": flags, "i": i, "j": i & ~3}
        _check(name, eval(operation.pseudo, names), after[i], operation.type)
    rows = [(f"`{s}`", _values(operation.type, s)) for s in dict.fromkeys(sources) if ":" not in s]
    rows += [("`P1`", flags)] if name == "sel" else []
    rows.append((f"`{'P2' if name == 'cmp' else 'D'}` after", after))
    dst = f"dst[i] = {operation.pseudo}"
    more = ["j = i & ~3            # the first lane of four"] if "[j" in operation.pseudo else []
    return Example([*more, dst], "", line.replace(f"D_{name}(", "D("), rows)


def _values(kind: str, source: str) -> list[float]:
    return [int(source.partition(":")[0])] * LANES if ":" in source else INPUTS[kind][source]


def _check(name: str, told: float, done: float, kind: str) -> None:
    """Whether the pseudo-code and the execution agree: integers in their bits, floats to single precision."""
    if kind == FLOATS:
        same = math.isclose(told, done, rel_tol=1e-5, abs_tol=1e-6)
    else:
        same = (int(told) ^ int(done)) & 0xFFFFFFFF == 0
    assert same, f"{name}: the pseudo-code gives {told}, the instruction {done}"


def _message(message: Message) -> Example:
    probe = Probe("dg2", LANES)
    offsets = [n * message.scale for n in NUMBERS]
    stored = [10 * (i + 1) for i in range(LANES)]
    probe.buffer("MEMORY", b"".join(n.to_bytes(4, "little") for n in MEMORY))
    probe.fill(OFFSETS=("ud", offsets), S=("ud", stored), D=("ud", [0] * LANES))
    if "ADDRESSES" in message.line:
        probe.addresses("ADDRESSES", "MEMORY", offsets)
    probe.lines.append(message.line)
    found = probe.run("numpy")
    expected, cells, numbers = list(MEMORY), [], []
    for i in range(LANES):
        place = message.pseudo[message.pseudo.index("[") + 1 : -1]
        at = eval(place, {"global_offset": 0, "offsets": offsets, "addresses": offsets, "i": i})
        numbers.append(int(at) // (message.scale if "addresses" in place else 1))
        if message.is_store:
            expected[numbers[i]] = stored[i] + (MEMORY[numbers[i]] if message.adds else 0)
        cells.append(MEMORY[numbers[i]])
    in_memory = found["MEMORY"].view("u4").tolist()
    is_load = not message.is_store or message.adds
    assert in_memory == expected and (not is_load or found["D"][:LANES].tolist() == cells), message.line
    first = "bytes behind the address of the buffer" if "ADDRESSES" in message.line else "`OFFSETS`"
    rows = [("memory before", list(MEMORY)), (first, offsets)]
    rows += [("`S`", stored), ("memory after", in_memory)] if message.is_store else []
    rows += [("`D` after", cells)] if is_load else []
    pseudo = [f"dst[i] = {message.pseudo}"] if is_load else []
    if message.is_store:
        pseudo.append(f"{message.pseudo} = {'dst[i] + src[i]' if message.adds else 'src[i]'}")
    return Example(pseudo, message.meaning, message.line, rows)


def lines_of(example: Example) -> list[str]:
    """The part of a page that shows an example."""
    out = ["What it does, in pseudo-code:", "", "```", "for each lane i that executes:"]
    out += [*(f"    {line}" for line in example.pseudo), "```", ""]
    out += [example.meaning, ""] if example.meaning else []
    out += ["Executed when this page was made:", "", "```", example.line, "```", ""]
    out += [f"| lane | {' | '.join(str(i) for i in range(LANES))} |", "|---" * (LANES + 1) + "|"]
    out += [f"| {name} | {' | '.join(_shown(x) for x in values)} |" for name, values in example.rows]
    return [*out, ""]


def _shown(value: float) -> str:
    """A number with six digits at most, large ones in hexadecimal."""
    return f"{value:.6g}" if isinstance(value, float) else f"{value:#x}" if value > 999999 else str(value)
