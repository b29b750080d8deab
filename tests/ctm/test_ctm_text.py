"""The text language of the CTM target: the grammar, its messages, text and words going round, launch files."""

import io
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.programs import ROOT

from visakit import AssemblyError, FormatError, LaunchError
from visakit.ctm import assemble, link, load, table
from visakit.ctm.grammar import LineGrammar, line_grammar, terminal_title
from visakit.ctm.printer import instruction_text, print_module
from visakit.ctm.program import read_module
from visakit.ctm.simulator import GridSession
from visakit.ctm.syntax import EndStatement, SourceLine
from visakit.text import tables

SAMPLES = sorted((ROOT / "samples" / "ctm").glob("*/*.ctm"))
HEAD = ".int i0 3 0 0\n"


def diagnostics(text):
    """The diagnostics of a text."""
    with pytest.raises(AssemblyError) as caught:
        assemble(text, "x.ctm")
    return caught.value.diagnostics


def shown(line, head=HEAD):
    """The only message about a line: code, marked text, message and hint."""
    (found,) = diagnostics(f"{head}{line}\nend")
    assert found.span.line == 1 + head.count("\n") and found.span.text == line
    marked = line[found.span.column - 1 : found.span.column - 1 + found.span.length]
    return found.code, marked, found.message, found.hint


@pytest.mark.parametrize(
    ("line", "code", "marked", "message", "hint"),
    [
        ("  endiff", "T001", "endiff", "'endiff' is not a statement", "did you mean 'endif' or 'end'?"),
        (".targer ctm", "T001", ".targer", "'.targer' is not a statement", "did you mean '.target'?"),
        ("here: madd r1.r, r2", "T001", "madd", "'madd' is not a statement", "did you mean 'mad' or 'add'?"),
        ("%%", "T001", "%%", "'%%' is not a statement", "docs/ctm.md has a table of all statements"),
        ("mov r1.x, r2", "T001", ".x", "'.x' is not allowed here", "expected a dot and channels out of r, g, b, a, 0, h and 1"),
        ("mov r1, r2", "T001", ",", "',' is not allowed here", "expected a dot and channels out of r, g, b, a, 0, h and 1"),
        ("mov r1.r, r2 r3", "T001", "r3", "'r3' is not allowed here", "expected a dot and channels out of r, g, b, a, 0, h and 1, the end of the line, ',', '{' or '|'"),
        ("mov r1.r, @r2 // @", "T001", "@r2", "'@r2' is not allowed here", "expected a float constant, a number, a register, '-' or '|'"),
        ("mov r1.r,   // r2", "T001", " ", "the line ends too early", "expected a float constant, a number, a register, '-' or '|'"),
        ("ld r1.r, r2, r3", "T001", "r2", "'r2' is not allowed here", "expected an input such as t0"),
        ("if q", "T001", "q", "'q' is not allowed here", "expected a boolean constant, a predicate, alu or '!'"),
        ("rep 5", "T001", "5", "'5' is not allowed here", "expected an integer constant"),
        ("test.gt r1", "T001", ".gt", "'.gt' is not allowed here", "expected .eq, .lt, .ge or .ne"),
        (".int i1 1 x 3", "T001", "x", "'x' is not allowed here", "expected a number or '-'"),
        (".target pvc", "T001", "pvc", "'pvc' is not allowed here", "expected ctm"),
        ("fc jmp", "T001", "jmp", "'jmp' is not allowed here", "expected an operation of flow control"),
        ("  fc jump to=600 // far", "T002", "fc jump to=600", "jump is 600, it has 9 bits", ""),
        ("raw 0 0 0 0 0 0x100000000", "T002", "raw 0 0 0 0 0 0x100000000", "a word has 32 bits", ""),
        ("add r1.r, r1, -0.3", "T003", "-0.3", "0.3 is not an inline number", "the nearest is 0.3125; or put it into a constant with .const"),
        ("add r1.r, r1, r200.g", "T004", "r200", "r200 does not exist", "the last one is r127"),
        ("add r1.r, r1, c[aL+256]", "T004", "c[aL+256]", "c[aL+256] does not exist", "the last one is c255"),
        ("mov r128.r, 0", "T004", "r128", "r128 does not exist", "the last one is r127"),
        ("mov o4.r, 0", "T004", "o4", "o4 does not exist", "the last one is o3"),
        ("ld r1.r, t16, r2", "T004", "t16", "t16 does not exist", "the last one is t15"),
        ("jump x if b32", "T004", "b32", "b32 does not exist", "the last one is b31"),
        (".const c256 0 0 0 0", "T004", "c256", "c256 does not exist", "the last one is c255"),
        (".int i1 1.5 0 0", "T004", "1.5", "the count is 1.5, it is a whole number from 0 to 255", ""),
        (".int i1 1 0 -129", "T004", "-129", "the step is -129, it is a whole number from -128 to 127", ""),
        ("mov r1.r, 0 | mov o1.a, 0", "T005", "mov o1.a, 0", "one of the units writes an output, the other a register", "an instruction does one of both"),
        ("mov r1.rgba, 0 | rcp r1.a, r2", "T005", "rcp r1.a, r2", "both operations use the alpha unit", "one writes .rgb, the other .a"),
        ("mov r1.rr, 0", "T006", "r1.rr", ".rr is not a mask", "a mask has some of r, g, b and a, each once"),
        ("mov c[aL].r, 0", "T006", "c[aL].r", "a constant cannot be a destination", ""),
        ("mov p.r, 0", "T006", "p.r", "predicates are written with set.eq, set.lt, set.ge or set.ne", "write set.ge p.r, r0, r1"),
        ("set.ge r1.r, r2", "T006", "r1.r", "set writes predicates", "write set.ge p.r, r0, r1"),
        ("texkill r1.0", "T006", "r1.0", ".0 does not select a texture coordinate", "coordinates are channels r, g, b and a of the register"),
        ("mov r1.r, 0 | rcp r1.a, r2, r3", "T007", "rcp r1.a, r2, r3", "rcp takes 1 operand, found 2", ""),
        ("rcp r1.r, r2", "T008", "rcp r1.r, r2", "rcp is an operation of the alpha unit", "write only .a"),
        ("dp3 r1.r, r2, r3 {clmp}", "T010", "clmp", "'clmp' is not a flag", "did you mean 'clamp'?"),
        ("mov r1.r, 0 {omod=x3}", "T010", "omod=x3", "there is no output modifier 'x3'", "output modifiers are x1, x2, x4, x8, d2, d4, d8, off"),
        ("mov r1.r, 0 {pred=!q}", "T010", "pred=!q", "there is no predicate 'q'", "predicates are none, rgba, r, g, b, a"),
        ("mov r1.r, 0 {alu=g.ge}", "T010", "alu=g.ge", "'g.ge' is not a test of a result", "write {alu=r.ge} or {alu=a.ne}"),
        ("ld r1.r, t0, r1 {wait}", "T010", "wait", "'wait' is not a flag of a fetch", "its flag is scaled"),
        ("jump x if p.rg", "T011", "p.rg", "a condition looks at one predicate bit, found .rg", "write p.r, p.g, p.b or p.a"),
        ("fc jump fnc=3", "T012", "fnc=3", "'fnc=3' is not a setting of fc", "did you mean 'func'?"),
        ("mov r1.r, 12345678901234567890", "T001", "12345678901234567890", "'12345678901234567890' is not allowed here", "expected a float constant, a number, a register, '-' or '|'"),
        ("endif 2", "T013", "endif 2", "endif 2 closes 2 ifs without else", "close them one by one"),
        ("endif 0", "T013", "endif 0", "endif 0 closes nothing", "write endif"),
        ("else ; nothing", "T013", "else", "'else' has no if to belong to", "nothing is open"),
        ("  continue", "T013", "continue", "'continue' is outside a loop", ""),
        ("loop i7", "T014", "i7", "i7 has no value", "write .int i7 count start step before the loop"),
        ("fc jump pred=rgba", "T038", "pred=rgba", "a flow-control instruction cannot select a predicate per channel", "select one of r, g, b and a"),
    ],
)  # fmt: skip
def test_message(line, code, marked, message, hint):
    assert shown(line) == (code, marked, message, hint)


@pytest.mark.parametrize("name", ["loop", "r1", "mov", "p", "if", "alu", "full", "ld", "b0", "breakrep"])
def test_words_of_the_language_can_name_labels_and_functions(name):
    assert assemble(f"{name}: jump {name}\nend").labels == {name: 0}
    assert assemble(f".mode full\nfunction {name} plain\nret\nfunction f\ncall {name}\nret").plain[name]


def test_a_register_of_a_setting_is_marked_with_it():
    assert shown("fc jump bool=b99")[:3] == ("T004", "bool=b99", "b99 does not exist")


def test_all_errors_of_a_text_are_reported_up_to_a_limit():
    text = "bogus\nmov r1.r, r200\nif alu\n" + "mov r1.r,\n" * 30
    found = diagnostics(text)
    assert [(d.code, d.span.line) for d in found[:3]] == [("T001", 1), ("T004", 2), ("T001", 4)]
    assert len(found) == 20


def test_the_grammar_has_the_operations_of_the_table():
    def words(terminal):
        return set(re.findall(r"\w+", line_grammar().lark.get_terminal(terminal).pattern.value.removesuffix(r"\b")))

    assert words("OPERATION") == {*table.OPERATIONS, *table.SHORTHANDS}
    assert [line_grammar().statement(f"fc {name}").statement.operation for name in table.FC_OPS] == [*table.FC_OPS]
    assert words("COMPARISON") == set(table.COMPARISONS)
    assert {*words("FETCH"), "texkill", "nop"} == set(table.TEX_OPS)


def test_every_terminal_has_a_title():
    titles = {
        t.name: terminal_title(t.name) for t in line_grammar().lark.terminals if not t.name.startswith("__IGNORE")
    }
    assert all(re.fullmatch(r"[\w.,= ]+|'\W'( and channels)?", title) for title in titles.values()), titles


# -- caches ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_caches_change_nothing(path):
    text = path.read_text()
    once, again, plain = assemble(text, "x"), assemble(text, "x"), assemble(text, "x", cache=False)
    assert plain.to_bytes() == once.to_bytes() == again.to_bytes()


def test_errors_do_not_depend_on_caches():
    text = "mov r1.r, r200\n    mov r1.r, r200\nbogus\n  bogus"
    for cache in (True, True, False):
        with pytest.raises(AssemblyError) as caught:
            assemble(text, "x", cache=cache)
        places = [(d.code, d.span.line, d.span.column) for d in caught.value.diagnostics]
        assert places == [("T004", 1, 11), ("T004", 2, 15), ("T001", 3, 1), ("T001", 4, 3), ("T022", 4, 3)]


def test_tables_of_the_grammar_are_kept_and_made_anew_when_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path))
    package = tmp_path / "package"  # as built without tables
    package.mkdir()
    shutil.copy(tables.FOLDER / "ctm.lark", package)
    monkeypatch.setattr(tables, "FOLDER", package)
    kept = tmp_path / "grammar" / "ctm.tables"
    read = [LineGrammar(cached=False).statement("end")]
    whole = kept.read_bytes()
    for contents in (whole, whole[:1000], b"not tables"):
        kept.write_bytes(contents)
        read.append(LineGrammar(cached=False).statement("end"))
        assert len(kept.read_bytes()) > len(whole) // 2
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    read.append(LineGrammar(cached=False).statement("end"))
    assert read == [SourceLine("", EndStatement())] * 5


def test_importing_the_package_loads_neither_lark_nor_numpy():
    code = "import sys, visakit.ctm; sys.exit(bool({'lark', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# -- text and words ----------------------------------------------------------------------------------------------------


@st.composite
def instructions(draw):
    """The words of an instruction of some type, most of whose fields are 0."""
    kind = draw(st.sampled_from([table.ALU, table.ALU, table.OUT, table.FC, table.TEX]))
    fields = draw(st.lists(st.sampled_from(table.FIELDS[kind][1:]), max_size=12, unique=True))
    values = {f.name: draw(st.integers(0, (1 << f.width) - 1)) for f in fields}
    unread = table.unused_sources() if kind in (table.ALU, table.OUT) and draw(st.booleans()) else {}
    return table.encode(kind, unread | values)


def instruction_words(text):
    """The words of an instruction, behind one that writes the ALU result."""
    return assemble(f"test.ge r0\n{text}\nend").slots[1].words


@given(instructions())
def test_any_words_are_printed_as_text_that_gives_them(words):
    values = table.decode(words)[1]
    assume(words[0] & 3 != table.FC or values.get("rgb_pred") != table.PRED_PER_CHANNEL)
    assert instruction_words(instruction_text(words)) == words


@pytest.mark.parametrize(
    "text",
    ["mad r1.rgb, -r2.rgb, |c3.gba|, 0.5 | rcp r4.a, r5.rgba {clamp}", "set.ge p.rg, r1.rgb", "test.ne r1.rgb, r2.rgb",
     "mov o1.rgb, r1.rgb", "fc jump func=0x0f any=1 else=1 b0=incr b1=decr bool=b5 int=i3 pred=!g to=7 wait=0"],
)  # fmt: skip
def test_words_are_printed_as_text(text):
    words = instruction_words(text)
    assert not instruction_text(words).startswith("raw")


def test_constants_that_decimals_cannot_hold_go_round():
    module = link([assemble(".const c0 1.0e999 -1.0e999 1.0e-30 1.0e30\nend")])
    assert link([assemble(print_module(module))]).floats == module.floats == {0: (np.inf, -np.inf, 1e-30, 1e30)}


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ('"floats": {"0": [1, 2, 3]}', "wrong number of values"), ('"floats": {"256": [1, 2, 3, 4]}', "does not exist"),
        ('"floats": {"0": [NaN, 2, 3, 4]}', "not a number"), ('"integers": {"0": [Infinity, 0, 0]}', "out of range"), ('"end": 7', "outside"),
    ],
)  # fmt: skip
def test_damaged_constants_are_refused(constants, message):
    data = assemble("end").to_bytes()
    name, _, value = constants.partition(": ")
    tree = {"floats": {}, "integers": {}, "booleans": {}, "end": 0, "full": True, "file": "<text>"}
    assert json.dumps(tree).encode() in data
    broken = json.dumps(tree | {name.strip('"'): json.loads(value)}).encode()
    with pytest.raises(FormatError, match=message):
        read_module(with_constants(data, json.dumps(tree).encode(), broken), "x")


def with_constants(data, old, new):
    """A file whose section of constants is another one, appended at the end."""
    at, size = data.index(old), len(old)
    header = data.index(at.to_bytes(4, "little") + size.to_bytes(4, "little"))
    moved = len(data).to_bytes(4, "little") + len(new).to_bytes(4, "little")
    return data[:header] + moved + data[header + 8 :] + new


def test_numbers_may_begin_with_zeros():
    assert (
        instruction_words("mov r1.r, 007") == instruction_words("mov r1.r, 7.0") == instruction_words("mov r1.r, 0x7")
    )
    assert assemble(".int i0 007 00 -01\nend").integers == {0: (7, 0, -1)}


# -- launch files ------------------------------------------------------------------------------------------------------


PROGRAM = ".const c0 1 2 3 4\n.int i0 2 0 0\nmov r1.rgba, c0\nrep i0\nadd r1.r, r1, 1.0\nendrep\nmov o0.rgba, r1\nend\n"


def session(folder, tree, **options):
    """The session of a launch file."""
    (folder / "launch.json").write_text(tree if isinstance(tree, str) else json.dumps(tree))
    made = GridSession(load(link([assemble(PROGRAM, "p.ctm")])), "p.bin", None, io.StringIO(), **options)
    made.run_file(str(folder / "launch.json"))
    return made


def launches(**entry):
    return {"launches": [{"width": 2, **entry}]}


def test_outputs_are_written_compared_and_reported(tmp_path):
    np.save(tmp_path / "good.npy", np.tile([3.0, 2.0, 3.0, 4.0], (1, 2, 1)))
    np.save(tmp_path / "whole.npy", np.tile([3, 2, 3, 4], (1, 2, 1)))
    np.save(tmp_path / "near.npy", np.tile(np.float32([3, 2, 3, 4.5]), (1, 2, 1)))
    for expected, tolerance in (("good.npy", 0), ("whole.npy", 0), ("near.npy", 0.5)):
        made = session(tmp_path, launches(outputs={"0": {"out": "o.npy", "expect": expected, "atol": tolerance}}))
        made.report(False)
        assert not made.failed and made.output.getvalue() == "p.ctm: ok (1 checked)\n"
    assert np.load(tmp_path / "o.npy").tolist() == [[[3, 2, 3, 4]] * 2]
    wrong = session(tmp_path, launches(outputs={"0": {"expect": "near.npy"}}))
    wrong.report(False)
    assert wrong.failed and wrong.output.getvalue() == (
        "p.ctm: FAILED (1 checked)\n"
        "  output 0: 2 of 8 elements differ (by up to 0.5): [3] is 4.0, expected 4.5, [7] is 4.0, expected 4.5\n"
    )
    wrong.output.truncate(wrong.output.seek(0))
    wrong.report(True)
    report = json.loads(wrong.output.getvalue())
    assert (report["image"], report["platform"]) == ("p.bin", "ctm") and not report["launches"][0]["checks"][0]["ok"]


def test_a_launch_replaces_constants(tmp_path):
    session(tmp_path, launches(constants={"c0": [0, 5, 6, 7], "i0": [4, 0, 0], "b1": True}, outputs={"0": "o.npy"}))
    assert np.load(tmp_path / "o.npy").tolist() == [[[4, 5, 6, 7]] * 2]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("{", "the launch file is not JSON"), ([], "a JSON object with a list 'launches'"), ({"launches": [5]}, "a launch is a JSON object, found 5"),
        ({"launches": [{}]}, "error: 'width' is a number of processors below 65536, found None"), (launches(height="2"), "'height' is a number"),
        (launches(inputs=[1]), "'inputs' is a JSON object"), (launches(inputs={"16": "x.npy"}), "an input is a number from 0 to 15, found '16'"),
        (launches(inputs={"0": "none.npy"}), "error: 'none.npy' cannot be read"), (launches(inputs={"0": 5}), "a file name was expected, found 5"),
        (launches(constants={"c0": [1, 2]}), "error: the constant is a list of 4 numbers"), (launches(constants={"x1": 5}), "constants are called c0"),
        (launches(constants={"c300": [1, 2, 3, 4]}), "a float constant is a number from 0 to 255, found '300'"), (launches(constants={"i0": "abc"}), "a list of 3 numbers"),
        (launches(outputs={"4": "x.npy"}), "an output is a number from 0 to 3"), (launches(outputs={"0": 5}), "an output is a file name or a JSON object"),
        (launches(outputs={"0": {"rtol": "x"}}), "error: a number from 0 on was expected, found 'x'"),
    ],
)  # fmt: skip
def test_launch_files_of_another_form(tmp_path, tree, message):
    with pytest.raises(LaunchError, match=re.escape(message)) as caught:
        session(tmp_path, tree)
    assert caught.value.diagnostics[0].code == "T062"


def test_loading():
    image = link([assemble(PROGRAM, "p.ctm")])
    assert load(image.to_bytes()).launch(1)[0].tolist() == load(image).launch(1)[0].tolist() == [[[3, 2, 3, 4]]]
    with pytest.raises(LaunchError, match="T061"):
        load(assemble(PROGRAM))
