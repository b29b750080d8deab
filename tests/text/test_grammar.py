"""The grammar of vISA: Lark alone gives the same trees as our reader, and the tables on disk are safe."""

import contextlib
import os
import shutil
import stat

import lark
import pytest
from support.programs import DATA, HEAD, SHARED
from support.strategies import some

from visakit import AssemblyError, assemble, cache
from visakit.text import tables
from visakit.text.comments import without_comments
from visakit.text.problem import Problem
from visakit.text.reader import PLACED, LineReader, line_reader
from visakit.text.syntax import (
    AliasNode,
    IndirectNode,
    InstructionStatement,
    NumberNode,
    Placed,
    RegionNode,
    VectorNode,
)
from visakit.text.transformer import SyntaxTransformer

GOLDEN = sorted((DATA / "golden").glob("*.visaasm"))
CASES = sorted(p for p in SHARED.glob("cases/*/*/*.visaasm")) if SHARED.exists() else []


def lines(path):
    return {line for raw in without_comments(path.read_text().split("\n"), "x") if (line := raw.strip())}


def statement_of(line):
    """The only statement of a line."""
    (found,) = line_reader().statements(line)
    return found


class LarkAlone(SyntaxTransformer, lark.Transformer):
    """Lark's own lexer, parser and transformer, with our methods."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    def _call_userfunc(self, tree, new_children=None):
        node = super()._call_userfunc(tree, new_children)
        start, end = tree.meta.start_pos, tree.meta.end_pos
        return Placed(node, self.text[start:end], start) if tree.data in PLACED else node


@pytest.mark.parametrize(
    "path", some(GOLDEN[::3], 2) + some(CASES[:: max(1, len(CASES) // 20)], 3), ids=lambda p: p.stem
)
def test_lark_alone_gives_the_same_nodes(path):
    reader = LineReader()
    for line in lines(path):
        assert LarkAlone(line).transform(reader.lark.parse(line)) == reader.statements(line), line


def test_a_module_is_lines_of_statements_between_comments():
    text = '// x\n.version 4.1 // y\n\n.kernel "k" /* a\n b */\nB:\nret (M1, 1)\n'
    found = tables.load("visa", "module").parse(text).children
    assert [tree.children[0].data for tree in found] == ["directive", "directive", "label", "instruction"]


def test_scopes_share_the_line_of_a_statement():
    line = "} { mov (M1, 8) V(0,0)<1> 1:d {NoMask} /* { */ } } // }"
    found = line_reader().statements(line)
    assert [type(s).__name__ for s in found] == [
        *["ScopeStatement"] * 2,
        "InstructionStatement",
        *["ScopeStatement"] * 2,
    ]
    assert [s.head.column for s in found] == [0, 2, 4, 47, 49] and found[1].opens and not found[3].opens


@pytest.mark.parametrize("line", ["mov VD(0,0)<1> (M1, 8) 1:d", "mov (M1, 8) (M1, 8) VD(0,0)<1> 1:d"])
def test_an_execution_size_in_a_wrong_place_is_an_operand(line):
    assert [type(at.node).__name__ for at in statement_of(line).operands].count("ExecutionNode") > 0


def test_a_line_is_a_tree_of_nodes():
    statement = statement_of("(!P1.any) add.sat (M1_NM, 16) V34(0,2)<1> (-)V35(1,0)<8;8,1> r[A0(1),32]<4>:ud")
    assert isinstance(statement, InstructionStatement)
    destination, source, indirect = (o.node for o in statement.operands[1:])
    assert statement.opcode.node.words == ("add", "sat")
    assert destination == VectorNode("", "V34", (0, 2), RegionNode(None, None, 1))
    assert source == VectorNode("(-)", "V35", (1, 0), RegionNode(8, 8, 1))
    assert indirect == IndirectNode("", "A0", 1, 32, RegionNode(None, None, 4), "ud")
    assert (statement.operands[2].text, statement.operands[2].column) == ("(-)V35(1,0)<8;8,1>", 42)


def test_equal_operands_share_a_node_and_nothing_is_kept_without_caches():
    def node(reader):
        return reader.statements("mov (M1, 8) VD(0,0)<1> 0x10:d")[0].operands[2].node

    cached, plain = LineReader(), LineReader(cached=False)
    assert node(cached) is node(cached) == NumberNode(16, "d")
    assert node(plain) is not node(plain)


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        " {} ",
        "{} <1>",
        "{} :d",
        "{} , 8",
        "{} [0]",
        "{}:",
        "V{}",
        "V {}",
        "V{} <1>",
        "({})",
        "(M1, {} , 8)",
        '"{}',
        "{} //",
    ],
)
def test_cached_pieces_have_the_tokens_of_plain_ones(around):
    cached, plain = LineReader(), LineReader(cached=False)
    for piece in (
        "(M1, 16)",
        "(0,0)<8;8,1>",
        "<1>:d",
        "align=GRF size=8",
        "(r [0])",
        "(a , b)",
        "M1",
        "r",
        "(!P1)",
        "<8;8,1>",
    ):
        line = around.format(piece)
        assert cached.tokens(line) == cached.tokens(line) == plain.tokens(line), line


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("mov (M1, 8) VD(0,0)<1> @", 23, "expected an operand, {NoMask} or the end of the line"),
        ("mov (M1, 8) VD(0,0", 18, "')'"),
        (".decl V1 v_type G", 9, "write v_type=value"),
        (".kernel 5", 8, "a name, a string or the end of the line"),
        ("{ 5", 2, "an instruction"),
        ("(P1 mov (M1, 8) VD(0,0)<1> 1:d", 4, "')'"),
        ("lsc_load.ugm (M1, 16) VD:d32 flat[VUD+]:a32", 38, "a number"),
    ],
)
def test_expected_tokens_are_named(line, column, expected):
    with pytest.raises(Problem) as caught:
        line_reader().statements(line)
    assert caught.value.at.column == column and expected in caught.value.hint, caught.value.hint


@pytest.mark.parametrize("name", ["M1", "M8", "NoMask", "V1"])
@pytest.mark.parametrize("written", ["<{}, 8>", "< {} , 8>", "<{},0x8>"])
def test_a_variable_with_the_name_of_a_mask_has_aliases(name, written):
    declaration = statement_of(".decl X v_type=G type=ud num_elts=8 alias=" + written.format(name))
    assert declaration.settings["alias"].node.value == AliasNode(name, 8)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mov (M1, 8) Vé(0,0)<1> 1:d", "'é' is not allowed here"),
        ("mov (M1, 8) V(0,0)<1> ١:d", "'١' is not a number"),
        ("mov\u00a0(M1, 8) V(0,0)<1> 1:d", "U\\+00A0 is not allowed here"),
        ("mov (M1,\u20038) V(0,0)<1> 1:d", "U\\+2003 is not allowed here"),
        ("mov (M1, 8)\v V(0,0)<1> 1:d", "U\\+000B is not allowed here"),
    ],
)
def test_names_numbers_and_blanks_are_ascii(line, message):
    with pytest.raises(Problem, match=message):
        line_reader().statements(line)
    assert line_reader().statements("ret (M1, 1) // é \u00a0")


def test_a_hexadecimal_float_begins_with_0():
    with pytest.raises(Problem, match=r"'2x16\.' is not a number"):
        line_reader().statements("mov (M1, 8) V(0,0)<1> 2x16.:f")
    assert statement_of("mov (M1, 8) V(0,0)<1> 0x1.8p3:f").operands[2].node == NumberNode(12.0, "f")


@pytest.mark.parametrize(
    "inside",
    [
        "(" * 5000 + "1" + ")" * 5000,
        "-" * 5000 + "1",
        "1" + "+1" * 5000,
        "1<<1" * 500,
        "9" * 5000,
        "01",
        "0x" + "f" * 5000,
    ],
)
def test_deep_expressions_do_no_harm(inside):
    with contextlib.suppress(AssemblyError):
        assemble(HEAD + f"mov (M1, 8) VD(0,{inside})<1> 1:d\nret (M1, 1)\n")


# -- tables on disk ----------------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The folder of the grammars in a package that was built without tables."""
    package = tmp_path / "package"
    package.mkdir()
    shutil.copy(tables.FOLDER / "visa.lark", package)
    monkeypatch.setattr(tables, "FOLDER", package)
    return package


@pytest.fixture
def folder(tmp_path, package, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path))
    return tmp_path / "grammar"


def parses():
    return tables.load("visa", "line").parse("ret (M1, 1)").children[0].data == "instruction"


def test_tables_are_made_once_and_kept(folder):
    assert parses()
    (kept,) = folder.iterdir()
    made = kept.stat().st_mtime_ns
    assert parses() and kept.stat().st_mtime_ns == made


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\x80\x04}."])
def test_damaged_tables_are_made_anew(folder, damage):
    assert parses()
    (kept,) = folder.iterdir()
    kept.write_bytes(damage)
    assert parses() and len(kept.read_bytes()) > 1000


@pytest.mark.skipif(os.name == "nt", reason="modes of folders are those of POSIX")
def test_tables_that_others_could_have_written_are_not_read(folder):
    assert parses()
    (kept,) = folder.iterdir()
    kept.write_bytes(b"never read")
    folder.chmod(stat.S_IRWXU | stat.S_IWGRP | stat.S_IWOTH)
    assert cache.read("grammar", kept.name) is None
    assert parses() and kept.read_bytes() == b"never read"


def test_tables_of_a_wheel_serve_all_users(folder, package, monkeypatch):
    reader = LineReader()
    assert reader.statements("ret (M1, 1)") and parses()
    reader.keep()
    for name in ("visa.tables", "visa.derivations"):
        (package / name).write_bytes(cache.read(tables.CACHE, name))
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    monkeypatch.setattr(lark, "Lark", type("Loaded", (), {"load": lark.Lark.load}))  # cannot be made
    assert parses()
    monkeypatch.setattr(tables, "load", None)
    assert LineReader().statements("ret (M1, 8)")


def test_tables_of_a_wheel_match_its_grammar(folder, package):
    assert parses()
    (package / "visa.tables").write_bytes(cache.read(tables.CACHE, "visa.tables")[:32] + b"garbage")
    reader = LineReader()
    assert reader.statements("ret (M1, 1)")
    reader.keep()
    kept = cache.read(tables.CACHE, "visa.derivations")
    (package / "visa.derivations").write_bytes(kept)
    shutil.rmtree(folder)
    assert parses() and tables.read_kept("visa") is not None
    with open(package / "visa.lark", "a") as grammar:
        grammar.write("// another one\n")
    assert parses() and tables.read_kept("visa") is None


def test_nothing_is_kept_when_caching_is_off(folder, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    assert parses() and not folder.exists()
