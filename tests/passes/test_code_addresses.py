"""Parts of native code lie near each other, whatever the process has allocated."""

import subprocess
import sys

from vsim.engines.llvm.host.code_addresses import REACH, Gap, distant_gaps

MIB = 1 << 20
LOAD = """
import mmap
import llvmlite.binding as llvm
from vsim.engines.llvm.host import native
held = mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
text = '''
@large = internal constant [65536 x i64] [{numbers}]
define i64 @run(i64 %at) {{
  %place = getelementptr i64, ptr @large, i64 %at
  %found = load i64, ptr %place
  ret i64 %found
}}
'''.format(numbers=", ".join(f"i64 {n}" for n in range(65536)))
code = native.compile_support(text)
engines = [native.loaded([code]) for _ in range(4)]
import ctypes
print([ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(e.get_function_address("run"))(65535) for e in engines])
"""


def test_code_and_its_constants_do_not_lie_around_large_arrays():
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{[65535] * 4}\n"), done.stderr[-500:]


def test_gaps_that_are_too_far_from_the_one_that_is_taken():
    near, far = Gap(3 * REACH - MIB, 3 * REACH), Gap(5 * REACH, 5 * REACH + MIB)
    room = Gap(0, 2 * REACH)
    assert distant_gaps([far, near, room], 2 * MIB) == [far]
    assert distant_gaps([far, near, room], MIB) == []
    assert distant_gaps([near, room], 2 * MIB) == []
    assert distant_gaps([far, near], 2 * MIB) == []
