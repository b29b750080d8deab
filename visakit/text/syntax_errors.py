"""What is wrong with a line that does not follow the grammar, in words of the language."""

from __future__ import annotations

import re

from visakit.diagnostics import did_you_mean
from visakit.isa import FORMS
from visakit.isa.elsewhere import DIRECTIVES_ELSEWHERE
from visakit.isa.record import Flow
from visakit.text.grammar import Unexpected
from visakit.text.problem import IN_EXPRESSIONS, Problem
from visakit.text.syntax import Placed

_DIRECTIVES = (".version", ".kernel", ".global_function", ".funcdecl", ".decl", ".kernel_attr", ".input", ".parameter")
_WITH_SETTINGS = frozenset({"DECL", "KERNEL_ATTR", "INPUT"})

_OPERATORS = frozenset(
    ["+", "-", "*", "/", "%", "&", "|", "^", "?", "==", "!=", "<", ">", "<=", ">=", "<<", ">>", ">>>"]
)
_END = "the end of the line"
_EXPECTED = {
    "$END": _END, "LBRACE": "{NoMask}", "NAME": "a name", "INTEGER": "a number", "FLOAT": "a number",
    "STRING": "a string", "SUFFIX": "a suffix",
    "RPAR": "')'", "RSQB": "']'", "MORETHAN": "'>'", "LESSTHAN": "a region", "COMMA": "','", "SEMICOLON": "';'",
    "COLON": "':'", "EQUAL": "'='",
    "_ATTACHED": "'('", "LPAR": "'('", "LSQB": "'['", "RBRACE": "'}'", "NOT": "'!'",
}  # fmt: skip
"""Names of terminals in messages, except members of the groups below."""

_GROUPS: tuple[tuple[frozenset[str], frozenset[str], tuple[str, ...]], ...] = (
    (
        frozenset({"LABEL", "NAME", "DECL"}),
        frozenset({"NAME", "LPAR", "LBRACE", "RBRACE"}),
        ("an instruction", "a directive", "a label", "'{'", "'}'"),
    ),
    (
        frozenset({"UNITS", "NAME"}),
        frozenset({"NAME", "INTEGER", "LPAR", "LESSTHAN", "LBRACE", "STRING", "NOT"}),
        ("a value",),
    ),
    (
        frozenset({"NAME", "INTEGER", "STRING", "AMPERSAND", "LPAR", "INDIRECT"}),
        frozenset({"NAME", "INTEGER", "FLOAT", "STRING", "LPAR", "NOT", "LSQB", "DATA"}),
        ("an operand",),
    ),
    (frozenset({"STAR", "SLASH"}), frozenset({"LESSTHAN", "MORETHAN"}), ("an operator",)),
    (frozenset({"INTEGER", "LPAR", "TILDE"}), frozenset({"INTEGER", "FLOAT", "LPAR", "NOT"}), ("a number",)),
)
"""If all of the first can stand somewhere, then these words stand for them and for the second."""


def problem_of(error: Unexpected, line: str) -> Problem:
    """What to say of a line that does not follow the grammar."""
    while error.before and error.before[0][0] in ("LBRACE", "RBRACE"):  # scopes before a statement
        del error.before[0]
    at = Placed(0, error.text or " ", error.column)
    if error.reason:
        return Problem("V001", error.reason, at=at)
    in_directive = bool(error.before) and error.before[0][0] in _WITH_SETTINGS
    if (problem := _in_directive(error, line, in_directive, at)) is not None:
        return problem
    region = _open_region(error.before)
    if region is not None and ">" in line[error.column :] and not error.text.startswith(">"):
        return _bad_region(line, region, error.column)
    if (name := _name_in_expression(error, line)) is not None:
        hint = "write .version 4.1" if line.lstrip().startswith(".version") else IN_EXPRESSIONS
        if line[: name.column].endswith(("-", "~")) and line[name.column :].startswith(f"{name.text}("):
            sign = line[name.column - 1]
            hint = f"a modifier is in parentheses: ({sign}){name.text}(0,0)<1;1,0>"
        return Problem("V020", f"'{name.text}' is not a number", hint, name)
    return _misplaced(error, line, in_directive) or _unreadable(error, line, in_directive, at)


def _in_directive(error: Unexpected, line: str, has_settings: bool, at: Placed) -> Problem | None:
    """What to say of a word that is no directive, an argument too many or a setting without a value."""
    if not error.before and error.text.startswith("."):
        word = line[error.column :].split()[0]
        hint = DIRECTIVES_ELSEWHERE.get(word.lower()) or did_you_mean(word, _directives())
        return Problem("V003", f"'{word}' is not a directive", hint, Placed(0, word, error.column))
    if error.expected <= {"$END", "RBRACE"} and line.lstrip().startswith(".") and error.before[-1][0] != "RBRACE":
        return Problem("V049", f"'{error.text}' is one argument too many", "remove it, or give it its own line", at)
    if error.expected == {"EQUAL"} and has_settings:
        return _no_value(error, line)
    return None


def _misplaced(error: Unexpected, line: str, in_directive: bool) -> Problem | None:
    """What to say of a brace or a dot before the place, or of letters in a number."""
    previous, column = error.before[-1] if error.before else ("", 0)
    if previous == "RBRACE" and "RBRACE" in error.expected and error.text:
        return Problem(
            "V001", "'}' is not allowed here", "it closes a scope at the end of a line", Placed(0, "}", column)
        )
    if not error.is_token and (number := re.match(r"\d[\w.]*", line[error.column :])):
        word = number[0]
        at = Placed(0, word, error.column)
        if previous != "DOT" and "INTEGER" not in error.expected:
            return Problem("V001", f"'{word}' is not allowed here", expected_text(error.expected, in_directive), at)
        hint = "numbers are 16, 0x10 and 1.5" + ("" if in_directive else ", followed by a colon and a type: 16:ud")
        return Problem("V001", f"'{word}' is not a number", hint, at)
    if previous == "DOT":
        hint = "a suffix or a number follows its dot without a blank"
        return Problem("V001", "'.' is not an operand", hint, Placed(0, ".", column))
    return None


def _unreadable(error: Unexpected, line: str, in_directive: bool, at: Placed) -> Problem:
    """What to say where nothing more is known than what stands there and what could have."""
    if error.text == '"':
        return Problem("V001", "this string does not end", 'close it with "', at)
    if not error.text:
        message = "the line ends too early"
    elif not error.text[0].isprintable():
        message = f"U+{ord(error.text[0]):04X} is not allowed here"
    elif not re.match(r"[\w.]", error.text):
        message = "this cannot be read"
    else:
        message = f"'{error.text}' is not allowed here"
    if hint := _habit(error, line, in_directive):
        if error.text:
            message = f"'{error.text if error.text[0].isalnum() else error.text[0]}' is not allowed here"
        return Problem("V001", message, hint, at)
    return Problem("V001", message, expected_text(error.expected, in_directive and len(error.before) > 1), at)


def _habit(error: Unexpected, line: str, in_directive: bool) -> str:
    """What to write where a line follows the habits of another language; empty if nothing is known."""
    before = line[: error.column]
    if hint := _separator(error, before, in_directive):
        return hint
    if not in_directive and (hint := _misplaced_sign(error, line) or _of_other_languages(error)):
        return hint
    address = re.search(r"\br\[(\w+)$", before)
    return f"write r[{address[1]}(0),0]<0;1,0>:ud" if address else ""


def _separator(error: Unexpected, before: str, in_directive: bool) -> str:
    """What to write for a comma between operands, or for a blank in place of one."""
    is_inside = any(before.count(opened) > before.count(closed) for opened, closed in ("()", "[]"))
    if error.text.startswith(",") and error.before and not is_inside:
        return f"separate {'settings' if in_directive else 'operands'} with blanks, not commas"
    mask = re.search(r"\((M\d(?:_NM)?|NoMask)\s+$", before)
    if mask and error.text.isdigit():
        return f"separate mask and execution size with a comma: ({mask[1]}, {error.text})"
    return ""


def _misplaced_sign(error: Unexpected, line: str) -> str:
    """What to write for a predicate, an index or an element whose brackets or signs are those of something else."""
    before = line[: error.column]
    inverted = re.match(r"\s*\([-~]\s*(\w+)((?:\.\w+)?)\)", line)
    if inverted and len(error.before) <= 1:
        return f"write (!{inverted[1]}{inverted[2]}): a predicate is inverted with !"
    if (row := re.search(r"\br\[(\w+)\((\w+)$", before)) and error.text.startswith(","):
        hint = "an element of an address variable has one number"
        return f"{hint}: write r[{row[1]}({row[2]}),0]<0;1,0>:ud, where addr_add has put an address into {row[1]}"
    if (element := re.search(r"(%?\w+)\[\w+\]$", before)) and element[1] != "r" and error.text.startswith("<"):
        return f"an element is written by its row and column: {element[1]}(0,0){line[error.column :].split()[0]}"
    return ""


def _of_other_languages(error: Unexpected) -> str:
    """What to write for a sign that other languages have there."""
    if error.text.startswith("#") and not error.before:
        return "a comment begins with //"
    if error.text.startswith(";"):
        return "an instruction ends with its line, without ';'"
    if error.text.startswith("="):
        return (
            "an instruction is written add (M1, 8) D(0,0)<1> A(0,0)<1;1,0> B(0,0)<1;1,0>: the destination comes first"
        )
    if error.text.startswith("@") and not error.before:
        return "a predicate precedes the instruction, in parentheses: (P1) mov ..., (!P1) mov ..."
    if re.fullmatch(r"%?\w+:", error.text) and len(error.before) > 1:
        return f"the colon belongs to the label's definition; here write {error.text[:-1]}"
    if error.text.startswith(":") and error.before and error.before[-1][0] == "MORETHAN":
        return "a register has the type of its declaration; data of messages are V:d32, without a region"
    return ""


def _name_in_expression(error: Unexpected, line: str) -> Placed | None:
    """The name that stands where an expression has a number."""
    kind, column = error.before[-1] if error.before else ("", 0)
    if kind == "NAME" and error.text in _OPERATORS and "RPAR" in error.expected:
        return Placed(0, line[column : error.column].rstrip(), column)
    is_name = re.fullmatch(r"%?[A-Za-z_]\w*", error.text) is not None
    if is_name and "INTEGER" in error.expected and not {"NAME", "COMMA", "RPAR"} & error.expected:
        return Placed(0, error.text, error.column)
    return None


def _no_value(error: Unexpected, line: str) -> Problem:
    """A word among the settings of a directive without a value."""
    column = error.before[-1][1]
    found = re.match(r"[\w%]+", line[column:])
    word = found[0] if found else ""
    return Problem("V009", f"'{word}' is a setting without a value", f"write {word}=value", Placed(0, word, column))


def _directives() -> list[str]:
    """The words that begin with a dot."""
    marks = [desc.mnemonic for desc in FORMS if desc.is_directive and desc.flow is not Flow.LABEL]
    return [*_DIRECTIVES, *marks]


def _open_region(before: list[tuple[str, int]]) -> int | None:
    """The column of a region's bracket, if the next token is in a region."""
    for (kind, column), (previous, _) in zip(reversed(before), reversed(before[:-1]), strict=False):
        if kind in ("MORETHAN", "RPAR", "RSQB", "COLON"):
            return None
        if kind == "LESSTHAN":
            return column if previous in ("NAME", "RPAR", "RSQB") else None
    return None


def _bad_region(line: str, opens: int, column: int) -> Problem:
    """A region whose inside cannot be read; the whole operand is marked."""
    end = line.index(">", column) + 1
    first = max(line.rfind(c, 0, opens) for c in " \t") + 1
    return Problem(
        "V015",
        f"{line[opens:end]} is not a region",
        "write <h> for a destination, <v;w,h> for a source",
        Placed(0, line[first:end], first),
    )


def expected_text(expected: frozenset[str], among_settings: bool = False) -> str:
    """What could have stood there, for a hint."""
    rest = set(expected)
    shown: list[str] = []
    if among_settings and "NAME" in rest and "INTEGER" not in rest:
        shown.append("name=value")
        rest.discard("NAME")
    if {"$END", "RBRACE"} <= rest:  # any statement can be followed by the end of a scope
        rest.discard("RBRACE")
    for needed, meant, names in _GROUPS:
        if needed <= rest:
            shown += names
            rest -= needed | meant
    shown += sorted({_EXPECTED[kind] for kind in rest if kind in _EXPECTED}, key=lambda name: (name == _END, name))
    if len(shown) > 1:
        shown[-2:] = [f"{shown[-2]} or {shown[-1]}"]
    return "expected " + ", ".join(shown) if shown else ""
