"""``vasm --new``: its output assembles without a warning for every platform and type, and adds its arguments."""

from itertools import product

import numpy as np
import pytest
from support.strategies import some

import vsim
from vasm.assembler import assemble_text
from vasm.template import TYPES, template
from visakit.language.platforms import PLATFORMS
from vlink.linker import Linker, LinkOptions

DTYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
          "half": "f2", "float": "f4", "double": "f8"}  # fmt: skip
ITEMS = 37


def program(platform, arguments):
    assembly = assemble_text(template("t.visaasm", platform, arguments), "t.visaasm", platform)
    assert not assembly.warnings
    linker = Linker(LinkOptions(platform=platform))
    linker.add_bytes(assembly.object_bytes(), "t.o")
    return vsim.load(linker.run().image.to_bytes())


@pytest.mark.parametrize(("name", "platform"), some(product(TYPES, PLATFORMS), 3))
def test_one_type(name, platform):
    numbers = np.arange(ITEMS).astype(DTYPES[name])
    for engine in ("llvm", "numpy"):
        y, x = numbers.copy(), numbers * 2 % 50
        program(platform, f"y:{name}*, x:{name}*, a:{name}").launch(
            "t",
            global_size=(ITEMS,),
            local_size=(16,),
            args=[y, x, np.dtype(DTYPES[name]).type(3)],
            engine=engine,
        )
        np.testing.assert_array_equal(y, numbers + numbers * 2 % 50 + 3)


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_mixed_types_are_converted(engine):
    y, x, z = np.ones(ITEMS, "f4"), np.arange(ITEMS, dtype="i2"), np.arange(ITEMS, dtype="u1")
    program("bmg", "SUM:float*, x:short*, z:uchar*, n:long").launch(
        "t", global_size=(ITEMS,), local_size=(16,), args=[y, x, z, np.int64(7)], engine=engine
    )
    np.testing.assert_array_equal(y, 1 + 2 * np.arange(ITEMS, dtype="f4") + 7)
