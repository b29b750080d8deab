"""What the compiler says of a kernel: ze_info, and dumps beside a text, which may be damaged."""

import pytest

from vsim.cost.compiled import CompilerNumbers, beside, of_ze_info

HEAD = "//.kernel k\n//.platform XE2\n//.thread_config numGRF=256, numAcc=4, numSWSB=16\n"


def test_ze_info_says_registers_and_spills():
    environment = {"grf_count": 256, "spill_size": 128, "private_size": 64}
    tree = {
        "kernels": [{"name": "k", "execution_env": environment}, {"name": "m", "execution_env": {"grf_count": 128}}]
    }
    assert of_ze_info(tree, "k") == CompilerNumbers(256, 128, 64)
    assert of_ze_info(tree, "m") == CompilerNumbers(128, 0)  # it spilled nothing
    assert of_ze_info(tree, "n") is None and of_ze_info({}, "k") is None


@pytest.mark.parametrize("environment", [{"grf_count": "x"}, {"grf_count": -1, "spill_size": True}, []])
def test_odd_numbers_in_ze_info_are_unknown(environment):
    found = of_ze_info({"kernels": [{"name": "k", "execution_env": environment}]}, "k")
    assert found is None or found == CompilerNumbers()


def test_dumps_beside_a_text(tmp_path):
    path = tmp_path / "k.visaasm"
    assert beside(str(path)) is None
    (tmp_path / "k.asm").write_text(HEAD + "//.spill size 192\n")
    assert beside(str(path)) == CompilerNumbers(256, 192, platform="XE2")
    (tmp_path / "k.stats.json").write_text('[{"numGRFTotal": 128, "GRFSpillSize": 64, "maxGRFPressurePreRA": 99}]')
    assert beside(str(path)) == CompilerNumbers(128, 64, pressure=99, platform="XE2")
    assert beside(str(tmp_path / "k.txt")) is None


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", "[[]]", '[{"numGRFTotal": []}]', "[" * 100_000])
def test_damaged_statistics_are_left_out(tmp_path, text):
    (tmp_path / "k.asm").write_text(HEAD)
    (tmp_path / "k.stats.json").write_text(text)
    found = beside(str(tmp_path / "k.visaasm"))
    assert (found.registers, found.spill_bytes, found.pressure) == (256, 0, None)
