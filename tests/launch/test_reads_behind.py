"""Reads behind memory under the OpenCL driver, by lanes whose values are unused: a device maps whole pages and hands
out local memory in steps, so programs get zeros there. Writes are faults, unless whole pages are wanted; accesses
behind the page are faults.
"""

import ctypes

import numpy as np
import pytest
from support.ocloc import needs_ocloc
from support.opencl_host import Session, only_device, sizes
from support.strategies import ENGINES

from visakit.runtime import kernels, memory, programs
from visakit.runtime import svm as shared_virtual_memory
from vsim.checks.selection import parse_checking

pytestmark = needs_ocloc
only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))
SOURCE = """
kernel void reads(global int *y, global int *x, int at) { int i = get_global_id(0); y[i] = x[i + at]; }
kernel void scattered(global int *y, global int *x, int at) { int i = get_global_id(0); y[i] = x[i * 3 + at]; }
kernel void writes(global int *y, global int *x, int at) { int i = get_global_id(0); x[i + at] = y[i]; }
kernel void adds(global int *y, global int *x, int at) { int i = get_global_id(0); y[i] = atomic_add(x + i + at, 1); }
kernel void changes(global int *y, global int *x, int at) { int i = get_global_id(0); y[i] = x[i + at]; x[i + at] = 9; }
kernel void follows(global int *y, global ulong *x, int at) { y[0] = ((global int *)x[0])[at]; }
kernel void reads_local(global int *y, local int *t, int at) {
  int i = get_global_id(0);
  t[i] = i + 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = t[i + at];
}
kernel void writes_local(global int *y, local int *t, int at) {
  int i = get_global_id(0);
  t[i + at] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = t[0];
}
"""
COUNT, PAGE = 64, (64 << 10) // 4
"""Elements of the memory, and of a page."""


@pytest.fixture(params=ENGINES)
def session(request, monkeypatch):
    monkeypatch.setattr(kernels, "engine", lambda: request.param)
    session = Session(None)
    session.program = session.build(SOURCE)
    return session


def buffer(session):
    return session.buffer(np.arange(1, COUNT + 1, dtype="i4")), None


def shared(function, *device):
    def make(session):
        given = [session.device] if device else []
        pointer = getattr(session.host, function)(session.context, *given, None, 4 * COUNT, 0)
        ctypes.memmove(pointer, np.arange(1, COUNT + 1, dtype="i4").ctypes.data, 4 * COUNT)
        return None, pointer

    return make


def svm(session):
    pointer = session.host.clSVMAlloc(session.context, 0, 4 * COUNT, 0)
    ctypes.memmove(pointer, np.arange(1, COUNT + 1, dtype="i4").ctypes.data, 4 * COUNT)
    return None, pointer


MEMORY = {
    "buffer": buffer,
    "SVM": svm,
    "host": shared("clHostMemAllocINTEL"),
    "device": shared("clDeviceMemAllocINTEL", True),
    "shared": shared("clSharedMemAllocINTEL", True),
}


def launch(session, name, made, at):
    """The contents of a kernel's first argument after a launch; None for a fault."""
    host, (handle, pointer) = session.host, made
    y = session.buffer(np.full(COUNT, 7, "i4"))
    kernel = session.kernel(name, y)
    if pointer is None:
        host.clSetKernelArg(kernel, 1, 8, sizes(handle))
    else:
        host.clSetKernelArgMemPointerINTEL(kernel, 1, pointer)
    host.clSetKernelArg(kernel, 2, 4, np.array([at], "i4"))
    event = session.run(kernel, (COUNT,), (COUNT,))
    failed = host.status("clWaitForEvents", 1, sizes(event))
    return None if failed else session.read(y, "i4", COUNT)


@pytest.mark.parametrize("kind", MEMORY)
def test_behind_memory_there_are_zeros_up_to_the_end_of_its_page(session, kind, capfd):
    made, behind = MEMORY[kind](session), np.zeros(3 * COUNT + PAGE, "i4")
    behind[:COUNT] = np.arange(1, COUNT + 1)
    lanes = np.arange(COUNT)
    for at in (0, 1, COUNT - 1, COUNT, PAGE - COUNT):
        assert (launch(session, "reads", made, at) == behind[at + lanes]).all()
    for at in (0, 2, PAGE - 3 * COUNT + 2):
        assert (launch(session, "scattered", made, at) == behind[at + 3 * lanes]).all()
    assert capfd.readouterr().err == ""
    for name, at in (("reads", PAGE - COUNT + 1), ("reads", -1), ("scattered", PAGE - 3 * COUNT + 3)):
        assert launch(session, name, made, at) is None
        assert "which has 256 bytes, at offset" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["writes", "adds", "changes"])
@pytest.mark.parametrize("kind", ["buffer", "shared"])
def test_writes_behind_memory_are_faults(session, kind, name, capfd):
    made = MEMORY[kind](session)
    assert launch(session, name, made, 1) is None
    report = capfd.readouterr().err
    assert "access of 4 bytes outside" in report and "which has 256 bytes, at offset 256" in report
    assert launch(session, "reads", made, PAGE - COUNT).tolist() == [0] * COUNT


@pytest.mark.parametrize("kind", MEMORY)
def test_with_whole_pages_kernels_write_up_to_the_end_of_the_page(session, kind, monkeypatch, capfd):
    """The program still sees memory of its size; reports name it."""
    for module in (memory, shared_virtual_memory):
        monkeypatch.setattr(module, "has_whole_pages", lambda: True)
    made = MEMORY[kind](session)
    assert launch(session, "adds", made, COUNT - 2).tolist() == [COUNT - 1, COUNT, *[0] * (COUNT - 2)]
    assert launch(session, "reads", made, COUNT - 2).tolist() == [COUNT, COUNT + 1, *[1] * (COUNT - 2)]
    assert capfd.readouterr().err == ""
    assert launch(session, "writes", made, PAGE - COUNT + 1) is None
    assert ", 256 bytes" in capfd.readouterr().err


def local(session, name, at, count=COUNT):
    y = session.buffer(np.full(COUNT, 7, "i4"))
    event = session.run(session.kernel(name, y, ("local", 4 * count), np.int32(at)), (COUNT,), (COUNT,))
    failed = session.host.status("clWaitForEvents", 1, sizes(event))
    return None if failed else session.read(y, "i4", COUNT).tolist()


def test_behind_local_memory_there_are_zeros_up_to_its_step(session, capfd):
    """Devices allocate local memory in steps of 1 KiB."""
    step, first = 256, list(range(1, COUNT + 1))
    assert local(session, "reads_local", 1) == [*first[1:], 0]
    assert local(session, "reads_local", step - COUNT) == [0] * COUNT
    assert local(session, "reads_local", 1, step - 1) == [*first[1:], 0]
    assert capfd.readouterr().err == ""
    for name, at in (("reads_local", step - COUNT + 1), ("writes_local", 1)):
        assert local(session, name, at) is None
        assert "outside 'local memory', which has 256 bytes, at offset" in capfd.readouterr().err
    assert local(session, "reads_local", step - COUNT) == [0] * COUNT


def test_with_whole_pages_kernels_write_up_to_the_step_of_local_memory(session, monkeypatch, capfd):
    monkeypatch.setattr(programs, "has_whole_pages", lambda: True)
    session.program, step = session.build(SOURCE), 256
    assert local(session, "writes_local", step - COUNT) == [0] * COUNT
    assert capfd.readouterr().err == ""
    assert local(session, "writes_local", step - COUNT + 1) is None
    assert "outside 'local memory', which has 1024 bytes" in capfd.readouterr().err


def test_reports_name_shared_memory(session, capfd):
    shared = [MEMORY[kind](session) for kind in ("host", "shared", "device")]
    for (_, pointer), words in zip(
        shared, ("host allocation 1", "shared allocation 2", "device allocation 3"), strict=True
    ):
        assert launch(session, "writes", (None, pointer), 1) is None
        call = f"cl{words.split()[0].capitalize()}MemAllocINTEL"
        assert f"argument 1 ('x'): note: {words}, made by {call}, 256 bytes\n" in capfd.readouterr().err


def test_reports_name_memory_behind_a_pointer_in_memory(session, capfd):
    """There no argument has a name for it."""
    _, pointer = MEMORY["shared"](session)
    given = session.buffer(np.array([pointer], "u8"))
    assert launch(session, "follows", (given, None), COUNT)[0] == 0
    assert launch(session, "follows", (given, None), PAGE) is None
    report = capfd.readouterr().err
    assert (
        "outside 'shared allocation 1, made by clSharedMemAllocINTEL', which has 256 bytes, at offset 65536" in report
    )


@pytest.mark.parametrize("check", ["race", "all"])
def test_who_watches_kernels_is_told_of_reads_behind_memory(session, check, monkeypatch, capfd):
    """Results are the same; each instruction is noted once."""
    monkeypatch.setattr(kernels, "checks", lambda: parse_checking(check, None, None))
    first = list(range(1, COUNT + 1))
    for kind in ("buffer", "device"):
        found = launch(session, "reads", MEMORY[kind](session), 2)
        assert found.tolist() == [*first[2:], 0, 0]
        report = capfd.readouterr().err
        assert report.count("note: a read outside an argument: ") == 1 and "2 times in all" in report
        assert "at offset 256, right after its end" in report and "work-item (62, 0, 0)" in report
        assert launch(session, "reads", MEMORY[kind](session), 0).tolist() == first
        assert launch(session, "writes", MEMORY[kind](session), 1) is None
        assert "error: access of 4 bytes outside 'x'" in capfd.readouterr().err
    assert local(session, "reads_local", 1) == [*first[1:], 0]
    report = capfd.readouterr().err
    assert "note: a read outside an argument: local memory, which has 256 bytes, at offset 256" in report
    assert local(session, "reads_local", 0) == first
    assert capfd.readouterr().err == ""
    assert local(session, "writes_local", 1) is None
