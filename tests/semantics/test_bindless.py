"""Buffers that kernels reach by the handles of their surfaces, as those of today's compiler for dg2 do."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.programs import build_text, ze_info_of

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


@pytest.fixture(scope="module")
def program() -> vsim.Program:
    return vsim.load(
        build_text(TEXT, "dg2", ze_info_of("handle=4 handle=4", name="twice", names="source to", simd_size=8))
    )


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


@pytest.mark.parametrize("how", [{"addrmode": "bindless"}, {"bti_value": 3}])
def test_data_of_the_program(how: dict[str, object], engine: str) -> None:
    """Tables of the source are surfaces by handle or number, too; those of another program are not."""
    text = TEXT if "addrmode" in how else TEXT.replace("bss(FROM)", "bti(0x3)")
    info = json.loads(ze_info_of("const_base=4 handle=4", name="twice", names="to", simd_size=8))
    info["kernels"][0]["payload_arguments"][0] |= how
    image = build_text(text, "dg2", json.dumps(info))
    to = numbers()
    with pytest.raises(SimulationError, match="which has 0 bytes"):
        vsim.load(image).launch("twice", 8, 8, [to], engine=engine)
    table = numbers() + 5
    image.data.append(DataSection("data.const", 1 << 32, table.tobytes(), writable=False))
    vsim.load(image).launch("twice", 8, 8, [to], engine=engine)
    assert to.tolist() == (2 * table).tolist()
