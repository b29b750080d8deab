"""Races of launches in several command lists: launches ordered by events, waits and fences do not race."""

import subprocess
import sys

import pytest
from support.programs import DATA, ROOT

SCRIPT = """
import sys
import numpy as np
from support.levelzero_host import FOREVER, Session
session = Session(open(sys.argv[1], "rb").read())
host, how = session.host, sys.argv[2]
y, _ = session.shared(np.zeros(64, "f4"))
x, _ = session.shared(np.ones(64, "f4"))
kernel = session.kernel("saxpy", y, x, np.float32(2), np.uint32(64), group=(16, 1, 1))
other = host.made("zeCommandListCreateImmediate", session.context, session.device, session.queue_desc)
done = session.event(session.pool())
session.launch(kernel, (4, 1, 1), done)
if how == "host":
    host.zeEventHostSynchronize(done, FOREVER)
if how == "list":
    session.finish()
session.launch(kernel, (4, 1, 1), None, [done] if how == "event" else [], target=other)
session.finish()
host.zeCommandListHostSynchronize(other, FOREVER)
"""


@pytest.mark.parametrize("how, races", [("event", False), ("host", False), ("list", False), ("nothing", True)])
def test_launches_that_nothing_orders_race(how, races, tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    words = [sys.executable, tmp_path / "program.py", DATA / "zebins" / "xelp.bin", how]
    environment = {
        "VISAKIT_CHECK": "race",
        "VISAKIT_OPENCL_PLATFORM": "tgllp",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}",
    }
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and ("launches race" in done.stderr) is races, done.stderr
