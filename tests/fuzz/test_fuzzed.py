"""What the fuzzers found once: none of these files may lead to anything but an answer or a diagnostic."""

import contextlib
import functools
import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.programs import DATA, build

import visakit.ctm.printer
import visakit.ctm.program
from vasm.assembler import assemble_text
from visakit import VisaError, ctm
from visakit.compiler.ocloc import compiler_driver
from visakit.objects.image import parse_ze_info, read_image
from vlink.linker import Linker, LinkOptions
from vsim.analysis.split_instructions import SplitInstructions
from vsim.launch.launch_file import parse_launch


def text(data):
    from fuzz.reading import text_law

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text_law(data)


def isa(data):
    from fuzz.reading import module_law

    module_law(data)


def object_file(data):
    linker = Linker(LinkOptions(allow_undefined=True))
    linker.add_bytes(data, "x")
    linker.run().image.to_bytes()


def archive(data):
    """Links all members, and then only the members that a kernel calls."""
    whole, needed = (
        Linker(LinkOptions(allow_undefined=True, whole_archive=True)),
        Linker(LinkOptions(allow_undefined=True)),
    )
    whole.add_bytes(data, "x")
    with contextlib.suppress(VisaError):
        whole.run().image.to_bytes()
    needed.add_bytes(caller(), "caller")
    needed.add_bytes(data, "x")
    needed.run().image.to_bytes()


@functools.cache
def caller():
    """The object of a kernel that calls functions of the samples."""
    text = (DATA / "cases" / "call_stack_recursion" / "tgllp" / "recursive.visaasm").read_text()
    return assemble_text(text, "caller", "tgllp").object_bytes()


def image(data):
    read_image(data, "x").ze_info_tree()


def ze_info(data):
    parse_ze_info(data.decode("utf-8", "replace"), "x")


def launch(data):
    folder = DATA.parent.parent / "samples" / "saxpy"  # whose arrays are found
    file = parse_launch(data.decode("utf-8", "replace"), str(folder), str(folder / "x"))
    for n in range(min(len(file), 3)):
        file.launch(n)


def ctm_text(data):
    run_ctm(ctm.assemble(data.decode("utf-8", "replace"), "x"))


def ctm_file(data):
    module = visakit.ctm.program.read_module(data, "x")
    visakit.ctm.printer.print_module(module)
    run_ctm(module)


def run_ctm(module):
    """A program that links runs on three groups, the last with two processors; few steps, so that loops end soon."""
    options = ctm.Options(group=4, max_steps=300)
    inputs = {n: np.full((2, 3, 4), n, np.float32) for n in range(0, 16, 2)}
    ctm.load(ctm.link([module]), options).launch(5, 2, inputs, max_seconds=5)


def executed(data):
    """A program with its launch, on both engines, which do the same where it says so."""
    from fuzz.launches import execute

    execute(data)


def compiled(data):
    """A source in OpenCL C with its launches."""
    if compiler_driver() is None:
        pytest.skip("the compiler driver ocloc is not installed")
    executed(data)


def zebin(data):
    from fuzz.zebins import check

    check(data)


def capture(data):
    from fuzz.captures import check

    check(data)


def cache_entry(data):
    from fuzz.caches import check

    check(data)


TARGETS = {
    "kernel": executed,
    "unmasked": executed,
    "program": executed,
    "loop": executed,
    "vector": executed,
    "transfer": executed,
    "part": executed,
    "source": compiled,
    "lane": compiled,
    "zebin": zebin,
    "capture": capture,
    "cache": cache_entry,
    "ctm": ctm_text,
    "ctmo": ctm_file,
    "visaasm": text,
    "isa": isa,
    "o": object_file,
    "a": archive,
    "bin": image,
    "yaml": ze_info,
    "json": launch,
}
SEEDS = 2
FOLDER = Path(__file__).parent
FILES = sorted((DATA / "fuzzed").iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_found(path):
    with contextlib.suppress(VisaError):
        TARGETS[path.suffix[1:]](path.read_bytes())


def mutated(data, count, seed):
    random = np.random.default_rng(seed)
    for _ in range(count):
        changed = bytearray(data)
        for at in random.integers(0, len(data), 3):
            changed[at] = random.integers(0, 256)
        yield bytes(changed)


def samples():
    folder = DATA / "cases" / "call_stack_recursion" / "tgllp"
    yield "bin", build(folder, "tgllp").to_bytes()
    for source in sorted(folder.glob("*.visaasm")):
        yield "visaasm", source.read_bytes()
        yield "o", assemble_text(source.read_text(), "x", "tgllp").object_bytes(debug=True)
    for source in sorted((DATA.parent.parent / "samples" / "ctm").glob("*/*.ctm")):
        yield "ctm", source.read_bytes()
        yield "ctmo", ctm.assemble(source.read_text(), "x").to_bytes()
    yield "yaml", (folder / "ze_info.yaml").read_bytes()
    for path in sorted((DATA / "golden").glob("*.isa"))[::20]:
        yield "isa", path.read_bytes()


@pytest.mark.parametrize(("kind", "data"), [pytest.param(k, d, id=f"{k}{n}") for n, (k, d) in enumerate(samples())])
def test_cut_and_changed(kind, data):
    pieces = [data[:cut] for cut in range(0, len(data), max(1, len(data) // 40))]
    for piece in [*pieces, *mutated(data, 60, len(data))]:
        with contextlib.suppress(VisaError):
            TARGETS[kind](piece)


@pytest.mark.parametrize(
    "name",
    [
        "kernel",
        "unmasked",
        "program",
        "loop",
        "vector",
        "transfer",
        "part",
        "source",
        "lane",
        "form",
        "zebin",
        "capture",
        "cache",
        "visaasm",
        "isa",
        "o",
        "a",
        "bin",
        "yaml",
        "json",
        "ctm",
        "ctmo",
    ],
)
def test_the_first_inputs_of_the_fuzzer(name):
    """A seed gives the same input again, and the first ones are no findings."""
    names = "caches captures forms kernels lanes loops parts programs reading sources transfers unmasked vectors zebins"
    modules = [importlib.import_module(f"fuzz.{module}") for module in names.split()]
    target = {t.name: t for m in modules for t in m.TARGETS}[name]
    if reason := target.missing():
        pytest.skip(reason)
    endings = set()
    for seed in range(SEEDS):
        data = target.make(seed)
        assert data == target.make(seed)
        with contextlib.suppress(VisaError):
            endings.add(target.check(data))
    if name in ("loop", "part", "source", "transfer"):  # made to run, with a model
        assert "accepted" in endings


@pytest.mark.parametrize("name", ["visaasm", "isa", "o", "a", "bin", "yaml", "json", "ctm", "ctmo"])
def test_samples_are_accepted(name):
    """Samples pass all checks, so that their mutations reach the code behind the first check."""
    from fuzz import reading

    target = next(t for t in reading.TARGETS if t.name == name)
    accepted = 0
    for data in reading.samples(name)[:20]:
        with contextlib.suppress(VisaError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            accepted += target.check(data) == "accepted"
    assert accepted


def test_members_of_archives_are_linked():
    from fuzz.reading import archive as archive_of

    odd, even = (
        assemble_text(
            (DATA / "cases" / "call_stack_recursion" / "tgllp" / f"{n}.simd8.visaasm").read_text(), n, "tgllp"
        )
        for n in ("odd", "even")
    )
    archive(archive_of([("odd.o", odd.object_bytes()), ("even.o", even.object_bytes())]))
    with pytest.raises(VisaError):
        archive(archive_of([("odd.o", odd.object_bytes()[:-9])]))


def test_canaries_are_watched():
    from fuzz.guarded import Guarded
    from fuzz.target import Finding

    for at_end in (True, False):
        memory = Guarded(40, 4, at_end)
        memory.data[:] = 1
        memory.check("it")
        (memory.before if at_end else memory.behind)[-1] = 0
        with pytest.raises(Finding, match=r"1 bytes .* it were written to"):
            memory.check("it")


def test_engines_that_disagree_are_found():
    from fuzz.launches import Execution, execute
    from fuzz.target import Finding

    text = (FILES[0].parent.parent / "golden" / "add.visaasm").read_text()
    e = Execution(text, "tgllp", global_size=[8], arguments=[])
    assert execute(e.to_bytes()) == "accepted"
    assert Execution.of(e.to_bytes()) == e
    with pytest.MonkeyPatch.context() as patch:
        from fuzz import launches

        outcomes = [launches.Outcome("", "", {0: np.zeros(4, "u1")}), launches.Outcome("", "", {0: np.ones(4, "u1")})]
        patch.setattr(launches, "run_on", lambda *_: outcomes.pop())
        patch.setattr(launches, "_races", lambda *_: False)
        e.compare = {"0": (4, [("<u1", 0, 4)])}
        with pytest.raises(Finding, match="record 0, <u1 0 at 0: llvm 1, numpy 0"):
            execute(e.to_bytes())


def test_halves_that_must_stay_apart_are_found(monkeypatch):
    """The target of parts notices a fast engine that joins halves over instructions between them."""
    from fuzz import parts
    from fuzz.target import Finding

    monkeypatch.setattr(SplitInstructions, "_hinders", lambda *_: False)
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    with pytest.raises(Finding, match="llvm"):
        for seed in range(40, 70):  # Four of a hundred inputs show it.
            with contextlib.suppress(VisaError):
                parts.TARGETS[0].check(parts.make(seed))


def test_the_fuzzer_reports_its_inputs(tmp_path):
    done = subprocess.run(
        [sys.executable, str(FOLDER), "json", "--count", "4", "--jobs", "2", "--json", "summary"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads((tmp_path / "summary").read_text())
    assert [(f["target"], f["inputs"], f["ranges"], f["findings"]) for f in found] == [("json", 4, [[0, 3]], [])]
    assert "json: 4 inputs" in done.stdout and "seeds 0 to 3" in done.stdout


def test_a_process_that_dies_is_a_finding(monkeypatch, tmp_path):
    from fuzz import runner
    from fuzz.target import Target

    script = tmp_path / "child.py"
    script.write_text("import os\nprint(7)\nprint('= accepted')\nprint(8, flush=True)\nos.abort()")
    monkeypatch.setattr(runner, "COMMAND", (str(script),))
    session = runner.Session(1, "")
    summary = session.run(Target("json", "", lambda seed: b"", lambda data: ""), 7, 60.0, 2)
    session.close()
    assert summary.ranges == [[7, 8]] and summary.endings == {"accepted": 1, "found": 1}
    ((seed, what),) = summary.findings
    assert seed == 8 and "SIGABRT" in what
