"""Modules back to text that assembles to the same words."""

from __future__ import annotations

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


def instruction_text(words: tuple[int, ...], target: str = "") -> str:
    """One instruction; flow control by its fields, everything that the text has no better words for as six words."""
    kind, f = table.decode(words)
    raw = "raw " + " ".join(f"{w:#010x}" for w in words)
    if kind != table.FC:
        return raw if words != _END else "end"
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
    known = {"op", "alu_wait", "a_op", "b_op0", "b_op1", "bool", "int", "rgb_pred", "rgb_pred_inv", "jump", *(k for k, _, _ in _SETTINGS)}
    values = {k: v for k, v in f.items() if k in known}
    whole = set(f) <= known and table.encode(table.FC, values) == words and max(f.get("a_op", 0), f.get("b_op0", 0), f.get("b_op1", 0)) < 3
    odd = f.get("rgb_pred", 0) == 1 or f.get("rgb_pred", 0) > 5 or ("rgb_pred_inv" in f and "rgb_pred" not in f) or (f.get("jump", 0) and target)
    return " ".join(shown) if whole and not odd else raw


_END = table.encode(table.OUT, {"sem_wait": 1, "last": 1} | {f"{u}_addr{k}": table.UNUSED_SOURCE for u in ("rgb", "alpha") for k in range(3)})


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
