"""CTM text to modules: lines through the grammar, arithmetic into units and source slots, structured statements into the idioms of flow control."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ctm import table
from ctm.program import Module, Slot
from visa.diagnostics import AssemblyError, Collector, Diagnostic, Span, did_you_mean
from visa.text.tables import grammar_text

_ALL = "rgba"
_MACROS = {
    "mov": ("mad", ("a", "1", "0")),
    "add": ("mad", ("a", "1", "b")),
    "sub": ("mad", ("a", "1", "-b")),
    "mul": ("mad", ("a", "b", "0")),
}


class Problem(Exception):
    """What is wrong with a statement."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        self.code, self.message, self.hint = code, message, hint
        super().__init__(message)


@functools.cache
def _grammar() -> Any:
    from lark import Lark

    return Lark(grammar_text("ctm"), parser="lalr", lexer="contextual", maybe_placeholders=True)


@dataclass(frozen=True)
class Source:
    """A source operand: ``place`` names the register ("r", number, relative), the constant ("c", ...) or the inline number ("n", code, 0)."""

    place: tuple[str, int, int]
    swizzle: str = _ALL
    negative: bool = False
    absolute: bool = False


@dataclass
class Block:
    """An open structured statement."""

    kind: str
    line: int
    slot: int
    children: list[int] = field(default_factory=list)
    integer: int = 0
    others: list[int] = field(default_factory=list)
    has_else: bool = False


class Assembler:
    """One text."""

    def __init__(self, file: str, collector: Collector) -> None:
        self.module = Module(file, file=file)
        self.collector = collector
        self.blocks: list[Block] = []
        self.function: tuple[str, bool] | None = None
        self.conditional_returns = 0
        self.plain: dict[str, bool] = {}
        self.counter = 0
        self.line = 0

    # -- output --------------------------------------------------------------------------------------------

    def emit(self, kind: int, values: dict[str, int], target: str = "") -> int:
        """Append an instruction; its slot."""
        try:
            words = table.encode(kind, values)
        except ValueError as error:
            raise Problem("T002", str(error)) from None
        self.module.slots.append(Slot(words, target, self.line))
        return len(self.module.slots) - 1

    def fc(self, op: int = table.JUMP, target: str = "", more: dict[str, int] | None = None, **values: int) -> int:
        """Append a flow-control instruction, which waits for the arithmetic before it."""
        return self.emit(
            table.FC, {"alu_wait": 1, "op": op} | {k: v for k, v in values.items() if v} | (more or {}), target
        )

    def change(self, slot: int, target: str = "", **values: int) -> None:
        """Change fields of an instruction that was emitted before its end was known."""
        old = self.module.slots[slot]
        kind, fields = table.decode(old.words)
        self.module.slots[slot] = Slot(table.encode(kind, fields | values), target or old.target, old.line)

    def here(self, stem: str) -> str:
        """A new label for the next slot."""
        self.counter += 1
        name = f".{stem}{self.counter}"
        self.module.labels[name] = len(self.module.slots)
        return name

    # -- operands ------------------------------------------------------------------------------------------

    def source(self, node: Any, negative: bool, absolute: bool) -> Source:
        token, swizzle = node.children[0], node.children[1] if len(node.children) > 1 else None
        text = str(token)
        if token.type in ("INTEGER", "NUMBER"):
            number = float(int(text, 0) if token.type == "INTEGER" else text)
            if number == 0:
                return Source(("n", 0, 0), "0000", negative, absolute)
            if number not in table.INLINE_CODES:
                nearest = min(table.INLINE_CODES, key=lambda x: abs(x - number))
                raise Problem(
                    "T003",
                    f"{text} is no inline number",
                    f"the nearest is {nearest:g}; or put it into a constant with .const",
                )
            return Source(("n", table.INLINE_CODES[number], 0), _ALL, negative, absolute)
        shown = str(swizzle)[1:] if swizzle else _ALL
        shown += shown[-1] * (4 - len(shown)) if len(shown) < 4 else ""
        if "[" in text:
            return Source((text[0], int(text.strip("rc[]aL+") or 0), 1), shown, negative, absolute)
        limit = 256 if text[0] == "c" else 128
        if int(text[1:]) >= limit:
            raise Problem("T004", f"{text} does not exist", f"the last one is {text[0]}{limit - 1}")
        return Source((text[0], int(text[1:]), 0), shown, negative, absolute)

    def operand(self, node: Any) -> Source:
        return self.source(node.children[1], node.children[0] is not None, node.data == "absolute")

    # -- arithmetic ----------------------------------------------------------------------------------------

    def arithmetic(self, node: Any) -> None:
        first, second, flags = node.children
        values: dict[str, int] = {}
        wanted: list[tuple[str, str, Source]] = []
        kinds = {self.unit(u, values, wanted, second is not None) for u in (first, second) if u is not None}
        if len(kinds) > 1:
            raise Problem(
                "T005", "one of the units writes an output, the other a register", "an instruction does one of both"
            )
        self.flags(flags, values)
        self.place_sources(values, wanted)
        self.emit(kinds.pop(), values)

    def unit(self, node: Any, values: dict[str, int], wanted: list[tuple[str, str, Source]], paired: bool) -> int:
        """Fields of one unit, or of both where one operation has a destination in both; what it wants to read."""
        if node.data == "test":
            compare, one, two = node.children
            values |= {"result_wmask": 1, "result_op": table.COMPARISONS.index(str(compare).split(".")[1])}
            self.operation(
                "sub" if two is not None else "mov",
                [self.operand(n) for n in (one, two) if n is not None],
                ("rgb",),
                values,
                wanted,
            )
            return table.ALU
        name = str(node.children[0])
        destination = node.children[1]
        operands = [self.operand(n) for n in node.children[2:] if n is not None]
        register, mask = str(destination.children[0]), str(destination.children[1])[1:]
        if set(mask) - set(_ALL) or len(set(mask)) != len(mask):
            raise Problem("T006", f".{mask} is no mask", "a mask has some of r, g, b and a, each once")
        units = tuple(u for u, part in (("rgb", "rgb"), ("alpha", "a")) if set(mask) & set(part))
        rgb = sum(1 << i for i, c in enumerate("rgb") if c in mask)
        if register[0] in "rc":
            if register[0] == "c":
                raise Problem("T006", "a constant cannot be a destination")
            number, relative = (int(register.strip("r[]aL+") or 0), 1) if "[" in register else (int(register[1:]), 0)
            for u in units:
                values |= {f"{u}_dst": number} | ({f"{u}_dst_rel": 1} if relative else {})
            values |= {
                "wmask_rgb": values.get("wmask_rgb", 0) | rgb,
                "wmask_a": values.get("wmask_a", 0) | ("a" in mask),
            }
            kind = table.ALU
        else:
            values |= {
                "omask_rgb": values.get("omask_rgb", 0) | rgb,
                "omask_a": values.get("omask_a", 0) | ("a" in mask),
            }
            kind = table.OUT if register[0] == "o" else table.ALU
            if (register[0] == "p") != (node.data == "set"):
                raise Problem(
                    "T006", "predicates are written with set.eq, set.lt, set.ge or set.ne", "write set.ge p.r, r0, r1"
                )
            code = int(register[1:]) if register[0] == "o" else table.COMPARISONS.index(name.split(".")[1])
            for u in units:
                values[f"{u}_target"] = code
        if node.data == "set":
            name = "sub" if len(operands) == 2 else "mov"
        self.operation(name, operands, units, values, wanted)
        return kind

    def operation(
        self,
        name: str,
        given: list[Source],
        units: tuple[str, ...],
        values: dict[str, int],
        wanted: list[tuple[str, str, Source]],
    ) -> None:
        """Operation codes and operands of the units."""
        if name in _MACROS:
            real, order = _MACROS[name]
            needed = 2 if "b" in "".join(order) else 1
            if len(given) != needed:
                raise Problem("T007", f"{name} takes {needed} operand{'s' if needed > 1 else ''}, found {len(given)}")
            fixed = {"1": Source(("n", 0, 0), "1111"), "0": Source(("n", 0, 0), "0000"), "a": given[0]}
            if needed == 2:
                b = given[1]
                fixed |= {"b": b, "-b": Source(b.place, b.swizzle, not b.negative, b.absolute)}
            name, given = real, [fixed[o] for o in order]
        for u in units:
            ops = table.RGB_OPS if u == "rgb" else table.ALPHA_OPS
            own = "dp" if u == "alpha" and name in ("dp3", "dp4") else name
            if own not in ops:
                other = "alpha" if u == "rgb" else "colour"
                raise Problem(
                    "T008",
                    f"{name} is an operation of the {other} unit",
                    "write only .a" if u == "rgb" else "leave .a out of the mask",
                )
            count = table.OPERANDS[name]
            if len(given) != count:
                raise Problem("T007", f"{name} takes {count} operand{'s' if count != 1 else ''}, found {len(given)}")
            if f"{u}_op" in values:
                raise Problem(
                    "T005",
                    f"both operations use the {'alpha' if u == 'alpha' else 'colour'} unit",
                    "one writes .rgb, the other .a",
                )
            values[f"{u}_op"] = ops[own]
            wanted += [(u, letter, s) for letter, s in zip("abc", given, strict=False)]
        if name == "dp4" and "alpha" not in units:
            wanted += [("alpha", letter, s) for letter, s in zip("ab", given, strict=False)]

    def place_sources(self, values: dict[str, int], wanted: list[tuple[str, str, Source]]) -> None:
        """Spread the registers over the three source slots of the colour and the alpha addresses."""
        needs: dict[tuple[str, int, int], set[str]] = {}
        per_operand: list[set[str]] = []
        for unit, _, s in wanted:
            channels = s.swizzle[:3] if unit == "rgb" else s.swizzle[3]
            parts = {"alpha" if c == "a" else "rgb" for c in channels if c in _ALL}
            per_operand.append(parts)
            if parts:
                needs.setdefault(s.place, set()).update(parts)
        slots: list[dict[str, tuple[str, int, int]]] = [{}, {}, {}]
        chosen: dict[tuple[str, int, int], int] = {}
        for place, parts in sorted(needs.items(), key=lambda n: -len(n[1])):
            free = next((k for k, slot in enumerate(slots) if not parts & set(slot)), None)
            if free is None:
                raise Problem(
                    "T009",
                    "the instruction reads more registers and constants than there are source slots",
                    "three for colour and three for alpha",
                )
            slots[free] |= {part: place for part in parts}
            chosen[place] = free
        for unit in ("rgb", "alpha"):
            for k, slot in enumerate(slots):
                kind, number, relative = slot.get(unit, ("n", 0, 0))
                values |= {
                    f"{unit}_addr{k}": number | (table.UNUSED_SOURCE if kind == "n" else 0),
                    f"{unit}_const{k}": int(kind == "c"),
                    f"{unit}_rel{k}": relative,
                }
        for unit, letter, s in wanted:
            values[f"{unit}_sel_{letter}"] = chosen.get(s.place, 0)
            values[f"{unit}_mod_{letter}"] = int(s.negative) | int(s.absolute) << 1
            names = [f"rgb_swiz_{letter}_{c}" for c in "rgb"] if unit == "rgb" else [f"alpha_swiz_{letter}"]
            for name, channel in zip(names, s.swizzle[:3] if unit == "rgb" else s.swizzle[3], strict=True):
                values[name] = table.SWIZZLES.index(channel)

    def flags(self, node: Any, values: dict[str, int]) -> None:
        for item in node.children if node is not None else ():
            name, bang, value = (str(c) if c is not None else "" for c in item.children)
            if name == "clamp":
                values |= {"rgb_clamp": 1, "alpha_clamp": 1}
            elif name == "omod" and value in table.OMODS:
                values |= {"rgb_omod": table.OMODS.index(value), "alpha_omod": table.OMODS.index(value)}
            elif name == "if" or name == "pred":
                if value not in table.PRED_SELECTS:
                    raise Problem(
                        "T010", f"'{value}' is no predicate", f"predicates are {', '.join(table.PRED_SELECTS)}"
                    )
                code = table.PRED_SELECTS[value]
                values |= {
                    "rgb_pred": code,
                    "alpha_pred": code,
                    "rgb_pred_inv": int(bang == "!"),
                    "alpha_pred_inv": int(bang == "!"),
                }
            elif name == "alu":
                channel, _, how = value.partition(".")
                if channel not in ("r", "a") or how not in table.COMPARISONS:
                    raise Problem("T010", f"'{value}' is no test of a result", "write {alu=r.ge} or {alu=a.ne}")
                values |= {
                    "result_wmask": 1,
                    "result_sel": int(channel == "a"),
                    "result_op": table.COMPARISONS.index(how),
                }
            elif name in _SIMPLE_FLAGS:
                values[_SIMPLE_FLAGS[name]] = 1
            else:
                raise Problem(
                    "T010", f"'{name}' is no flag", did_you_mean(name, [*_SIMPLE_FLAGS, "clamp", "omod", "pred", "alu"])
                )

    def texture(self, node: Any) -> None:
        fetch, destination, mask, number, source, swizzle, flags = node.children
        shown = str(swizzle)[1:] if swizzle else "rgba"
        if set(shown) - set(_ALL):
            raise Problem("T006", f".{shown} is no swizzle of a texture coordinate")
        shown += shown[-1] * (4 - len(shown))
        values = {
            "inst": table.TEX_OPS[str(fetch)],
            "tex_id": int(str(number)[1:]),
            "src": int(str(source)[1:]),
            "dst": int(str(destination)[1:]),
            "sem_acquire": 1,
            "unscaled": 1,
        }
        values |= {f"swiz_{c}": _ALL.index(s) for c, s in zip("strq", shown, strict=True)} | {
            f"swiz_out_{c}": i for i, c in enumerate(_ALL)
        }
        values |= {
            "wmask_rgb": sum(1 << i for i, c in enumerate("rgb") if c in str(mask)),
            "wmask_a": int("a" in str(mask)),
        }
        for item in flags.children if flags is not None else ():
            if str(item.children[0]) == "scaled":
                values["unscaled"] = 0
            else:
                raise Problem("T010", f"'{item.children[0]}' is no flag of a fetch", "the only one is scaled")
        self.emit(table.TEX, values)

    def kill(self, node: Any) -> None:
        shown = (str(node.children[1])[1:] if node.children[1] else "rgba") + "rgba"
        shown = (shown[:-4] + shown[-5] * 4)[:4] if node.children[1] else "rgba"
        self.emit(
            table.TEX,
            {"inst": table.TEX_OPS["texkill"], "src": int(str(node.children[0])[1:])}
            | {f"swiz_{c}": _ALL.index(s) for c, s in zip("strq", shown, strict=True)},
        )

    # -- directives ----------------------------------------------------------------------------------------

    def target(self, node: Any) -> None:
        pass

    def mode(self, node: Any) -> None:
        self.module.full = str(node.children[0]) == "full"

    def _numbers(self, node: Any, limit: int) -> tuple[int, list[float]]:
        number = int(str(node.children[0])[1:])
        if number >= limit:
            raise Problem(
                "T004", f"{node.children[0]} does not exist", f"the last one is {str(node.children[0])[0]}{limit - 1}"
            )
        return number, [
            float(int(str(n.children[1]), 0) if n.children[1].type == "INTEGER" else n.children[1])
            * (-1 if n.children[0] else 1)
            for n in node.children[1:]
        ]

    def float_constant(self, node: Any) -> None:
        number, (x, y, z, w) = self._numbers(node, 256)
        self.module.floats[number] = (x, y, z, w)

    def int_constant(self, node: Any) -> None:
        number, found = self._numbers(node, 32)
        for value, low, high, what in zip(
            found, (0, 0, -128), (255, 255, 127), ("count", "start of aL", "step"), strict=True
        ):
            if not low <= value <= high or value != int(value):
                raise Problem("T004", f"the {what} is {value:g}, it is a whole number from {low} to {high}")
        count, start, step = (int(v) for v in found)
        self.module.integers[number] = (count, start, step)

    def bool_constant(self, node: Any) -> None:
        number = int(str(node.children[0])[1:])
        if number >= 32:
            raise Problem("T004", f"b{number} does not exist", "the last one is b31")
        self.module.booleans[number] = bool(int(str(node.children[1]), 0))

    def extern(self, node: Any) -> None:
        self.plain[str(node.children[0])] = node.children[1] is not None

    # -- flow control --------------------------------------------------------------------------------------

    def condition(self, node: Any) -> tuple[int, dict[str, int]]:
        """Truth table of a condition, and the fields that it needs."""
        bang, what = node.children[0], node.children[1]
        if what.type == "ALU":
            func, more = table.FUNCTIONS["alu"], {}
        elif what.type == "PREDICATE":
            channel = str(node.children[2])[1:]
            if channel not in ("r", "g", "b", "a"):
                raise Problem(
                    "T011", f"a condition looks at one predicate bit, found .{channel}", "write p.r, p.g, p.b or p.a"
                )
            func, more = table.FUNCTIONS["pred"], {"rgb_pred": table.PRED_SELECTS[channel]}
        else:
            func, more = table.FUNCTIONS["bool"], {"bool": int(str(what)[1:])}
        return (func ^ 0xFF if bang else func), more

    def raw(self, node: Any) -> None:
        words = [int(str(t), 0) for t in node.children]
        if any(w >> 32 for w in words):
            raise Problem("T002", "a word has 32 bits")
        self.module.slots.append(Slot(tuple(words), "", self.line))

    def end(self, node: Any) -> None:
        """An OUT instruction that writes nothing, which ends the program."""
        values = {"sem_wait": 1, "last": 1} | {
            f"{u}_addr{k}": table.UNUSED_SOURCE for u in ("rgb", "alpha") for k in range(3)
        }
        self.module.end = self.emit(table.OUT, values)

    def fc_raw(self, node: Any) -> None:
        values, target = {"alu_wait": 1, "op": table.FC_OPS.index(str(node.children[0]))}, ""
        words = {"a": ("a_op", table.A_OPS), "b0": ("b_op0", table.B_OPS), "b1": ("b_op1", table.B_OPS)}
        simple = {
            "func": "func",
            "any": "any",
            "pop": "pop",
            "else": "b_else",
            "global": "jump_global",
            "uncovered": "ignore_uncovered",
            "wait": "alu_wait",
        }
        for setting in node.children[1:]:
            name, bang, value = (str(c) if c is not None else "" for c in setting.children)
            if name in words and value in words[name][1]:
                values[words[name][0]] = words[name][1].index(value)
            elif name in simple and value[:1].isdigit():
                values[simple[name]] = int(value, 0)
            elif name in ("bool", "int") and value[1:].isdigit():
                values[name] = int(value[1:])
            elif name == "to":
                if value[:1].isdigit():
                    values["jump"] = int(value, 0)
                else:
                    target = value
            elif name == "pred" and value in table.PRED_SELECTS:
                if value == "rgba":
                    raise Problem(
                        "T038",
                        "a flow-control instruction cannot select a predicate per channel",
                        "select one of r, g, b and a",
                    )
                values |= {"rgb_pred": table.PRED_SELECTS[value], "rgb_pred_inv": int(bang == "!")}
            else:
                known = [*words, *simple, "bool", "int", "to", "pred"]
                raise Problem(
                    "T012",
                    f"'{name}={value}' is no setting of fc",
                    did_you_mean(name, known) or f"settings are {', '.join(known)}",
                )
        self.emit(table.FC, values, target)

    def if_(self, node: Any) -> None:
        func, more = self.condition(node.children[0])
        slot = self.fc(func=func ^ 0xFF, b_op0=table.B_INCR, more=more)
        self.blocks.append(Block("if", self.line, slot))

    def open_block(self, kinds: tuple[str, ...], word: str) -> Block:
        if not self.blocks or self.blocks[-1].kind not in kinds:
            inside = (
                f"the innermost open statement is the {self.blocks[-1].kind} of line {self.blocks[-1].line}"
                if self.blocks
                else "nothing is open"
            )
            raise Problem("T013", f"'{word}' has no {' or '.join(kinds)} to belong to", inside)
        return self.blocks[-1]

    def else_(self, node: Any) -> None:
        block = self.open_block(("if",), "else")
        if block.has_else:
            raise Problem("T013", "this if has an else already")
        slot = self.fc(b_op1=table.B_DECR, pop=1, b_else=1)
        self.change(block.slot, self.here("else"), b_op1=table.B_INCR)
        block.has_else, block.slot = True, slot

    def endif(self, node: Any) -> None:
        count = int(str(node.children[0]), 0) if node.children[0] else 1
        if count > 1:
            closing = self.blocks[-count:]
            if len(closing) < count or any(b.kind != "if" or b.has_else for b in closing):
                raise Problem("T013", f"endif {count} closes {count} ifs without else", "close them one by one")
        else:
            closing = [self.open_block(("if",), "endif")]
        del self.blocks[-count:]
        self.fc(func=table.FUNC_NEVER, any=1, b_op0=table.B_DECR, pop=count)
        behind = self.here("endif")
        for k, block in enumerate(closing):
            self.change(block.slot, behind, **({"b_op1": table.B_DECR, "pop": k} if k else {}))

    def loop(self, node: Any) -> None:
        kind, integer = str(node.children[0]), int(str(node.children[1])[1:])
        if not self.module.full:
            raise Problem("T034", "partial mode has no loops and no subroutines", "write .mode full")
        if integer not in self.module.integers:
            raise Problem(
                "T014", f"i{integer} has no value", f"write .int i{integer} count start step before the {kind}"
            )
        slot = self.fc(table.LOOP if kind == "loop" else table.REP, func=table.FUNC_NEVER, any=1, int=integer)
        self.blocks.append(Block(kind, self.line, slot, integer=integer))

    def endloop(self, node: Any) -> None:
        word = str(node.children[0])
        block = self.open_block((word.removeprefix("end"),), word)
        self.blocks.pop()
        self.module.labels[begin := f".begin{self.counter}_{block.slot}"] = block.slot + 1
        end = self.here("endloop")
        self.fc(
            table.ENDLOOP if word == "endloop" else table.ENDREP,
            begin,
            func=table.FUNC_ALWAYS,
            any=1,
            int=block.integer,
        )
        behind = self.here("behind")
        self.change(block.slot, behind)
        for slot in block.children:
            self.change(slot, behind)
        for slot in block.others:
            self.change(slot, end)

    def leave(self, node: Any, word: str) -> None:
        """BREAK and CONTINUE: out of the ifs between here and the loop."""
        depth = 0
        for block in reversed(self.blocks):
            if block.kind != "if":
                break
            depth += 1
        else:
            raise Problem("T013", f"'{word}' stands outside of a loop")
        func, more = self.condition(node.children[0]) if node.children[0] is not None else (table.FUNC_ALWAYS, {})
        op = table.CONTINUE if word == "continue" else table.BREAKLOOP if block.kind == "loop" else table.BREAKREP
        slot = self.fc(op, func=func, pop=depth, b_op1=table.B_DECR if depth else 0, more=more)
        (block.others if word == "continue" else block.children).append(slot)

    def break_(self, node: Any) -> None:
        self.leave(node, "break")

    def continue_(self, node: Any) -> None:
        self.leave(node, "continue")

    def function_(self, node: Any) -> None:
        self.close_blocks()
        name, plain = str(node.children[0]), node.children[1] is not None
        self.label(name)
        self.module.exported.add(name)
        self.function, self.conditional_returns = (name, plain), 0
        self.plain[name] = plain

    def call(self, node: Any) -> None:
        name, condition = str(node.children[0]), node.children[1]
        if not self.module.full:
            raise Problem("T034", "partial mode has no loops and no subroutines", "write .mode full")
        func, more = self.condition(condition) if condition is not None else (table.FUNC_ALWAYS, {})
        self.pending_calls.append((self.line, name, condition is not None))
        self.fc(
            table.JUMP,
            name,
            func=func,
            any=1,
            a_op=table.A_PUSH,
            b_op1=0 if self.plain.get(name) else table.B_INCR,
            more=more,
        )

    def ret(self, node: Any) -> None:
        if self.function is None:
            raise Problem("T015", "'ret' stands outside of a function", "begin one with function NAME")
        if any(b.kind != "if" for b in self.blocks) or self.blocks:
            raise Problem(
                "T015",
                "'ret' inside an if or a loop is not supported by the machine",
                "return conditionally with ret if, outside of both",
            )
        condition, plain = node.children[0], self.function[1]
        if condition is not None:
            if plain:
                raise Problem("T015", "a plain function returns unconditionally", "leave 'plain' out")
            func, more = self.condition(condition)
            self.conditional_returns += 1
            self.fc(
                func=func,
                a_op=table.A_POP,
                b_op0=table.B_INCR,
                b_op1=table.B_DECR,
                pop=self.conditional_returns,
                more=more,
            )
        elif plain:
            self.fc(func=table.FUNC_ALWAYS, a_op=table.A_POP)
        else:
            self.fc(func=table.FUNC_ALWAYS, a_op=table.A_POP, b_op1=table.B_DECR, pop=1 + self.conditional_returns)

    def jump(self, node: Any) -> None:
        name, anyone, condition = node.children
        func, more = self.condition(condition) if condition is not None else (table.FUNC_ALWAYS, {})
        self.fc(table.JUMP, str(name), func=func, any=int(anyone is not None), more=more)

    # -- whole text ----------------------------------------------------------------------------------------

    def label(self, name: str) -> None:
        if name in self.module.labels:
            raise Problem("T016", f"label '{name}' is defined twice")
        self.module.labels[name] = len(self.module.slots)

    def close_blocks(self) -> None:
        blocks, self.blocks = self.blocks, []
        if blocks:
            raise Problem(
                "T013",
                f"the {blocks[-1].kind} of line {blocks[-1].line} is not closed",
                f"close it with end{blocks[-1].kind}",
            )

    def run(self, text: str) -> Module:
        from lark import UnexpectedInput

        self.pending_calls: list[tuple[int, str, bool]] = []
        lines = text.split("\n")
        for self.line, line in enumerate(lines, 1):
            try:
                tree = _grammar().parse(line)
                label, statement = tree.children
                if label is not None:
                    self.label(str(label)[:-1])
                if statement is not None:
                    _HANDLERS[statement.data](self, statement)
            except UnexpectedInput as error:
                column = getattr(error, "column", 1) or 1
                names = sorted(getattr(error, "allowed", None) or getattr(error, "expected", None) or ())
                self.report(
                    "T001",
                    "this cannot be read",
                    lines,
                    max(column, 1),
                    "expected " + ", ".join(n.lower() for n in names[:8]) if names else "",
                )
            except Problem as problem:
                self.report(problem.code, problem.message, lines, len(line) - len(line.lstrip()) + 1, problem.hint)
            if self.collector.full:
                break
        try:
            self.close_blocks()
        except Problem as problem:
            self.report(problem.code, problem.message, lines, 1, problem.hint)
        self.check(lines)
        return self.module

    def report(self, code: str, message: str, lines: list[str], column: int, hint: str = "") -> None:
        source = lines[self.line - 1] if 0 < self.line <= len(lines) else ""
        length = max(1, len(source.rstrip()) - column + 1)
        self.collector.add(Diagnostic(code, message, Span(self.module.file, self.line, column, length, source), hint))

    def check(self, lines: list[str]) -> None:
        """What can be known before the program runs (docs/ctm.md, "What is diagnosed")."""
        m = self.module
        inside = set(m.labels.values())
        for line, name, conditional in self.pending_calls:
            self.line = line
            if conditional and self.plain.get(name):
                self.report(
                    "T015",
                    f"'{name}' is plain: it keeps no branch counters, so it cannot be called conditionally",
                    lines,
                    1,
                    "leave 'plain' out",
                )
        for n, slot in enumerate(m.slots):
            self.line = slot.line
            kind, f = table.decode(slot.words)
            if kind == table.FC and f.get("rgb_pred") == 1:
                self.report("T038", "a flow-control instruction cannot select a predicate per channel", lines, 1)
            if kind == table.FC and table.depends(f.get("func", 0), "alu") and self._is_stale(n, inside):
                self.report(
                    "T031",
                    "the ALU result is read, but none was written since the last flow-control instruction",
                    lines,
                    1,
                    "test again, or keep it in a predicate",
                )
        if m.end >= 0:
            kind, f = table.decode(m.slots[m.end].words)
            if kind != table.OUT or not f.get("sem_wait"):
                self.report(
                    "T017", "the last instruction must be an output that waits for the texture semaphore", lines, 1
                )
        elif not m.exported:
            self.line = len(lines)
            self.report("T022", "there is no 'end'", lines, 1, "end the program with 'end', or make functions of it")

    def _is_stale(self, slot: int, labels: set[int]) -> bool:
        """Whether the straight way to a slot meets a flow-control instruction before a test."""
        for n in range(slot - 1, -1, -1):
            if n + 1 in labels:
                return False
            kind, f = table.decode(self.module.slots[n].words)
            if kind == table.FC:
                return not (f.get("func", 0) == table.FUNC_ALWAYS and f.get("op", 0) == table.JUMP)
            if kind in (table.ALU, table.OUT) and f.get("result_wmask"):
                return False
        return True


_SIMPLE_FLAGS = {"wait": "sem_wait", "inactive": "write_inactive", "nop": "nop", "last": "last", "aluwait": "alu_wait"}
_HANDLERS: dict[str, Callable[[Assembler, Any], None]] = {
    "target": Assembler.target, "mode": Assembler.mode, "float_constant": Assembler.float_constant, "int_constant": Assembler.int_constant,
    "bool_constant": Assembler.bool_constant, "extern": Assembler.extern, "function": Assembler.function_, "arithmetic": Assembler.arithmetic,
    "texture": Assembler.texture, "kill": Assembler.kill, "end": Assembler.end, "raw": Assembler.raw, "fc": Assembler.fc_raw, "if": Assembler.if_,
    "else": Assembler.else_, "endif": Assembler.endif, "loop": Assembler.loop, "endloop": Assembler.endloop, "break": Assembler.break_,
    "continue": Assembler.continue_, "call": Assembler.call, "ret": Assembler.ret, "jump": Assembler.jump,
}  # fmt: skip


def assemble(text: str, file: str = "<text>", max_errors: int = 20) -> Module:
    """Assemble one text.

    Raises:
        AssemblyError: with every error found, up to ``max_errors``.
    """
    collector = Collector(max_errors)
    module = Assembler(file, collector).run(text)
    if collector.error_count:
        raise AssemblyError(collector.items)
    return module
