"""``vasm --scan`` of large sources: what its cost may depend on. Messages are golden files (tests/golden/vasm)."""

from vasm import scan

MOVE = "mov (M1, 16) $0(0,0)<1> $1(0,0)<1;1,0>"


def test_equal_statements_are_assembled_once(tmp_path, monkeypatch):
    texts = []
    assemble = scan.assemble_text
    monkeypatch.setattr(scan, "assemble_text", lambda text, *given: (texts.append(text), assemble(text, *given)))
    statement = f'  call void asm sideeffect "{MOVE} qq", "=rw,rw"(<16 x i32> %1, <16 x i32> %2)\n'
    source = tmp_path / "k.ll"
    source.write_text(statement * 50)
    found = scan.scan_files([str(source)])
    assert found.checked == 50 and len(texts) == 1
    assert [d.span.line for d in found.found] == list(range(1, 51))


def test_places_behind_characters_of_several_bytes(tmp_path):
    source = tmp_path / "k.py"
    source.write_text(f"#\n\u00e9 = '\u4e00'\n\u00e9 = '\u4e00'; f(asm='{MOVE} qq', constraints='=rw,rw')\n", "utf-8")
    (found,) = scan.scan_files([str(source)]).found
    line = source.read_text("utf-8").splitlines()[2]
    assert (found.span.line, line[found.span.column - 1 :][:2]) == (3, "qq")


def test_operands_are_found_by_number_and_name(tmp_path):
    source = tmp_path / "k.c"
    move = "mov (M1, 16) %[to](0,0)<1> %1(0,0)<1;1,0>"
    source.write_text(
        f'void f() {{ asm("{move}" : [to] "=rw"(a) : [from] "rw"(b)); asm("{move}" : [two] "=rw"(a)); }}\n'
    )
    found = scan.scan_files([str(source)])
    assert found.checked == 2 and found.found and all("%[to]" in d.span.text for d in found.found)
