"""The hints of all golden files of vasm: a text that a hint gives is one that the assembler then takes."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from support import golden_files
from support.programs import TESTS

FOLDERS = [TESTS / "golden" / name for name in ("vasm", "instructions")]
MESSAGE = re.compile(
    r"^(?P<file>[\w.-]+):(?P<line>\d+):(?P<column>\d+): (?P<severity>error|warning): (?P<message>.*) \[(?P<code>\w\d+)\]\n"
    r" +\d+ \| .*\n +\| +(?P<carets>\^+)\n(?:(?!  hint)[ ].+\n)*?  hint: (?P<hint>.*)$",
    re.MULTILINE,
)
GIVES = re.compile(
    r"(?:^|.*[:;,] )(?:here )?(?:write|did you mean|declare it:|declare it with|leave out|end it with|close it with) (.*)$"
)
"""Hints that give a text, which follows these words."""

NO_TEXT = {
    r"V\(row,column\)|.*\bV\.offset|V:d16u32|V, V|(?:flat|bti|surf)[(\[].*": "V is any variable",
    r"<h> for a destination": "h, v and w are any numbers",
    r"GRF or a number of bytes|a name, or|a variable of your own": "says what can stand there",
    r"(mov|add|two instructions) .*": "is another instruction, whose operands the user chooses",
    r"(the type|the comma)$": "the mark is at missing text",
    r'"|\*/': "where a string or comment ends is the user's choice",
    r'\.global_function "name"|\.decl V32 ': "the user chooses the name",
    r"\(P\) ": "P is any predicate",
}
"""Texts of hints that cannot be put in without a choice, as patterns, and why."""


class Hint(NamedTuple):
    """A hint of a golden file: the message that it stands below, and one of its texts."""

    path: Path
    found: re.Match[str]
    text: str

    def __str__(self):
        return f"{self.path.stem}-{self.found['line']}-{self.text[:24]}"


def hints():
    """The hints of golden files, one for each text that they give."""
    for path in (p for folder in FOLDERS for p in sorted(folder.glob("*.test"))):
        for found in MESSAGE.finditer(golden_files.read(path.read_text()).stderr):
            gives = GIVES.match(found["hint"])
            is_text = found["file"].endswith(".visaasm")  # and neither standard input nor C++ with assembly in it
            if gives is None or not is_text or any(re.match(pattern, gives[1]) for pattern in NO_TEXT):
                continue
            yield from (Hint(path, found, text) for text in texts(gives[1]))


def texts(given):
    """The texts of a hint: those in quotes, or between ``or``, without explanations."""
    if quoted := re.findall(r"'([^']*)'", given):
        return quoted
    bare = re.sub(
        r"(:? a predicate is .*|, (the|where) .*| or more| after the declarations|(, | for the number )0x.*)$",
        "",
        given,
    )
    bare = re.sub(r" for the number .*$", "", bare)
    alternatives = re.split(r", | or ", bare) if bare[0] in "<." or " or " in bare else [bare]
    return alternatives if bare[:5] not in (".decl", ".inpu", ".kern") else [bare]


def applied(hint, lines):
    """The lines with the text of a hint put in, and the number of lines that it adds before the marked one."""
    found, text, number = hint.found, hint.text, int(hint.found["line"]) - 1
    line, start = lines[number], int(found["column"]) - 1
    end = start + len(found["carets"])
    marked = line[start:end]
    opens = next((n for n in range(number, -1, -1) if lines[n].startswith((".kernel ", ".global_function"))), 0)
    if text.startswith(".version"):
        return [text, *(part for part in lines if not part.startswith(".version"))], 1
    if text.startswith((".decl ", ".kernel_attr")):
        return [*lines[: opens + 1], text, *lines[opens + 1 :]], 1
    if found["hint"].startswith(("end it with", "close it with")):
        return [*lines, text], 0
    if re.fullmatch(r"\w+:", text) and found["code"] == "V026":
        return [*lines[:number], text, *lines[number:]], 1
    if text.startswith("num_elts="):
        name = re.search(r"\w+(?=\()", marked)[0]
        declared = next(n for n in range(number, -1, -1) if re.match(rf"\.decl {name}\b", lines[n]))
        return [re.sub(r"num_elts=\d+", text, part) if n == declared else part for n, part in enumerate(lines)], 0
    return [*lines[:number], line_of(line, (start, end), found, text), *lines[number + 1 :]], 0


def line_of(line, place, found, text):
    """The line with a text in place of the marked part, or of the part of it that the text replaces."""
    before, marked, after = line[: place[0]], line[slice(*place)], line[place[1] :]
    if "leave out" in found["hint"]:
        return line.replace(text, "", 1)
    if text.startswith("(M"):
        return re.sub(r"\((?:M\d(?:_NM)?|NoMask)(, ?)(\w+)\)", lambda m: text.replace("...", m[2]), line, count=1)
    if text.startswith("(P) "):
        return before + "(P) " + line[place[0] :]
    if text.startswith("(!"):
        return re.sub(r"^\([^)]*\)", text, line)
    if text.startswith("r["):
        return re.sub(r"r\[\S*(?: \S+\])?\S*", text, line)
    if text.startswith((".input", "ret")):
        return text + line[place[1] :] if text.startswith("ret") else text
    if "did you mean" in found["hint"]:
        wrong = re.findall(r"'\.?([^']*)'", found["message"])[-1 if ", found" in found["message"] else 0]
        return before + re.sub(rf"(?<![\w%]){re.escape(wrong.lstrip('.'))}(?!\w)", text.lstrip("."), marked) + after
    if text[0] in "<:":
        kind = r"<[^>]*>" if text[0] == "<" else r":\w+"
        return before + re.sub(rf"{kind}(?!.*{kind})", text, marked) + after
    if re.match(r"\(\d", text):
        return before + re.sub(r"\(\d+,\d+\)", text, marked) + after
    if marked.startswith(".decl"):
        return f"{line} {text}"
    if re.match(r"[\d-]", marked):
        after = re.sub(r"^\w+", "", after)
    return before + text + after


ALL = list(hints())


@pytest.mark.parametrize("hint", ALL, ids=str)
def test_the_text_of_a_hint_is_accepted(hint):
    before, golden = (golden_files.read(hint.path.read_text()) for _ in range(2))
    name, number = hint.found["file"], int(hint.found["line"])
    lines, added = applied(hint, golden.files[name].decode().split("\n"))
    assert "\n".join(lines).encode() != golden.files[name], "the text changes nothing"
    golden.files[name] = "\n".join(lines).encode()
    left = problems(golden, name, number + added)
    shown = f"{lines[number + added - 1]}: {left}"
    assert (int(hint.found["column"]), f"{hint.found['message']} [{hint.found['code']}]") not in left, shown
    assert codes(left) <= codes(problems(before, name, number)), shown


def problems(golden, name, number):
    """Errors of a line, and warnings: columns and messages."""
    found = re.findall(rf"^{re.escape(name)}:{number}:(\d+): \w+: (.*)$", golden_files.run(golden).stderr, re.MULTILINE)
    return [(int(column), message) for column, message in found]


def codes(found):
    """The number of problems by code: a line may have several, and the next hint is of the next one."""
    return Counter(message[-5:] for _, message in found)


def test_every_kind_of_hint_without_a_text_is_met():
    """A pattern that no hint has any more is out of date."""
    given = [
        gives[1]
        for folder in FOLDERS
        for path in folder.glob("*.test")
        for found in MESSAGE.finditer(golden_files.read(path.read_text()).stderr)
        if (gives := GIVES.match(found["hint"]))
    ]
    assert [p for p in NO_TEXT if not any(re.match(p, text) for text in given)] == []
