"""Programs that share an address space: data behind data, buffers that all of them know."""

import numpy as np
from support.programs import DATA

import vsim
from visakit.objects.image import DATA_BASE, SLOT
from vsim.memory.memory import RESTING_SLOTS, AddressSpace
from vsim.sources.zebins import read_program

XELP = (DATA / "zebins" / "xelp.bin").read_bytes()


def test_programs_share_buffers_and_have_separate_data():
    space = AddressSpace()
    first = vsim.Program(read_program(XELP), space)
    slots = max(data.address for data in first.data) - min(data.address for data in first.data)
    second = vsim.Program(read_program(XELP, first_data_slot=(slots >> 32) + 1), space)
    assert {d.address for d in first.data}.isdisjoint(d.address for d in second.data)
    y, out = np.array([3, 4, 5, 6], "i4"), np.zeros(2, "i4")
    for _ in range(2):
        first.launch("steps", 4, 4, [y, 16])
        y[:] = 3, 4, 5, 6
    for program, expected in ((first, 5), (second, 3)):
        for engine in ("llvm", "numpy"):
            program.launch("state", 1, 1, [out], engine=engine)
            assert out[0] == expected
    assert space.map(y, "y") is space.map(y, "again")


def test_a_released_address_is_invalid():
    space = AddressSpace()
    buffer = space.allocate("a", np.zeros(8, np.uint8))
    assert space.behind(buffer.address) is not None
    space.free(buffer)
    assert space.behind(buffer.address) is None


def test_buffers_never_reuse_addresses_of_programs_data():
    """Programs that come and go take the same places for their data: a buffer there would be hidden by the next."""
    space = AddressSpace()
    for _ in range(RESTING_SLOTS + 2):
        space.free(space.allocate("data", np.zeros(8, np.uint8), address=DATA_BASE + SLOT // 2))
    assert space.allocate("buffer", np.zeros(8, np.uint8)).address < DATA_BASE
