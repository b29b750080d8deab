"""The shared library that loaders of OpenCL and Level Zero open, made by cffi with the C compiler, kept in the cache.

The library begins the interpreter in the program when it is called first, and Python has the functions of both
interfaces.
"""

from __future__ import annotations

import hashlib
import os
import re
import site
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from visakit import cache
from visakit.diagnostics import Diagnostic, FileError
from visakit.files import make_directory, write_bytes
from visakit.levelzero import interface as levelzero
from visakit.long_work import long_work
from visakit.opencl.interface import IN_C, entry_points, served_points
from visakit.runtime.interface import C_TYPES, ERROR_PARAMETER, EntryPoint

FOLDER = "opencl"
MODULE = "_visakit_opencl"
ICD_FILE = "visakit.icd"
_TO_PYTHON = ("void visakit_greet(void);", "void visakit_process_ends(void);", "void visakit_connect(int interface);")
"""Functions that the library calls in Python besides those of the interfaces."""
_FROM_PYTHON = """
uintptr_t visakit_dispatch(void);
int visakit_watch_end(void);
int visakit_watch_interpreter(void);
void visakit_python_forks(int now);
void visakit_show_states(uintptr_t begin, uintptr_t end, uintptr_t size, int answers);
"""
_INIT = """
import os, site, sys
folders = {folders!r}
is_new = "VISAKIT_OPENCL_PATH" in os.environ  # The program does not contain Python: this environment precedes others.
if is_new:
    for name in ("HOME", "PATH"):
        value = os.environ.pop("VISAKIT_OPENCL_" + name, "")
        os.environ.pop("PYTHON" + name, None)
        if value:
            os.environ["PYTHON" + name] = value
    rest = [folder for folder in sys.path if folder not in folders]
    standard = [folder for folder in rest if not folder.rstrip("/").endswith("-packages")]
    sys.path[:] = standard
    for folder in folders:
        site.addsitedir(folder)
    sys.path += [folder for folder in rest if folder not in standard]
for folder in folders:
    if folder not in sys.path:
        site.addsitedir(folder)
from {module} import ffi, lib
from visakit.runtime.ending import leave_interrupts, watch
from visakit.runtime.interface import in_python
from visakit.runtime.objects import set_dispatch_table
define = lambda name, function: ffi.def_extern(name=in_python(name))(function)
def connect(interface):
    if interface:
        from visakit.levelzero.driver import connect
        connect(define, lib.visakit_show_states)
    else:
        from visakit.opencl.driver import connect
        connect(define, lib.visakit_show_states)
set_dispatch_table(lib.visakit_dispatch())  # Handles of objects that both interfaces have begin with it.
ffi.def_extern(name="visakit_greet")(lambda: None)
ffi.def_extern(name="visakit_connect")(connect)
watch(lib, lambda function: ffi.def_extern(name="visakit_process_ends")(function))
if is_new:
    leave_interrupts()
"""


class Closed(NamedTuple):
    """How calls are refused when Python runs no more: releases succeed and do nothing, all else fails.

    Attributes:
        number: the interface in ``visakit_connect``.
        status: of calls that fail.
        releases: names of functions that release.
    """

    number: int
    status: str
    releases: re.Pattern[str]


_OPENCL = Closed(0, "-5", re.compile(r"clRelease\w+|clMem(Blocking)?FreeINTEL"))
"""``CL_OUT_OF_RESOURCES``."""
_LEVEL_ZERO = Closed(1, "0x78000001", re.compile(r"ze\w+Destroy\w*|ze(Virtual)?MemFree(Ext)?"))
"""``ZE_RESULT_ERROR_UNINITIALIZED``."""
_FACT = "visakit_tell_fact"
_KNOWN_IN_C = {"clWaitForEvents": "visakit_all_done", "clGetDeviceInfo": _FACT, "clGetContextInfo": _FACT}
"""Functions that objects of pyopencl and SYCL call after Python has ended, and who answers in C."""


def c_source() -> str:
    """The C of the library, which cffi adds the entries to Python to: ``library.c.in`` with its lines filled in."""
    points = [point for point in entry_points() if point.name not in IN_C]
    level_zero = levelzero.served_points()
    entries = [_entry(p, _OPENCL) if p.is_served else _refusal(p) for p in points]
    entries += [_entry(p, _LEVEL_ZERO) for p in level_zero]
    folder = files("visakit.opencl")
    lines = {
        "TO_PYTHON": [f"extern {prototype}" for prototype in _TO_PYTHON],
        "LENDING": [folder.joinpath("lending.c").read_text("utf-8")],
        "ENTRIES": [line for entry in entries for line in entry],
        "NAMED": [f'    {{"{p.name}", (void *){p.name}}},' for p in points if p.is_served],
        "TABLE": [f"    (void *){p.name}," for p in entry_points() if p.in_table],
        "NAMED_ZE": [f'    {{"{p.name}", (void *){p.name}}},' for p in level_zero],
        "TABLES_ZE": [line for name, entries in levelzero.tables().items() for line in _table(name, entries)],
    }
    template = folder.joinpath("library.c.in").read_text("utf-8")
    return re.sub(r"^@(\w+)@$", lambda m: "\n".join(lines[m[1]]), template, flags=re.MULTILINE)


def _table(name: str, entries: Sequence[levelzero.TableEntry]) -> list[str]:
    """The function that fills a table of Level Zero's loader."""
    if not entries:
        body = ["    return visakit_fill(version, table, NULL, 0);"]
        return [f"CFFI_DLLEXPORT int32_t {name}(uint32_t version, void **table)", "{", *body, "}", ""]
    functions = [f"(void *){e.function.name}" if e.function.is_served else "NULL" for e in entries]
    rows = [f"        {{0x{e.version:X}, {function}}}," for e, function in zip(entries, functions, strict=True)]
    return [
        f"CFFI_DLLEXPORT int32_t {name}(uint32_t version, void **table)", "{",
        "    static const struct visakit_place places[] = {", *rows, "    };",
        "    return visakit_fill(version, table, places, sizeof places / sizeof *places);", "}", "",
    ]  # fmt: skip


def _entry(point: EntryPoint, closed: Closed) -> list[str]:
    """A function that calls Python, as long as Python runs. A pending exception of the caller is pending again when the
    function returns.
    """
    gives = point.result != "none"
    fails = point.refusal is None and not closed.releases.fullmatch(point.name)
    result = f"{C_TYPES[point.result]} result = {closed.status if fails else point.refusal or 0};"
    lines = [
        f"extern {point.in_python.prototype};",
        f"CFFI_DLLEXPORT {point.prototype}",
        "{",
        f"    {result}" if gives else "",
        "    struct visakit_call call = { 0 };",
        "    pthread_cleanup_push(visakit_park, &call);",
        *_waiting(point),
        f"    if (visakit_enter(&call, {closed.number})) {{",
        *_python_answers(point),
        "        visakit_leave(&call);",
        f"    }} else if ({ERROR_PARAMETER}) {{" if point.has_error_parameter else "    }",
        *_after_the_end(point),
        *([f"        *(int32_t *){ERROR_PARAMETER} = {closed.status};", "    }"] if point.has_error_parameter else []),
        "    pthread_cleanup_pop(0);",
    ]
    return [*lines, "    return result;\n}" if gives else "}"]


def _python_answers(point: EntryPoint) -> list[str]:
    """Lines that call Python. C keeps facts, whose sizes it takes from Python."""
    names = [name for _, name in point.parameters]
    if _KNOWN_IN_C.get(point.name) != _FACT:
        result = "" if point.result == "none" else "result = "
        return [f"        {result}{point.in_python.name}({', '.join(names)});"]
    item, name, room, value, size_ret = names
    return [
        "        size_t size = 0;",
        f"        result = {point.in_python.name}({item}, {name}, {room}, {value}, (uintptr_t)&size);",
        "        if (result == 0)",
        f"            visakit_keep_fact({item}, {name}, size, {value}, {size_ret});",
    ]


def _after_the_end(point: EntryPoint) -> list[str]:
    """Lines for a refused call that C may know the answer of."""
    known = _KNOWN_IN_C.get(point.name)
    if known is None:
        return []
    return [f"    else if ({known}({', '.join(name for _, name in point.parameters)}))", "        result = 0;"]


def _waiting(point: EntryPoint) -> list[str]:
    """Lines for functions that wait, or ask whether something is over: C answers if it knows."""
    if not point.name.endswith(("Synchronize", "QueryStatus")) or point.name == "zeDeviceSynchronize":
        return []
    handle, timeout = point.parameters[0][1], point.parameters[1][1] if len(point.parameters) > 1 else "0"
    asks = f"    int over = visakit_wait({handle}, {timeout});"
    return [asks, "    if (over >= 0)", "        result = !over;", "    else"]


def _refusal(point: EntryPoint) -> list[str]:
    """A function that refuses every call: CL_INVALID_OPERATION, -59."""
    error = "    if (errcode_ret) *(int32_t *)errcode_ret = -59;\n" if point.has_error_parameter else ""
    used = "".join(f"    (void){name};\n" for _, name in point.parameters)
    return [f"static {point.prototype}\n{{\n{used}{error}    return {'-59' if point.result == 'i32' else '0'};\n}}"]


def python_library() -> Path | None:
    """The shared library of this interpreter; None if it has none."""
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") or not folder or not name:
        name, folder = f"libpython{sysconfig.get_config_var('LDVERSION')}.so.1.0", folder or "/usr/lib"
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    places = [Path(folder, name), Path(folder, multiarch, name), Path("/usr/lib", multiarch, name)]
    return next((place for place in places if place.exists()), None)


def site_folders() -> list[str]:
    """Where the modules of this environment are, this package first."""
    own = str(Path(__file__).resolve().parents[2])
    paths = sysconfig.get_paths()
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return list(dict.fromkeys([own, paths["purelib"], paths["platlib"], *user]))


def library_path() -> Path:
    """The library for this interpreter and this version of the package, built if it is not there as it was built.

    Raises:
        FileError: it cannot be built, and why.
    """
    folder = cache.private_directory(FOLDER, create=True)
    if folder is None:
        raise _failed("there is no cache directory to keep the driver in", "VISAKIT_CACHE names one of the user's own")
    parts = [c_source(), _INIT, str(python_library()), sys.version, sys.prefix, sys.base_prefix, *site_folders()]
    digest = hashlib.sha256(os.fsencode("\0".join(parts))).hexdigest()[:16]
    path = folder / f"libvisakit-opencl-{digest}.so"
    if not _is_as_built(path):
        with long_work("building the driver, once"):
            build(path)
        cache.write(FOLDER, f"{path.name}.digest", _digest(path))
    return path


def _digest(path: Path) -> bytes:
    """A digest of a private file; of any other nothing."""
    data = cache.contents(path)
    return b"" if data is None else cache.digest([data]).encode()


def _is_as_built(path: Path) -> bool:
    """Whether a library is whole and of the user: programs run it."""
    digest = _digest(path)
    return digest != b"" and cache.read(FOLDER, f"{path.name}.digest") == digest


def build(path: Path) -> None:
    """Build the library.

    Raises:
        FileError: a requirement is missing, the C compiler fails, or the library cannot be written.
    """
    try:
        from cffi import FFI
    except ImportError:
        raise _failed("the Python package cffi is not installed", "pip install 'visakit[opencl]'") from None
    shared = python_library()
    if shared is None:
        hint = "use a Python with one, such as that of the system (Debian and Ubuntu: apt install python3-dev)"
        raise _failed("this Python has no shared library (libpython), which the driver needs", hint)
    ffi = FFI()
    points = [*served_points(), *levelzero.served_points()]
    ffi.embedding_api("\n".join([*(f"{point.in_python.prototype};" for point in points), *_TO_PYTHON]))
    ffi.cdef(_FROM_PYTHON)
    macros = [(f"VISAKIT_{name}", _quoted(value)) for name, value in _places(shared).items()]
    folders = [str(shared.parent)]
    ffi.set_source(
        MODULE, c_source(), define_macros=macros, library_dirs=folders, runtime_library_dirs=folders,
        # The loader's functions have the same names; Python refers to functions of the library as long as it lives.
        # A handler of signals cannot look for functions.
        extra_link_args=["-Wl,-Bsymbolic", "-Wl,-z,nodelete", "-Wl,-z,now"],
    )  # fmt: skip
    ffi.embedding_init_code(_INIT.format(folders=site_folders(), module=MODULE))
    with tempfile.TemporaryDirectory(prefix="visakit-") as place:
        made = _compile(ffi, place)
        write_bytes(str(path), made.read_bytes())
        path.chmod(0o700)


def _places(shared: Path) -> dict[str, str]:
    """Facts of the interpreter that the library starts."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    path = os.pathsep.join(site_folders())
    return {"VERSION": version, "LIBPYTHON": str(shared), "HOME": sys.base_prefix, "PATH": path}


def _quoted(value: str) -> str:
    """A text as C has it."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _compile(ffi: object, place: str) -> Path:
    """Run the C compiler; its output is shown only if it fails."""
    from cffi import FFI, VerificationError

    assert isinstance(ffi, FFI)
    said = os.path.join(place, "said")
    with open(said, "wb") as stream:
        kept = [os.dup(1), os.dup(2)]
        try:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
            return Path(ffi.compile(place, target="libvisakit-opencl.so"))
        except VerificationError as error:
            problem = str(error)
        except Exception as error:  # distutils and setuptools have their own, with no common base
            problem = str(error)
        finally:
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)
    lines = [line for line in Path(said).read_text("utf-8", "replace").splitlines() if "error" in line]
    raise _failed(f"the driver cannot be compiled: {(lines or [problem])[0]}", "it takes gcc and the headers of Python")


def _failed(message: str, hint: str) -> FileError:
    return FileError(Diagnostic("U005", message, None, f"{hint}; visakit doctor lists the installed parts"))


def install_library(folder: str, name: str) -> Path:
    """Write the library into a folder, under a name; returns its path.

    Raises:
        FileError: it cannot be built or written.
    """
    made = library_path()
    make_directory(folder)
    target = Path(folder).resolve() / name
    write_bytes(str(target), made.read_bytes())
    return target


def install(folder: str) -> Path:
    """Write the library, and the file with which loaders of OpenCL find it; returns the latter.

    Raises:
        FileError: it cannot be built or written.
    """
    target = install_library(folder, "libvisakit-opencl.so")
    icd = Path(folder) / ICD_FILE
    write_bytes(str(icd), os.fsencode(f"{target}\n"))
    return icd


def icd_folder(driver: Path) -> str:
    """A folder beside the driver with the file with which loaders find it; missing parts are made.

    The file names a path, which is another one in a copy of the cache.

    Raises:
        FileError: it cannot be written.
    """
    folder = driver.parent / driver.stem
    folder.mkdir(mode=0o700, exist_ok=True)
    icd = folder / ICD_FILE
    contents = os.fsencode(f"{driver}\n")
    if not icd.exists() or icd.read_bytes() != contents:
        write_bytes(str(icd), contents)
    return str(folder)
