"""Coverage-guided fuzzing of everything that reads a file: ``python tests/fuzz/inputs.py visaasm|isa|o|bin|yaml|json CORPUS_DIR``.

Needs atheris, which is no dependency. Anything but an answer or a diagnostic is a finding; it goes to tests/data/fuzzed.
"""

import contextlib
import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent.parent))

with atheris.instrument_imports(include=["vasm", "vlink", "vsim", "visakit"]):
    from fuzz.test_fuzzed import TARGETS
    from visakit import VisaError

if __name__ == "__main__":
    target = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        with contextlib.suppress(VisaError):
            target(data)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
