"""A kernel to start from: what ``vasm --new`` writes for a list of arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from visakit.diagnostics import UsageError, did_you_mean
from visakit.isa import instruction_set
from visakit.language.platforms import PLATFORMS, Platform
from visakit.language.types import BY_NAME, DataType

TYPES = {
    "char": "b", "uchar": "ub", "short": "w", "ushort": "uw", "int": "d", "uint": "ud", "long": "q", "ulong": "uq",
    "half": "hf", "float": "f", "double": "df",
}  # fmt: skip
"""Types of OpenCL C, and what vISA calls them."""
_ARGUMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*(\w+)\s*(\*?)\s*")
_AS_IN_C = re.compile(r"\s*(?:(?:const|(?:__)?global|restrict)\s+)*(\w+)\s*(\*?)\s*(?:(?:const|restrict)\s+)*(\w+)\s*")
_LSC = "lsc_load"
_DWORD = 4
_SIZE = 64
"""Work-items of the launch that the comment shows."""


class Parameter(NamedTuple):
    """An argument of the kernel: its name, the type of its elements, and whether it is an array of them."""

    name: str
    type: DataType
    is_pointer: bool


def parameters(text: str) -> list[Parameter]:
    """The arguments of ``y:float*, x:float*, a:float``.

    Raises:
        UsageError: an argument has another form, a type is not known, a name is taken, or there is no array.
    """
    found: list[Parameter] = []
    for part in text.split(","):
        match = _ARGUMENT.fullmatch(part)
        if not match:
            as_in_c = _AS_IN_C.fullmatch(part)
            name, word = (as_in_c[3], as_in_c[1]) if as_in_c and as_in_c[1] in TYPES else ("", "")
            hint = f"; write {name}:{word}{as_in_c[2]}" if as_in_c and name else ""
            raise UsageError(f"--args takes NAME:TYPE or NAME:TYPE*, separated by commas; found '{part.strip()}'{hint}")
        name, word, star = match.groups()
        if word not in TYPES:
            hint = did_you_mean(word, TYPES) or f"they are {', '.join(TYPES)}"
            raise UsageError(f"--args: there is no type '{word}'; {hint}")
        if name in instruction_set().by_mnemonic:
            raise UsageError(f"--args: '{name}' is the name of an instruction; call the argument otherwise")
        if name in [p.name for p in found]:
            raise UsageError(f"--args: there are two arguments '{name}'")
        found.append(Parameter(name, BY_NAME[TYPES[word]], bool(star)))
    if not any(p.is_pointer for p in found):
        raise UsageError("--args: a kernel writes to an array, so one argument is TYPE*")
    return found


def template(path: str, platform: str, arguments: str) -> str:
    """The text of a kernel that adds its arguments up: it assembles, runs, and shows how everything is reached.

    Args:
        path: where it will lie; the kernel is called as the file.
        platform: canonical name of a platform.
        arguments: as for :func:`parameters`; the sum goes into the first array.

    Raises:
        UsageError: the arguments have another form.
    """
    stem = os.path.splitext(os.path.basename(path))[0]
    return _Template(PLATFORMS[platform], stem, parameters(arguments)).text()


class _Template:
    def __init__(self, platform: Platform, name: str, arguments: Sequence[Parameter]) -> None:
        self.platform, self.name, self.arguments = platform, name, arguments
        self.lanes = 8 if platform.grf_size == 32 else 16
        self.arrays = [p for p in arguments if p.is_pointer]
        self.scalars = [p for p in arguments if not p.is_pointer]
        taken = {p.name for p in arguments}
        self.names = {word: _free(word, taken) for word in ("LANE", "BASE", "ITEM", "OFFSET", "ADDRESS", "SUM", "NEXT")}
        self.raw = {p.name: _free(f"{p.name}_data", taken) for p in self.arrays}
        self.element = {p.name: _free(f"{p.name}_i", taken) for p in self.arrays}
        self.has_lsc = any(d.platforms >= {platform.name} for d in instruction_set().by_mnemonic[_LSC])

    def text(self) -> str:
        lines = [*self._head(), *self._declarations(), *self._inputs(), "", *self._item()]
        for p in self.arrays:
            lines += ["", f"    // {self.element[p.name]} = {p.name}[item]", *self._address(p), self._move(p, True)]
        lines += ["", "    // The computation: what you want to change.", *self._sum(), "", *self._store()]
        return "\n".join(lines) + "\n"

    def _head(self) -> Iterator[str]:
        target = self.arrays[0].name
        sum_ = " + ".join(f"{p.name}[i]" if p.is_pointer else p.name for p in self.arguments)
        shown = [f"--arg {p.name}=zeros:{_SIZE}:{_numpy(p.type)}" for p in self.arrays]
        shown += [f"--arg {p.name}=1:{_numpy(p.type)}" for p in self.scalars]
        yield f"// {target}[i] = {sum_}"
        yield f"// For {self.platform.title}: a thread has {self.lanes} lanes, with a work-item in each."
        yield "//"
        yield f"//   vasm -g {self.name}.visaasm --platform {self.platform.name}"
        yield f"//   vlink {self.name}.o -o {self.name}.bin"
        yield f"//   vsim {self.name}.bin {' '.join(shown)} --global-size {_SIZE} --local-size {self.lanes}"
        yield f".version {'4.2' if self.platform.name in ('bmg', 'ptl') else '4.1'}"
        yield f'.kernel "{self.name}"'

    def _declarations(self) -> Iterator[str]:
        yield "// The arguments, one element each, and the values of the lanes: as many elements as there are lanes."
        for p in self.arguments:
            yield _decl(p.name, "uq" if p.is_pointer else p.type.name, 1, "qword")
        n, lanes = self.names, self.lanes
        rows = (("LANE", "uw"), ("BASE", "ud"), ("ITEM", "ud"), ("OFFSET", "uq"), ("ADDRESS", "uq"))
        for word, type_name in rows:
            yield _decl(n[word], type_name, 1 if word == "BASE" else lanes, "GRF")
        for p in self.arrays:
            # A message moves whole dwords: an element of 8 or 16 bits takes the low bits of one.
            wide = max(p.type.size, _DWORD)
            yield _decl(self.raw[p.name], "uq" if wide > _DWORD else "ud", lanes, "GRF")
            alias = f" alias=<{self.raw[p.name]}, 0>"
            yield _decl(self.element[p.name], p.type.name, lanes * wide // p.type.size, "GRF") + alias
        kind = self.arrays[0].type
        yield _decl(n["SUM"], kind.name, lanes, "GRF")
        if any(p.type != kind for p in self.arguments[1:]):
            yield _decl(n["NEXT"], kind.name, lanes, "GRF")

    def _inputs(self) -> Iterator[str]:
        yield "// Where the arguments lie when a thread starts, in bytes from its first register."
        at = 32 if self.platform.name in ("xehp", "dg2") else 64
        for p in self.arguments:
            size = 8 if p.is_pointer else p.type.size
            at = -(-at // max(size, _DWORD)) * max(size, _DWORD)
            yield f".input {p.name} offset={at} size={size}"
            at += size
        yield f".kernel_attr SimdSize={self.lanes}"

    def _item(self) -> Iterator[str]:
        n, lanes = self.names, self.lanes
        yield "    // The number of the work-item: threads are numbered, and so are the lanes of a thread."
        yield f"    mov (M1_NM, 8) {n['LANE']}(0,0)<1> 0x76543210:uv"
        if lanes > 8:
            yield f"    add (M1_NM, 8) {n['LANE']}(0,8)<1> {n['LANE']}(0,0)<1;1,0> 8:uw"
        yield f"    mul (M1_NM, 1) {n['BASE']}(0,0)<1> %thread_x(0,0)<0;1,0> {lanes}:uw"
        yield f"    add (M1, {lanes}) {n['ITEM']}(0,0)<1> {n['BASE']}(0,0)<0;1,0> {n['LANE']}(0,0)<1;1,0>"

    def _address(self, p: Parameter) -> Iterator[str]:
        n, lanes = self.names, self.lanes
        factor = f"{n['ITEM']}(0,0)<1;1,0>"
        yield f"    mul (M1, {lanes}) {n['OFFSET']}(0,0)<1> {factor} {p.type.size}:ud"
        start = f"{p.name}(0,0)<0;1,0>"
        yield f"    add (M1, {lanes}) {n['ADDRESS']}(0,0)<1> {n['OFFSET']}(0,0)<1;1,0> {start}"

    def _move(self, p: Parameter, is_load: bool) -> str:
        address, data, bits = self.names["ADDRESS"], self.raw[p.name], 8 * p.type.size
        if self.has_lsc:
            size = f"d{bits}u32" if bits < 8 * _DWORD else f"d{bits}"
            if is_load:
                return f"    lsc_load.ugm (M1, {self.lanes}) {data}:{size} flat[{address}]:a64"
            return f"    lsc_store.ugm (M1, {self.lanes}) flat[{address}]:a64 {data}:{size}"
        # Blocks of a byte, or one block of 4 or 8 bytes.
        block = f"{p.type.size}.1" if p.type.size >= _DWORD else f"1.{p.type.size}"
        return f"    svm_{'gather' if is_load else 'scatter'}.{block} (M1, {self.lanes}) {address}.0 {data}.0"

    def _sum(self) -> Iterator[str]:
        result, lanes = self.names["SUM"], self.lanes
        kind = self.arrays[0].type.name
        first, *rest = self.arguments
        yield f"    mov (M1, {lanes}) {result}(0,0)<1> {self._value(first)}"
        for p in rest:
            if p.type.name == kind:
                yield f"    add (M1, {lanes}) {result}(0,0)<1> {result}(0,0)<1;1,0> {self._value(p)}"
            else:
                # Operands of different types meet in mov, which converts.
                yield f"    mov (M1, {lanes}) {self.names['NEXT']}(0,0)<1> {self._value(p)}"
                yield f"    add (M1, {lanes}) {result}(0,0)<1> {result}(0,0)<1;1,0> {self.names['NEXT']}(0,0)<1;1,0>"

    def _store(self) -> Iterator[str]:
        target, result = self.arrays[0], self.names["SUM"]
        yield f"    // {target.name}[item] = {result}"
        yield f"    mov (M1, {self.lanes}) {self.element[target.name]}(0,0)<{_step(target)}> {result}(0,0)<1;1,0>"
        yield from self._address(target)
        yield self._move(target, False)
        yield "    ret (M1, 1)"

    def _value(self, p: Parameter) -> str:
        """The operand of an argument's value: one element for all lanes, or one for each."""
        return f"{self.element[p.name]}(0,0)<{_step(p)};1,0>" if p.is_pointer else f"{p.name}(0,0)<0;1,0>"


def _step(p: Parameter) -> int:
    """Elements from one lane to the next where an element takes a dword at least."""
    return max(1, _DWORD // p.type.size)


def _decl(name: str, kind: str, count: int, align: str) -> str:
    return f".decl {name} v_type=G type={kind} num_elts={count} align={align}"


def _free(word: str, taken: set[str]) -> str:
    """The word, with underscores behind it as long as an argument is called so; it is taken from then on."""
    while word in taken:
        word += "_"
    taken.add(word)
    return word


def _numpy(kind: DataType) -> str:
    """The type as arguments of ``vsim`` call it."""
    return f"{'f' if kind.is_float else 'i' if kind.is_signed else 'u'}{8 * kind.size}"
