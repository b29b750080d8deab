"""Frames of coroutines end where LLVM says: behind one is the next thread's."""

import numpy as np
import pytest

from vsim.engines.llvm import abi
from vsim.engines.llvm.host import native
from vsim.engines.llvm.support import driver

ROOM, CANARY = 4096, 0xA5
RUN = """
define void @run(ptr %worker, ptr %numbers) {
  %frame.at = getelementptr i8, ptr %worker, i64 WORKER_SIZE
  %handle = call ptr @coroutine(ptr %worker, ptr %frame.at, ptr %numbers)
  call void @llvm.coro.resume(ptr %handle)
  call void @llvm.coro.resume(ptr %handle)
  ret void
}
declare void @llvm.coro.resume(ptr)
""".replace("WORKER_SIZE", str(abi.ARENA_ALIGN))


def coroutine(count):
    """A coroutine that has two aligned bytes, a number of 32 bits and so many of 64 bits in its frame, and doubles the
    numbers.
    """
    types = ["i32", *["i64"] * count]
    places = [f"  %at{n} = getelementptr i64, ptr %numbers, i64 {n}" for n in range(count + 1)]
    loads = [f"  %x{n} = load {t}, ptr %at{n}, align 8" for n, t in enumerate(types)]
    sums = [f"  %y{n} = add {t} %x{n}, %x{n}\n  store {t} %y{n}, ptr %at{n}, align 8" for n, t in enumerate(types)]
    suspend = "%wait = call i8 @llvm.coro.suspend(token none, i1 false)"
    return "\n".join(
        [
            driver.coroutine_declarations(),
            "define ptr @coroutine(ptr %worker, ptr %frame, ptr %numbers) presplitcoroutine {\nentry:",
            "  %bytes = alloca [2 x i8], align 64",
            driver.coroutine_begin(),
            driver.coroutine_first_suspend(),
            *(places + loads),
            f"  store volatile i16 7, ptr %bytes, align 2\n  {suspend}",
            "  switch i8 %wait, label %suspend [ i8 0, label %resumed i8 1, label %cleanup ]\nresumed:",
            "  %read = load volatile i16, ptr %bytes, align 2",
            *sums,
            "  br label %exit\nexit:",
            driver.coroutine_exit(),
            "}",
            RUN,
        ]
    )


@pytest.mark.parametrize("quick", [False, True])
def test_nothing_is_behind_a_frame(quick):
    """With LLVM's default data layout, whose 64-bit integers are aligned to 4 bytes, some of these frames are larger
    than their sizes say.
    """
    for count in range(4, 20):
        numbers, memory = np.arange(count + 1, dtype="u8"), np.full(ROOM, CANARY, "u1")
        worker = memory[-memory.ctypes.data % abi.ARENA_ALIGN :]
        code = native.Native([native.compile_object(coroutine(count), quick)])
        code.run(worker.ctypes.data, numbers.ctypes.data)
        assert numbers.tolist() == [2 * n for n in range(count + 1)]
        size = int(worker[abi.WORKER_FRAME_SIZE :][:8].view("u8")[0])
        assert (worker[abi.ARENA_ALIGN + size :] == CANARY).all(), f"{count} numbers, {size} bytes"
