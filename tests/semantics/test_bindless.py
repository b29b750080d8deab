"""Buffers that kernels reach by the handles of their surfaces, as those of today's compiler for dg2 do."""

from __future__ import annotations

import numpy as np
import pytest

import vasm
import vlink
import vsim
from visakit.diagnostics import LaunchError, SimulationError
from visakit.objects.image import DataSection

TEXT = """\
.version 4.2
.kernel "twice"
.decl FROM v_type=G type=ud num_elts=1
.decl TO v_type=G type=ud num_elts=1
.decl AT v_type=G type=ud num_elts=8 align=GRF
.decl X v_type=G type=ud num_elts=8 align=GRF
.kernel_attr SimdSize=8
.input FROM offset=32 size=4
.input TO offset=36 size=4
mov (M1, 8) AT(0,0)<1> 0x76543210:uv
shl (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> 2:ud
lsc_load.ugm (M1, 8) X:d32 bss(FROM)[AT]:a32
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0>
lsc_store.ugm (M1, 8) bss(TO)[AT]:a32 X:d32
ret (M1, 1)
"""
VALUE = """\
      - {{arg_type: arg_bypointer, offset: {at}, size: 4, arg_index: {index}, addrmode: bindless, addrspace: global,
         access_type: readwrite}}
"""
ZE_INFO = f"""\
kernels:
  - name: twice
    execution_env: {{simd_size: 8}}
    payload_arguments:
{VALUE.format(at=0, index=0)}{VALUE.format(at=4, index=1)}
kernels_misc_info:
  - name: twice
    args_info:
      - {{index: 0, name: source, address_qualifier: __global, type_name: 'uint*;8'}}
      - {{index: 1, name: to, address_qualifier: __global, type_name: 'uint*;8'}}
"""


@pytest.fixture(scope="module")
def program() -> vsim.Program:
    return vsim.load(vlink.link([vasm.assemble_text(TEXT, platform="dg2").object_bytes()], ZE_INFO.encode()))


@pytest.fixture(params=["llvm", "numpy"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def numbers(count: int = 8) -> np.ndarray:
    return np.arange(count, dtype="u4")


def test_each_launch_reaches_its_own_buffers(program: vsim.Program, engine: str) -> None:
    for count in (8, 8, 9):
        source, to = numbers(count) + count, np.zeros(count, "u4")
        for _ in range(2):
            program.launch("twice", 8, 8, [source, to], engine=engine)
            assert to[:8].tolist() == [2 * n for n in source[:8]]
        program.launch("twice", 8, 8, [source, source], engine=engine)
        assert source[:8].tolist() == to[:8].tolist()


def test_an_access_outside_names_the_argument(program: vsim.Program, engine: str) -> None:
    with pytest.raises(SimulationError, match=r"outside 'source', which has 28 bytes, at offset 28 .* lane 7"):
        program.launch("twice", 8, 8, [numbers(7), numbers()], engine=engine)
    with pytest.raises(SimulationError, match=r"outside 'source \(NULL\)', which has 0 bytes"):
        program.launch("twice", 8, 8, [None, numbers()], engine=engine)


def test_read_only_arrays_are_inputs(program: vsim.Program, engine: str) -> None:
    source, to = numbers(), numbers()
    source.flags.writeable = False
    program.launch("twice", 8, 8, [source, to], engine=engine)
    assert to.tolist() == (source * 2).tolist()
    with pytest.raises(SimulationError, match="'to', an array that is read-only, at offset 0"):
        program.launch("twice", 8, 8, [to, source], engine=engine)


def test_an_image_is_no_buffer(program: vsim.Program) -> None:
    with pytest.raises(LaunchError, match=r"'source'\).* must be a buffer"):
        program.launch("twice", 8, 8, [vsim.Sampler(), numbers()])


def test_checks_know_them(program: vsim.Program, engine: str) -> None:
    def found(check: str, *args: np.ndarray, groups: int = 1) -> list[str]:
        result = program.launch("twice", 8 * groups, 8, list(args), engine=engine, check=check)
        return [f"{finding.code} {finding.memory}" for finding in result.findings]

    assert found("race,undefined", numbers(), numbers()) == []
    assert found("race", numbers(), numbers(), groups=2) == ["K003 'to' at offset 0"]
    pool = numbers(16)
    assert found("guard", pool[:8], pool[8:]) == []
    assert found("guard", pool[:7], pool[8:]) == [
        "K040 'source' at offset 28, right after its end, where no argument is"
    ]


@pytest.mark.parametrize("how", ["addrmode: bindless", "bti_value: 3"])
def test_data_of_the_program(how: str, engine: str) -> None:
    """Tables of the source are surfaces by handle or number, too; those of another program are not."""
    value = f"      - {{arg_type: const_base, offset: 0, size: 4, {how}}}\n"
    text = TEXT if "bindless" in how else TEXT.replace("bss(FROM)", "bti(0x3)")
    info = ZE_INFO.replace(VALUE.format(at=0, index=0), value).replace("arg_index: 1", "arg_index: 0")
    info = info.replace("      - {index: 0, name: source, address_qualifier: __global, type_name: 'uint*;8'}\n", "")
    image = vlink.link(
        [vasm.assemble_text(text, platform="dg2").object_bytes()], info.replace("index: 1", "index: 0").encode()
    )
    to = numbers()
    with pytest.raises(SimulationError, match="which has 0 bytes"):
        vsim.load(image).launch("twice", 8, 8, [to], engine=engine)
    table = numbers() + 5
    image.data.append(DataSection("data.const", 1 << 32, table.tobytes(), writable=False))
    vsim.load(image).launch("twice", 8, 8, [to], engine=engine)
    assert to.tolist() == (2 * table).tolist()
