"""Random calls of every function: live and wrong handles, null pointers, structures of any type, chains in circles."""

import random

import numpy as np
import pytest
from support.levelzero_host import Session, made
from support.opencl_host import only_device
from support.programs import DATA

from visakit.levelzero import ze

only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))
LEFT_OUT = ("zeCommandListAppendHostFunction", "zeKernelGetSourceAttributes")
"""Functions that follow pointers in memory that others may have written numbers to."""
CALLS = 2000


def chosen(choice, name, kind, handles, places):
    """An argument for a parameter."""
    if kind != "ptr":
        counts = [0, 1, 2, 8] if "num" in name.lower() or "count" in name.lower() else [0, 1, 4, 64, 1 << 32 - 1]
        return choice([0, 1000] if "imeout" in name else counts)
    is_handle = name[0] == "h" and name[1].isupper()
    return choice([*handles, 0, 12345]) if is_handle else choice([*places, 0])


@pytest.mark.parametrize("seed", range(3))
def test_random_calls_have_results_and_the_driver_makes_no_mistake(seed, capfd):
    generator = random.Random(seed)
    session = Session((DATA / "zebins" / "xelp.bin").read_bytes())
    host, pool = session.host, session.pool()
    desc = made("ze_command_list_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC)
    recorded = host.made("zeCommandListCreate", session.context, session.device, desc)
    queue = host.made("zeCommandQueueCreate", session.context, session.device, session.queue_desc)
    kernel = session.kernel("saxpy", 0, 0, np.float32(1), np.uint32(0))
    handles = [session.driver, session.device, session.context, session.list, session.module, recorded, queue, kernel]
    handles += [pool, session.event(pool)]
    memory = [np.zeros(512, "u8") for _ in range(4)]
    places = [one.ctypes.data for one in memory]
    names = sorted(set(host.points) - set(LEFT_OUT))
    for _ in range(CALLS):
        for one in memory:
            one[:] = 0
            one[2:12] = [generator.choice([0, *places]) for _ in range(10)]
            one[:2] = generator.randrange(64), generator.choice([0, 0, *places])
        name = generator.choice(names)
        point = host.points[name]
        values = [chosen(generator.choice, word, kind, handles, places) for kind, word in point.parameters]
        result = host.functions[name](*values)
        assert point.result == "ptr" or result in ze.STATUS_NAMES, (name, result)
    assert "mistake" not in capfd.readouterr().err
