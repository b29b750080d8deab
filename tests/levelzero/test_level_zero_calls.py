"""Random calls of every function: live, destroyed and wrong handles, null pointers, sizes that overflow, structures of any
type, chains in circles, two threads; a fork and an end with commands that wait.
"""

import random
import subprocess
import sys

import numpy as np
import pytest
from support.c_programs import lacking
from support.levelzero_host import Session, made
from support.opencl_host import only_device
from support.programs import DATA, ROOT
from support.random_calls import Attack, built, in_threads

from visakit.levelzero import ze

only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))
XELP = DATA / "zebins" / "xelp.bin"
LEFT_OUT = ("zeCommandListAppendHostFunction", "zeKernelGetSourceAttributes")
"""Functions that follow pointers in memory that others may have written numbers to."""
OBJECTS = (
    "hDriver",
    "hDevice",
    "hContext",
    "hCommandList",
    "hCommandQueue",
    "hEventPool",
    "hEvent",
    "hModule",
    "hKernel",
)
"""Parameters that take the first objects of the program in C."""
TYPES = [number for name, number in vars(ze).items() if "STRUCTURE_TYPE" in name]


def is_handle(point, name):
    """Whether a parameter takes an object."""
    return name[0] == "h" and name[1].isupper()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threads", [1, 2])
def test_random_calls_have_results_and_the_driver_makes_no_mistake(seed, threads, capfd):
    session = Session(XELP.read_bytes())
    host, pool = session.host, session.pool()
    desc = made("ze_command_list_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC)
    recorded = host.made("zeCommandListCreate", session.context, session.device, desc)
    queue = host.made("zeCommandQueueCreate", session.context, session.device, session.queue_desc)
    kernel = session.kernel("saxpy", 0, 0, np.float32(1), np.uint32(0))
    handles = [session.driver, session.device, session.context, session.list, session.module, recorded, queue, kernel]
    handles += [pool, session.event(pool)]

    def check(name, values, result, memory):
        assert host.points[name].refusal is not None or result in ze.STATUS_NAMES, (name, result)
        return int(memory[values[-1]][0]) if not result and "Create" in name and values[-1] in memory else 0

    attack = Attack(host, handles, TYPES, is_handle, LEFT_OUT)
    in_threads(threads, lambda number: attack.run(random.Random(10 * seed + number), check))
    assert "mistake" not in capfd.readouterr().err


@pytest.mark.skipif(bool(lacks := lacking("level_zero/ze_api.h")), reason=f"there is no {lacks}")
@pytest.mark.parametrize("threads", [1, 2])
def test_random_calls_of_a_program_in_c(threads, tmp_path):
    attack = Attack(Session(None).host, [], TYPES, is_handle, LEFT_OUT)
    objects = {name: number for number, name in enumerate(OBJECTS)}
    found, done = attack.in_c(built(tmp_path, "LEVEL_ZERO"), objects, XELP, 0, 1000, threads)
    wrong = [(name, one) for name, one in found if not attack.host.points[name].refusal and one not in ze.STATUS_NAMES]
    assert (done.returncode, wrong, len(found) > 900 * threads) == (0, [], True)
    assert "mistake" not in done.stderr


def test_a_pitch_that_overflows_is_refused():
    session = Session(None)
    pitch = "zeMemGetPitchFor2dImage", session.context, session.device
    wide = session.host.result(*pitch, (1 << 64) - 1, 1, 4, np.zeros(1, "u8"))
    assert wide == ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE
    assert session.host.made(*pitch, 100, 100, 4) == 400


SCRIPT = """
import os
import sys
import numpy as np
from support.levelzero_host import FOREVER, Session
from visakit.levelzero import ze
def launched(*waits):
    session = Session(open(sys.argv[1], "rb").read())
    y, seen = session.shared(np.zeros(64, "f4"))
    x, _ = session.shared(np.ones(64, "f4"))
    kernel = session.kernel("saxpy", y, x, np.float32(2), np.uint32(64), group=(16, 1, 1))
    waits = [session.event(session.pool())] if waits else []
    session.launch(kernel, (4, 1, 1), None, waits)
    return session, seen, waits
session, seen, (event,) = launched("event")
if sys.argv[2] == "destroy":
    for kind, one in ("CommandList", session.list), ("Event", event), ("Context", session.context):
        getattr(session.host, f"ze{kind}Destroy")(one)
if sys.argv[2] == "fork":
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
        session.host.zeEventHostSignal(event)
        session.finish()
        assert seen.all()
    else:
        lost = session.host.result("zeCommandListHostSynchronize", session.list, FOREVER)
        session, seen, _ = launched()
        session.finish()
        assert lost == ze.ZE_RESULT_ERROR_DEVICE_LOST and seen.all()
"""


@pytest.mark.parametrize("how", ["leave", "destroy", "fork"])
def test_programs_end_and_fork_while_commands_wait(how, tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    environment = {"VISAKIT_OPENCL_PLATFORM": "tgllp", "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    words = [sys.executable, tmp_path / "program.py", XELP, how]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
