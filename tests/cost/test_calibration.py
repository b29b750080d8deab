"""The calibration of docs/cost.md: the floors follow from the table of constants, and no measurement is below one."""

from pathlib import Path

import pytest

from visakit.language.platforms import find
from vsim.cost.constants import constant

PAGE = Path(__file__).parent.parent.parent / "docs" / "cost.md"
LANES = {**{f"FP{bits}": f"lanes of FP{bits}" for bits in (16, 32, 64)}, "XMX FP16": "multiply-adds of halves in XMX"}


def rows():
    """The cells of the table of measurements."""
    lines = PAGE.read_text().partition("| work | platform |")[2].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def peak(work, platform, units, mhz):
    """Operations, or bytes, a second in thousands of millions."""
    kind, unit = work.split(", ")
    if unit == "GB/s":
        return constant(platform, "bytes a second of memory").value / 1e9
    lanes = constant(platform, LANES.get(kind, LANES["XMX FP16"])).value * (2 if kind == "XMX INT8" else 1)
    return 2 * lanes * units * mhz / 1e3


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]} {row[7]}")
def test_no_measurement_is_below_its_floor(row):
    work, platform, units, mhz, measured, floor, ratio, _ = row
    found = peak(work, find(platform), int(units), int(mhz))
    assert float(floor) == pytest.approx(found, rel=1e-4)
    assert float(measured) <= found
    assert float(ratio) == pytest.approx(found / float(measured), abs=0.006)
