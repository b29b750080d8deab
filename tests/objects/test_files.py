"""Outputs are complete or not there: links, modes, full disks, killed processes; array files that are damaged."""

import binascii
import codecs
import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from support.golden_files import command_line, module_of
from support.programs import ROOT, TESTS
from support.strategies import some

from vasm.assembler import assemble_text
from visakit.diagnostics import FileError, UsageError
from visakit.files import (
    check_appendable,
    check_folder,
    check_outputs,
    check_writable,
    read_text,
    write_bytes,
    write_file,
)
from vlink import link
from vsim.command.report import save_array

SMALL = '.version 4.1\n.kernel "k"\nret (M1, 1)\n'
STORE = """.version 4.1
.kernel "k"
.decl BUF v_type=G type=uq num_elts=1
.decl W v_type=G type=ud num_elts=16 align=GRF
.kernel_attr SimdSize=16
.input BUF offset=64 size=8
svm_block_st (4) BUF(0,0)<0;1,0> W.0
ret (M1, 1)
"""
CTM = (ROOT / "samples" / "ctm" / "collatz" / "collatz.ctm").read_text()


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_link_stays_a_link_and_modes_stay(tmp_path):
    real = tmp_path / "there" / "real.o"
    real.parent.mkdir()
    real.write_bytes(b"old")
    real.chmod(0o640)
    link_name = tmp_path / "link.o"
    link_name.symlink_to("there/real.o")
    write_bytes(str(link_name), b"new")
    assert link_name.is_symlink() and real.read_bytes() == b"new" and stat.S_IMODE(real.stat().st_mode) == 0o640
    assert names(real.parent) == ["real.o"]


def test_a_link_to_nothing_is_filled(tmp_path):
    (tmp_path / "link.o").symlink_to("real.o")
    write_bytes(str(tmp_path / "link.o"), b"new")
    assert (tmp_path / "real.o").read_bytes() == b"new" and (tmp_path / "link.o").is_symlink()


def test_a_new_file_has_the_mode_of_the_mask(tmp_path):
    before = os.umask(0o027)
    try:
        write_bytes(str(tmp_path / "x"), b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def refused(path, match):
    with pytest.raises(FileError, match=match) as error:
        write_bytes(str(path), b"new")
    assert error.value.diagnostics[0].code == "F001"


def test_unwritable_outputs_are_refused(tmp_path):
    read_only = tmp_path / "x"
    read_only.write_bytes(b"old")
    read_only.chmod(0o444)
    refused(read_only, "read-only")
    (tmp_path / "loop").symlink_to("loop")
    refused(tmp_path / "loop", "symbolic links")
    refused(tmp_path, "directory")
    refused(tmp_path / "no" / "x", "No such file")
    refused("/dev/full", "No space left")
    os.mkfifo(tmp_path / "fifo")
    refused(tmp_path / "fifo", "no process reads")
    refused(f"{tmp_path}/a\0b", "null byte")
    assert read_only.read_bytes() == b"old" and names(tmp_path) == ["fifo", "loop", "x"]


def test_a_fifo_with_a_reader_gets_everything(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    data = bytes(range(256)) * 4096
    writer = threading.Thread(target=write_bytes, args=(str(path), data))
    with os.fdopen(os.open(path, os.O_RDWR), "rb", buffering=0) as reader:
        writer.start()
        found = b""
        while len(found) < len(data):
            found += reader.read(1 << 16)
        writer.join()
    assert found == data and stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("name", ["x.npy", "x.raw"])
def test_a_full_disk_is_an_error_and_leaves_the_old_file(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(FileError, match="too large"):
            save_array(str(path), np.ones(4096, "f4"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old" and names(tmp_path) == [name]
    with pytest.raises(FileError, match=os.strerror(errno.ENOSPC)):
        save_array("/dev/full", np.ones(3, "f4"))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype="f4").reshape(2, 3, 4).T,
        np.float64(3).reshape(()),
        np.zeros((3, 0), "i2"),
        np.zeros(3, [("a", "f4"), ("b", "u1", 3)]),
    ],
    ids=["transposed", "scalar", "empty", "structures"],
)
def test_arrays_are_written_as_numpy_writes_them(tmp_path, array):
    save_array(str(tmp_path / "a" / "x.npy"), array)
    np.save(tmp_path / "y.npy", array)
    assert (tmp_path / "a" / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()
    save_array(str(tmp_path / "x.raw"), array)
    assert (tmp_path / "x.raw").read_bytes() == array.tobytes()


WRITER = """
import sys
import numpy as np
from visakit import files
from vsim.launch.array_files import write_array

def write(stream):
    for part in range(8):
        sys.stdin.readline()
        write_array(stream, np.full(1 << 16, part, "u1"), False)
        stream.flush()
        print(part, flush=True)
    sys.stdin.readline()

files.write_file(sys.argv[1], write)
print("done", flush=True)
"""


@pytest.mark.parametrize("steps", range(10))
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path, steps):
    path = tmp_path / "x.raw"
    path.write_bytes(b"old")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for _ in range(steps):
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    data = path.read_bytes()
    assert data == b"old" if steps < 9 else len(data) == 8 << 16


def test_the_next_writer_removes_files_of_a_killed_one(tmp_path):
    path = tmp_path / "x.raw"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        (left,) = names(tmp_path)
        write_bytes(str(path), b"other")  # Beside a writer that is at work another one takes another name.
        assert names(tmp_path) == sorted([left, "x.raw"])
        process.send_signal(signal.SIGKILL)
    assert names(tmp_path) == sorted([left, "x.raw"])
    write_bytes(str(tmp_path / "y.raw"), b"of another name")
    assert left in names(tmp_path)
    write_bytes(str(path), b"new")
    assert names(tmp_path) == ["x.raw", "y.raw"] and path.read_bytes() == b"new"


def test_only_left_regular_files_are_removed(tmp_path):
    path = tmp_path / "x.raw"
    hidden = tmp_path / f".{binascii.crc32(b'x.raw'):08x}.tmp"
    for make in (hidden.mkdir, lambda: hidden.symlink_to("elsewhere"), lambda: os.mkfifo(hidden)):
        make()
        write_bytes(str(path), b"new")
        assert names(tmp_path) == sorted([hidden.name, "x.raw"]) and path.read_bytes() == b"new"
        if hidden.is_dir():
            hidden.rmdir()
        else:
            hidden.unlink()


def test_an_interrupt_leaves_nothing(tmp_path):
    def write(stream):
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(str(tmp_path / "x"), write)
    assert names(tmp_path) == []


def test_outputs_are_no_inputs(tmp_path):
    source = tmp_path / "a"
    source.write_text("")
    (tmp_path / "b").symlink_to("a")
    os.link(source, tmp_path / "c")
    for path in (source, tmp_path / "b", tmp_path / "c", f"{tmp_path}/./a"):
        with pytest.raises(UsageError, match="is an input"):
            check_outputs([str(path)], [str(source)])
    with pytest.raises(UsageError, match="two outputs"):
        check_outputs([str(tmp_path / "new"), f"{tmp_path}/./new"], [])
    check_outputs(["-", "-", None, "/dev/null", "/dev/null", str(tmp_path / "new")], ["-", str(source)])


def command(tool, *words, folder, **more):
    return subprocess.run(
        [sys.executable, "-m", module_of(tool), *map(str, words)], cwd=folder, capture_output=True, **more
    )


def test_no_command_overwrites_its_input(tmp_path):
    text = tmp_path / "x.visaasm"
    text.write_text(SMALL)
    (tmp_path / "x.o").write_bytes(assemble_text(SMALL).object_bytes())
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for tool, *words in (
        ("vasm", text, "-o", text),
        ("vasm", text, "--listing", text),
        ("vasm", text, "-o", "y", "--listing", "y"),
        ("vdis", "x.o", "-o", "x.o"),
        ("vlink", "x.o", "-o", "x.o"),
        ("vlink", "x.o", "--map", "./x.o"),
        ("vlink", "x.o", "--data", f"d={text}", "-o", text),
    ):
        done = command(tool, *words, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, b"") and b"output" in done.stderr, done.stderr
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_every_command_says_that_the_disk_is_full(tmp_path):
    (tmp_path / "x.visaasm").write_text(SMALL)
    (tmp_path / "x.o").write_bytes(assemble_text(SMALL).object_bytes())
    (tmp_path / "x.bin").write_bytes(link([assemble_text(SMALL).object_bytes()]).to_bytes())
    for tool, *words in (
        ("vasm", "x.visaasm", "-o", "/dev/full"),
        ("vdis", "x.o", "-o", "/dev/full"),
        ("vlink", "x.o", "-o", "/dev/full"),
        ("vlink", "x.o", "-o", "y.bin", "--map", "/dev/full"),
        ("vasm", "x.visaasm", "-o", "y.o", "--listing", "/dev/full"),
        ("vasm", "x.visaasm", "-o", "y.o", "-MF", "/dev/full"),
    ):
        done = command(tool, *words, folder=tmp_path)
        assert done.returncode == 1 and b"No space left on device [F001]" in done.stderr, done.stderr
    assert not {"y.o", "y.bin"} & set(names(tmp_path)) and Path("/dev/full").is_char_device()


WRITING = (
    "vasm x.visaasm -o out/y.o",
    "vasm x.visaasm --emit isa -o out/y.isa",
    "vasm x.visaasm --out-dir out",
    "vasm x.visaasm --out-dir out/new",
    "vasm x.visaasm -o /dev/null --listing out/y.lst",
    "vasm x.visaasm -o /dev/null -MD -MF out/y.d",
    "vasm x.ctm -o out/y.bin",
    "vdis x.o -o out/y.visaasm",
    "vlink x.o -o out/y.bin",
    "vlink x.o -r -o out/y.o",
    "vlink x.o -o /dev/null --map out/y.map",
    "vlink x.o -o out/y.bin -MD",
    "vsim x.bin --launch npy.json --out-dir out",
    "vsim x.bin --launch raw.json --out-dir out/new",
    "vsim x.bin --launch old.json",
)
"""Every output of every command; y is new, old is there."""


@pytest.fixture
def open_folder():
    """A directory with inputs that other users may read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "x.visaasm").write_text(STORE)
        obj = assemble_text(STORE).object_bytes()
        (folder / "x.o").write_bytes(obj)
        (folder / "x.bin").write_bytes(link([obj]).to_bytes())
        (folder / "x.ctm").write_text(CTM)
        np.save(folder / "array.npy", np.zeros(64, "u4"))
        for stem, out in ("npy", "y.npy"), ("raw", "y.raw"), ("old", "out/old.raw"):
            argument = {"buffer": "array.npy", "out": out}
            entry = {"kernel": "k", "global_size": [16], "local_size": [16], "args": [argument]}
            (folder / f"{stem}.json").write_text(json.dumps({"launches": [entry]}))
        (folder / "out").mkdir()
        (folder / "out" / "old.raw").write_bytes(b"old")
        yield folder


COMMANDS = """import json, sys; from support import golden_files
for line in sys.stdin:
    out, errors, code = golden_files.command_line(line)
    print(json.dumps([code, out.decode(), errors.decode()]), flush=True)
"""
"""Runs command lines one after the other, and says what each of them did."""


def refused_outputs(folder, message, **how):
    """All commands fail with the message, one line, and leave files unchanged; they run in one process."""
    path = os.pathsep.join([str(TESTS), str(ROOT)])
    environment = {**os.environ, "VISAKIT_CACHE": "off", "PYTHONPATH": path}
    words = [sys.executable, "-c", COMMANDS]
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how
    ) as process:
        for line in WRITING:
            print(line, file=process.stdin, flush=True)
            code, out, errors = json.loads(process.stdout.readline())
            assert (code, out) == (1, ""), (line, code, out, errors)
            assert message in errors and errors.count("\n") == 1, (line, errors)
            made = names(folder / "out" / "new") if (folder / "out" / "new").exists() else []
            assert made == [] and set(names(folder / "out")) <= {"old.raw", "new"}, line
            assert (folder / "out" / "old.raw").read_bytes() == b"old", line


def without_override():
    """In a child process: root writes only where modes allow it, as all others do (capability DAC_OVERRIDE)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


def test_every_output_is_an_error_where_nothing_may_be_written(open_folder):
    (open_folder / "out").chmod(0o555)
    touch = [sys.executable, "-c", "open('out/probe', 'w')"]
    probe = subprocess.run(touch, cwd=open_folder, capture_output=True, preexec_fn=without_override)
    if not probe.returncode:
        (open_folder / "out" / "probe").unlink()
        pytest.skip("this user may write anywhere, and that cannot be taken away")
    try:
        refused_outputs(open_folder, "[F001]", preexec_fn=without_override)
    finally:
        (open_folder / "out").chmod(0o755)


def test_every_output_is_an_error_where_files_cannot_grow(open_folder):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))

    refused_outputs(open_folder, "File too large [F001]", preexec_fn=limited)


STREAMS = {
    "closed": ">&-",
    "errors closed": "2>&-",
    "both closed": ">&- 2>&-",
    "all closed": "<&- >&- 2>&-",
    "full": ">/dev/full",
    "errors full": "2>/dev/full",
    "both full": ">/dev/full 2>/dev/full",
    "no reader": "2>&1 | true",
}
LINES = {
    "vdis x.o": True,
    "vasm x.visaasm -o -": True,
    "vlink x.o -o y.bin --map - --print-symbols": True,
    "vsim x.bin": True,
    "vsim x.bin --json": True,
    "vasm --version": True,
    "vsim --help": True,
    "vasm --explain V010": True,
    "vdis no.o": False,
    "vasm wrong.visaasm": False,
    "vsim --engine": False,
}
"""Command lines, and whether they succeed."""


@pytest.mark.parametrize("streams", STREAMS)
def test_streams_that_are_closed_or_full_end_in_no_traceback(tmp_path, streams):
    (tmp_path / "x.visaasm").write_text(SMALL)
    (tmp_path / "wrong.visaasm").write_text(SMALL + "nothing\n")
    (tmp_path / "x.o").write_bytes(assemble_text(SMALL).object_bytes())
    (tmp_path / "x.bin").write_bytes(link([assemble_text(SMALL).object_bytes()]).to_bytes())
    tried = dict(some(LINES.items(), 2 if streams in ("closed", "full", "no reader") else 3))
    lines = [
        f"({sys.executable} -m {module_of(tool)} {words} {STREAMS[streams]}); echo $? >> codes"
        for tool, _, words in (line.partition(" ") for line in tried)
    ]
    done = subprocess.run(
        ["sh", "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, errors="replace", timeout=120
    )
    assert "Traceback" not in done.stderr and "Fatal" not in done.stderr and "Exception" not in done.stderr, done.stderr
    codes = [int(code) for code in (tmp_path / "codes").read_text().split()]
    if streams == "no reader":
        return
    lost = streams in ("closed", "both closed", "all closed", "full", "both full")
    assert [not code for code in codes] == [good and not lost for good in tried.values()], done.stderr
    assert set(codes) <= {0, 1, 2}
    if streams == "full":
        assert done.stderr.count("No space left on device") == sum(tried.values())
    if streams == "closed":
        assert done.stderr.count("Bad file descriptor") == sum(tried.values())


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE], ids=["8", "16le", "16be"])
def test_byte_order_marks(tmp_path, mark):
    encoding = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}[mark]
    path = tmp_path / "x.visaasm"
    path.write_bytes(mark + SMALL.encode(encoding))
    if mark == codecs.BOM_UTF8:
        assert read_text(str(path)) == SMALL
    else:
        with pytest.raises(FileError, match=r"this is UTF-16 text \[F004\]"):
            read_text(str(path))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are no bytes everywhere")
def test_names_that_are_no_utf8_keep_their_bytes(tmp_path, monkeypatch):
    """In make rules, maps and archives; messages show them escaped."""
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"n\xff")
    Path(f"{odd}.visaasm").write_text(SMALL)
    outputs = []
    for line in (
        f"vasm {odd}.visaasm -MD --listing {odd}.lst", f"vasm {odd}.visaasm -g -o a.o -MF {odd}.mk", f"vlink {odd}.o --archive {odd}.a",
        f"vlink --whole-archive {odd}.a -o {odd}.bin --map {odd}.map -MD", f"vlink {odd}.bin", f"vdis {odd}.o", f"vsim {odd}.none",
        f"vsim {odd}.bin --kernel k --global-size 1 --capture {odd}.captured --trace {odd}.trace", f"vsim {odd}.bin --make-launch {odd}.json",
        f"vsim --replay {odd}.captured/Enqueue_0_k --visa {odd}.o", f"vsim {odd}.bin --launch {odd}.json",
    ):  # fmt: skip
        outputs.append(command_line(line))
        assert outputs[-1][2] in (0, 1) and b"Traceback" not in outputs[-1][1], line
    rule = (tmp_path / os.fsdecode(b"n\xff.d")).read_bytes()
    assert rule == b"n\xff.bin: n\xff.a\n" and Path(f"{odd}.mk").read_bytes() == b"a.o: n\xff.visaasm\n"
    assert b"n\xff.o" in Path(f"{odd}.a").read_bytes() and b"n\xff.o" in Path(f"{odd}.map").read_bytes()
    assert outputs[6][1].startswith(b"n\\udcff.none: error: No such file or directory [F001]\n")


def test_outputs_that_cannot_be_written_are_found_before(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    for path in ("new", "file", "link", "a/b/new"):
        check_writable(str(tmp_path / path))
    check_folder(str(tmp_path / "a/b"))
    check_writable("-")
    check_writable("/dev/null")
    assert names(tmp_path) == ["file", "link"] and (tmp_path / "file").read_text() == "old"
    (tmp_path / "file").chmod(0o444)
    for path in ("", "file", "link", "file/new", "x" * 300, "\0"):
        with pytest.raises(FileError) as error:
            check_writable(str(tmp_path / path))
        assert error.value.diagnostics[0].code == "F001"
    with pytest.raises(FileError, match="ot a directory"):
        check_folder(str(tmp_path / "file" / "a"))


def test_files_that_take_no_more_are_found_before(tmp_path):
    (tmp_path / "old").write_text("old")
    os.mkfifo(tmp_path / "fifo")
    for path in ("new", "old", "fifo"):
        check_appendable(str(tmp_path / path))
    assert (tmp_path / "old").read_text() == "old" and (tmp_path / "new").read_text() == ""
    for path in (tmp_path, tmp_path / "old" / "x", "/dev/full"):
        with pytest.raises(FileError):
            check_appendable(str(path))
