"""The instruction table is complete, consistent, and the only list of opcodes."""

import json
import re
import runpy
from pathlib import Path

import pytest
from conftest import SHARED, needs_corpus

from visa.isa import FORMS, RESERVED, instruction_set
from visa.text.slots import slots
from vsim.refused import REFUSED
from vsim.semantics import ALLOWED_DEVIATION, SEMANTICS

ROOT = Path(__file__).parent.parent


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
    assert desc.platforms
    assert len(slots(desc)) == len(desc.text)


def test_what_an_instruction_does_is_known_or_refused():
    assert {f.semantics for f in FORMS} == set(SEMANTICS)
    assert not set(ALLOWED_DEVIATION) & set(REFUSED)
    generator = runpy.run_path(str(ROOT / "docs" / "generate_fidelity.py"))
    assert (ROOT / "docs" / "fidelity.md").read_text() == generator["text"]()


def test_no_second_list_of_opcodes():
    for path in [
        *ROOT.glob("vasm/**/*.py"),
        *ROOT.glob("vlink/**/*.py"),
        *ROOT.glob("vsim/**/*.py"),
        *ROOT.glob("visa/text/*.py"),
    ]:
        assert not re.search(r"opcode\s*==\s*0x|0x(29|6[cC]|4[eE])\b:", path.read_text()), path


def test_semantics_know_no_engine():
    for path in ROOT.glob("vsim/semantics/*.py"):
        assert not re.search(
            r"import (numpy|llvmlite)|from (numpy|llvmlite|vsim\.(numpy|llvm)_engine)", path.read_text()
        ), path


def test_the_reference_pages_are_those_of_the_table():
    generator = runpy.run_path(str(ROOT / "docs" / "generate_instructions.py"))
    folder = ROOT / "docs" / "instructions"
    assert {p.name: p.read_text() for p in folder.glob("*.md")} == generator["pages"]()
