"""Inline assembly: snippets of damaged and odd sources, and the places of their errors."""

import pytest

from vasm.inline import InlineText, StatementSource, own_snippet
from vasm.scan import scan_files, snippets_of

MOVE = "mov (M1, 16) %0(0,0)<1> %1(0,0)<1;1,0>"


@pytest.mark.parametrize(
    ("source", "count"),
    [
        (f'asm("{MOVE}" : "=rw"(a) : "rw"(b));', 1),
        (f'__asm__ __volatile__ ("{MOVE}\\n" :: "rw"(f(x, (y))), "rw"(b) : "memory");', 1),
        (f'asm("{MOVE}" : [a] "=rw"(a[1]) : [b] "rw"(b));', 1),
        (f'// asm("{MOVE}");\n/* asm("{MOVE}"); */ char c = \'"\';', 0),
        (f'asm(R"x({MOVE})x" : "=rw"(a) : "rw"(b)', 1),
        ('asm("mov eax, ebx");', 0),
        ('asm("mov (M1, " SIZE ") %0(0,0)<1> 0:d" : "=rw"(a));', -1),
        ('asm("', 0),
        ('asm(R"(mov (M1, 16)', 1),
        ("/* asm(" * 1000, 0),
        ('R"(' * 1000, 0),
        ('"' + '\\"' * 1000, 0),
        ("asm(" * 1000, 0),
        (f'asm("\\x" "\\xg{MOVE}\\x" : "=rw"(a) : "rw"(b));', 1),
    ],
)
def test_statements_of_c(source, count):
    found = list(snippets_of(source, "k.cpp"))
    assert len(found) == abs(count) and (None in found) == (count < 0)


def test_invalid_python_has_no_snippets():
    assert not list(snippets_of("def (:", "k.py")) and not list(snippets_of("x = '\\d'", "k.py"))


@pytest.mark.parametrize("columns", [0, 1, 7])
def test_errors_are_at_their_place_in_the_source(tmp_path, columns):
    """With any text in front of it, and any number of operands and escapes before."""
    path = tmp_path / "k.cpp"
    path.write_text(
        "\n" + " " * columns + 'asm("\\t\\x20{}\\n' + MOVE + '\\nmoo (M1, 16) %0 %1" : "=rw"(a) : "rw"(b));'
    )
    (found,) = scan_files([str(path)]).found
    text = path.read_text().split("\n")[1]
    assert found.code == "V003" and found.span.line == 2 and found.span.text == text
    assert text[found.span.column - 1 :].startswith("moo (M1") and found.span.length == 3


def test_names_of_other_statements_are_known(tmp_path):
    path = tmp_path / "k.cpp"
    use = "mov (M1, 16) T(0,0)<1> 1:d"
    path.write_text(f'asm(".decl T v_type=G type=d num_elts=16");\nasm("{use}");\nasm("{use.replace("T", "U")}");')
    found = scan_files([str(path)])
    assert found.checked == 3 and [d.span.line for d in found.found] == [3]


def test_undescribed_operands_are_dwords():
    source = f"// %1: f[16]\n{MOVE}"
    text = InlineText(own_snippet(source), StatementSource(source, "k.visaasm"))
    variables = text.assemble(None).module.kernels[0].variables
    assert [(v.type.name, v.elements) for v in variables] == [("ud", 4096), ("f", 16)]
