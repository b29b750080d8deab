"""Write the numbers of OpenCL that the driver and its tests use, out of the public headers (Debian: opencl-headers)."""

import re
import sys
from itertools import dropwhile, takewhile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "visakit" / "runtime" / "cl.py"
FOLDERS = ("visakit/runtime", "visakit/opencl", "visakit/levelzero", "tests")
HEADERS = Path("/usr/include/CL")
FILES = ("cl.h", "cl_ext.h", "cl_ext_intel.h", "cl_icd.h")
_DEFINITION = re.compile(r"^#define (CL_\w+)[ \t]+(-?\w+|\(1 << \d+\))[ \t]*(?:/\*.*)?$", re.MULTILINE)
HEAD = '''"""Numbers of OpenCL, under the names of the public headers; ``docs/generate_opencl_numbers.py`` writes this file."""

# fmt: off
'''
STATUSES = '''
STATUS_NAMES = {number: name for name, number in globals().items() if name.startswith("CL_")}
"""Names of the statuses that functions return."""

'''


def definitions(folder: Path) -> dict[str, int]:
    """All numbers of the headers in a folder, in their order."""
    text = "".join((folder / name).read_text() for name in FILES)
    found: dict[str, int] = {}
    for name, value in _DEFINITION.findall(text):
        if "<<" in value:
            found.setdefault(name, 1 << int(value.strip("()").split()[-1]))
        elif re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)", value):
            found.setdefault(name, int(value, 0))
    return found


def used_names() -> set[str]:
    """Names that the driver and its tests use."""
    sources = [p for folder in FOLDERS for p in ROOT.joinpath(folder).rglob("*.py")]
    return set(re.findall(r"\bcl\.(CL_\w+)", "".join(path.read_text() for path in sources)))


def module_text(folder: Path) -> str:
    """The text of the module: all statuses, then the other numbers that are used."""
    numbers = definitions(folder)
    from_success = dropwhile(lambda pair: pair[0] != "CL_SUCCESS", numbers.items())
    statuses = dict(takewhile(lambda pair: pair[0] == "CL_SUCCESS" or pair[1] < 0, from_success))
    used = used_names() - set(statuses)
    rest = {name: n for name, n in numbers.items() if name in used}
    if missing := used - set(rest):
        raise SystemExit(f"the headers in {folder} lack {', '.join(sorted(missing))}")
    return HEAD + _lines(statuses) + STATUSES + _lines(rest)


def _lines(numbers: dict[str, int]) -> str:
    return "".join(f"{name} = {n if n < 10 else f'0x{n:X}'}\n" for name, n in numbers.items())


if __name__ == "__main__":
    TARGET.write_text(module_text(Path(sys.argv[1]) if len(sys.argv) > 1 else HEADERS))
