"""The public interface: docs/python.md documents all of it, and mistakes of users are exceptions of one class tree."""

import ast
import inspect
import io
import json
import pickle
import re
import subprocess
import sys
import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from support.programs import ROOT

import vasm
import visakit
import vlink
import vsim
from visakit.compiler.ocloc import compile_source
from visakit.language.platforms import PLATFORMS
from vsim.launch.launch import Launch

PYTHON_SAMPLES = ROOT / "samples" / "python"
PAGE = (ROOT / "docs" / "python.md").read_text()
SECTIONS = dict(re.findall(r"^### (v\w+\.\w+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
SIGNATURES = "".join(re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
PUBLIC = {f"{p.__name__}.{name}": getattr(p, name) for p in (visakit, vasm, vlink, vsim) for name in p.__all__}
ERRORS = {n: c for n, c in PUBLIC.items() if inspect.isclass(c) and issubclass(c, Exception)}
TREE = (visakit.Module, visakit.Function, visakit.Instruction)
"""The classes of the syntax tree, whose parts the page only names."""
WRITERS = {
    "visakit/subcommands/prove.py", "visakit/subcommands/prove_kernels.py", "visakit/subcommands/prove_rules.py", "visakit/subcommands/prove_witness.py", "visakit/subcommands/registers.py", "vasm/cli.py", "vasm/vdis_cli.py", "vlink/cli.py", "vsim/command/cli.py", "visakit/__main__.py", "visakit/cli.py", "visakit/long_work.py", "visakit/commands/help.py", "visakit/commands/command.py", "visakit/files.py", "visakit/commands/reporting.py",
    "vsim/observe/printf.py", "vsim/command/debugger.py", "vsim/command/attached.py", "vsim/command/prompt.py",
}  # fmt: skip
"""The files of the commands, which write to the standard streams as the OpenCL driver does, and what shows the prints of
kernels."""
CHANGE = np.dtype([("factor", "f4"), ("shift", "i4")])
TEXT = '.version 4.1\n.kernel "k"\nret (M1, 1)\n'


def plain(text):
    """A signature without what only layout decides."""
    return re.sub(r"\s+", "", text).replace("'", '"')


def typed(function, name):
    """The signature of a function as the page has it."""
    signature, parts = inspect.signature(function), []
    for p in signature.parameters.values():
        if p.name == "self":
            continue
        assert p.annotation is not p.empty, f"{name}: {p.name} has no type"
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        stars = "**" if p.kind is p.VAR_KEYWORD else "*" if p.kind is p.VAR_POSITIONAL else ""
        parts.append(f"{stars}{p.name}: {p.annotation}" + ("" if p.default is p.empty else f" = {p.default!r}"))
    assert signature.return_annotation is not signature.empty or inspect.isclass(function), f"{name} has no type"
    result = "" if inspect.isclass(function) else f" -> {signature.return_annotation}"
    return f"{name}({', '.join(parts)}){result}"


def members(cls):
    """The public methods, properties and fields of a class."""
    own = {n: v for n, v in vars(cls).items() if not n.startswith("_")}
    return own | ({f.name: None for f in fields(cls)} if is_dataclass(cls) else {})


def test_the_page_has_all_public_names():
    assert set(SECTIONS) == set(PUBLIC)


@pytest.mark.parametrize("name", [n for n, o in PUBLIC.items() if not inspect.isclass(o)])
def test_functions_have_the_documented_signatures(name):
    assert plain(typed(PUBLIC[name], name.partition(".")[2])) in plain(SIGNATURES)
    assert PUBLIC[name].__doc__


@pytest.mark.parametrize("name", [n for n, o in PUBLIC.items() if inspect.isclass(o)])
def test_classes_are_documented_with_all_they_have(name):
    cls, section = PUBLIC[name], SECTIONS[name]
    assert cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}(")
    shown = plain(SIGNATURES)
    for member, value in members(cls).items():
        assert re.search(rf"\b{member}\b", section), f"{name}.{member}"
        if inspect.isfunction(value) and plain(f"{member}(") in plain(section):
            assert plain(typed(value, member)) in shown
    if f"{cls.__name__}(" in section or f"{name.partition('.')[2]}(" in section:
        assert plain(typed(cls, name.partition(".")[2])) in shown
    elif cls is vsim.Program:
        raise AssertionError("the page has no signature of Program")


def test_the_exception_tree():
    shown = {m[1] for m in re.finditer(r"^.*── (visakit\.\w+)", PAGE, re.MULTILINE)}
    assert shown == set(ERRORS)
    derived = {f"visakit.{c.__name__}" for c in visakit.VisaError.__subclasses__()}
    assert derived | {"visakit.VisaError", "visakit.VisaWarning"} == set(ERRORS)
    assert issubclass(visakit.UsageError, ValueError) and issubclass(visakit.UsageError, TypeError)
    assert issubclass(visakit.FileError, OSError) and issubclass(visakit.VisaWarning, UserWarning)


@pytest.mark.parametrize("name", [n for n in ERRORS if n != "visakit.VisaWarning"])
def test_errors_go_through_pickle(name):
    found = [visakit.Diagnostic("V001", "one", visakit.Span("f", 1, 2)), visakit.Diagnostic("V002", "two")]
    error = ERRORS[name](found)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and copy.diagnostics == found and str(copy) == str(error)
    assert "one" in str(error) and "two" in str(error)


def test_an_error_keeps_the_printed_text():
    error = visakit.SimulationError(visakit.Diagnostic("S030", "x"))
    error.printf = "half a line"
    assert pickle.loads(pickle.dumps(error)).printf == "half a line"
    assert str(visakit.UsageError("plain")) == "plain"


def calls(tree):
    """The functions that a module calls, as its text names them."""
    return {ast.unparse(n.func): n.lineno for n in ast.walk(tree) if isinstance(n, ast.Call)}


def test_the_library_prints_nothing():
    streams = re.compile(r"print|input|(?:sys\.)?(?:stdout|stderr)(?:\.\w+)*")
    for path in (p for package in ("vasm", "vlink", "vsim", "visakit") for p in (ROOT / package).rglob("*.py")):
        found = {c: line for c, line in calls(ast.parse(path.read_text())).items() if streams.fullmatch(c)}
        where = path.relative_to(ROOT).as_posix()
        assert not found or where in WRITERS or where.startswith("visakit/runtime/"), f"{path}: {found}"


def test_commands_are_listed_with_their_exit_codes():
    table = PAGE[PAGE.index("## The commands") :]
    assert {m[1] for m in re.finditer(r"^\| `(\w+)` \|", table, re.MULTILINE)} == {"vasm", "vdis", "vlink", "vsim"}
    assert {m[1] for m in re.finditer(r"^\| (\d+) \|", table, re.MULTILINE)} == {"0", "1", "2", "130"}


def test_the_readme_names_the_commands_and_the_page():
    text = (ROOT / "README.md").read_text()
    assert all(re.search(rf"^{command} ", text, re.M) for command in ("vasm", "vdis", "vlink", "vsim", "visakit"))
    assert "vsim.load" in text and "docs/python.md" in text


def test_the_site_shows_the_docstrings_of_all_public_names():
    page = (ROOT / "docs" / "api.md").read_text()
    assert set(re.findall(r"^::: (\S+)$", page, re.MULTILINE)) == set(PUBLIC)


def test_numbers_of_the_readme_agree_with_the_reports():
    text, docs = (ROOT / "README.md").read_text(), ROOT / "docs"
    speed = (docs / "measurements" / "performance.md").read_text()
    classes = dict(re.findall(r"^## (\w+)[^:\n]*: (\d+)$", (docs / "fidelity.md").read_text(), re.MULTILINE))
    assert f"{classes['Exact']} execute exactly, {classes['Within']} within" in text
    assert f"{classes['Refused']} without a public definition" in text
    assert f"{len(list((ROOT / 'tests/data/golden').glob('*.isa')))} golden files" in text
    rows = re.findall(r"^\| (.*), 1 thread \| tgllp \| \*\*([\d.]+)\*\*", speed, re.M)
    pocl, intel = (
        f"{1 / float(dict(rows)[peer]):.1f} times as fast as on {peer}" for peer in ("PoCL", "Intel's CPU runtime")
    )
    assert f"{pocl} and {intel}" in text
    platforms = ", ".join(PLATFORMS)
    assert platforms in text and all(f"`{name}`" in PAGE for name in PLATFORMS)


def test_importing_a_package_loads_neither_numpy_nor_the_table():
    code = "import sys, visakit, vasm, vlink, vsim; print([m for m in ('numpy', 'llvmlite', 'lark', 'visakit.isa') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "[]\n", done.stderr
    assert all(name in dir(package) for package in (visakit, vasm, vlink, vsim) for name in package.__all__)
    with pytest.raises(AttributeError, match="module 'vsim' has no attribute 'nothing'"):
        vsim.nothing  # noqa: B018


# -- the way without files -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image():
    texts = sorted(PYTHON_SAMPLES.glob("*.visaasm"))
    objects = [vasm.assemble_text(t.read_text(), t.name, "tgllp").object_bytes(debug=True) for t in texts]
    return vlink.link(objects, PYTHON_SAMPLES / "ze_info.yaml")


@pytest.fixture(scope="module")
def program(image):
    return vsim.load(image)


def scaled(program, **options):
    data = np.arange(40, dtype="f4")
    result = program.launch("scale", 40, 16, [data, np.array((2, 1), CHANGE), 39], **options)
    return data, result


def test_an_image_is_loaded_from_anything(image, tmp_path):
    path = tmp_path / "image.bin"
    path.write_bytes(image.to_bytes())
    sources = (str(path), path, image.to_bytes(), bytearray(image.to_bytes()), memoryview(image.to_bytes()), image)
    runs = [scaled(vsim.load(source)) for source in sources]
    expected = np.append(2 * np.arange(39, dtype="f4") + 1, np.float32(39))
    for data, result in runs:
        assert data.tolist() == expected.tolist() and result.counters == runs[0][1].counters
    assert all(vsim.load(s).kernels == ["invert", "scale", "walk"] for s in sources)


def test_faults_are_equal_from_file_and_memory(image, tmp_path):
    said = set()
    for source in (image, image.to_bytes()):
        with pytest.raises(visakit.SimulationError) as caught:
            vsim.load(source).launch("scale", 64, 64, [np.zeros(40, "f4"), np.array((2, 1), CHANGE), 64])
        said.add(str(caught.value))
    assert len(said) == 1 and "scale.visaasm:" in said.pop()


def test_every_function_takes_the_results_of_the_others(image):
    data = visakit.assemble(TEXT)
    assembly = vasm.assemble_text(TEXT)
    assert (
        assembly.isa == data == visakit.write_module(assembly.module) == visakit.write_module(visakit.read_module(data))
    )
    assert "/x/k.visaasm" in str(vasm.assemble_text(TEXT, Path("/x/k.visaasm")).module.kernels[0].file)
    text = visakit.disassemble(data)
    for source in (bytearray(data), memoryview(data), assembly.module, assembly.object_bytes(), vlink.link([data])):
        assert visakit.disassemble(source) == text
    assert visakit.assemble(text) == data
    assert visakit.assemble(visakit.disassemble(image)) == visakit.write_module(image.module)
    assert "k" in repr(assembly) and "scale" in repr(image) and max(len(repr(assembly)), len(repr(image))) < 100


def test_warnings_are_issued_or_returned():
    text = '.version 4.1\n.kernel "k"\n.decl V v_type=G type=d num_elts=8\nmov (M1, 8) V(0,1)<1> 0:d\nret (M1, 1)\n'
    with pytest.warns(visakit.VisaWarning, match=r"\[W010\]") as caught:
        visakit.assemble(text)
    assert [d.code for d in caught[0].message.diagnostics] == ["W010"] and caught[0].filename == __file__
    assert [d.code for d in vasm.assemble_text(text).warnings] == ["W010"]
    assert vasm.assemble_text(text, silent=["W010"]).warnings == []


def test_a_missing_llvmlite_is_a_warning(image, monkeypatch):
    monkeypatch.setitem(sys.modules, "vsim.engines.llvm.engine", None)
    monkeypatch.setattr("vsim.engines.selector._LLVM_MISSING", False)
    program = vsim.load(image)
    with pytest.warns(visakit.VisaWarning, match="llvmlite cannot be loaded") as caught:
        data, result = scaled(program)
    assert result.engine == "numpy" and data[0] == 1 and caught[0].message.diagnostics[0].code == "U002"
    assert caught[0].filename == __file__
    with pytest.raises(visakit.SimulationError, match=r"llvmlite cannot be loaded.*\[S024\]"):
        scaled(program, engine="llvm")


def test_invalid_native_code_is_a_warning_or_an_error(image, monkeypatch, tmp_path):
    from vsim.engines.llvm import pipeline

    monkeypatch.setenv("VISAKIT_CACHE", "off")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    entry = "define void @group(ptr %ctx, ptr %worker, ptr %variant, i64 %first, i64 %groups) {\n"
    for broken in ("what", entry + "%a = add i64 %b, 1\n%b = add i64 %first, 1\nret void\n}"):
        monkeypatch.setattr(pipeline, "module", lambda *_, broken=broken: broken)
        program = vsim.load(image)
        with pytest.warns(visakit.VisaWarning, match="no valid native code for") as caught:
            data, result = scaled(program)
        assert result.engine == "numpy" and data[0] == 1 and caught[0].message.diagnostics[0].code == "U002"
        assert caught[0].filename == __file__
        with pytest.raises(visakit.VisaWarning, match="no valid native code for"):  # as in any test of ours
            scaled(program)
        with pytest.raises(visakit.SimulationError, match=r"no valid native code for 'scale'.*\[S024\]") as error:
            scaled(program, engine="llvm")
        (file,) = re.findall(r"'([^']*\.ll)'", error.value.diagnostics[0].hint)
        assert Path(file).read_text() == broken and Path(file).parent == tmp_path


# -- results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_counters(program, engine):
    _, result = scaled(program, engine=engine)
    assert (result.global_size, result.local_size) == ((40, 1, 1), (16, 1, 1))
    assert result.counters == vsim.Counters(work_items=40, groups=3, threads=3, simd=32, instructions=None)
    assert 0 <= result.compile_seconds <= result.seconds and result.executed == [] and result.fidelity is None
    _, profiled = scaled(program, engine=engine, profile=True)
    assert profiled.counters.instructions == len(profiled.executed) > 5
    assert "mov" in profiled.fidelity.exact
    _, again = scaled(program, engine=engine)
    assert again.executed == []


def test_counters_of_all_dimensions_and_of_parts(program):
    picture = np.zeros((5, 7, 4), "f4")
    arguments = [picture, picture]
    whole = program.launch("invert", (7, 5), (4, 2), arguments)
    groups = [whole.dispatch.group(n) for n in range(whole.dispatch.group_count)]
    items = [x * y * z for _, (x, y, z) in groups]
    simd = whole.counters.simd
    assert whole.counters == vsim.Counters(35, 6, sum(-(-n // simd) for n in items), simd, None)
    launch = Launch("invert", (7, 5), (4, 2), args=program.convert("invert", arguments))
    part = program.run(launch, groups=(1, 4))
    assert part.counters[:2] == (sum(items[1:4]), 3)


def test_a_launch_is_traced_and_ordered_by_name(program):
    from vsim.observe.trace import Trace

    out = io.StringIO()
    _, result = scaled(program, trace=Trace(out), schedule="reverse")
    assert result.engine_reason == "the launch is traced" and "mov" in out.getvalue()


def test_compile_time_is_told_apart(image):
    program = vsim.load(image)
    first, second = scaled(program)[1], scaled(program)[1]
    assert 0 < first.compile_seconds <= first.seconds and second.compile_seconds == 0


# -- mistakes of users -----------------------------------------------------------------------------------------


def launch(program, *arguments, **options):
    given = [np.zeros(40, "f4"), np.array((2, 1), CHANGE), 40]
    return program.launch(*(arguments or ("scale", 40, 8)), **({"args": given} | options))


def array(change):
    """A faulty array in place of the buffer."""
    return [change(np.zeros(40, "f4")), np.array((2, 1), CHANGE), 40]


LAUNCHES = {
    "size of text": (("scale", "abc"), {}, "global size"), "negative size": (("scale", -5), {}, "global size"),
    "no size": (("scale", ()), {}, "global size"), "four sizes": (("scale", (1, 2, 3, 4)), {}, "global size"),
    "zero": (("scale", 0), {}, "has a zero"), "float": (("scale", 40.0), {}, "global size"), "None": (("scale", None), {}, "global size"),
    "33 bits": (("scale", 1 << 32), {}, "from 1 to 4294967295"), "local size of text": (("scale", 40, "x"), {}, "local size"),
    "local size of 0": (("scale", 40, 0), {}, "0 work-items"), "offset": (("scale", 40), {"global_offset": (-1,)}, "global offset"),
    "no list": (("scale", 40), {"args": 5}, "'args' is a list"), "an array for the list": (("scale", 40), {"args": np.zeros(4)}, "into a list"),
    "engine": (("scale", 40), {"engine": "x"}, "no engine"), "threads": (("scale", 40), {"threads": 0}, "'threads' is"),
    "threads of text": (("scale", 40), {"threads": "x"}, "'threads' is"), "seconds": (("scale", 40), {"max_seconds": "x"}, "'max_seconds' is"),
    "negative seconds": (("scale", 40), {"max_seconds": -1}, "'max_seconds' is"), "schedule": (("scale", 40), {"schedule": 5}, "the schedule is a str, found int"),
    "kernel": (("nope", 40), {}, "no kernel 'nope'"), "kernel None": ((None, 40), {}, "name of a kernel"),
    "doubles": (("scale", 40), {"args": array(lambda a: a.astype("f8"))}, r"is float\*, and the array has elements of type float64"),
    "integers": (("scale", 40), {"args": array(lambda a: a.view("i4"))}, r"type int32[^^]*array.view\('f4'\)"),
    "byte order": (("scale", 40), {"args": array(lambda a: a.astype(">f4"))}, "byte order"),
    "objects": (("scale", 40), {"args": array(lambda a: a.astype(object))}, "Python objects"),
}  # fmt: skip


@pytest.mark.parametrize("what", LAUNCHES)
def test_faulty_launches(program, what):
    launch(program)  # so that there is a launch that another may be like
    arguments, options, message = LAUNCHES[what]
    with pytest.raises((visakit.LaunchError, visakit.UsageError), match=message):
        launch(program, *arguments, **options)


CALLS = {
    "text of bytes": (lambda p: visakit.assemble(b"x"), visakit.UsageError, "decode the bytes"),
    "unknown platform": (lambda p: visakit.assemble(TEXT, platform="tglp"), visakit.UsageError, "did you mean 'tgllp'"),
    "platform of an object": (lambda p: vasm.assemble_text(TEXT, platform="x"), visakit.UsageError, "platforms are skl"),
    "no errors": (lambda p: vasm.assemble_text("x", max_errors=0), visakit.UsageError, "max_errors"),
    "no errors of a link": (lambda p: vlink.link([], options=vlink.LinkOptions(max_errors=0)), visakit.UsageError, "max_"),
    "faulty text": (lambda p: visakit.assemble("x"), visakit.AssemblyError, "V006"),
    "bytes of text": (lambda p: visakit.disassemble("x"), visakit.UsageError, "is bytes, found str"),
    "no bytes": (lambda p: visakit.read_module(b""), visakit.FormatError, "it is empty"),
    "style": (lambda p: visakit.render([], "x"), visakit.UsageError, "styles are human"),
    "no list of objects": (lambda p: vlink.link("a.o"), visakit.UsageError, "into a list"),
    "object of int": (lambda p: vlink.link([5]), visakit.UsageError, "found int"),
    "nothing": (lambda p: vlink.link(None), visakit.UsageError, "'objects' is a list"),
    "options of a dict": (lambda p: vlink.link([], options={}), visakit.UsageError, "LinkOptions, found dict"),
    "no module": (lambda p: visakit.write_module(b""), visakit.UsageError, "found bytes"),
    "file of int": (lambda p: visakit.assemble(TEXT, 5), visakit.UsageError, "a file is a str"),
    "array of a list": (
        lambda p: p.launch("walk", 1, 1, [vsim.launch.launch.BufferArgument([1]), np.zeros(1, "i4")]), visakit.LaunchError, "'first'.* not a numpy array"
    ),
    "missing object": (lambda p: vlink.link(["/nope"]), visakit.FileError, "F001"),
    "options with a zero": (
        lambda p: compile_source("k.cl", b"", "tgllp", "-D\0", None), visakit.UsageError, "build options have a zero byte"
    ),
    "options with half a character": (
        lambda p: compile_source("k.cl", b"", "tgllp", "-D\ud800", None), visakit.UsageError, r"have '\\ud800', which"
    ),
    "nothing to link": (lambda p: vlink.link([]), visakit.LinkError, "L020"),
    "entries of text": (lambda p: vlink.LinkOptions(entries="k"), visakit.UsageError, "list of kernels"),
    "image platform": (lambda p: vlink.LinkOptions(platform="x"), visakit.UsageError, "not a platform"),
    "data of text": (lambda p: vlink.LinkOptions(data={"x": "y"}), visakit.UsageError, "symbol 'x' is bytes"),
    "missing image": (lambda p: vsim.load("/nope"), visakit.FileError, "No such file"),
    "folder": (lambda p: vsim.load(Path("/")), visakit.FileError, "directory"),
    "image of int": (lambda p: vsim.load(5), visakit.UsageError, "found int"),
    "no image": (lambda p: vsim.load(b"x"), visakit.FormatError, "C010"),
    "an object": (lambda p: vsim.load(vasm.assemble_text(TEXT).object_bytes()), visakit.FormatError, "C030"),
    "option of a launch": (lambda p: p.launch("walk", 1, 1, [np.zeros(1), np.zeros(1, "i4")], engin="numpy"), visakit.UsageError, "did you mean 'engine'"),
    "option of a run": (lambda p: p.run(Launch("walk", (1,)), thread=1), visakit.UsageError, "did you mean 'threads'"),
    "option of a kernel": (lambda p: p.walk(np.zeros(1), np.zeros(1, "i4"), global_size=1, chek="all"), visakit.LaunchError, "did you mean 'check'"),
    "schedule of a run": (lambda p: p.run(Launch("walk", (1,), args=p.convert("walk", [np.zeros(1), np.zeros(1, "i4")])), schedule="sideways"), visakit.LaunchError, "schedules are round-robin"),
    "address of a list": (lambda p: p.usm([1]), visakit.LaunchError, "is a list"),
    "address of a part": (lambda p: p.usm(np.zeros(8)[::2]), visakit.LaunchError, "not contiguous"),
    "release of a list": (lambda p: p.release([1]), visakit.UsageError, "found list"),
    "image of a list": (lambda p: vsim.Image([1], "r_f32"), visakit.LaunchError, "not a numpy array"),
    "size in a launch": (lambda p: Launch("k", (-1,)), visakit.LaunchError, "global size"),
}  # fmt: skip


@pytest.mark.parametrize("what", CALLS)
def test_faulty_calls(program, what):
    call, kind, message = CALLS[what]
    with pytest.raises(kind, match=message) as caught:
        call(program)
    assert isinstance(caught.value, visakit.VisaError) and caught.value.diagnostics


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("simd_size", 7), ("simd_size", "x"), ("slm_size", -1), ("slm_size", 1 << 40), ("required_work_group_size", "abc"),
        ("payload_arguments", 5), ("payload_arguments", ["x"]), ("payload_arguments", [{"offset": "x"}]),
        ("payload_arguments", [{"arg_index": -2}]), ("binding_table_indices", [{"bti_value": []}]), ("per_thread_memory_buffers", [{"size": {}}]),
    ],
)  # fmt: skip
def test_ze_info_that_makes_no_sense(image, key, value):
    import yaml

    tree = yaml.safe_load((PYTHON_SAMPLES / "ze_info.yaml").read_text())
    scale = next(k for k in tree["kernels"] if k["name"] == "scale")
    (scale["execution_env"] if key in ("simd_size", "slm_size", "required_work_group_size") else scale)[key] = value
    message = r"ze_info of kernel 'scale': '\w+' is .* expected \[C021\]"
    with pytest.raises(visakit.FormatError, match=rf"^<ze_info>:\d+:1: error: {message}"):
        vlink.link([image_object()], yaml.dump(tree).encode())
    with pytest.raises(visakit.FormatError, match=message):
        vlink.link([image_object()], json.dumps(tree).encode())


def image_object():
    return vasm.assemble_text((PYTHON_SAMPLES / "scale.visaasm").read_text(), platform="tgllp").object_bytes()


def test_the_launch_file_of_an_image_is_read_with_care(tmp_path):
    path = tmp_path / "image.bin"
    for launch_text, message in (("{", "not JSON"), ("[]", "JSON object")):
        path.write_bytes(vlink.link([image_object()], options=vlink.LinkOptions(launch=launch_text)).to_bytes())
        done = subprocess.run([sys.executable, "-m", "vsim", path], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["vasm"], ["vlink", "x.bin", "--data", "x"], ["vsim", "x.bin", "--arg", "5"]])
def test_wrong_usage_of_commands_exits_with_2(words, tmp_path, image):
    (tmp_path / "x.bin").write_bytes(image.to_bytes())
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 2 and done.stderr and "Traceback" not in done.stderr, done.stderr


# -- what kernels print ----------------------------------------------------------------------------------------


def printed(*records):
    """The text of printf records, each a format and packed values."""
    import struct

    from vsim.memory.memory import AddressSpace
    from vsim.observe.printf import PrintfRecords

    memory, data = AddressSpace(), bytes(4)
    for text, *values in records:
        data += struct.pack("<Q", memory.allocate("text", np.frombuffer(text.encode() + b"\0", np.uint8)).address)
        data += b"".join(struct.pack(layout, *numbers) for layout, *numbers in values)
    return PrintfRecords(data, memory).text()


def test_printf_records():
    assert printed(("%d %5.1f|%c%%\n", ("<Ii", 3, -7), ("<If", 4, 2.25), ("<Ii", 3, 65))) == "-7   2.2|A%\n"
    assert printed(("%v4f;%d", ("<II4f", 13, 4, 1, 2, 3, 4), ("<Ii", 3, 5))) == "1.000000,2.000000,3.000000,4.000000;5"
    assert printed(("%v4hhu|%.2v2hlf|%v2hld", ("<II4b4x", 9, 4, -1, 1, -128, 3))) == "255,1,128,3|0.00|0"
    assert printed(("%hhu %hu %hhd %hd", *(("<Ii", 3, n) for n in (-1, -1, 300, 70000)))) == "255 65535 44 4464"
    assert (
        printed(("%v2hlf|%v2hhx", ("<II2f", 13, 2, 1.5, float("inf")), ("<II2b6x", 9, 2, -1, 16)))
        == "1.500000,inf|ff,10"
    )
    assert printed(("%v4hld", ("<I", 11))) == "0"
    assert printed(("%v2hhd;%d", ("<II2b6x", 9, 2, -1, 5), ("<Ii", 3, 8))) == "-1,5;8"
    assert printed(("%d %d", ("<Id", 8, float("nan")), ("<Id", 8, float("inf")))) == "nan inf"
    assert printed(("%d", ("<I4x", 8))) == "0"


# -- types -----------------------------------------------------------------------------------------------------


def test_a_wheel_has_four_packages_and_an_editable_install_is_a_path():
    """Type checkers follow paths, and not hooks for imports."""
    import tomllib

    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    packages = set(wheel["only-include"]) - {"grammar", "docs/errors.md"}
    assert packages == {"vasm", "vlink", "vsim", "visakit"} and wheel["dev-mode-dirs"] == ["."]
    assert all((ROOT / name / "py.typed").exists() for name in packages)
    assert wheel["sources"] == {"grammar": "visakit/grammar", "docs": "visakit"}
    assert wheel["artifacts"] == ["grammar/*.tables", "grammar/*.derivations"]  # which hatch_build.py makes
