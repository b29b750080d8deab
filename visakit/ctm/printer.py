"""Shader modules back to text that assembles to the same words."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import visakit.ctm.table as table
from visakit.ctm.builder import StatementError
from visakit.ctm.grammar import LineSyntaxError, line_grammar
from visakit.ctm.operations import arithmetic_words
from visakit.ctm.program import ShaderModule
from visakit.ctm.syntax import ArithmeticStatement

_NUMBER_FORMATS = {"func": "{:#04x}"}
_PLAIN_NUMBERS = {name: field for name, field in table.FC_NUMBERS.items() if field != "alu_wait"}
_FLOW_FIELDS = {
    "op", "alu_wait", "bool", "int", "rgb_pred", "rgb_pred_inv", "jump",
    *_PLAIN_NUMBERS.values(), *(field for field, _ in table.FC_WORDS.values()),
}  # fmt: skip
"""Fields of FC instructions that the text has settings for."""
_SELECTS = {code: name for name, code in table.PRED_SELECTS.items()}


@functools.cache
def instruction_text(words: tuple[int, ...], target: str = "") -> str:
    """One instruction; flow control by its fields, everything that the text has no better words for as six words."""
    kind, fields = table.decode(words)
    text = ""
    if words == table.END:
        text = "end"
    elif kind in (table.ALU, table.OUT):
        text = _arithmetic(kind, fields, words)
    elif kind == table.FC and _is_writable(fields, words, target):
        text = " ".join(_flow(fields, target))
    return text or _raw(words)


def _raw(words: tuple[int, ...]) -> str:
    return "raw " + " ".join(f"{w:#010x}" for w in words)


# -- flow control ------------------------------------------------------------------------------------------------------


def _is_writable(f: table.Values, words: tuple[int, ...], target: str) -> bool:
    """Whether the settings of ``fc`` can say everything that is in an FC instruction."""
    if not set(f) <= _FLOW_FIELDS or table.encode(table.FC, f) != words:
        return False
    if any(f.get(field, 0) >= len(names) for field, names in table.FC_WORDS.values()):
        return False
    select = f.get("rgb_pred", 0)
    unselected = "rgb_pred_inv" in f and not select
    return select != table.PRED_PER_CHANNEL and select in _SELECTS and not unselected and not (f.get("jump") and target)


def _flow(f: table.Values, target: str) -> Iterator[str]:
    """An FC instruction by its fields."""
    yield f"fc {table.FC_OPS[f.get('op', 0)]}"
    for name, field in _PLAIN_NUMBERS.items():
        if field in f:
            yield f"{name}={_NUMBER_FORMATS.get(name, '{}').format(f[field])}"
    for name, (field, names) in table.FC_WORDS.items():
        if field in f:
            yield f"{name}={names[f[field]]}"
    if "bool" in f:
        yield f"bool=b{f['bool']}"
    if "int" in f:
        yield f"int=i{f['int']}"
    if "rgb_pred" in f:
        yield f"pred={'!' if f.get('rgb_pred_inv') else ''}{_SELECTS[f['rgb_pred']]}"
    if target:
        yield f"to={target}"
    elif "jump" in f:
        yield f"to={f['jump']}"
    if not f.get("alu_wait"):
        yield "wait=0"


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _place(f: table.Values, unit: str, slot: int) -> str:
    """The register, constant or number of a source address."""
    at, relative = f.get(f"{unit}_addr{slot}", 0), f.get(f"{unit}_rel{slot}", 0)
    letter = "c" if f.get(f"{unit}_const{slot}") else "r"
    if letter == "r" and at & table.UNUSED_SOURCE:
        code = at & ~table.UNUSED_SOURCE
        return f"{table.inline_value(code):f}".rstrip("0").rstrip(".") if code else ""
    return f"{letter}[aL+{at}]" if relative else f"{letter}{at}"


def _operand(f: table.Values, unit: str, letter: str) -> str:
    """One operand of a unit as text; empty if the text has no words for it."""
    fields = table.OPERANDS[unit, letter]
    slot, modifier = f.get(fields.select, 0), f.get(fields.modifier, 0)
    codes = [f.get(name, 0) for name in fields.swizzle]
    if slot > 2 or max(codes) >= len(table.SWIZZLES):
        return ""
    swizzle = "".join(table.SWIZZLES[c] for c in codes)
    if set(swizzle) <= set("0h1"):
        text = "0" if set(swizzle) == {"0"} else f"r0.{swizzle}"
    else:
        place = _place(f, "alpha" if "a" in swizzle else "rgb", slot)
        if not place:
            return ""
        text = place if place[:1].isdigit() else f"{place}.{swizzle if unit == 'rgb' else 'rgb' + swizzle}"
    return ("-" if modifier & 1 else "") + (f"|{text}|" if modifier & 2 else text)


def _units(kind: int, f: table.Values) -> Iterator[str]:
    """The operations of an ALU or OUT instruction."""
    for unit, channels in table.CHANNELS.items():
        masks = ("wmask_rgb", "omask_rgb") if unit == "rgb" else ("wmask_a", "omask_a")
        written, out = (f.get(name, 0) for name in masks)
        mask = "".join(c for i, c in enumerate(channels) if (written or out) >> i & 1)
        operation = table.BY_CODE[unit].get(f.get(f"{unit}_op", 0))
        if operation is None or not mask or (written and out):
            continue
        name, operands = operation.name, [_operand(f, unit, letter) for letter in "abc"[: operation.operands]]
        if not all(operands):
            continue
        if not written and kind == table.ALU:
            name, operands = f"set.{table.COMPARISONS[f.get(f'{unit}_target', 0)]}", operands[:1]
        register = _register(f, unit) if written else f"o{f.get(f'{unit}_target', 0)}" if kind == table.OUT else "p"
        yield f"{name} {', '.join([f'{register}.{mask}', *operands])}"


def _register(f: table.Values, unit: str) -> str:
    """The register that a unit writes."""
    number = f.get(f"{unit}_dst", 0)
    return f"r[aL+{number}]" if f.get(f"{unit}_dst_rel") else f"r{number}"


def _flags(f: table.Values) -> Iterator[str]:
    yield from (name for name, field in table.FLAGS.items() if f.get(field))
    if f.get("rgb_clamp"):
        yield "clamp"
    if f.get("rgb_omod"):
        yield f"omod={table.OMODS[f['rgb_omod']]}"
    select = _SELECTS.get(f.get("rgb_pred", 0), "none")
    if select != "none":
        yield f"pred={'!' if f.get('rgb_pred_inv') else ''}{select}"
    if f.get("result_wmask"):
        yield f"alu={'a' if f.get('result_sel') else 'r'}.{table.COMPARISONS[f.get('result_op', 0)]}"


def _test(f: table.Values) -> str:
    """An ALU instruction as a test."""
    one, other = _operand(f, "rgb", "a"), _operand(f, "rgb", "c").removeprefix("-")
    second = f", {other}" if other not in ("0", "") else ""
    return f"test.{table.COMPARISONS[f.get('result_op', 0)]} {one}{second}"


def _arithmetic(kind: int, f: table.Values, words: tuple[int, ...]) -> str:
    """An ALU or OUT instruction in words that give the same bits; empty if no words do."""
    flags = ", ".join(_flags(f))
    texts = [" | ".join(_units(kind, f)) + (f" {{{flags}}}" if flags else "")]
    if f.get("result_wmask") and not f.get("result_sel"):
        texts.append(_test(f))
    return next((text for text in texts if _gives(text, words)), "")


def _gives(text: str, words: tuple[int, ...]) -> bool:
    """Whether a text assembles to these words."""
    try:
        statement = line_grammar().statement(text).statement
        return isinstance(statement, ArithmeticStatement) and arithmetic_words(statement) == words
    except (LineSyntaxError, StatementError):
        return False


# -- modules -----------------------------------------------------------------------------------------------------------


def print_module(module: ShaderModule) -> str:
    """The text of an object or an image."""
    out = [".target ctm", f".mode {'full' if module.full else 'partial'}"]
    out += [f".const c{n} " + " ".join(_number(x) for x in v) for n, v in sorted(module.floats.items())]
    out += [f".int i{n} " + " ".join(map(str, v)) for n, v in sorted(module.integers.items())]
    out += [f".bool b{n} {int(v)}" for n, v in sorted(module.booleans.items())]
    out += [f".extern {name}{_kind(module, name)}" for name in module.plain if name not in module.exported]
    names: dict[int, list[str]] = {}
    for name, at in module.labels.items():
        names.setdefault(at, []).append(name)
    for number, slot in enumerate(module.slots):
        for name in names.get(number, []):
            is_function = name in module.exported and not module.executable
            out.append(f"function {name}{_kind(module, name)}" if is_function else f"{_written(name)}:")
        # The text has one 'end'.
        is_other_end = slot.words == table.END and number != module.end
        text = _raw(slot.words) if is_other_end else instruction_text(slot.words, _written(slot.target))
        out.append(f"    {text}")
    out += [f"{_written(name)}:" for name in names.get(len(module.slots), [])]
    return "\n".join(out) + "\n"


def _kind(module: ShaderModule, name: str) -> str:
    """The words after the name of a function that keeps no branch counters."""
    return " plain" if module.plain.get(name) else ""


def _written(name: str) -> str:
    """Labels that the assembler made begin with a dot, which the text has not."""
    return "_" + name[1:] if name.startswith(".") else name


def _number(x: float) -> str:
    """A float constant without an exponent; the text has no word for infinity, but rounds to it."""
    if math.isinf(x):
        return "1.0e999" if x > 0 else "-1.0e999"
    text = repr(float(x))
    return text if "e" not in text else f"{x:.60f}".rstrip("0") + ("0" if x == int(x) else "")
