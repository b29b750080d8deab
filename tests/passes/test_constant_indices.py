"""Private arrays that short loops index: which loops are unrolled, and that both engines agree on the others."""

from contextlib import suppress
from random import Random

import numpy as np
import pytest
from support.programs import build_text, kernel_head, ze_info_of
from support.strategies import ENGINES

from visakit.diagnostics import SimulationError
from visakit.language.program import FIRST_VARIABLE
from vsim.analysis.arrays import constant_indices
from vsim.analysis.arrays.constant_indices import unrolled
from vsim.analysis.arrays.element_values import ElementValues, NotKnown
from vsim.analysis.register_accesses import Bank, Register
from vsim.program import Program
from vsim.semantics.registers import layout_of

SCRATCH = 1024
INFO = ze_info_of(
    "buffer buffer value=32",
    "local_id=32",
    memory={"type": "scratch", "usage": "single_space", "size": SCRATCH},
    inline_data_payload_size=64,
    simd_size=16,
)
NAMES = (
    "IDS=uw*16 IN=uq OUT=uq GIVEN=ud*8 X=ud*16 Y=ud*16 Z=ud*32 Q=uq*16 PLACE=ud*16 BASE=ud*16 WIDE=ud*16 AT=ud*16 NUM=ud*16 "
    "ARRAY=ud*128 OTHER=ud*128 T=ud OFF=ud S=ud A0=A A1=A*16 "
)
HEAD = """.decl OFFW v_type=G type=uw num_elts=2 alias=<OFF, 0>
.decl QD v_type=G type=ud num_elts=32 alias=<Q, 0>
.decl OTHERQ v_type=G type=uq num_elts=64 alias=<OTHER, 0>
mov (M1_NM, 8) NUM(0,0)<1> 0x76543210:v
add (M1_NM, 8) NUM(0,8)<1> NUM(0,0)<1;1,0> 0x8:ud
shl (M1, 16) BASE(0,0)<1> NUM(0,0)<1;1,0> 0x2:ud
shl (M1, 16) WIDE(0,0)<1> NUM(0,0)<1;1,0> 0x3:ud
mov (M1, 16) PLACE(0,0)<1> IDS(0,0)<1;1,0>
shl (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 0x2:ud
shr (M1_NM, 1) S(0,0)<1> %r0(0,5)<0;1,0> 0x4:uw
lsc_load.ugm (M1, 16) X:d32 flat(IN)[PLACE]:a32u
mov (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>
"""
TAIL = "END:\nlsc_store.ugm (M1, 16) flat(OUT)[PLACE]:a32u Y:d32\nret (M1, 1)\n"


def text_of(body, counters=4, predicates=8):
    names = NAMES + " ".join(f"C{n}=ud" for n in range(counters)) + "".join(f" P{n}=P*16" for n in range(1, predicates))
    head = kernel_head(names, "IN OUT GIVEN", at=128, SimdSize=16)
    declarations, code = HEAD.split("mov (M1_NM, 8)", 1)
    where = head.index(".input")
    ids = ".input IDS offset=64 size=32\n"
    return f"{head[:where]}{declarations}{ids}{head[where:]}mov (M1_NM, 8){code}{body}{TAIL}"


def reach(index, write, source="Y", array="ARRAY"):
    """Row ``index`` of an array: lanes write the row, or add its elements to ``source``."""
    operand = f"r[A0(0),0]<{'1' if write else '8;8,1'}>:ud"
    access = (
        f"mov (M1, 16) {operand} {source}(0,0)<1;1,0>"
        if write
        else f"add (M1, 16) {source}(0,0)<1> {source}(0,0)<1;1,0> {operand}"
    )
    return f"""mov (M1_NM, 1) OFF(0,0)<1> {index}
mul (M1_NM, 1) OFFW(0,0)<1> OFFW(0,0)<0;1,0> 0x40:uw
addr_add (M1_NM, 1) A0(0)<1> &{array} OFFW(0,0)<0;1,0>
{access}
"""


def message(index, write, size="d32", at=0):
    """The same in scratch memory."""
    step, base, data = (
        ("0x80", "WIDE", "Q" if size == "d64" else "Z") if "6" in size or "x2" in size else ("0x40", "BASE", "Z")
    )
    before = {
        "d64": "mov (M1, 16) QD(0,0)<2> Y(0,0)<1;1,0>\nmov (M1, 16) QD(0,1)<2> X(0,0)<1;1,0>",
        "d32x2": "mov (M1, 16) Z(0,0)<1> Y(0,0)<1;1,0>\nmov (M1, 16) Z(1,0)<1> X(0,0)<1;1,0>",
    }.get(size, "mov (M1, 16) Z(0,0)<1> Y(0,0)<1;1,0>")
    behind = {
        "d64": "add (M1, 16) Y(0,0)<1> QD(0,0)<2;1,0> QD(0,1)<2;1,0>",
        "d32x2": "add (M1, 16) Y(0,0)<1> Z(0,0)<1;1,0> Z(1,0)<1;1,0>",
    }.get(size, "add (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> Z(0,0)<1;1,0>")
    place = f"mul (M1_NM, 1) T(0,0)<1> {index} {step}:ud\nadd3 (M1, 16) AT(0,0)<1> {base}(0,0)<1;1,0> T(0,0)<0;1,0> {at}:ud\n"
    store = f"{before}\nlsc_store.ugm (M1, 16) ss(S)[AT]:a32 {data}:{size}\n"
    load = f"lsc_load.ugm (M1, 16) {data}:{size} ss(S)[AT]:a32\n{behind}\n"
    return place + (store if write else load)


def loop(label, counter, end, body, jump="(M1, 1)", begin="0x0:ud", step=1):
    predicate = f"P{1 + int(label[1:]) % 6}"
    return f"""mov (M1_NM, 1) {counter}(0,0)<1> {begin}
{label}:
{body}add (M1_NM, 1) {counter}(0,0)<1> {counter}(0,0)<0;1,0> {step}:ud
cmp.lt (M1_NM, 16) {predicate} {counter}(0,0)<0;1,0> {end}
({predicate}) goto {jump} {label}
"""


C0, C1 = "C0(0,0)<0;1,0>", "C1(0,0)<0;1,0>"
FILL = loop("L0", "C0", "0x8:ud", reach(C0, True) + "add (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> 0x7:ud\n")
SUM = loop("L1", "C1", "0x8:ud", reach(C1, False))
STORE = loop("L2", "C0", "0x4:ud", message(C0, True) + "add (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> 0x5:ud\n")
LOAD = loop("L3", "C1", "0x4:ud", message(C1, False))
PARTS = "cmp.lt (M1, 16) P7 X(0,0)<1;1,0> 0x{:x}:ud\n(!P7) goto (M1, 16) {}\n"


def launched(text, engine, given=3, n=40):
    data = np.random.default_rng(1).integers(0, 100, n).astype("u4")
    found = np.full(n, 99, "u4")
    arguments = [data, found, np.array([given, 5, 1, 7, 2, 6, 3, 4], "u4").view("V32")[0]]
    try:
        Program(build_text(text, "bmg", INFO)).launch("k", n, n, arguments, engine=engine)
    except SimulationError as error:
        return str(error)
    return found


def found_in(text):
    return unrolled(build_text(text, "bmg", INFO).module.kernels[0], 64, SCRATCH)


def agree(text, **options):
    one, other = (launched(text, engine, **options) for engine in ENGINES)
    assert str(one) == str(other)
    return one


@pytest.mark.parametrize(
    "body",
    [
        FILL + SUM,
        STORE + LOAD,
        FILL + STORE + SUM + LOAD,
        STORE.replace("(M1, 1) L2", "(M1, 16) L2") + LOAD,
        loop("L2", "C0", "0x4:ud", message(C0, True, "d64")) + loop("L3", "C1", "0x4:ud", message(C1, False, "d32x2")),
        loop("L2", "C0", "0x4:ud", message(C0, True, "d32x2")) + loop("L3", "C1", "0x8:ud", message(C1, False)),
        loop("L2", "C0", "0x4:ud", message(C0, True, "d8u32", 1)) + LOAD,
        loop("L2", "C0", "0x4:ud", message(C0, True, "d16u32", 2))
        + loop("L3", "C1", "0x4:ud", message(C1, False, "d16u32")),
        PARTS.format(50, "HERE") + FILL + "HERE:\n" + SUM,
        STORE + PARTS.format(50, "HERE") + STORE.replace("L2", "L4") + "HERE:\n" + LOAD,
        loop("L5", "C2", "GIVEN(0,0)<0;1,0>", FILL + STORE) + SUM + LOAD,
        loop("L5", "C2", "0x3:ud", FILL + SUM),
        LOAD + SUM,
        4 * reach("0x1:ud", True, array="OTHER")
        + "mov (M1, 4) OTHER(0,1)<1> X(0,0)<1;1,0>\nmov (M1, 1) Q(0,0)<1> OTHERQ(0,1)<0;1,0>\nadd (M1, 1) Y(0,0)<1> Y(0,0)<0;1,0> QD(0,0)<0;1,0>\n",
    ],
)
def test_loops_that_are_unrolled(body):
    found = found_in(text_of(body))
    assert found is not None and not any(
        i.desc.mnemonic.startswith("lsc") and i.args["addr_type"] == 3 for i in found.instructions
    )
    assert not isinstance(agree(text_of(body)), str)


BREAK = loop("L1", "C1", "0x8:ud", reach(C1, False) + PARTS.format(60, "HERE")) + "HERE:\n"
REFUSED = {
    "counter": loop("L0", "C0", "0x8:ud", reach(C0, True), begin="GIVEN(0,0)<0;1,0>"),
    "end": loop("L0", "C0", "GIVEN(0,0)<0;1,0>", reach(C0, True)),
    "break": FILL + BREAK,
    "index": FILL + reach("GIVEN(0,0)<0;1,0>", False),
    "place": STORE + message("GIVEN(0,0)<0;1,0>", False),
    "lane": STORE + "shl (M1, 16) AT(0,0)<1> X(0,0)<1;1,0> 0x2:ud\nlsc_load.ugm (M1, 16) Y:d32 ss(S)[AT]:a32\n",
    "beyond": loop("L0", "C0", "0x9:ud", reach(C0, True)),
    "beyond scratch": loop("L2", "C0", "0x11:ud", message(C0, True)),
    "entered": "cmp.lt (M1_NM, 16) P5 GIVEN(0,0)<0;1,0> 0x9:ud\nmov (M1_NM, 1) C0(0,0)<1> 0x5:ud\n(P5) goto (M1, 1) MIDDLE\n"
    + FILL.replace("L0:\n", "L0:\nMIDDLE:\n"),
    "entered by lanes": PARTS.format(50, "MIDDLE") + FILL.replace("L0:\n", "L0:\nMIDDLE:\n"),
    "changed": FILL.replace("add (M1_NM, 1) C0", "add (M1_NM, 1) C0(0,0)<1> C0(0,0)<0;1,0> GIVEN(0,2)<0;1,0>\nadd (M1_NM, 1) C0"),
    "predicated": FILL.replace("mul (M1_NM, 1) OFFW", "cmp.lt (M1_NM, 16) P6 GIVEN(0,0)<0;1,0> 0x9:ud\n(P6) mov (M1_NM, 1) OFF(0,0)<1> 0x2:ud\nmul (M1_NM, 1) OFFW"),
    "under a mask": PARTS.format(50, "HERE") + "mov (M1, 1) C3(0,0)<1> 0x2:ud\nHERE:\n" + reach("C3(0,0)<0;1,0>", True),
    "of two ways": "mov (M1_NM, 1) C3(0,0)<1> 0x2:ud\n" + PARTS.format(50, "HERE") + "mov (M1_NM, 1) C3(0,0)<1> 0x3:ud\nHERE:\n" + reach("C3(0,0)<0;1,0>", True),
    "of one lane": PARTS.format(50, "HERE") + "mov (M1, 1) C3(0,0)<1> 0x2:ud\n" + reach("C3(0,0)<0;1,0>", True) + "HERE:\n" + reach("0x2:ud", False),
    "on one way": PARTS.format(50, "HERE") + "mov (M1_NM, 1) C3(0,0)<1> 0x2:ud\nHERE:\n" + reach("C3(0,0)<0;1,0>", True),
    "of one lane's predicate": PARTS.format(50, "HERE") + FILL.replace("cmp.lt (M1_NM, 16)", "cmp.lt (M1, 16)") + "HERE:\n",
    "of half the lanes": loop("L0", "C0", "0x8:ud", reach(C0, True), jump="(M1, 8)"),
    "of lanes that differ": FILL.replace("C0(0,0)<0;1,0> 0x8:ud\n(", "NUM(0,0)<1;1,0> 0x8:ud\n(").replace("goto (M1, 1)", "goto (M1, 16)"),
    "any": FILL.replace("(P1)", "(P1.any)"),
    "jump": FILL.replace("goto (M1, 1)", "jmp (M1, 1)"),
    "return": loop("L0", "C0", "0x8:ud", reach(C0, True) + "ret (M1, 16)\n"),
    "skipped": "mov (M1_NM, 1) C3(0,0)<1> 0x1:ud\nmov (M1_NM, 1) C0(0,0)<1> 0x0:ud\nL0:\ncmp.ge (M1_NM, 16) P1 C0(0,0)<0;1,0> 0x4:ud\n(P1) goto (M1, 1) OUT\n"
    + reach(C0, True) + "add (M1_NM, 1) C0(0,0)<1> C0(0,0)<0;1,0> 0x1:ud\ngoto (M1, 1) L0\nmov (M1_NM, 1) C3(0,0)<1> 0x2:ud\nOUT:\n" + reach("C3(0,0)<0;1,0>", True),
    "beyond an array": FILL + "mov (M1, 16) ARRAY(7,8)<1> Y(0,0)<1;1,0>\n" + SUM,
    "beyond an address": FILL.replace("addr_add (M1_NM, 1)", "addr_add (M1_NM, 2)") + SUM,
    "below": reach("0x0:ud", True).replace("r[A0(0),0]", "r[A0(0),-64]"),
    "between": reach("0x0:ud", True).replace("r[A0(0),0]", "r[A0(0),2]"),
    "part": "mov (M1_NM, 1) OFFW(0,0)<1> 0x1:uw\nmov (M1_NM, 1) C3(0,0)<1> OFF(0,0)<0;1,0>\n" + reach("C3(0,0)<0;1,0>", True),
    "rows": "addr_add (M1_NM, 16) A1(0)<1> &ARRAY 0x40:uw\nadd (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> r[A1(0),0]<1,0>:ud\n",
    "address": FILL + "mov (M1_NM, 1) T(0,0)<1> A0(0)<1>\n",
    "predefined": reach("0x0:ud", False).replace("&ARRAY", "&%r0"),
    "saturated": "add.sat (M1_NM, 1) C3(0,0)<1> 0x1:ud 0x0:ud\n" + reach("C3(0,0)<0;1,0>", True),
    "float": "mov (M1_NM, 1) C3(0,0)<1> 0x1:f\n" + reach("C3(0,0)<0;1,0>", True),
    "another type": FILL.replace("0x8:ud", "0x8:d"),
    "negated": FILL.replace("P1 C0(0,0)<0;1,0> 0x8", "P1 (-)C0(0,0)<0;1,0> 0xfffffff8").replace("cmp.lt", "cmp.gt"),
    "magnitude": FILL.replace("C0(0,0)<1> C0(0,0)<0;1,0>", "C0(0,0)<1> (abs)C0(0,0)<0;1,0>"),
    "wider": "and (M1_NM, 1) Q(0,0)<1> 0x1:ud 0x3:ud\n" + reach("QD(0,0)<0;1,0>", True),
    "wider shift": "mov (M1_NM, 1) Q(0,1)<1> 0x1:uq\nshl (M1_NM, 1) Q(0,0)<1> 0x1:ud Q(0,1)<0;1,0>\n" + reach("QD(0,0)<0;1,0>", True),
    "sign of unsigned numbers": "mov (M1_NM, 1) T(0,0)<1> 0xfffffff8:ud\nasr (M1_NM, 1) T(0,0)<1> T(0,0)<0;1,0> 0x1e:ud\nand (M1_NM, 1) T(0,0)<1> T(0,0)<0;1,0> 0x7:ud\n" + reach("T(0,0)<0;1,0>", True) + reach("0x7:ud", False),
    "transposed": "lsc_load.ugm (M1_NM, 1) Z:d32x16t ss(S)[AT]:a32\n" + STORE,
    "predicate of all": STORE.replace("lsc_store", "(P7.all) lsc_store"),
    "half a register": STORE.replace("lsc_store.ugm (M1, 16)", "lsc_store.ugm (M1, 8)"),
    "words": STORE.replace(":a32", ":a16"),
    "apart": "mul (M1, 16) AT(0,0)<1> NUM(0,0)<1;1,0> 0x20:ud\nlsc_load.ugm (M1, 16) Y:d32 ss(S)[AT]:a32\n",
    "no row": "mul (M1, 16) AT(0,0)<1> NUM(0,0)<1;1,0> NUM(0,0)<1;1,0>\nshl (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 0x2:ud\nlsc_load.ugm (M1, 16) Y:d32 ss(S)[AT]:a32\n",
    "local": STORE.replace(".ugm", ".slm"),
    "long": loop("L0", "C0", "0x8:ud", loop("L1", "C1", "0x400:ud", reach(C0, True))),
    "endless": "L9:\ncmp.lt (M1_NM, 16) P6 0x1:ud 0x2:ud\n(!P6) goto (M1, 1) L9\n" + reach("GIVEN(0,0)<0;1,0>", True),
    "work": loop("L0", "C0", "0x8:ud", reach(C0, True) + 12 * "mad (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>\n"),
    "high words": STORE.replace(":d32\n", ":d16u32h\n"),
    "scaled": STORE.replace("[AT]", "[2*AT]"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_loops(name, monkeypatch):
    if name != "work":
        monkeypatch.setattr(constant_indices, "MOST_WORK", 1000)
    text = text_of(REFUSED[name])
    assert found_in(text) is None
    agree(text)


def test_loops_that_stay_do_not_take_long(monkeypatch):
    """Each of many nested loops is followed for some rounds before it is known to be too long."""
    nests, followed = "", [0]
    for n in range(20):
        inner = loop(f"L{2 * n + 1}", "C1", "0x8:ud", reach(C1, n == 0))
        nests += loop(f"L{2 * n}", "C0", "0x400:ud", inner)

    def count(self, n, follow=constant_indices._Unrolling._follow):
        followed[0] += 1
        return follow(self, n)

    monkeypatch.setattr(constant_indices._Unrolling, "_follow", count)
    assert found_in(text_of(nests)) is None
    assert followed[0] <= constant_indices.MOST_FOLLOWED + constant_indices.MOST_OF_A_LOOP + 1


def test_lanes_that_went_back_have_changed_what_was_known(monkeypatch):
    """Lanes leave the loop by a break after others went on behind it: those have the break's value, not the branch's."""
    body = f"""mov (M1, 16) WIDE(0,0)<1> X(0,0)<1;1,0>
L0:
mov (M1_NM, 1) C3(0,0)<1> 0x1:ud
cmp.gt (M1, 16) P1 WIDE(0,0)<1;1,0> 0x50:ud
(P1) goto (M1, 16) END
mov (M1_NM, 1) C3(0,0)<1> 0x2:ud
add (M1, 16) WIDE(0,0)<1> WIDE(0,0)<1;1,0> 0x14:ud
and (M1, 16) Z(0,0)<1> WIDE(0,0)<1;1,0> 0x1:ud
cmp.eq (M1, 16) P2 Z(0,0)<1;1,0> 0x1:ud
(P2) goto (M1, 16) L0
{reach("C3(0,0)<0;1,0>", True, "X")}{reach("0x1:ud", False)}{reach("0x2:ud", False)}"""
    monkeypatch.setattr(constant_indices, "MOST_WORK", 1000)
    assert found_in(text_of(body)) is None
    agree(text_of(body))


def test_arguments_are_no_pieces():
    """An argument that loops index has the launch's values."""
    row = reach(C0, False).replace("0x40:uw", "0x4:uw").replace("&ARRAY", "&GIVEN").replace("<8;8,1>", "<0;1,0>")
    body = loop("L0", "C0", "0x8:ud", row)
    assert found_in(text_of(body)) is not None
    data = np.random.default_rng(1).integers(0, 100, 40).astype("u4")
    assert (agree(text_of(body)) == data + 31).all()


def test_faults_name_the_instruction_of_the_text():
    load = "add (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 0x30:ud\nlsc_load.ugm (M1, 16) Z:d32 flat(IN)[PLACE]:a32u\n"
    text = text_of(FILL + loop("L1", "C1", "0x8:ud", reach(C1, False) + load))
    assert found_in(text) is not None
    assert "instruction" in agree(text, n=16)


def test_predicted_values_are_those_of_the_engines():
    """What is computed of constants while code is gone through, against the reference engine, which computes it."""
    random, lines, declarations, predicted = Random(3), [], "", {}
    for n in range(120):
        name = random.choice(
            ("add", "mul", "and", "or", "xor", "shl", "shr", "asr", "mad", "add3", "bfn.x1e", "mov", "sel")
        )
        t = {"shr": "ud", "asr": "d"}.get(name) or random.choice(("d", "ud"))
        count = {"mov": 1, "mad": 3, "add3": 3, "bfn.x1e": 3}.get(name, 2)
        kinds = [random.choice(("d", "ud", "w", "uw")) for _ in range(count)]
        numbers = [random.choice((0, 1, 3, 7, 0x7FFF, 0x8001, 0xFFFF)) for _ in range(count)]
        if name in ("shl", "shr", "asr"):
            kinds, numbers = [t, t], [random.getrandbits(random.choice((8, 31, 32))), random.randrange(40)]
        elif name == "mov" and random.random() < 0.3:
            kinds, numbers = ["f"], [0x42280000]
        elif name != "mov":
            kinds[0], numbers[0] = random.choice(("d", "ud")), random.getrandbits(32)
        sign = "(-)" if name in ("add", "mul", "mov") and random.random() < 0.5 else ""
        operands = " ".join(f"{sign if k == 0 else ''}S{k}{n}(0,0)<0;1,0>" for k in range(count))
        lines += [f"mov (M1_NM, 1) S{k}{n}(0,0)<1> 0x{x:x}:{kinds[k]}" for k, x in enumerate(numbers)]
        lines += [
            f"cmp.{random.choice(('lt', 'ge', 'ne'))} (M1_NM, 16) P1 S0{n}(0,0)<0;1,0> {random.choice((0x1, 0x8001))}:{random.choice(('w', kinds[0]))}"
        ] * (name == "sel")
        lines += [
            f"{random.choice(('(P1) ', '(!P1) ')) * (name == 'sel')}{name}{random.choice(('', '', '.sat')) * (name == 'add')} (M1_NM, 1) R{n}(0,0)<1> {operands}"
        ]
        lines += [f"xor (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> R{n}(0,0)<0;1,0>"]
        lines += ["mad (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> 0x1003f:ud 0x7:ud"]
        declarations += f".decl R{n} v_type=G type={t} num_elts=1\n"
        declarations += "".join(f".decl S{k}{n} v_type=G type={kind} num_elts=1\n" for k, kind in enumerate(kinds))
    text = text_of("\n".join(lines) + "\n").replace(".decl OFFW", declarations + ".decl OFFW", 1)
    kernel = build_text(text, "bmg", INFO).module.kernels[0]
    values = ElementValues(kernel, layout_of(kernel, 64))
    for i in kernel.instructions:
        values.execute(i, -1)
    for number, variable in enumerate(kernel.variables, FIRST_VARIABLE):
        if variable.name.startswith("R"):
            with suppress(NotKnown):
                predicted[variable.name] = values.bits(Register(Bank.GENERAL, number), 0, 4)
    assert len(predicted) >= 60
    wanted = launched(text, "numpy")
    for name, bits in predicted.items():
        text = text.replace(f"Y(0,0)<1;1,0> {name}(0,0)<0;1,0>", f"Y(0,0)<1;1,0> 0x{bits:x}:ud")
    assert (launched(text, "numpy") == wanted).all()


def test_sources_of_messages_are_pieces_too():
    """A message to a sampler has its parameters in a list."""
    body = FILL + "sample_lz.R (M1, 16) 0x0:uw S0 T0 Z.0 ARRAY.0 ARRAY.64\n" + SUM
    text = text_of(body).replace(
        ".decl OFFW", ".decl S0 v_type=S num_elts=1\n.decl T0 v_type=T num_elts=1\n.decl OFFW", 1
    )
    found = found_in(text)
    assert found is not None
    (sample,) = (i for i in found.instructions if i.desc.mnemonic == "sample_lz")
    names = [found.variable_name(raw.var) for raw in sample.args["params"]]
    assert len(names) == 2 and "ARRAY" not in names
