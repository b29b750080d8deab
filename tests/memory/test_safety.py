"""docs/safety.md: the memory that compiled code may access. Each attack once reached memory of the process."""

import copy
from functools import partial
from unittest.mock import MagicMock

import numpy as np
import pytest
from support.programs import DATA, SHARED, build_text, kernel_head

import visakit
import vsim
from visakit.language.operands import Address, Execution, General, Raw
from visakit.language.program import Input, Instruction
from visakit.objects.image import LinkedImage
from visakit.rules.message_sizes import message_sizes
from vsim.semantics import SEMANTICS
from vsim.semantics.registers import operand_type

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])
HEAD = (
    kernel_head("BUF=uq V=ud*16 W=ud*16 X8=ud*8 A0=A A8=A*8 P=P*16", SimdSize=16)
    + """.input BUF offset=64 size=8
"""
)
CALL = "fcall (M1, 16) f 0 0"
CALLEE = """.global_function "f"
.kernel_attr SimdSize=16
.kernel_attr Extern
fret (M1, 16)
"""
TAKE = "addr_add (M1, 1) A0(0)<1> &V 0:uw"
TAKE8 = "addr_add (M1, 1) A0(0)<1> &X8 0:uw"
STORE = "svm_block_st (4) BUF(0,0)<0;1,0> W.0"


def image_of(*lines, callee=""):
    return build_text(HEAD + "\n".join([*lines, "ret (M1, 1)", callee]))


def launch(image, engine, *more):
    buffer = np.zeros(64, "u4")
    vsim.load(image).launch("k", 16, 16, [buffer, *more], engine=engine)
    return buffer


def mutated(change, *lines, callee=""):
    """The bytes of an image whose module was changed behind the assembler's back."""
    image = image_of(*lines, callee=callee)
    change(image.module)
    return image.to_bytes()


# -- registers that certainly are exceeded -----------------------------------------------------------------------------


def operand(name, value, number=0):
    """A change of an operand of one of the kernel's instructions."""

    def change(module):
        i = module.kernels[0].instructions[number]
        module.kernels[0].instructions[number] = Instruction(i.desc, i.args | {name: value}, i.line)

    return change


def alias(module):
    module.kernels[0].variables[2].alias = (7, 8192)


MOVE, LOAD = "mov (M1, 16) W(0,0)<1> V(0,0)<1;1,0>", "svm_block_ld (8) BUF(0,0)<0;1,0> V.0"
PREDEFINED = {
    "message that reads": (operand("dst", Raw(8, 3000)), LOAD, "byte 3128 of '%arg', which has 1024 bytes .* V032"),
    "message that writes": (operand("src", Raw(8, 1020)), STORE, "byte 1084 of '%arg', which has 1024 bytes .* V032"),
    "message of one byte": (operand("src", Raw(7, 64)), STORE, "of '%r0', which has 64 bytes .* V032"),
    "region": (operand("dst", General(9, 200, 0, (None, None, 1))), MOVE, "of '%retval', which has 384 bytes .* V032"),
    "source": (operand("src0", General(7, 1, 0, (1, 1, 0))), MOVE, "of '%r0', which has 64 bytes .* V032"),
    "alias": (alias, MOVE, "'W' begins at byte 8192 of '%r0', which has 64 bytes .* V031"),
}


@pytest.mark.parametrize("what", PREDEFINED)
def test_nothing_runs_that_reaches_beyond_predefined_registers(what):
    change, line, message = PREDEFINED[what]
    data = mutated(change, line, CALL, callee=CALLEE)
    with pytest.raises(visakit.FormatError, match=message.replace(" .* ", r".*\[")):
        vsim.load(data)


def test_no_input_is_written_before_the_payload():
    def move(module):
        module.kernels[0].inputs[0].offset = -200

    program = vsim.load(mutated(move, MOVE, CALL, callee=CALLEE))
    with pytest.raises(visakit.LaunchError, match=r"begins at byte -200, before '%r0'.*S010"):
        program.launch("k", 16, 16, [np.zeros(64, "u4")])


def test_the_engines_check_for_themselves():
    """A module that is changed after it was validated still touches nothing else."""
    for name, value, line in (("dst", Raw(8, 3000), LOAD), ("dst", General(9, 200, 0, (None, None, 1)), MOVE)):
        for engine in ("llvm", "numpy"):
            program = vsim.load(image_of(line, CALL, callee=CALLEE))
            operand(name, value)(program.image.module)
            with pytest.raises(visakit.SimulationError, match=r"whose registers have \d+, in .*S020"):
                program.launch("k", 16, 16, [np.zeros(64, "u4")], engine=engine)


WHOLE = {
    "mask beyond the lanes": operand("exec", Execution(32, 4)),
    "size 3": operand("exec", Execution(3, 0)),
    "negative row": operand("dst", General(33, -1, 0, (None, None, 1))),
    "negative stride": operand("src0", General(33, 1, 0, (0, 4, -1))),
    "variable that is missing": operand("dst", General(60, 0, 0, (None, None, 1))),
    "negative variable": operand("dst", General(-5, 0, 0, (None, None, 1))),
    "negative element": operand("dst", Address(0, -1, 1)),
    "input of nothing": lambda m: m.kernels[0].inputs.append(Input(0, 99, 64, 8)),
    "negative input": lambda m: m.kernels[0].inputs.append(Input(0, -1, 64, 8)),
    "input of no class": lambda m: m.kernels[0].inputs.append(Input(3, 32, 64, 8)),
    "size of an input": lambda m: m.kernels[0].inputs.append(Input(0, 33, 64, -8)),
    "alias of nothing": lambda m: setattr(m.kernels[0].variables[1], "alias", (99, 0)),
    "negative alias": lambda m: setattr(m.kernels[0].variables[1], "alias", (32, -64)),
    "elements": lambda m: setattr(m.kernels[0].addresses[0], "elements", -1),
}


@pytest.mark.parametrize("what", WHOLE)
def test_modules_from_python_are_whole(what):
    module = copy.deepcopy(image_of(MOVE).module)
    assert visakit.validate(module) == []
    WHOLE[what](module)
    with pytest.raises(visakit.FormatError, match=r"\[C004\]"):
        visakit.validate(module)
    with pytest.raises(visakit.FormatError, match=r"\[C004\]"):
        vsim.load(LinkedImage(module))


def test_labels_have_an_instruction():
    module = image_of("goto (M1, 16) over", "over:").module
    del module.kernels[0].instructions[1]
    with pytest.raises(
        visakit.FormatError, match=r"label 'over', which is not defined .instruction 0 of 'k'. \[C004\]"
    ):
        visakit.validate(module)


def test_validate_takes_a_module():
    with pytest.raises(visakit.UsageError, match="found bytes"):
        visakit.validate(b"")


# -- ordinary variables ------------------------------------------------------------------------------------------------

BEYOND = {
    "region": ("mov (M1, 16) W(2,0)<1> V(0,0)<1;1,0>", "a region reaches byte 128 of 'W', whose registers have"),
    "message": ("svm_block_ld (8) BUF(0,0)<0;1,0> W.0", "a message reaches byte 128 of 'W', whose registers have"),
    "message of two registers": (
        "svm_block_ld (4) BUF(0,0)<0;1,0> X8.0",
        "a message reaches byte 64 of 'X8', whose registers have",
    ),
    "addresses read": ("mov (M1, 8) W(0,0)<1> r[A8(9),0]<1,0>:ud", "element 16 of 'A8', which has 8"),
    "more lanes than addresses": ("mov (M1, 16) W(0,0)<1> r[A8(0),0]<1,0>:ud", "element 15 of 'A8', which has 8"),
    "addresses written": ("addr_add (M1, 8) A8(9)<8> &V 0:uw", "element 16 of 'A8', which has 8"),
}


@ENGINES
@pytest.mark.parametrize("what", BEYOND)
def test_beyond_an_ordinary_variable_it_faults_when_it_executes(what, engine):
    line, message = BEYOND[what]
    image = image_of(line)
    (warning,) = visakit.validate(image.module)
    assert warning.code == "W010" and warning.severity == "warning"
    with pytest.raises(visakit.SimulationError, match=message):
        launch(image, engine)
    passed = image_of("jmp (M1, 1) over", line, "over:", "mov (M1, 16) W(0,0)<1> 7:ud", STORE)
    assert launch(passed, engine)[0] == 7


OUTSIDE = {
    "never written": ("", "mov (M1, 1) W(0,0)<1> r[A0(0),0]<0;1,0>:ud", 0),
    "stored, never written": ("", "mov (M1, 1) r[A0(0),0]<1>:ud 5:ud", 0),
    "far below": (TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),-512]<0;1,0>:ud", -448),
    "below": (TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),-16]<0;1,0>:ud", 48),
    "behind": (TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),64]<0;1,0>:ud", 128),
    "across the end": (TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),62]<0;1,0>:ud", 126),
    "of all lanes": (TAKE, "mov (M1, 16) W(0,0)<1> r[A0(0),4]<1;1,0>:ud", 128),
    "behind half a piece": (TAKE8, "mov (M1, 1) W(0,0)<1> r[A0(0),32]<0;1,0>:ud", 96),
    "stored behind half a piece": (TAKE8, "mov (M1, 1) r[A0(0),32]<1>:ud 5:ud", 96),
    "on the way to the next": (TAKE + "\n" + TAKE8 + "\n" + TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),64]<0;1,0>:ud", 128),
    "stored below": (TAKE, "mov (M1, 1) r[A0(0),-4]<1>:ud 5:ud", 60),
    "stored behind": (TAKE, "mov (M1, 16) r[A0(0),4]<1>:ud 5:ud", 128),
}


@ENGINES
@pytest.mark.parametrize("what", OUTSIDE)
def test_indirect_registers_that_are_no_variable_are_faults(what, engine):
    take, line, address = OUTSIDE[what]
    with pytest.raises(
        visakit.SimulationError, match=f"register address {address}(, \\d+ bytes .*)? lies outside .* by 'mov"
    ):
        launch(image_of(take, line), engine)


@ENGINES
def test_addresses_beyond_a_variable_may_be_allowed(engine):
    """Then padding reads as zeros; addresses outside of the register file are faults."""
    for at, is_inside in ((32, True), (124, True), (128, False)):
        image = image_of(TAKE8, "mov (M1, 16) W(0,0)<1> 7:ud", f"mov (M1, 1) W(0,0)<1> r[A0(0),{at}]<0;1,0>:ud", STORE)
        image.register_overrun = True
        if is_inside:
            assert launch(image, engine)[:2].tolist() == [0, 7]
            continue
        with pytest.raises(visakit.SimulationError, match=f"register address {64 + at}(, \\d+ bytes .*)? lies outside"):
            launch(image, engine)


@ENGINES
def test_lanes_that_do_not_execute_may_have_any_address(engine):
    lines = [
        "mov (M1, 16) V(0,0)<1> 9:ud",
        "addr_add (M1, 8) A8(0)<8> &V 0:uw",
        "mov (M1, 1) A8(3)<1> 0:uw",
        "setp (M1_NM, 16) P 0xf7:uw",
        "mov (M1, 16) W(0,0)<1> 1:ud",
        "(P) mov (M1, 8) W(0,0)<1> r[A8(0),0]<1,0>:ud",
        STORE,
    ]
    assert launch(image_of(*lines), engine)[:9].tolist() == [9, 9, 9, 1, 9, 9, 9, 9, 1]


# -- the payload -------------------------------------------------------------------------------------------------------


@ENGINES
def test_an_input_fills_no_more_than_its_variable(engine):
    lines = [
        ".input V offset=128 size=16384",
        "mov (M1, 16) W(0,0)<1> 7:ud",
        TAKE,
        "mov (M1, 1) W(0,0)<1> r[A0(0),60]<0;1,0>:ud",
        STORE,
    ]
    value = np.zeros((), [("words", "u4", 4096)])
    value["words"] = np.arange(4096)
    assert launch(image_of(*lines), engine, value)[:2].tolist() == [15, 7]


@ENGINES
def test_large_inputs_are_copied(engine):
    """The time of compilation does not depend on their size."""
    lines = [".decl Z v_type=G type=ud num_elts=16384", ".input Z offset=128 size=32768"]
    lines += ["mov (M1, 16) W(0,0)<1> Z(200,3)<1;1,0>", "jmp (M1, 1) over", "over:", STORE]
    value = np.zeros((), [("words", "u4", 8192)])
    value["words"] = np.arange(8192)
    image = image_of(*lines)
    assert launch(image, engine, value)[0] == 200 * 8 + 3


@ENGINES
def test_bytes_behind_an_input_in_its_variable_are_zero(engine):
    """They do not show former contents of the stack, such as pointers of the process."""
    lines = [".decl N v_type=G type=ud num_elts=1", ".decl Z v_type=G type=ud num_elts=1024 align=GRF"]
    lines += [".input N offset=72 size=4", ".input Z offset=76 size=4"]
    lines += ["cmp.eq (M1, 16) P N(0,0)<0;1,0> 0:ud", "(P) goto (M1, 16) over"]
    lines += ["add (M1, 16) Z(1,0)<1> Z(1,0)<1;1,0> 1:ud", "over:", "svm_block_st (8) BUF(0,0)<0;1,0> Z.0"]
    lines += ["add (M1, 1) BUF(0,0)<1> BUF(0,0)<0;1,0> 128:uq", "svm_block_st (8) BUF(0,0)<0;1,0> Z.3072"]
    assert launch(image_of(*lines), engine, 0, 5).tolist() == [5] + 63 * [0]


# -- the sizes of messages ---------------------------------------------------------------------------------------------


def taken(function, i, grf_size):
    """Bytes of message operands that the semantics of an instruction read or write, from their offsets on."""
    found = {}

    def raw(op, offset, count, data_type, by_lane=False):
        found[op] = max(found.get(op, 0), offset + count * data_type.size)
        return MagicMock()

    known = partial(operand_type, function)
    machine = MagicMock(grf_size=grf_size, raw_reader=raw, raw_writer=raw, type_of=known)
    SEMANTICS[i.desc.semantics](machine, i)
    return found


@pytest.mark.parametrize("grf_size", [32, 64])
def test_sizes_of_messages_equal_those_of_the_semantics(grf_size):
    """Over one instruction of each form and shape that the corpus has."""
    seen = set()
    for path in sorted((SHARED if SHARED.exists() else DATA).rglob("*.isa")):
        for function in read_known(path):
            for i in function.instructions:
                sizes = message_sizes(i, grf_size)
                shape = (i.desc.mnemonic, tuple(sorted(sizes.items())))
                if not sizes or shape in seen:
                    continue
                seen.add(shape)
                expected = {}
                for field, size in sizes.items():
                    if size and field in i.args:
                        expected[i.args[field]] = max(expected.get(i.args[field], 0), size)
                found = {op: size for op, size in taken(function, i, grf_size).items() if op.var}
                assert found == {op: size for op, size in expected.items() if op.var}, (path, shape)
    assert len({name for name, _ in seen}) > 20


def read_known(path):
    """The functions of a file, none of one that cannot be read."""
    try:
        return visakit.read_module(path.read_bytes()).all_functions
    except visakit.FormatError:
        return []
