"""Compares `visakit registers` with Intel's compiler, over folders of its dumps (docs/registers.md, "How good it is").

IGC_ShaderDumpEnable=1 IGC_DumpToCustomDir=DIR IGC_VISAOptions=-dumpVISAJsonStats ocloc compile ...
python benchmarks/registers.py DIR...
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from visakit.diagnostics import VisaError
from vsim.cost.programs import subjects
from vsim.cost.registers import KernelRegisters, register_use

LARGE = 30
"""Registers of kernels that are counted by themselves, too: one register is less than a tenth of them."""


def _uses(folders: Sequence[str]) -> list[KernelRegisters]:
    """The kernels of which the compiler says something."""
    found = []
    for folder in folders:
        try:
            inside = subjects([folder], None, problems=[])
            found += [register_use(s) for s in inside if s.compiled and s.function.is_kernel]
        except VisaError as error:
            print(f"{folder}: {error}")
    return found


def _near(use: KernelRegisters, slack: float) -> bool:
    """Whether the peak is within a tenth of the compiler's number, or within some registers."""
    assert use.subject.compiled is not None
    said = use.subject.compiled.pressure or 0
    ours = use.pressure.live_peak_bytes / use.pressure.grf_size
    return abs(ours - said) <= max(0.1 * said, slack)


def _share(uses: Sequence[KernelRegisters], right: Sequence[bool]) -> str:
    return f"{sum(right):5} of {len(uses):5}  {100 * sum(right) / max(1, len(uses)):5.1f}%"


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--show", action="store_true", help="the kernels that differ, too")
    options = parser.parse_args()
    uses = [
        u for u in _uses(options.folder) if not any(i.desc.flow.calls_function for i in u.subject.function.instructions)
    ]
    judged = [u for u in uses if u.subject.compiled and u.subject.compiled.pressure]
    large = [u for u in judged if u.subject.compiled and (u.subject.compiled.pressure or 0) >= LARGE]
    print("peak within 10%                 ", _share(judged, [_near(u, 0) for u in judged]))
    print("peak within 10% or one register ", _share(judged, [_near(u, 1) for u in judged]))
    print(f"of kernels with {LARGE} registers or more", _share(large, [_near(u, 0) for u in large]))
    spilled = [u for u in uses if u.subject.compiled and u.subject.compiled.spill_bytes is not None]
    right = [bool(u.spills.bytes) == bool(u.subject.compiled and u.subject.compiled.spill_bytes) for u in spilled]
    print("spills or not                   ", _share(spilled, right))
    for use in uses if options.show else ():
        said = use.subject.compiled
        assert said is not None
        ours = use.pressure.live_peak_bytes / use.pressure.grf_size
        print(f"{ours:7.1f} {said.pressure} {use.spills.bytes:6} {said.spill_bytes} {use.subject.file}")


if __name__ == "__main__":
    main()
