"""The shared library that ICD loaders open: made by cffi with the C compiler, kept in the user's cache.

The library begins the interpreter in the program when it is called first, and Python has the functions of OpenCL.
"""

from __future__ import annotations

import hashlib
import os
import site
import sys
import sysconfig
import tempfile
from pathlib import Path

from visakit import cache
from visakit.diagnostics import Diagnostic, FileError
from visakit.opencl.interface import C_TYPES, ERROR_PARAMETER, IN_C, EntryPoint, entry_points, served_points
from visakit.waiting import waiting

FOLDER = "opencl"
MODULE = "_visakit_opencl"
ICD_FILE = "visakit.icd"
_HEAD = """
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int visakit_usable = 1;

/* Python begins with the variable as it must be; then it gets back what it had, which is kept in another one. */
static void visakit_set(const char *name, const char *value, const char *kept)
{
    const char *before = getenv(name);
    setenv(kept, before == NULL ? "" : before, 1);
    setenv(name, value, 1);
}

/* The gate between the program and Python; visakit/opencl/ending.py has the proof that it is closed in time. */
static int visakit_closed = 0;    /* for good: the process, or the interpreter, ends */
static int visakit_started = 0;   /* Python has been seen to run, and never begins for a second time */
static int visakit_entering = 0;  /* threads between the gate and Python's lock */
static int visakit_forks = 0;     /* Python itself forks, and does what a fork takes */
#define VISAKIT_GET(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define VISAKIT_SET(place, value) __atomic_store_n(&(place), (value), __ATOMIC_SEQ_CST)
#define VISAKIT_ADD(place, value) __atomic_add_fetch(&(place), (value), __ATOMIC_SEQ_CST)

#if PY_VERSION_HEX >= 0x030d0000
#define VISAKIT_FINALISING Py_IsFinalizing
#else
#define VISAKIT_FINALISING _Py_IsFinalizing
#endif

static int visakit_is_open(void)
{
    if (VISAKIT_GET(visakit_closed))
        return 0;
    if (!Py_IsInitialized())
        return !VISAKIT_GET(visakit_started);
    VISAKIT_SET(visakit_started, 1);
    return !VISAKIT_FINALISING();
}

/* A call that is under way. */
struct visakit_call { int is_entering; PyGILState_STATE state; PyObject *type, *value, *trace; };

/* Python ends threads that want its lock when it is being finalised. This one has frames of the program. */
static void visakit_park(void *given)
{
    struct visakit_call *call = given;
    if (call->is_entering)
        VISAKIT_ADD(visakit_entering, -1);
    while (!visakit_is_open())
        pause();
}

/* Takes Python's lock, and sets aside what Python is about to raise in this thread: extension modules call on their way
   out, too, to release objects. False for a gate that is closed. */
static int visakit_enter(struct visakit_call *call)
{
    VISAKIT_ADD(visakit_entering, 1);
    call->is_entering = 1;
    int is_open = visakit_is_open() && cffi_start_python() == 0;
    if (is_open) {
        if (PyGILState_GetThisThreadState() == NULL)
            visakit_greet();  /* cffi keeps the state that it makes as long as the thread lives. */
        call->state = PyGILState_Ensure();
        PyErr_Fetch(&call->type, &call->value, &call->trace);
    }
    call->is_entering = 0;
    VISAKIT_ADD(visakit_entering, -1);
    return is_open;
}

static void visakit_leave(struct visakit_call *call)
{
    PyErr_Restore(call->type, call->value, call->trace);
    PyGILState_Release(call->state);
}

/* Python is told that the process ends, if it is there still. */
static void visakit_end(void)
{
    struct visakit_call call = { 0 };
    pthread_cleanup_push(visakit_park, &call);
    if (Py_IsInitialized() && visakit_enter(&call)) {
        visakit_process_ends();
        visakit_leave(&call);
    }
    pthread_cleanup_pop(0);
    VISAKIT_SET(visakit_closed, 1);
}

/* The last function registered is the first called: this one goes before all others (visakit/opencl/ending.py). */
static int visakit_watch_end(void)
{
    return atexit(visakit_end);
}

/* The interpreter's last act, by the thread that finalises it: nobody may be on the way to it any more. */
static void visakit_finalised(PyObject *capsule)
{
    (void)capsule;
    VISAKIT_SET(visakit_closed, 1);
    for (int tries = 0; tries < 2000 && VISAKIT_GET(visakit_entering); tries++)
        usleep(1000);
}

static int visakit_watch_interpreter(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *kept = PyInterpreterState_GetDict(PyThreadState_GetInterpreter(PyThreadState_Get()));
    PyObject *capsule = PyCapsule_New(&visakit_closed, NULL, visakit_finalised);
    int failed = kept == NULL || capsule == NULL || PyDict_SetItemString(kept, "visakit opencl", capsule);
    Py_XDECREF(capsule);
    PyErr_Clear();
    PyGILState_Release(state);
    return failed;
}

static void visakit_python_forks(int now)
{
    VISAKIT_SET(visakit_forks, now);
}

/* A fork that is not Python's own does what a fork of Python does: the child has a lock of Python that it can take. */
static int visakit_in_fork = 0;
static PyGILState_STATE visakit_fork_state;

static void visakit_before_fork(void)
{
    if (VISAKIT_GET(visakit_started) && !VISAKIT_GET(visakit_forks) && visakit_is_open()) {
        visakit_fork_state = PyGILState_Ensure();
        PyOS_BeforeFork();
        visakit_in_fork = 1;
    }
}

static void visakit_after_fork_here(void)
{
    if (visakit_in_fork) {
        visakit_in_fork = 0;
        PyOS_AfterFork_Parent();
        PyGILState_Release(visakit_fork_state);
    }
}

static void visakit_after_fork_there(void)
{
    VISAKIT_SET(visakit_entering, 0);
    if (visakit_in_fork) {
        visakit_in_fork = 0;
        PyOS_AfterFork_Child();
        PyGILState_Release(visakit_fork_state);
    }
}

/* A program that is no Python opens this library with its names hidden: extension modules must find Python's. */
__attribute__((constructor)) static void visakit_begin(void)
{
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    int (*running)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    pthread_atfork(visakit_before_fork, visakit_after_fork_here, visakit_after_fork_there);
    if (running != NULL && running()) {
        if (version != NULL && strncmp(version(), VISAKIT_VERSION ".", sizeof VISAKIT_VERSION) != 0) {
            fprintf(stderr, "visakit: the OpenCL driver is made for Python " VISAKIT_VERSION
                            ", the program runs %.8s; install it with that one\\n", version());
            visakit_usable = 0;
        }
        return;
    }
    dlopen(VISAKIT_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
    visakit_set("PYTHONHOME", VISAKIT_HOME, "VISAKIT_OPENCL_HOME");
    visakit_set("PYTHONPATH", VISAKIT_PATH, "VISAKIT_OPENCL_PATH");
}
"""
_TAIL = """
static const struct { const char *name; void *function; } visakit_functions[] = {
@NAMED@};

CFFI_DLLEXPORT void *clGetExtensionFunctionAddress(const char *name)
{
    for (size_t i = 0; name != NULL && visakit_usable && i < sizeof visakit_functions / sizeof *visakit_functions; i++)
        if (strcmp(name, visakit_functions[i].name) == 0)
            return visakit_functions[i].function;
    return NULL;
}

CFFI_DLLEXPORT void *clGetExtensionFunctionAddressForPlatform(void *platform, const char *name)
{
    (void)platform;
    return clGetExtensionFunctionAddress(name);
}

static void *const visakit_table[] = {
@TABLE@};

static uintptr_t visakit_dispatch(void)
{
    return (uintptr_t)visakit_table;
}
"""
_TO_PYTHON = ("void visakit_greet(void);", "void visakit_process_ends(void);")
"""What the library calls in Python besides the functions of OpenCL."""
_FROM_PYTHON = """
uintptr_t visakit_dispatch(void);
int visakit_watch_end(void);
int visakit_watch_interpreter(void);
void visakit_python_forks(int now);
"""
_INIT = """
import os, site, sys
folders = {folders!r}
if "VISAKIT_OPENCL_PATH" in os.environ:  # The program has no Python of its own: this environment goes before others.
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
from visakit.opencl.driver import connect
from visakit.opencl.ending import watch
from visakit.opencl.interface import in_python
define = lambda name, function: ffi.def_extern(name=in_python(name))(function)
ffi.def_extern(name="visakit_greet")(lambda: None)
connect(lib.visakit_dispatch(), define)
watch(lib, lambda function: ffi.def_extern(name="visakit_process_ends")(function))
"""


def c_source() -> str:
    """What the library has besides the entries to Python."""
    points = entry_points()
    lines = [*(f"extern {prototype}" for prototype in _TO_PYTHON), _HEAD]
    for point in points:
        if point.name in IN_C:
            continue
        lines += _entry(point) if point.is_served else _refusal(point)
    named = "".join(f'    {{"{p.name}", (void *){p.name}}},\n' for p in points if p.is_served and p.name not in IN_C)
    table = "".join(f"    (void *){p.name},\n" for p in points if p.in_table)
    lines.append(_TAIL.replace("@NAMED@", named).replace("@TABLE@", table))
    return "\n".join(lines)


def _entry(point: EntryPoint) -> list[str]:
    """A function that Python has, as long as it is there: what was being raised when it is called is raised still when
    it returns.

    Later releases succeed and do nothing, and all else fails: CL_OUT_OF_RESOURCES, -5.
    """
    call = f"{point.in_python.name}({', '.join(name for _, name in point.parameters)})"
    gives = point.result != "none"
    is_release = point.name.startswith("clRelease") or point.name in ("clMemFreeINTEL", "clMemBlockingFreeINTEL")
    closed = f"{C_TYPES[point.result]} result = {'-5' if point.result == 'i32' and not is_release else '0'};"
    lines = [
        f"extern {point.in_python.prototype};",
        f"CFFI_DLLEXPORT {point.prototype}",
        "{",
        f"    {closed}" if gives else "",
        "    struct visakit_call call = { 0 };",
        "    pthread_cleanup_push(visakit_park, &call);",
        "    if (visakit_enter(&call)) {",
        f"        result = {call};" if gives else f"        {call};",
        "        visakit_leave(&call);",
        f"    }} else if ({ERROR_PARAMETER}) {{" if point.has_error_parameter else "    }",
        *([f"        *(int32_t *){ERROR_PARAMETER} = -5;", "    }"] if point.has_error_parameter else []),
        "    pthread_cleanup_pop(0);",
    ]
    return [*lines, "    return result;\n}" if gives else "}"]


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
    """The library for this interpreter and this version of the package, built if it is not there.

    Raises:
        FileError: it cannot be built, and why.
    """
    folder = cache.private_directory(FOLDER, create=True)
    if folder is None:
        raise _failed("there is no cache directory to keep the driver in", "VISAKIT_CACHE names one of the user's own")
    parts = [c_source(), _INIT, str(python_library()), sys.version, sys.prefix, sys.base_prefix, *site_folders()]
    digest = hashlib.sha256(os.fsencode("\0".join(parts))).hexdigest()[:16]
    path = folder / f"libvisakit-opencl-{digest}.so"
    if not path.exists():
        with waiting("building the OpenCL driver, once"):
            build(path)
    return path


def build(path: Path) -> None:
    """Build the library.

    Raises:
        FileError: something that it takes is missing, or the C compiler fails.
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
    ffi.embedding_api("\n".join([*(f"{point.in_python.prototype};" for point in served_points()), *_TO_PYTHON]))
    ffi.cdef(_FROM_PYTHON)
    macros = [(f"VISAKIT_{name}", _quoted(value)) for name, value in _places(shared).items()]
    folders = [str(shared.parent)]
    ffi.set_source(
        MODULE, c_source(), define_macros=macros, library_dirs=folders, runtime_library_dirs=folders,
        # The loader's functions have the same names; and Python knows functions of the library as long as it lives.
        extra_link_args=["-Wl,-Bsymbolic", "-Wl,-z,nodelete"],
    )  # fmt: skip
    ffi.embedding_init_code(_INIT.format(folders=site_folders(), module=MODULE))
    with tempfile.TemporaryDirectory(prefix="visakit-") as place:
        made = _compile(ffi, place)
        temporary = path.with_name(f".{os.urandom(8).hex()}.so")
        temporary.write_bytes(made.read_bytes())
        temporary.chmod(0o700)
        temporary.replace(path)


def _places(shared: Path) -> dict[str, str]:
    """What the library must know of the interpreter that it begins."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    path = os.pathsep.join(site_folders())
    return {"VERSION": version, "LIBPYTHON": str(shared), "HOME": sys.base_prefix, "PATH": path}


def _quoted(value: str) -> str:
    """A text as C has it."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _compile(ffi: object, place: str) -> Path:
    """Run the C compiler; what it says is shown only if it fails."""
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
    return FileError(Diagnostic("U005", message, None, f"{hint}; visakit doctor says what is there"))


def install(folder: str) -> Path:
    """Write the library and the file by which loaders find it; gives the latter.

    Raises:
        FileError: it cannot be built or written.
    """
    from visakit.files import make_directory, write_file

    made = library_path()
    make_directory(folder)
    target = Path(folder).resolve() / "libvisakit-opencl.so"
    write_file(str(target), lambda stream: stream.write(made.read_bytes()))
    icd = Path(folder) / ICD_FILE
    write_file(str(icd), lambda stream: stream.write(os.fsencode(f"{target}\n")))
    return icd


def icd_folder() -> str:
    """A folder of the cache with the file by which loaders find the driver; everything is made that is missing.

    Raises:
        FileError: it cannot be built or written.
    """
    path = library_path()
    folder = path.parent / path.stem
    folder.mkdir(mode=0o700, exist_ok=True)
    icd = folder / ICD_FILE
    if not icd.exists():
        temporary = folder / f".{os.urandom(8).hex()}"
        temporary.write_bytes(os.fsencode(f"{path}\n"))
        temporary.replace(icd)
    return str(folder)
