"""The OpenCL driver: programs from source, SPIR-V, objects and libraries, by way of the compiler that is installed."""

import ctypes
import re
import struct

import numpy as np
import pytest
from support.ocloc import needs_ocloc
from support.opencl_host import Failed, Session, only_device, sizes, text
from test_opencl import function_address

import vsim
from visakit.compiler.ocloc import compile_source
from visakit.diagnostics import FormatError
from visakit.runtime import cl, compiler, kernels, texts
from visakit.runtime.specialisation import specialised
from vsim.launch.schedule import Schedule

only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))
BUILT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
MAIN = '#include "my/own.h"\nint twice(int);\nkernel void run(global int *a) { size_t i = get_global_id(0); a[i] = twice(a[i]) + OWN; }'


@pytest.fixture
def session():
    return Session(None)


def log(session, program):
    return session.host.words("clGetProgramBuildInfo", program, session.device, cl.CL_PROGRAM_BUILD_LOG)


def ran(session, program, kernel="run", count=4):
    buffer = session.buffer(np.arange(count, dtype="i4"))
    session.run(session.kernel(kernel, buffer, program=program), (count,))
    return session.read(buffer, "i4", count).tolist()


@needs_ocloc
def test_errors_of_a_source_are_in_the_log(session):
    program = session.source("kernel void k(global int *a) { a[0] = nothing; }")
    told = []
    function = BUILT(lambda handle, user: told.append(handle))
    status = session.host.status("clBuildProgram", program, 0, None, None, function_address(function), None)
    assert status == cl.CL_BUILD_PROGRAM_FAILURE and told == [program]
    assert "1:39: error: use of undeclared identifier 'nothing'" in log(session, program)
    state = session.host.number("clGetProgramBuildInfo", program, session.device, cl.CL_PROGRAM_BUILD_STATUS)
    assert state == cl.CL_BUILD_ERROR & 0xFFFFFFFF
    assert session.host.status("clCreateKernel", program, text("k")) == cl.CL_INVALID_PROGRAM_EXECUTABLE
    other = session.source("kernel void k() {}")
    options = text("-no-such-option")
    status = session.host.status("clBuildProgram", other, 0, None, options, None, None)
    assert status == cl.CL_INVALID_BUILD_OPTIONS and "-no-such-option" in log(session, other)


@needs_ocloc
def test_options_and_headers_of_the_program(session, tmp_path, monkeypatch):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "three.h").write_text("#define THREE 3\n")
    monkeypatch.chdir(tmp_path)
    source = '#include "three.h"\nkernel void run(global int *a) { a[get_global_id(0)] = THREE + N; }'
    program = session.build(source, "-I include -DN=4")
    assert ran(session, program) == [7] * 4
    options = session.host.words("clGetProgramBuildInfo", program, session.device, cl.CL_PROGRAM_BUILD_OPTIONS)
    assert options == "-I include -DN=4"
    assert session.host.words("clGetProgramInfo", program, cl.CL_PROGRAM_SOURCE) == source


@needs_ocloc
def test_threads_in_turn_may_wait_for_each_other(session, monkeypatch):
    """With --schedule round-robin; in ascending order the first would spin for ever."""
    monkeypatch.setattr(kernels, "schedule", lambda: Schedule("round-robin"))
    source = """kernel void run(global atomic_int *a) {
  if (get_sub_group_id() == 0) while (atomic_load(a) == 0);
  else atomic_store(a, 7);
  if (get_local_id(0) < 2) atomic_store(a + 1 + get_local_id(0), atomic_load(a) + 1);
}"""
    program = session.build(source, "-cl-std=CL2.0")
    buffer = session.buffer(np.zeros(3, "i4"))
    session.run(session.kernel("run", buffer, program=program), (64,), (64,))
    assert session.read(buffer, "i4", 3).tolist() == [7, 8, 8]


@needs_ocloc
def test_objects_are_linked(session):
    host = session.host
    main, library = session.source(MAIN), session.source("int twice(int x) { return 2 * x; }")
    header = session.source("#define OWN 100\n")
    names = text("my/own.h")
    assert (
        host.status("clCompileProgram", main, 0, None, None, 0, None, None, None, None) == cl.CL_COMPILE_PROGRAM_FAILURE
    )
    assert "my/own.h" in log(session, main)
    long = text("x" * 300)
    given = (main, 0, None, None, 1, sizes(header), sizes(ctypes.addressof(long)), None, None)
    assert host.status("clCompileProgram", *given) == cl.CL_COMPILE_PROGRAM_FAILURE
    assert "is no file: File name too long" in log(session, main)
    host.clCompileProgram(main, 0, None, None, 1, sizes(header), sizes(ctypes.addressof(names)), None, None)
    host.clCompileProgram(library, 0, None, None, 0, None, None, None, None)
    kind = lambda p: host.number("clGetProgramBuildInfo", p, session.device, cl.CL_PROGRAM_BINARY_TYPE)  # noqa: E731
    assert kind(main) == cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT
    whole = host.clLinkProgram(session.context, 0, None, None, 2, sizes(main, library), None, None)
    assert kind(whole) == cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE and ran(session, whole) == [100, 102, 104, 106]
    kept = host.clLinkProgram(session.context, 0, None, text("-create-library"), 1, sizes(library), None, None)
    assert kind(kept) == cl.CL_PROGRAM_BINARY_TYPE_LIBRARY
    again = host.clLinkProgram(session.context, 0, None, None, 2, sizes(main, kept), None, None)
    assert ran(session, again) == [100, 102, 104, 106]
    with pytest.raises(Failed, match="CL_LINK_PROGRAM_FAILURE"):
        host.clLinkProgram(session.context, 0, None, None, 1, sizes(main), None, None)
    with pytest.raises(Failed, match=r"CL_INVALID_OPERATION|CL_INVALID_PROGRAM"):
        host.clLinkProgram(session.context, 0, None, None, 2, sizes(main, header), None, None)


@needs_ocloc
def test_objects_and_linked_programs_are_kept(session, tmp_path, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))
    runs, run = [], compiler._run
    monkeypatch.setattr(compiler, "_run", lambda *given: runs.append(given[0][0]) or run(*given))
    host, names = session.host, text("my/own.h")

    def result(main, own):
        main, library = session.source(main), session.source("int twice(int x) { return 2 * x; }")
        header = session.source(f"#define OWN {own}\n")
        host.clCompileProgram(main, 0, None, None, 1, sizes(header), sizes(ctypes.addressof(names)), None, None)
        host.clCompileProgram(library, 0, None, None, 0, None, None, None, None)
        whole = host.clLinkProgram(session.context, 0, None, None, 2, sizes(main, library), None, None)
        made = runs.copy()
        runs.clear()
        return ran(session, whole), made

    assert result(MAIN, 100) == ([100, 102, 104, 106], ["compile", "compile", "link", "compile"])
    assert result(MAIN, 100) == ([100, 102, 104, 106], [])
    assert result(MAIN, 200) == ([200, 202, 204, 206], ["compile", "link", "compile"])
    (tmp_path / "more.h").write_text("#define MORE 1\n")
    monkeypatch.chdir(tmp_path)
    foreign = MAIN.replace("+ OWN", "+ OWN + MORE").replace("int twice", '#include "more.h"\nint twice', 1)
    assert result(foreign, 100) == ([101, 103, 105, 107], ["compile", "link", "compile"])
    (tmp_path / "more.h").write_text("#define MORE 2\n")
    assert result(foreign, 100) == ([102, 104, 106, 108], ["compile", "link", "compile"])
    assert result(foreign, 100) == ([102, 104, 106, 108], [])


@needs_ocloc
def test_sources_without_kernels_are_programs(session):
    host, program = session.host, session.build("int twice(int x) { return 2 * x; }")
    assert host.number("clGetProgramInfo", program, cl.CL_PROGRAM_NUM_KERNELS) == 0
    assert host.words("clGetProgramInfo", program, cl.CL_PROGRAM_KERNEL_NAMES) == ""
    assert host.status("clCreateKernel", program, text("twice")) == cl.CL_INVALID_KERNEL_NAME
    session.build("")
    assert (
        host.status("clCompileProgram", session.source(""), 0, None, None, 0, None, None, None, None) == cl.CL_SUCCESS
    )
    empty = compile_source("empty.cl", b"", "tgllp", "", None).zebin
    session.load(empty)
    with pytest.raises(
        FormatError, match="there is no kernel, and functions without one stay only with IGC_FunctionControl=4"
    ):
        vsim.load(empty)


@needs_ocloc
def test_spirv_is_a_program(session):
    host = session.host
    source = session.source("kernel void run(global int *a) { a[get_global_id(0)] += 5; }")
    host.clCompileProgram(source, 0, None, None, 0, None, None, None, None)
    size = host.number("clGetProgramInfo", source, cl.CL_PROGRAM_BINARY_SIZES)
    module = np.zeros(size, "u1")
    host.clGetProgramInfo(source, cl.CL_PROGRAM_BINARIES, 8, sizes(module.ctypes.data), None)
    program = host.clCreateProgramWithIL(session.context, module, module.nbytes)
    host.clBuildProgram(program, 0, None, None, None, None)
    assert ran(session, program) == [5, 6, 7, 8]
    assert host.ask("clGetProgramInfo", program, cl.CL_PROGRAM_IL) == module.tobytes()
    assert host.words("clGetProgramInfo", program, cl.CL_PROGRAM_SOURCE) == ""
    assert host.status("clCreateProgramWithIL", session.context, text("none"), 4) == cl.CL_INVALID_VALUE
    given = np.zeros(1, "u4")
    assert host.status("clSetProgramSpecializationConstant", program, 7, 4, given) == cl.CL_INVALID_SPEC_ID


def test_specialisation_constants():
    head = [0x07230203, 0x10000, 0, 9, 0]
    decorations = [4 << 16 | 71, 5, 1, 7, 4 << 16 | 71, 6, 1, 8]
    constants = [4 << 16 | 50, 1, 5, 42, 3 << 16 | 48, 2, 6]
    pack = lambda words: struct.pack(f"<{len(words)}I", *words)  # noqa: E731
    module = pack(head + decorations + constants)
    assert specialised(module, 7, struct.pack("<I", 9)) == pack(
        [*head, *decorations, 4 << 16 | 50, 1, 5, 9, *constants[4:]]
    )
    assert specialised(module, 8, b"\0") == pack([*head, *decorations, *constants[:4], 3 << 16 | 49, 2, 6])
    for number, value in ((7, b"12345678"), (8, b"1234"), (9, b"\0")):
        with pytest.raises(Exception) as caught:
            specialised(module, number, value)
        assert caught.value.status in (cl.CL_INVALID_VALUE, cl.CL_INVALID_SPEC_ID)


@needs_ocloc
def test_texts_of_programs_are_files(session, tmp_path, monkeypatch, capfd):
    """All texts of all programs, where they are kept; a fault then cites source and vISA there."""
    monkeypatch.setattr(texts, "kept_texts", lambda: str(tmp_path))
    texts._folder.cache_clear()
    wrong = session.source("kernel void k() { x; }")
    assert session.host.status("clBuildProgram", wrong, 0, None, None, None, None) == cl.CL_BUILD_PROGRAM_FAILURE
    source = "kernel void run(global int *a, int n) {\n  a[get_global_id(0) * n] = 7;\n}\nkernel void other(global int *a) {}\n"
    program = session.build(source, "-g")
    kernel = session.kernel("run", session.buffer(np.zeros(4, "i4")), np.int32(2), program=program)
    session.run(kernel, (4,))
    session.host.status("clFinish", session.queue)
    texts._folder.cache_clear()
    report = capfd.readouterr().err
    number = re.search(r"program-(\d+)\.cl:2:3: error", report)[1]
    names = {path.name for path in tmp_path.iterdir()}
    assert {f"program-{number}{end}" for end in (".cl", "-run.visaasm", "-other.visaasm")} < names and len(names) == 4
    assert (tmp_path / f"program-{number}.cl").read_text() == source
    assert f"{tmp_path}/program-{number}-run.visaasm:" in report


@needs_ocloc
def test_attributes_of_kernels(session):
    source = """__attribute__((reqd_work_group_size(4, 1, 1))) __attribute__((vec_type_hint(float4)))
kernel void run(global int *a) { a[get_global_id(0)] = get_local_size(0); }"""
    program = session.build(source)
    kernel = session.kernel("run", session.buffer(np.zeros(8, "i4")), program=program)
    words = session.host.words("clGetKernelInfo", kernel, cl.CL_KERNEL_ATTRIBUTES)
    assert set(words.split()) == {"reqd_work_group_size(4,1,1)", "vec_type_hint(float4)"}
    assert ran(session, program, count=8) == [4] * 8
    question = cl.CL_KERNEL_COMPILE_WORK_GROUP_SIZE
    size = np.frombuffer(session.host.ask("clGetKernelWorkGroupInfo", kernel, session.device, question), "u8")
    assert size.tolist() == [4, 1, 1]
    for global_size, local in ((6, None), (8, sizes(8))):
        given = (1, None, sizes(global_size), local, 0, None, None)
        status = session.host.status("clEnqueueNDRangeKernel", session.queue, kernel, *given)
        assert status == cl.CL_INVALID_WORK_GROUP_SIZE


@needs_ocloc
def test_uneven_groups_and_offsets(session):
    source = "kernel void run(global int *a) { a[get_global_id(0) - 10] = get_local_size(0) * 100 + get_global_id(0); }"
    for options, expected in (("", cl.CL_INVALID_WORK_GROUP_SIZE), ("-cl-std=CL3.0", cl.CL_SUCCESS)):
        program = session.build(source, options)
        buffer = session.buffer(np.zeros(10, "i4"))
        kernel = session.kernel("run", buffer, program=program)
        given = (1, sizes(10), sizes(10), sizes(4), 0, None, None)
        assert session.host.status("clEnqueueNDRangeKernel", session.queue, kernel, *given) == expected
    assert session.read(buffer, "i4", 10).tolist() == [*range(410, 418), 218, 219]
