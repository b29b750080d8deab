"""Launches over a Dask cluster of processes on this machine."""

import contextlib
import json
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from support.programs import DATA, build, build_text
from support.strategies import some
from test_schedule import TICKET

from visakit import LaunchError, SimulationError
from vsim.launch.launch import BufferArgument, Launch, ScalarArgument
from vsim.program import Program

distributed = pytest.importorskip("distributed", reason="the extra visakit[cluster] is not installed")

SAXPY = DATA.parent.parent / "samples" / "saxpy"


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")


@pytest.fixture
def cluster_of(address):
    """Makes clusters. The client of a cluster that stays open looks for its closed scheduler, with a back-off from the global
    ``random``, and so disturbs the draws of the property tests that come after it.
    """
    from vsim.cluster.cluster import Cluster

    with contextlib.ExitStack() as opened:
        yield lambda image: opened.enter_context(contextlib.closing(Cluster(Program(image), image.to_bytes(), address)))


def test_groups_are_spread_and_merged(cluster_of):
    cluster = cluster_of(build(SAXPY, "tgllp"))
    y, x = np.ones(5000, "f4"), np.arange(5000, dtype="f4")
    launch = Launch(
        "saxpy",
        (5000,),
        (64,),
        args=[BufferArgument(y), BufferArgument(x), ScalarArgument(np.float32(2).tobytes()), *cluster_rest()],
    )
    outcome = cluster.run(launch)
    assert outcome.kernel == "saxpy" and (y == 1 + 2 * x).all()


def cluster_rest():
    """The arguments of saxpy of the samples behind y, x and a."""
    info = Program(build(SAXPY, "tgllp")).signature("saxpy")
    return [ScalarArgument(np.int32(5000).tobytes())] * (info.argument_count - 3)


COPY = TICKET.replace("svm_atomic.add (M1, 8) AT.0 DST.0 ONE.0 %null.0", "mov (M1, 8) OLD(0,0)<1> X(0,0)<1;1,0>")


def copies(shift):
    """Work-item i writes i to out[i >> shift]."""
    return build_text(
        COPY.replace(
            "shl (M1, 8) AT(0,0)<1> X(0,0)<1;1,0> 2:ud",
            f"shr (M1, 8) X(0,0)<1> X(0,0)<1;1,0> {shift}:ud\nshl (M1, 8) AT(0,0)<1> X(0,0)<1;1,0> 2:ud",
        )
    )


def ticket_launch(out):
    return Launch("ticket", (256,), (32,), args=[BufferArgument(np.zeros(16, "u4")), BufferArgument(out)])


def test_groups_that_write_one_byte_are_refused(cluster_of):
    out = np.full(256, 7, "u4")
    cluster = cluster_of(copies(0))
    cluster.run(ticket_launch(out))
    assert out.tolist() == list(range(256))
    cluster = cluster_of(copies(8))
    out[:] = 9999
    with pytest.raises(LaunchError, match=r"groups on two workers wrote byte 0 of argument 1") as caught:
        cluster.run(ticket_launch(out))
    assert caught.value.diagnostics[0].code == "S051" and (out == 9999).all()


def test_a_global_atomic_is_refused(cluster_of):
    cluster = cluster_of(build_text(TICKET.replace("DST", "OLD")))
    with pytest.raises(LaunchError, match=r"global atomic, svm_atomic .* cannot run on several machines") as caught:
        cluster.run(ticket_launch(np.zeros(256, "u4")))
    assert caught.value.diagnostics[0].code == "S050"


def test_errors_come_back_whole(cluster_of):
    cluster = cluster_of(copies(0))
    with pytest.raises(
        SimulationError, match=r"outside 'OUT', which has 512 bytes, at offset 512 .* work-item \(128, 0, 0\)"
    ) as caught:
        cluster.run(ticket_launch(np.zeros(128, "u4")))
    found = caught.value.diagnostics[0]
    assert found.code == "S030" and [r.value for r in found.registers][1:] == ["128"]


def test_refused_instructions_come_back_whole(cluster_of):
    cluster = cluster_of(build_text(COPY.replace("OLD(0,0)<1> X(0,0)<1;1,0>", "OLD(0,0)<1> X(0,4)<1;1,0>")))
    with pytest.raises(SimulationError, match=r"\[S020\]"):
        cluster.run(ticket_launch(np.zeros(256, "u4")))


def test_launches_that_share_nothing_run_side_by_side(cluster_of):
    # Whole launches may have atomics: each runs in one process.
    cluster = cluster_of(build_text(TICKET.replace("DST", "OLD")))
    outs = [np.zeros(256, "u4") for _ in range(4)]
    launches = [ticket_launch(out) for out in outs]
    assert cluster.can_run_side_by_side(launches)
    assert [o.kernel for o in cluster.run_all(launches)] == ["ticket"] * 4
    assert all(sorted(out) == list(range(256)) for out in outs)
    assert not cluster.can_run_side_by_side([launches[0], launches[0]])


def test_the_command(address, tmp_path):
    image = tmp_path / "saxpy.bin"
    image.write_bytes(build(SAXPY, "tgllp").to_bytes())
    command = [sys.executable, "-m", "vsim", str(image), "--launch", str(SAXPY / "launch.json"), "--json"]
    done = subprocess.run([*command, "--workers", address], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(c["ok"] for row in json.loads(done.stdout)["launches"] for c in row["checks"])
    for where, message in (("dask://127.0.0.1:1", "there is no Dask scheduler"), ("tcp://x", "is not a cluster")):
        done = subprocess.run([*command, "--workers", where], capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


def answering(reply):
    """The address of a port where something listens that is no scheduler: it gives a reply, or is silent."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        kept = []
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                kept.append(link)
                if reply:
                    link.sendall(reply)
                    link.close()

    threading.Thread(target=serve, daemon=True).start()
    return listener, f"dask://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"", "no answer within 1 seconds"),
        *some([(b"SSH-2.0-OpenSSH_9.2\r\n", ""), (b"HTTP/1.1 400 Bad\r\n\r\n" * 10, "")], 2),
    ],
)
def test_something_else_at_the_port_is_no_scheduler(reply, message, monkeypatch):
    from vsim.cluster import cluster

    monkeypatch.setattr(cluster, "CONNECTION_SECONDS", 1.0)
    image = build_text(ENDLESS)
    listener, address = answering(reply)
    with listener, pytest.raises(LaunchError, match=f"there is no Dask scheduler at '{address}': .*{message}.*S052"):
        cluster.Cluster(Program(image), image.to_bytes(), address)


ENDLESS = '.version 4.1\n.kernel "k"\n.kernel_attr SimdSize=8\nagain:\njmp (M1, 1) again\nret (M1, 1)\n'


LOST = {"worker": "none is left", "scheduler": "the scheduler of the cluster cannot be reached"}


def test_the_loss_of_a_machine_is_reported(tmp_path):
    from vsim.cluster.cluster import Cluster

    file = tmp_path / "scheduler.json"
    with contextlib.ExitStack() as running:

        def start(what, *options):
            command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--scheduler-file", str(file)]
            process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL, cwd=tmp_path)
            running.callback(process.wait)
            running.callback(process.kill)
            return process

        scheduler, image = start("scheduler", "--port", "0", "--no-dashboard"), build_text(ENDLESS)
        for lost, message in LOST.items():
            worker = start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard")
            with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
                client.wait_for_workers(1, timeout=30)
                address = client.scheduler.address.replace("tcp://", "dask://")
            with contextlib.closing(Cluster(Program(image), image.to_bytes(), address, max_seconds=60)) as cluster:
                threading.Timer(0.5, {"worker": worker, "scheduler": scheduler}[lost].kill).start()
                with pytest.raises(LaunchError, match=f"kernel 'k': 2 of 2 parts were lost, as .*{message}.*S053"):
                    cluster.run(Launch("k", (64,), (8,)))
