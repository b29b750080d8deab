"""The instruction table is complete, consistent, and the only list of opcodes."""

import ast
import json
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
from support.programs import ROOT, SHARED, needs_corpus

from visakit.isa import FORMS, RESERVED, instruction_set, record, suffixes
from visakit.isa.enums import ATOMICS, LSC_ATOMICS
from visakit.text.instruction_syntax import operands_of
from vsim.semantics import ALLOWED_DEVIATION, SEMANTICS
from vsim.semantics.refused import REFUSED


@needs_corpus
def test_every_opcode_of_the_reference_is_described():
    entries = json.loads((SHARED.parent / "spec" / "opcodes.json").read_text())["opcodes"]
    table = instruction_set().by_opcode
    for entry in entries:
        if entry["name"].startswith("reserved"):
            assert entry["opcode"] in RESERVED, entry["name"]
            continue
        assert entry["opcode"] in table, entry["name"]
        names = {n.lower() for f in table[entry["opcode"]] for n in (f.mnemonic, *f.aliases)}
        for sub in entry.get("subops", []):
            assert sub["mnemonic"] in names
        for mnemonic in entry["mnemonics"] if "subops" not in entry else []:
            word = mnemonic.split(".<")[0].split(".x<")[0].lower()
            if word[0].isalpha():
                assert word in names, mnemonic


@needs_corpus
def test_operand_order_is_that_of_the_reference():
    entries = json.loads((SHARED.parent / "spec" / "opcodes.json").read_text())["opcodes"]
    kinds = {
        "vec_src": "s",
        "vec_dst": "d",
        "raw": "rw",
        "exec_size": "ec",
        "predicate": "pr",
        "label": "L",
        "state_surface": "T",
        "state_sampler": "S",
    }
    for entry in entries:
        forms = instruction_set().by_opcode.get(entry["opcode"], ())
        if (
            len(forms) != 1
            or not entry["operands"]
            or any("[" in o["name"] or "if" in o["name"] for o in entry["operands"])
        ):
            continue
        wanted = [kinds.get(o["kind"], "") for o in entry["operands"]]
        found = [f.kind for f in forms[0].fields]
        assert len(found) == len(wanted), entry["name"]
        assert all(f in w for f, w in zip(found, wanted, strict=True) if w in ("s", "rw", "ec", "pr")), entry["name"]


def test_mnemonics_and_subops_are_unique():
    seen = set()
    for desc in FORMS:
        key = (desc.opcode, *sorted(desc.fixed.items()))
        assert key not in seen, desc
        seen.add(key)


@pytest.mark.parametrize("desc", FORMS, ids=lambda f: f"{f.opcode:#x}-{f.mnemonic}")
def test_a_form_is_usable(desc):
    assert desc.summary.endswith(".") and len(desc.summary) < 110
    assert not re.search(r"\b(\w+) \1\b", desc.summary)
    assert desc.platforms
    assert len(operands_of(desc)) == len(desc.text) and ".[" not in desc.syntax


def test_every_instruction_has_semantics_or_is_refused():
    assert {f.semantics for f in FORMS} == set(SEMANTICS)
    assert not set(ALLOWED_DEVIATION) & set(REFUSED)
    generator = runpy.run_path(str(ROOT / "docs" / "generate_fidelity.py"))
    assert (ROOT / "docs" / "fidelity.md").read_text() == generator["text"]()


def test_no_second_list_of_opcodes():
    for path in [
        *ROOT.glob("vasm/**/*.py"),
        *ROOT.glob("vlink/**/*.py"),
        *ROOT.glob("vsim/**/*.py"),
        *ROOT.glob("visakit/text/*.py"),
    ]:
        assert not re.search(r"opcode\s*==\s*0x|0x(29|6[cC]|4[eE])\b:", path.read_text()), path


def test_the_words_of_the_notation_are_explained_and_used():
    explained = set(re.findall(r"^([a-z-]+) {2,}\S", record.__doc__, re.MULTILINE))
    assert {word for desc in FORMS for word in desc.spelling} == record.SPELLINGS <= explained


@pytest.mark.parametrize(
    ("details", "error"),
    [
        ({"modifers": "signs"}, "a record has no modifers"),
        ({"fixed": {"sub_op": 1}}, "no field sub_op"),
        ({"limits": {"src1": (0, 1)}}, "no field src1"),
        ({"implied": (("order", 1),)}, "no field order"),
        ({"operands": "dst:ud src1:ud"}, "no field src1"),
        ({"classes": "scr0:g"}, "no field scr0"),
        ({"suffixes": (suffixes.Flag("ov", "ov"),)}, "no field ov"),
        ({"text": "(exec) dst scr0?"}, "no field scr0"),
        ({"text": "(exec) @data:scr0"}, "no field scr0"),
        ({"spelling": "optional-exe"}, "no spelling optional-exe"),
        ({"rules": "contigous"}, "contigous"),
    ],
)
def test_a_misspelt_word_of_a_record_is_an_error(details, error):
    with pytest.raises((TypeError, ValueError), match=error):
        record.form(0xFF, "nop", "ec d:dst s:src0", "Nothing.", category="misc", **details)


OTHER_WORDS = {
    # Operations of atomic messages, whatever instruction asks for them.
    "vsim": {*ATOMICS, *LSC_ATOMICS},
    # Instructions of LLVM's IR.
    "vsim/engines/llvm": {"add", "mul", "and", "or", "xor", "shl"},
    # Events at which the debugger stops.
    "vsim/debug": {"barrier", "call"},
    # Names of functions of the semantics.
    "vsim/semantics/refused.py": {desc.semantics for desc in FORMS},
    "vsim/analysis": {desc.semantics for desc in FORMS},
    # Names of templates.
    "vsim/engines/llvm/support/clocks.py": {"call", "return"},
}
"""Words that are no mnemonics in some places, though the table has mnemonics that are spelled so."""


def _mnemonics_in_code(path: Path) -> set[str]:
    """Comparisons of mnemonics with literals in a file, and literals that list mnemonics, with their lines."""
    where = path.relative_to(ROOT).as_posix()
    other = {word for prefix, words in OTHER_WORDS.items() if where.startswith(prefix) for word in words}
    names = {name for desc in FORMS for name in (desc.mnemonic, *desc.aliases)} - other
    found = set()

    def is_mnemonic(node, aliases):
        return (isinstance(node, ast.Attribute) and node.attr == "mnemonic") or (
            isinstance(node, ast.Name) and node.id in aliases
        )

    def has_words(node):
        return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(node))

    def aliases_in(function):
        for assignment in (n for n in ast.walk(function) if isinstance(n, ast.Assign)):
            for target in assignment.targets:
                both = isinstance(target, ast.Tuple) and isinstance(assignment.value, ast.Tuple)
                targets, values = (target.elts, assignment.value.elts) if both else ([target], [assignment.value])
                for to, value in zip(targets, values, strict=False):
                    if isinstance(to, ast.Name) and is_mnemonic(value, ()):
                        yield to.id

    def look(node, aliases):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            aliases = aliases | set(aliases_in(node))
        hit = False
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            hit = any(is_mnemonic(s, aliases) for s in sides) and any(has_words(s) for s in sides)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asks = node.func.attr in ("startswith", "endswith") and is_mnemonic(node.func.value, aliases)
            hit = asks and any(map(has_words, node.args))
        elif isinstance(node, (ast.Tuple, ast.Set, ast.List, ast.Dict)):
            elements = node.keys if isinstance(node, ast.Dict) else node.elts
            hit = sum(isinstance(e, ast.Constant) and e.value in names for e in elements) > 1
        if hit:
            found.add(f"{where}:{node.lineno}: {ast.unparse(node)[:100]}")
        for child in ast.iter_child_nodes(node):
            look(child, aliases)

    look(ast.parse(path.read_text()), set())
    return found


@pytest.mark.parametrize("package", ["vasm", "vlink", "vsim", "visakit"])
def test_code_asks_the_table_not_the_mnemonic(package):
    paths = [
        p for p in (ROOT / package).rglob("*.py") if p.parent not in (ROOT / "visakit/isa", ROOT / "vsim/semantics")
    ]
    assert paths
    assert sorted(hit for path in paths for hit in _mnemonics_in_code(path)) == []


def test_semantics_know_no_engine():
    for path in ROOT.glob("vsim/semantics/*.py"):
        assert not re.search(r"import (numpy|llvmlite)|from (numpy|llvmlite|vsim\.engines)", path.read_text()), path


def test_reference_pages_are_generated_from_the_table():
    generator = runpy.run_path(str(ROOT / "docs" / "generate_instructions.py"))
    folder = ROOT / "docs" / "instructions"
    assert {p.name: p.read_text() for p in folder.glob("*.md")} == generator["pages"]()
    language = (ROOT / "docs" / "language.md").read_text()
    assert generator["with_instructions"](language) == language


def test_pages_of_executed_instructions_have_pseudo_code_and_an_example():
    """One for each executed form, and none for refused ones."""
    shown = Counter(
        {p.stem: p.read_text().count("Effect, in pseudo-code:") for p in (ROOT / "docs" / "instructions").glob("*.md")}
    )
    executed = Counter(f.mnemonic for f in FORMS if f.semantics not in REFUSED and not f.mnemonic.startswith("."))
    assert shown == executed


@pytest.mark.parametrize(
    ("table", "name", "wrong", "said"),
    [
        ("ALU", "add", {"pseudo": "src0[i] - src1[i]"}, "add: the pseudo-code gives -9, the instruction 11"),
        ("MESSAGES", "gather", {"pseudo": "dst[i] = surface[i]"}, "gather.4 "),
        ("SCENES", "goto", {"effect": "D[i] = 11"}, "goto: the pseudo-code gives 11, the instruction 10"),
        ("VALUES", "fcvt", {"pseudo": "narrow[i] = code(src0[i]) >> 8"}, "fcvt: the pseudo-code gives 52 in BYTES"),
        ("VALUES", "lsc_store_block2d", {"pseudo": "memory[0] = 1"}, "lsc_store_block2d: .* gives 1 in memory"),
        ("SAMPLERS", "sample_lz", {"pseudo": "dst[i] = 1"}, "sample_lz: the pseudo-code gives 1 in D"),
        ("PICTURES", "scatter4_typed", {"pseudo": "image[0, 0] = [1, 1, 1, 1]"}, "scatter4_typed: the picture is"),
        (
            "THREADS",
            "barrier",
            {"lines": ("\nbarrier\n", "\nyield\n")},
            "barrier: the pseudo-code gives 11 in memory, the instruction 0",
        ),
    ],
)
def test_worked_examples_refuse_other_results(monkeypatch, table, name, wrong, said):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import worked_examples

    examples = getattr(worked_examples, table)
    wrong = {n: getattr(examples[name], n).replace(*x) if isinstance(x, tuple) else x for n, x in wrong.items()}
    for other in ("ALU", "MESSAGES", "SCENES", "VALUES", "PICTURES", "SAMPLERS", "THREADS"):
        monkeypatch.setattr(worked_examples, other, {})
    monkeypatch.setattr(worked_examples, table, {name: examples[name]._replace(**wrong)})
    with pytest.raises(AssertionError, match=said):
        worked_examples.examples()
