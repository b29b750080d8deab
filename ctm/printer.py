"""Modules back to text that assembles to the same words."""

from __future__ import annotations

import functools

from ctm import table
from ctm.program import Module

_SETTINGS = (
    ("func", "func", "{:#04x}"),
    ("any", "any", "{}"),
    ("pop", "pop", "{}"),
    ("b_else", "else", "{}"),
    ("jump_global", "global", "{}"),
    ("ignore_uncovered", "uncovered", "{}"),
)


@functools.cache
def instruction_text(words: tuple[int, ...], target: str = "") -> str:
    """One instruction; flow control by its fields, everything that the text has no better words for as six words."""
    kind, f = table.decode(words)
    raw = "raw " + " ".join(f"{w:#010x}" for w in words)
    if words == _END:
        return "end"
    if kind in (table.ALU, table.OUT):
        return _arithmetic(kind, f, words) or raw
    if kind != table.FC:
        return raw
    shown = [f"fc {table.FC_OPS[f.get('op', 0)]}"]
    shown += [f"{name}={form.format(f[key])}" for key, name, form in _SETTINGS if key in f]
    for key, name, words_of in (("a_op", "a", table.A_OPS), ("b_op0", "b0", table.B_OPS), ("b_op1", "b1", table.B_OPS)):
        if key in f:
            shown.append(f"{name}={words_of[f[key]] if f[key] < 3 else f[key]}")
    shown += [f"bool=b{f['bool']}"] if "bool" in f else []
    shown += [f"int=i{f['int']}"] if "int" in f else []
    if f.get("rgb_pred", 0) > 1:
        name = next(n for n, c in table.PRED_SELECTS.items() if c == min(f["rgb_pred"], 5))
        shown.append(f"pred={'!' if f.get('rgb_pred_inv') else ''}{name}")
    shown += [f"to={target}"] if target else [f"to={f['jump']}"] if "jump" in f else []
    shown += [] if f.get("alu_wait") else ["wait=0"]
    known = {
        "op",
        "alu_wait",
        "a_op",
        "b_op0",
        "b_op1",
        "bool",
        "int",
        "rgb_pred",
        "rgb_pred_inv",
        "jump",
        *(k for k, _, _ in _SETTINGS),
    }
    values = {k: v for k, v in f.items() if k in known}
    whole = (
        set(f) <= known
        and table.encode(table.FC, values) == words
        and max(f.get("a_op", 0), f.get("b_op0", 0), f.get("b_op1", 0)) < 3
    )
    odd = (
        f.get("rgb_pred", 0) == 1
        or f.get("rgb_pred", 0) > 5
        or ("rgb_pred_inv" in f and "rgb_pred" not in f)
        or (f.get("jump", 0) and target)
    )
    return " ".join(shown) if whole and not odd else raw


def _place(f: dict[str, int], unit: str, slot: int) -> str:
    """The register, constant or number of a source address."""
    at, relative = f.get(f"{unit}_addr{slot}", 0), f.get(f"{unit}_rel{slot}", 0)
    letter = "c" if f.get(f"{unit}_const{slot}") else "r"
    if letter == "r" and at & 0x80:
        return f"{table.inline_value(at & 0x7F):f}".rstrip("0").rstrip(".") if at & 0x7F else ""
    return f"{letter}[aL+{at}]" if relative else f"{letter}{at}"


def _operand(f: dict[str, int], unit: str, letter: str) -> str:
    """One operand of a unit as text; empty if the text has no words for it."""
    slot, modifier = f.get(f"{unit}_sel_{letter}", 0), f.get(f"{unit}_mod_{letter}", 0)
    names = [f"rgb_swiz_{letter}_{c}" for c in "rgb"] if unit == "rgb" else [f"alpha_swiz_{letter}"]
    codes = [f.get(n, 0) for n in names]
    if slot > 2 or max(codes) > 6:
        return ""
    swizzle = "".join(table.SWIZZLES[c] for c in codes)
    if set(swizzle) <= set("0h1"):
        text = "0" if set(swizzle) == {"0"} else f"r0.{swizzle}"
    else:
        place = _place(f, "alpha" if "a" in swizzle else "rgb", slot)
        text = place if place[:1].isdigit() else f"{place}.{swizzle if unit == 'rgb' else 'rgb' + swizzle}"
        if not place:
            return ""
    return ("-" if modifier & 1 else "") + (f"|{text}|" if modifier & 2 else text)


def _units(kind: int, f: dict[str, int]) -> list[str]:
    """The operations of an ALU or OUT instruction."""
    found = []
    for unit, channels, ops in (("rgb", "rgb", table.RGB_OPS), ("alpha", "a", table.ALPHA_OPS)):
        keys = ("wmask_rgb", "omask_rgb") if unit == "rgb" else ("wmask_a", "omask_a")
        written, out = f.get(keys[0], 0), f.get(keys[1], 0)
        mask = "".join(c for i, c in enumerate(channels) if (written or out) >> i & 1)
        name = next((n for n, code in ops.items() if code == f.get(f"{unit}_op", 0)), "")
        operands = [
            _operand(f, unit, letter) for letter, _ in zip("abc", range(table.OPERANDS.get(name, 0)), strict=False)
        ]
        if not mask or not name or (written and out) or not all(operands):
            continue
        target = f.get(f"{unit}_target", 0)
        if written:
            register = f"r[aL+{f.get(f'{unit}_dst', 0)}]" if f.get(f"{unit}_dst_rel") else f"r{f.get(f'{unit}_dst', 0)}"
        elif kind == table.OUT:
            register = f"o{target}"
        else:
            register, name = "p", f"set.{table.COMPARISONS[target]}"
            operands = operands[:1]
        found.append(f"{name} {', '.join([f'{register}.{mask}', *operands])}")
    return found


def _arithmetic(kind: int, f: dict[str, int], words: tuple[int, ...]) -> str:
    """An ALU or OUT instruction in words that give the same bits; empty if there are none."""
    flags = [
        n
        for n, key in (
            ("wait", "sem_wait"),
            ("inactive", "write_inactive"),
            ("last", "last"),
            ("nop", "nop"),
            ("aluwait", "alu_wait"),
        )
        if f.get(key)
    ]
    flags += ["clamp"] if f.get("rgb_clamp") else []
    flags += [f"omod={table.OMODS[f['rgb_omod']]}"] if f.get("rgb_omod") else []
    select = next((n for n, code in table.PRED_SELECTS.items() if code == f.get("rgb_pred", 0)), "none")
    flags += [f"pred={'!' if f.get('rgb_pred_inv') else ''}{select}"] if select != "none" else []
    if f.get("result_wmask"):
        flags.append(f"alu={'a' if f.get('result_sel') else 'r'}.{table.COMPARISONS[f.get('result_op', 0)]}")
    tests = []
    if f.get("result_wmask") and not f.get("result_sel"):
        one, other = _operand(f, "rgb", "a"), _operand(f, "rgb", "c").removeprefix("-")
        tests = [
            f"test.{table.COMPARISONS[f.get('result_op', 0)]} {one}{f', {other}' if other not in ('0', '') else ''}"
        ]
    tail = f" {{{', '.join(flags)}}}" if flags else ""
    for text in (" | ".join(_units(kind, f)) + tail, *tests):
        if _gives(text, words):
            return text
    return ""


def _gives(text: str, words: tuple[int, ...]) -> bool:
    from ctm.assembler import Assembler
    from visa.diagnostics import Collector

    collector = Collector()
    slots = Assembler("", collector).run(text).slots
    return len(slots) == 1 and slots[0].words == words


_END = table.encode(
    table.OUT,
    {"sem_wait": 1, "last": 1} | {f"{u}_addr{k}": table.UNUSED_SOURCE for u in ("rgb", "alpha") for k in range(3)},
)


def print_module(module: Module) -> str:
    """The text of an object or an image."""
    out = [".target ctm", f".mode {'full' if module.full else 'partial'}"]
    out += [f".const c{n} " + " ".join(_number(x) for x in v) for n, v in sorted(module.floats.items())]
    out += [f".int i{n} " + " ".join(map(str, v)) for n, v in sorted(module.integers.items())]
    out += [f".bool b{n} {int(v)}" for n, v in sorted(module.booleans.items())]
    names: dict[int, list[str]] = {}
    for name, at in module.labels.items():
        names.setdefault(at, []).append(name)
    ended = False
    for number, slot in enumerate(module.slots):
        for name in names.get(number, []):
            out.append(f"function {name}" if name in module.exported and not module.executable else f"{_plain(name)}:")
        text = instruction_text(slot.words, _plain(slot.target))
        if number == module.end and not ended:
            ended = True
        elif text == "end":
            text = "raw " + " ".join(f"{w:#010x}" for w in slot.words)
        out.append(f"    {text}")
    out += [f"{_plain(name)}:" for name in names.get(len(module.slots), [])]
    return "\n".join(out) + "\n"


def _plain(name: str) -> str:
    """Labels that the assembler made begin with a dot, which the text has not."""
    return "_" + name[1:] if name.startswith(".") else name


def _number(x: float) -> str:
    text = repr(float(x))
    return text if "e" not in text and "n" not in text else f"{x:.60f}".rstrip("0") + ("0" if x == int(x) else "")
