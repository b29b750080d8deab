"""Writes the rows of docs/conformance.md about single instructions, and the golden texts that show them, out of the instruction table.

Run it as ``make docs``; a test checks that both are those of the table. In the golden texts a comment says of each line
whether it is accepted (``yes``) or not (``no``), and the statement that it is an example of.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from visakit.isa import InstructionDesc, Saturate, instruction_set
from visakit.isa.record import ANY_SIZE, Rule, Saturation
from visakit.language import types
from visakit.language.platforms import PLATFORMS
from visakit.rules.operand_classes import class_names
from visakit.text.instruction_syntax import operands_of
from visakit.text.reader import LineReader
from visakit.text.syntax import InstructionStatement, Placed

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
from generate_instructions import examples  # noqa: E402

DOCUMENT = ROOT / "docs" / "conformance.md"
GOLDEN = ROOT / "tests" / "golden" / "instructions"
BEGIN, END = "<!-- from the table: docs/generate_conformance.py -->", "<!-- end of the table's rows -->"
HEADER = (ROOT / "tests" / "data" / "golden" / "add.visaasm").read_text().split("\n\n")[0]
VARIABLES = {t: f"V{t.upper()}" for t in ("d", "ud", "f", "w", "uw", "b", "ub", "q", "uq", "df", "hf", "bf")}
"""A variable of each type in the header."""
CALCULATING = ("arithmetic", "logic", "move", "compare")
PAGE_NAMES = {
    "min": "MIN_MAX", "max": "MIN_MAX", "plane": "PLN", "add3.o": "ADD3O", "sampler_cache_flush": "CACHE_FLUSH",
    "resinfo": "INFO", "sampleinfo": "INFO", ".function": "SUBROUTINE", ".label": "LABEL", ".file": "FILE",
    ".loc": "LOC", "rt_write_3d": "RT_WRITE", "urb_write_3d": "URB_WRITE", "svm_gather4scaled": "SVM_GATHER4_SCALED",
    "svm_scatter4scaled": "SVM_SCATTER4_SCALED",
}  # fmt: skip
"""Pages of the manual whose names are not the mnemonics'."""
FAMILIES = {
    0x6D: "3D_SAMPLE", 0x6E: "3D_LOAD", 0x6F: "3D_SAMPLE4", 0x89: "LSC_UNTYPED", 0x8A: "LSC_TYPED", 0x5C: "FENCE",
    0x60: "NBARRIER", 0x7C: "SBARRIER", 0x7B: "LIFETIME", 0x5D: "RAW_SEND", 0x7A: "RAW_SENDS",
}  # fmt: skip
"""Pages about several mnemonics of one opcode."""
NO_PAGE = {"dp2", "dp3", "dp4", "dph", "line", "load", "sample", "va", "va_skl_plus"}
"""Instructions of the reference compiler's table without a page."""
SHOWN_ELSEWHERE = {"IFCALL", "FCALL", "BFI"}
"""Pages with a separate section."""
MORE = {
    "fcvt": ["fcvt (M1, 16) VUD(0,0)<1> VHF(0,0)<1;1,0> // no: a pair that is not converted",
             "fcvt (M1, 8) VUB(0,0)<1> VHF(0,0)<1;1,0> // no: to bytes under a mask",
             "fcvt.sat (M1, 16) VHF(0,0)<1> VUB(0,0)<1;1,0> // no: saturation of halves"],
    **{name: [f"{name} (M1, 16) VF(0,0)<1> VF(0,0)<1;1,0> VD(0,0)<1;1,0> // no: integers beside floats"]
       for name in ("sel", "min", "max")},
    "srnd": ["srnd (M1, 16) VHF(0,0)<1> VF(0,0)<1;1,0> VUW(0,0)<1;1,0> // no: a mask",
             "srnd (M1_NM, 16) VUB(0,0)<1> VF(0,0)<1;1,0> VUW(0,0)<1;1,0> // no: a pair that is not converted",
             "srnd.sat (M1_NM, 16) VHF(0,0)<1> VF(0,0)<1;1,0> VUW(0,0)<1;1,0> // no: saturation of halves"],
    "lfsr": ["lfsr.b32 (M1, 16) VUD(0,0)<1> VUD(1,0)<0;1,0> 0x7:ud // yes: scalars",
             "lfsr.b32 (M1, 8) VUD(0,0)<2> VUD(1,0)<1;1,0> VUD(2,0)<1;1,0> // no: results side by side",
             "lfsr.b32 (M1, 8) VUD(0,0)<1> VUD(1,0)<2;1,0> VUD(2,0)<1;1,0> // no: a source lane by lane",
             "lfsr.b32 (M1, 8) VUD(0,0)<1> VUD(1,0)<1;1,0> VUD(2,0)<2;1,0> // no: a source lane by lane"],
    "shfl_idx4": ["shfl_idx4 (M1, 16) VUD.0 VUD(1,0)<1;1,0> VUB(0,0)<4;1,0> // yes: indices of bytes",
                  "shfl_idx4 (M1, 32) VUD.0 VUD(1,0)<0;16,1> VUW(0,0)<2;1,0> // yes: the table twice",
                  "shfl_idx4 (M1, 16) VUD.0 VUD(1,0)<0;1,0> VUW(0,0)<2;1,0> // no: the table",
                  "shfl_idx4 (M1, 32) VUD.0 VUD(1,0)<1;1,0> VUW(0,0)<2;1,0> // no: the table twice",
                  "shfl_idx4 (M1, 16) VUD.0 VUD(1,0)<1;1,0> VUW(0,0)<1;1,0> // no: indices"],
    "lsc_atomic_bfadd": ["lsc_atomic_bfadd.ugm (M1, 16) VBIG:d32 flat[VUD]:a32 VUE %null // no: dwords"],
    "dpas": ["dpas.bf.bf.8.8 (M1, 8) VBF.0 VF.0 VBIG.0 VUD(0,0) // yes: accumulators of bf",
             "dpas.bf.bf.8.8 (M1, 8) VW.0 VF.0 VBIG.0 VUD(0,0) // no: type w of dst, which compilers write",
             "dpas.bf.bf.8.8 (M1, 8) VD.0 VF.0 VBIG.0 VUD(0,0) // no: type d of dst with bf",
             "dpas.hf.hf.8.8 (M1, 8) VF.0 VBF.0 VBIG.0 VUD(0,0) // no: type bf of src0 with hf",
             "dpas.bf8.hf8.8.8 (M1, 8) VHF.0 VF.0 VBIG.0 VUD(0,0) // no: type hf of dst with bf8",
             "dpas.bf.hf.8.8 (M1, 8) VF.0 VF.0 VBIG.0 VUD(0,0) // no: precisions",
             "dpas.bf.bf.4.8 (M1, 8) VF.0 VF.0 VBIG.0 VUD(0,0) // no: depth",
             "dpas.bf.bf.8.8 (M1, 8) VF.0 VF.0 VBIG.0 VUD(0,4) // no: place of activations",
             "dpas.s8.s4.8.8 (M1, 8) VD.0 VD.0 VBIG.0 VUD(0,4) // yes: place of activations of four bits"],
    "dpasw": ["dpasw.bf.bf.8.4 (M1, 8) VBF.0 VF.0 VBIG.0 VUD(0,0) // no: type bf of dst",
              "dpasw.s8.s8.8.4 (M1, 8) VF.0 VD.0 VBIG.0 VUD(0,0) // no: type f of dst with s8"],
    "add3.o": ["add3.o (M1, 8) VUD(0,0)<1> VUD(1,0)<1;1,0> VUD(2,0)<1;1,0> 1:ud // no: no predicate"],
    "lrp": ["lrp (M1, 8) r[A0(0),0]<1>:f VF(1,0)<1;1,0> VF(2,0)<1;1,0> VF(3,0)<1;1,0> // no: register-indirect",
            "lrp (M1, 8) VF(0,0)<1> VF(1,1)<1;1,0> VF(2,0)<1;1,0> VF(3,0)<1;1,0> // no: place",
            "lrp (M1, 8) VF(0,0)<1> VF(1,1)<0;1,0> VF(2,0)<1;1,0> VF(3,0)<1;1,0> // yes: place of a scalar"],
    "plane": ["plane (M1, 8) VF(0,0)<1> 1.0:f VF(2,0)<1;1,0> // no: an immediate",
              "plane (M1, 8) VF(0,0)<1> VF(0,4)<0;4,1> VF(2,0)<1;1,0> // yes: place of src0",
              "plane (M1, 8) VF(0,0)<1> VF(0,1)<0;4,1> VF(2,0)<1;1,0> // no: place of src0",
              "plane (M1, 8) VF(0,0)<1> VF(0,4)<0;4,1> VF(2,4)<1;1,0> // no: place of src1"],
    "bfe": ["bfe (M1, 8) VUD(0,1)<1> VUD(1,0)<1;1,0> VUD(2,0)<1;1,0> VUD(3,0)<1;1,0> // no: place",
            "bfe (M1, 8) VUD(0,0)<1> 0x76543210:uv VUD(2,0)<1;1,0> VUD(3,0)<1;1,0> // no: packed",
            "bfe (M1, 8) VUD(0,0)<1> VUD(1,1)<0;1,0> VUD(2,0)<1;1,0> VUD(3,0)<1;1,0> // yes: place of a scalar",
            "bfe (M1, 1) VUD(0,1)<1> VUD(1,0)<0;1,0> VUD(2,0)<0;1,0> VUD(3,0)<0;1,0> // yes: place in one lane"],
    "setp": ["setp (M1, 32) P1 3:ud // no: mask of single bits", "setp (M3_NM, 8) P1 3:ud // no: mask of single bits",
             "setp (M5_NM, 16) P1 3:ud // yes: mask of single bits"],
    "cmp": ["cmp (M1, 8) P1 VD(1,0)<1;1,0> VD(2,0)<1;1,0> // no: no relation",
            "cmp.lt.sat (M1, 8) P1 VD(1,0)<1;1,0> VD(2,0)<1;1,0> // no: saturation"],
    "add": ["add (M1, 8) VF(0,0)<1> VHF(1,0)<1;1,0> VF(2,0)<1;1,0> // yes: f and hf",
            "add (M1, 8) VDF(0,0)<1> VF(1,0)<1;1,0> VDF(2,0)<1;1,0> // no: f and df",
            "add (M1, 8) VD(0,0)<1> VF(1,0)<1;1,0> VF(2,0)<1;1,0> // no: an integer of floats"],
    "mul": ["mul (M1, 8) VQ(0,0)<1> VD(1,0)<1;1,0> VD(2,0)<1;1,0> // yes: 64 bits of 32"],
    "raw_send": ["raw_send.10.0.1 (M1, 8) 0x0:ud VUD.0 VUD.0 // no: src_grfs"],
    "switchjmp": [f"switchjmp (M1, 1) VUB(0,0)<0;1,0> ({', '.join(['L1'] * 33)}) // no: labels"],
    "nbarrier.wait": ["nbarrier.wait 32:ub // no: barrier_id"],
    "media_ld": ["media_ld.nomod (65,4) T6 0 0x0:ud 0x0:ud VUD.0 // no: block_width",
                 "media_ld.nomod (8,4) T6 4 0x0:ud 0x0:ud VUD.0 // no: plane"],
    "urb_write_3d": ["urb_write_3d (M1, 8) 9 0 VUD.0 VUD.0 VUD.0 VBIG.0 // no: num_out",
                     "urb_write_3d (M1, 8) 4 2048 VUD.0 VUD.0 VUD.0 VBIG.0 // no: global_offset"],
}  # fmt: skip
"""Lines for features that the other lines lack."""


FORMS = {
    "call": "call (M1, 8) fn1",
    "asr": "asr (M1, 8) VD(0,0)<1> VD(1,0)<1;1,0> VUE(0,0)<1;1,0>",
    "cmp": "cmp.lt (M1, 8) P1 VD(1,0)<1;1,0> 0x7:d",
    "invm": "invm (M1, 8) VF(0,0)<1> P2 VF(1,0)<1;1,0> VG(0,0)<1;1,0>",
    "rsqtm": "rsqtm (M1, 8) VF(0,0)<1> P2 VF(1,0)<1;1,0>",
    "mov": "mov (M1, 8) VF(0,0)<1> 1.5:f",
    "sample_unorm": "sample_unorm.RGBA.16-full S0 T6 0.0:f 0.0:f 0.5:f 0.5:f VUW.0",
    "setp": "setp (M1_NM, 16) P1 VUD(0,0)<0;1,0>",
    "srnd": "srnd (M1_NM, 16) VUB(0,0)<1> VHF(0,0)<1;1,0> VUW(1,0)<1;1,0>",
    "svm_gather4scaled": "svm_gather4scaled.RGBA (M1, 8) 0x0:uq VUQ.0 VBIG.0",
    "svm_scatter4scaled": "svm_scatter4scaled.RG (M1, 8) 0x0:uq VUQ.0 VBIG.0",
    "switchjmp": "switchjmp (M1, 1) VUB(0,0)<0;1,0> (L1, L2, L3)",
    "vme_fbr": "vme_fbr (0x0:ud,0x0:ud,0x0:ud) T6 VUB.0 VUB.0 VUB.0",
    "vme_ime": "vme_ime (0,0) T6 VUB.0 VUB.0 VUW.0 VUW.0 VUW.0 VUB.0",
    "vme_sic": "vme_sic T6 VUB.0 VUB.0 VUB.0",
    "vme_idm": "vme_idm T6 VUB.0 VUB.0 VUB.0",
    "wait": "wait 0x0:ub",
}
"""Forms as the manual has them, where the examples of docs/instructions show what compilers write."""


def page_of(desc: InstructionDesc) -> str:
    """The manual's page about an instruction; empty without one."""
    if desc.mnemonic in NO_PAGE:
        return ""
    return FAMILIES.get(desc.opcode) or PAGE_NAMES.get(desc.mnemonic) or desc.mnemonic.upper()


def pages() -> dict[str, list[InstructionDesc]]:
    """The forms of each page."""
    found: dict[str, list[InstructionDesc]] = {}
    for desc in instruction_set().forms:
        page = page_of(desc)
        if page and page not in SHOWN_ELSEWHERE:
            found.setdefault(page, []).append(desc)
    return dict(sorted(found.items()))


class Example:
    """A line of text of an instruction, and what becomes of it when parts are changed."""

    reader = LineReader()

    def __init__(self, desc: InstructionDesc, line: str) -> None:
        self.desc, self.line = desc, line

    @cached_property
    def operands(self) -> dict[str, Placed]:
        """The operands by the name of their field."""
        (statement,) = self.reader.statements(self.line)
        assert isinstance(statement, InstructionStatement)
        return {s.name: at for s, at in zip(operands_of(self.desc), statement.operands, strict=False)}

    def with_type(self, name: str, t: str) -> str:
        """The line with an operand of another type."""
        at = self.operands[name]
        text = self.line[at.column : at.column + len(at.text)]
        kind = self.desc.by_name[name].kind
        if kind in ("r", "w"):
            new = f"{VARIABLES[t]}.0"
        elif kind == "d" and re.match(r"V\w+\(", text):
            new = f"{VARIABLES[t]}(0,0)<1>"
        else:
            region = re.search(r"<.*>", text)
            new = f"{VARIABLES[t]}(0,0){region[0] if region else '<0;1,0>'}"
        return self.line[: at.column] + new + self.line[at.column + len(text) :]

    def with_modifier(self, modifier: str) -> str:
        """The line with a modifier in front of its first source in registers; empty without such a source."""
        for f in self.desc.fields:
            at = self.operands.get(f.name) if f.kind == "s" else None
            if at is not None and re.match(r"V\w+\(", at.text):
                return self.line[: at.column] + modifier + self.line[at.column :]
        return ""

    def with_size(self, size: int) -> str:
        """The line with another execution size."""
        return re.sub(r"\(M\d(_NM)?, \d+\)", f"(M1{'_NM' if '_NM' in self.line else ''}, {size})", self.line)

    def with_suffix(self, word: str) -> str:
        """The line with one more word behind the mnemonic."""
        head, _, rest = self.line.removeprefix("(P1) ").partition(" ")
        return f"{'(P1) ' if self.line.startswith('(P1)') else ''}{head}.{word} {rest}"


# -- lines of a golden text --------------------------------------------------------------------------------------------


def lines_of(example: Example) -> Iterator[str]:
    """Lines for the record's features."""
    desc = example.desc
    yield f"{example.line} // yes: the form"
    yield from _type_lines(example)
    if desc.has_exec and desc.sizes != ANY_SIZE:
        wrong = next(n for n in ANY_SIZE if n not in desc.sizes)
        if not desc.flow.is_scalar_jump and "(exec)" in desc.text:
            yield f"{example.with_size(wrong)} // no: execution size"
    if desc.category in CALCULATING:
        yield from _modifier_lines(example)
    if desc.has_exec and not example.line.startswith("("):
        allowed = desc.has_predicate
        yield f"(P1) {example.line} // {'yes' if allowed else 'no'}: predicate"
    yield from MORE.get(desc.mnemonic, ())


def _type_lines(example: Example) -> Iterator[str]:
    desc = example.desc
    for f in desc.fields:
        allowed, beyond = desc.types_of(f.name), desc.beyond.get(f.name, frozenset())
        named = f.name in desc.operand_types or f.kind in ("d", "s")
        if not (allowed and named and f.name in example.operands) or f.kind not in ("d", "s", "r", "w"):
            continue
        if not re.match(r"V\w+[(.]|[-\dx.a-f]+:", example.operands[f.name].text):
            continue
        wrong = next((t for t in ("f", "q", "ub", "d") if t not in allowed | beyond), None)
        if wrong:
            yield f"{example.with_type(f.name, wrong)} // no: type {wrong} of {f.name}"
        for t in sorted(beyond)[:1]:
            yield f"{example.with_type(f.name, t)} // no: type {t} of {f.name}, which compilers write"


def _modifier_lines(example: Example) -> Iterator[str]:
    desc = example.desc
    for modifier in ("(-)", "(~)"):
        line = example.with_modifier(modifier)
        allowed = modifier == {"signs": "(-)", "complement": "(~)"}.get(desc.modifiers)
        if line:
            yield f"{line} // {'yes' if allowed else 'no'}: modifier"
    results = [f.name for f in desc.fields if f.kind == "d"]
    if results:
        floats = re.search(r"V(F|HF|DF)\(", example.operands[results[0]].text) is not None
        suffix = any(isinstance(s, Saturate) for s in desc.suffixes)
        allowed = suffix and (desc.saturation is Saturation.ANY or (desc.saturation is Saturation.FLOATS and floats))
        yield f"{example.with_suffix('sat')} // {'yes' if allowed else 'no'}: saturation"


def golden(page: str, forms: list[InstructionDesc], shown: dict[InstructionDesc, str]) -> str:
    """The part of a golden file before the expected output."""
    lines = [line for desc in _distinct(forms) if desc in shown for line in lines_of(Example(desc, shown[desc]))]
    used = "\n".join(lines)
    labels = "".join(f"{n}:\n" for n in ("L1", "L2", "L3", "LX") if re.search(rf"\b{n}\b(?!:)", used))
    labels += 'ret (M1, 1)\n.function "fn1"\n' if re.search(r" fn1\b", used) else ""
    body = f"{HEADER}\n" + used + f"\n{labels}ret (M1, 1)\n"
    head = f"# {page}: what its page says of operands, types, sizes and modifiers.\n"
    head += "# RUN: vasm -W beyond-manual -W no-kernel-fret --max-errors 100 t.visaasm\n"
    lacking = next((p for p in PLATFORMS if p not in forms[0].platforms), None)
    if not lacking or forms[0] not in shown:
        return f"{head}\n# FILE t.visaasm\n{body}"
    elsewhere = f"{HEADER}\n{shown[forms[0]]}\nret (M1, 1)\n"
    return (
        f"{head}# RUN: vasm --platform {lacking} p.visaasm\n\n# FILE t.visaasm\n{body}\n# FILE p.visaasm\n{elsewhere}"
    )


def _distinct(forms: list[InstructionDesc]) -> list[InstructionDesc]:
    """Of many forms of one page that differ in the operation alone, the first; and forms with own lines."""
    return forms if len(forms) <= 2 else [forms[0], *(desc for desc in forms[1:] if desc.mnemonic in MORE)]


# -- rows --------------------------------------------------------------------------------------------------------------


def _types(names: frozenset[str]) -> str:
    return ", ".join(t for t in types.BY_NAME if t in names)


def statements(desc: InstructionDesc) -> Iterator[tuple[str, str]]:
    """What the manual says of an instruction, as the table has it, and what checks it."""
    yield f"form `{desc.syntax}`", "grammar"
    own = {name: t for name, t in desc.operand_types.items() if t}
    raw = {f.name for f in desc.fields if f.kind in ("r", "w")}
    if desc.types:
        yield f"types {_types(desc.types)}" + (", but where the next rows differ" if own else ""), "assembler (V034)"
    for name, allowed in own.items():
        check = (
            "assembler (W015): messages move bytes, compilers write other types" if name in raw else "assembler (V034)"
        )
        yield f"`{name}` is of type {_types(allowed)}", check
    for name, allowed in desc.beyond.items():
        if name not in raw:
            yield f"`{name}` is not of type {_types(allowed)}", "assembler (W015): compilers write it"
    if desc.pairs:
        shown = "; ".join(f"{t} from {_types(of)}" for t, of in desc.pairs.items())
        yield f"converts {shown}", "assembler (V034)"
    if desc.has_exec:
        jump = desc.flow.is_scalar_jump or "(exec)" not in desc.text
        check = "grammar: the encoding has no other" if jump else "assembler (V042)"
        restricted = desc.sizes != ANY_SIZE and not jump
        yield f"execution sizes {', '.join(map(str, desc.sizes))}", "assembler (V039)" if restricted else check
    yield from _modifier_statements(desc)
    yield from _other_statements(desc)


def _modifier_statements(desc: InstructionDesc) -> Iterator[tuple[str, str]]:
    if desc.category in CALCULATING:
        taken = {"signs": "(-), (abs) and (-abs)", "complement": "(~)"}.get(desc.modifiers, "no modifiers")
        yield f"sources take {taken}", "assembler (V037)"
        if any(isinstance(s, Saturate) for s in desc.suffixes):
            any_type = "results saturate" + (
                ", as far as the next rows say" if Rule.SATURATES_BYTES in desc.rules else ""
            )
            what = {Saturation.ANY: any_type, Saturation.FLOATS: "results of float types saturate, others do not",
                    Saturation.NONE: "no result saturates"}[desc.saturation]  # fmt: skip
            yield what, "assembler (V038)" if desc.saturation is not Saturation.ANY else "value"
        else:
            yield "no result saturates", "grammar (V004)"
    if desc.has_exec:
        yield ("may be predicated", "grammar") if desc.has_predicate else ("cannot be predicated", "assembler (V046)")


RULES = {
    Rule.DF_BY_MACROS: ("results of df where there are IEEE macros, not on icllp, tgllp and dg2", "assembler (V060)"),
    Rule.NO_PACKED: ("immediates are not packed", "assembler (V034)"),
    Rule.NO_MASK: ("executes under NoMask", "assembler (V039)"),
    Rule.NO_MASK_TO_BYTES: ("converts to bytes under NoMask", "assembler (W015): old texts do not write it"),
    Rule.NEEDS_PREDICATE: ("has a predicate, which takes the overflow", "assembler (V039)"),
    Rule.SELECTS: ("operands are integers, or f with hf, or f with bf, or df alone", "assembler (V036)"),
    Rule.SATURATES_BYTES: ("results of bytes saturate, others do not", "assembler (V038)"),
    Rule.PACKED_LANES: ("results lie side by side, sources are scalars or lane by lane", "assembler (V035)"),
    Rule.TABLE_OF_DWORDS: (
        "the table is the dwords of the lanes, twice for 32 of them, and each lane's indices begin a dword",
        "assembler (V035)",
    ),
    Rule.ATOMIC_DATA: (
        "works on one element of each lane: a word in a dword, a dword or a qword",
        "assembler (V050): as the reference assembler",
    ),
    Rule.WORDS: ("works on words in dwords", "assembler (V050)"),
    Rule.SYSTOLIC: (
        "the depth is 8; precisions go together, and with the types of accumulators, as the manual's table has it;"
        " activations begin at a multiple of the bytes of a row of them",
        "assembler (V039, V034)",
    ),
    Rule.TRANSPOSED_OF_ONE: ("transposed data are behind a single address", "assembler (V039)"),
    Rule.PREDICATE_BITS: ("executes under M1_NM, or in sizes below 32 under M5_NM", "assembler (W015)"),
    Rule.CONTIGUOUS: ("elements lie side by side", "assembler (V039)"),
}


def _other_statements(desc: InstructionDesc) -> Iterator[tuple[str, str]]:
    if desc.written_classes:
        for name in desc.classes:
            yield f"`{name}` is {class_names(desc, name)}", "assembler, validator (V055)"
    units = dict.fromkeys(desc.aligned.values())
    for unit in units:
        names = ", ".join(f"`{n}`" for n, u in desc.aligned.items() if u == unit)
        yield (
            f"{names} begin at a multiple of {unit} bytes, unless one lane executes or it is a scalar",
            "assembler (V039)",
        )
    for name, (least, greatest) in desc.limits.items():
        yield f"`{name}` is {least} to {greatest}", "assembler (V039)"
    for rule in sorted(desc.rules & RULES.keys(), key=lambda rule: rule.value):
        yield RULES[rule]
    if len(desc.platforms) < len(PLATFORMS):
        yield f"exists on {', '.join(p for p in PLATFORMS if p in desc.platforms)}", "assembler (V060, with --platform)"


def rows(shown: dict[InstructionDesc, str]) -> list[str]:
    """The lines of the table."""
    out = ["| statement | chapter | checked by | golden |", "|---|---|---|---|"]
    for page, forms in pages().items():
        seen: dict[tuple[str, str], list[str]] = {}
        for desc in forms:
            for statement in statements(desc):
                seen.setdefault(statement, []).append(desc.mnemonic)
        for (what, check), names in seen.items():
            common = len(names) == len(forms) or what.startswith("form ")
            who = "" if common else "all others: " if len(names) > 6 else ", ".join(f"`{n}`" for n in names) + ": "
            name = f"instructions/{page.lower()}"
            out.append(f"| {who}{what.replace('|', '/')} | {page} | {check} | `{name}` |")
    return out


def document(shown: dict[InstructionDesc, str]) -> str:
    """docs/conformance.md with the rows of the table."""
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n\n" + "\n".join(rows(shown)) + "\n\n" + END + after


def goldens(shown: dict[InstructionDesc, str]) -> dict[str, str]:
    """The golden texts by name, before the expected output."""
    return {page.lower(): golden(page, forms, shown) for page, forms in pages().items()}


def lines() -> dict[InstructionDesc, str]:
    """A line of text for each form."""
    own = {desc: FORMS[desc.mnemonic] for desc in instruction_set().forms if desc.mnemonic in FORMS}
    return {desc: line for desc, (line, _) in examples().items()} | own


def main() -> None:
    shown = lines()
    DOCUMENT.write_text(document(shown))
    GOLDEN.mkdir(exist_ok=True)
    wanted = goldens(shown)
    for old in GOLDEN.glob("*.test"):
        if old.stem not in wanted:
            old.unlink()
    for name, head in wanted.items():
        path = GOLDEN / f"{name}.test"
        old_text = path.read_text() if path.exists() else ""
        if not old_text.startswith(head):
            path.write_text(head)


if __name__ == "__main__":
    main()
