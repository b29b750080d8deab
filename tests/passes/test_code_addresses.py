"""Native code reaches constants and functions of other objects wherever the system places them."""

import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

from vsim.engines.llvm.host import native

FAR = '''
import ctypes
from vsim.engines.llvm.host import native

libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def held(size):
    return libc.mmap(None, size, 0, 0x4022, -1, 0)  # Private, anonymous, without reserve.

native.initialize()
large = held(3 << 30)
while held(256 << 10) > large:
    pass  # Gaps above have room for one of the two objects alone.
libc.munmap(large + (3 << 30) - (64 << 10), 64 << 10)

def table(name, size):
    numbers = ", ".join(f"i64 {n}" for n in range(size))
    return f"""
@table = internal constant [{size} x i64] [{numbers}]
define i64 @{name}(i64 %at) {{
  %place = getelementptr i64, ptr @table, i64 %at
  %found = load i64, ptr %place"""

run = native.compile_support(table("run", 65536) + """
  %next = call i64 @next(i64 %found)
  ret i64 %next
}
declare i64 @next(i64)""")
following = native.compile_support(table("next", 2048) + """
  ret i64 %found
}""")
engines = [native.loaded([run, following]) for _ in range(2)]
places = [engine.get_function_address(name) for engine in engines for name in ("run", "next")]
print(max(places) - min(places) > 2 << 30)
print([ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(run)(2047) for run in places[::2]])
'''


def test_objects_and_constants_around_large_arrays():
    done = subprocess.run([sys.executable, "-c", FAR], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"True\n{[2047] * 2}\n"), done.stderr[-500:]


def test_functions_of_other_objects_are_called_through_a_table(tmp_path: Path):
    text = """
declare void @elsewhere(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @run(ptr %at, i64 %size) {
  call void @llvm.memset.p0.i64(ptr %at, i8 0, i64 %size, i1 false)
  call void @elsewhere(ptr %at)
  ret void
}
"""
    for compiled in (
        native.compile_support(text),
        native.compile_object(text),
        native.compile_object(text, quick=True),
    ):
        (tmp_path / "code.o").write_bytes(compiled)
        with (tmp_path / "code.o").open("rb") as file:
            elf = ELFFile(file)
            names = elf.get_section_by_name(".symtab")
            found = {
                names.get_symbol(r["r_info_sym"]).name: r["r_info_type"]
                for r in elf.get_section_by_name(".rela.text").iter_relocations()
            }
        by_table = (9, 41, 42)
        """R_X86_64_GOTPCREL and what linkers may relax to an address."""
        assert set(found) == {"elsewhere", "memset"} and all(kind in by_table for kind in found.values())
