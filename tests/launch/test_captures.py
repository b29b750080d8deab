"""Captures of the OpenCL Intercept Layer: replayed as the layer writes them, and written as it does."""

import json
import os
import struct
import tarfile

import numpy as np
import pytest
from support.commands import said
from support.ocloc import SAXPY, needs_ocloc
from support.programs import DATA, SHARED, build, needs_corpus

import visakit
from visakit.objects.zebin import read_zebin, with_text
from vsim.launch.launch import BufferArgument, Launch, SamplerArgument, scalar_bytes
from vsim.memory.images import CHANNEL_ORDERS, CHANNEL_TYPES, ELEMENTS, ORDERS
from vsim.program import load
from vsim.sources.capture_writer import CaptureWriter
from vsim.sources.captures import read_capture
from vsim.sources.replay import Tolerance, replayed

ZEBIN = DATA / "zebins" / "xelp.bin"
TABLE = np.float32([1, 2, 4, 8])
HANDLES = [0x55AA00001000, 0x55AA00002000]
"""What a process had for the handles of two buffers."""


def memory(number, kernel, index, data, allocation=0):
    """Name and contents of a buffer's file."""
    return f"Enqueue_{number:04}_Kernel_{kernel}_Arg_{index}_Buffer_{allocation:04}.bin", bytes(data)


def written(folder, number, kernel, sizes, files, before, after):
    """A capture, byte by byte as the layer writes one."""
    folder = folder / f"Enqueue_{number}_{kernel}"
    (folder / "Pre").mkdir(parents=True)
    (folder / "Post").mkdir()
    (folder / "enqueueNumber.txt").write_bytes(b"%d\n" % number)
    (folder / "kernelName.txt").write_bytes(kernel.encode())
    (folder / "worksizes.txt").write_bytes(sizes)
    (folder / "buildOptions.txt").write_bytes(b"-cl-kernel-arg-info\n")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    for part, items in (("Pre", before), ("Post", after)):
        for name, data in items:
            (folder / part / name).write_bytes(data)
    return folder


def saxpy(folder, x, y, result, handles=HANDLES, offsets=(0, 0), **more):
    """A capture of saxpy with the scalars 2.5 and 12, over 16 work-items."""
    files = {
        "DeviceBinary0.bin": ZEBIN.read_bytes(),
        "ArgumentDataTypes.txt": b"float*\nfloat*\nfloat\nuint\n",
        "Argument0.bin": struct.pack("<Q", handles[0]),
        "Argument1.bin": struct.pack("<Q", handles[1]),
        "Argument2.bin": struct.pack("<f", 2.5),
        "Argument3.bin": struct.pack("<I", 12),
        "SVM_Arg_Offset_0.txt": b"%d\n" % offsets[0],
        "SVM_Arg_Offset_1.txt": b"%d\n" % offsets[1],
    } | more
    before = [memory(31, "saxpy", 0, y.tobytes()), memory(31, "saxpy", 1, x.tobytes(), 1)]
    after = [
        memory(31, "saxpy", 0, result.tobytes()),
        memory(31, "saxpy", 1, (result if handles[0] == handles[1] else x).tobytes(), 1),
    ]
    return written(
        folder, 31, "saxpy", b"16 \n0 \n0 \n", {k: v for k, v in files.items() if v is not None}, before, after
    )


def expected(x, y):
    """The result of saxpy in y."""
    found = y.copy()
    found[:12] += 2.5 * x[:12] * np.tile(TABLE, 3)
    return found


X, Y = np.arange(16, dtype="f4"), np.ones(16, "f4")


def test_a_capture_is_replayed(tmp_path, capsys):
    folder = saxpy(tmp_path, X, Y, expected(X, Y))
    code, out, err = said(capsys, "vsim", "--replay", folder, "--save", "y=" + str(tmp_path / "y.npy"))
    assert (code, err) == (0, "") and out.startswith("saxpy: ok") and "2 checked" in out
    assert (
        np.array_equal(np.load(tmp_path / "y.npy"), expected(X, Y)) and np.load(tmp_path / "y.npy").dtype == np.float32
    )
    capture = read_capture(str(folder))
    assert (capture.number, capture.kernel, capture.global_size, capture.local_size) == (31, "saxpy", (16,), None)
    assert (capture.options, capture.types) == ("-cl-kernel-arg-info", ("float*", "float*", "float", "uint"))


@pytest.mark.parametrize("words", [("--save", "y=."), ("--profile", "file/x.json"), ("--out-dir", "file")], ids=str)
def test_outputs_that_cannot_be_written_are_refused_before_the_launch(words, tmp_path, capsys, monkeypatch):
    folder = saxpy(tmp_path, X, Y, expected(X, Y))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    code, out, err = said(capsys, "vsim", "--replay", folder, *words)
    assert (code, out) == (1, "") and "[F001]" in err


def test_differences_are_named_by_element_and_have_tolerances(tmp_path, capsys):
    result = expected(X, Y)
    result[3] *= 1 + 4e-6
    folder = saxpy(tmp_path, X, Y, result)
    assert said(capsys, "vsim", "--replay", folder)[0] == 0
    code, out, _ = said(capsys, "vsim", "--replay", folder, "--rtol", "0")
    assert code == 1 and "argument 0: 1 of 16 elements differ" in out and "[3] is" in out
    assert said(capsys, "vsim", "--replay", folder, "--rtol", "0", "--atol", "1e-2")[0] == 0
    result[3] += 1
    code, out, _ = said(capsys, "vsim", "--replay", saxpy(tmp_path / "two", X, Y, result), "--json")
    (check, _) = json.loads(out)["launches"][0]["checks"]
    assert code == 1 and check["argument"] == 0 and "[3] is 61.0, expected 62" in check["difference"]


def test_equal_handles_are_one_memory(tmp_path, capsys):
    y = np.arange(16, dtype="f4")
    result = y.copy()
    result[:12] += 2.5 * y[:12] * np.tile(TABLE, 3)
    folder = saxpy(tmp_path, y, y, result, handles=[HANDLES[0]] * 2)
    assert said(capsys, "vsim", "--replay", folder)[0] == 0
    name = memory(31, "saxpy", 1, b"", 1)[0]
    (folder / "Pre" / name).write_bytes(bytes(8))
    code, _, err = said(capsys, "vsim", "--replay", folder)
    assert code == 1 and "another size than that of the same handle [S014]" in err


def test_memory_is_not_read_beyond_the_limit(tmp_path, capsys):
    """Files with holes, which are far larger than any memory."""
    for part in ("Pre", "Post"):
        folder = saxpy(tmp_path / part, X, Y, expected(X, Y))
        assert said(capsys, "vsim", "--replay", folder, "--max-memory", "4K")[0] == 0
        os.truncate(folder / part / memory(31, "saxpy", 0, b"")[0], 1 << 42)
        code, _, err = said(capsys, "vsim", "--replay", folder, "--max-memory", "1G")
        assert code == 1 and "takes 4,398,046,511," in err and "the limit is 1,073,741,824 [S041]" in err


def test_pointers_into_shared_memory(tmp_path, capsys):
    """The whole allocation is compared, also the part in front of the pointer."""
    x, y = np.arange(20, dtype="f4"), np.arange(24, dtype="f4")
    result = y.copy()
    result[8:] = expected(x[4:], y[8:])
    offsets = (32, 16)
    folder = saxpy(tmp_path, x, y, result, offsets=offsets)
    assert said(capsys, "vsim", "--replay", folder)[0] == 0
    result[1] = -1
    code, out, _ = said(capsys, "vsim", "--replay", saxpy(tmp_path / "b", x, y, result, offsets=offsets))
    assert code == 1 and "argument 0: 1 of 24 elements differ" in out and "[1] is 1.0, expected -1.0" in out
    code, _, err = said(capsys, "vsim", "--replay", saxpy(tmp_path / "c", x, y, result, offsets=(96, 0)))
    assert code == 1 and "leads to byte 96 of 96 bytes [S014]" in err
    program = load(ZEBIN)
    launch = replayed(read_capture(str(folder)), program, Tolerance(None, None)).launch
    program.run(launch)
    first = program.memory.map(launch.args[0].array, "").address
    assert program.memory.behind(first - 32).size == 96  # The kernel may reach back.


def test_local_memory_and_null_pointers(tmp_path, capsys):
    y = np.arange(16, dtype="i4") % 8
    factorials = np.int32([1, 1, 2, 6, 24, 120, 720, 5040])
    result = factorials[y.reshape(-1, 2)[:, ::-1].reshape(-1)]
    files = {"DeviceBinary0.bin": ZEBIN.read_bytes(), "Argument0.bin": struct.pack("<Q", 4096), "Local1.txt": b"64"}
    folder = written(
        tmp_path, 2, "steps", b"16 \n16 \n0 \n", files, [memory(2, "steps", 0, y)], [memory(2, "steps", 0, result)]
    )
    code, out, err = said(capsys, "vsim", "--replay", folder)
    assert (code, err) == (0, "") and "item 2 of 16: 6" in out and "steps: ok" in out
    for name, data in (("Local0.txt", b"8"), ("Argument0.bin", bytes(8)), (None, b"")):
        files = {"DeviceBinary0.bin": ZEBIN.read_bytes()} | ({name: data} if name else {})
        folder = written(tmp_path / str(name), 3, "state", b"1 1 \n0 0 \n0 0 \n", files, [], [])
        code, _, err = said(capsys, "vsim", "--replay", folder)
        assert code == 1 and "out (NULL)" in err and "S030" in err


def image_files(index, sizes, size, element, order, kind):
    """The description of an image as the layer writes it; pitches are those of the device."""
    width, height, depth = sizes
    numbers = [width, height, depth, size, 256, 0, element, order, kind]
    return {f"Image_MetaData_{index}.txt": "\n".join(map(str, numbers)).encode()}


@needs_corpus
def test_images_and_samplers(tmp_path, capsys):
    """The launches of a case with a sampler and an image of floats, as the layer writes them."""
    case = SHARED / "cases" / "img_float_samplers"
    image = build(case / "tgllp", "tgllp")
    (tmp_path / "k.bin").write_bytes(image.to_bytes())
    tree = json.loads((case / "launch.json").read_text())["launches"]
    words = {"clamp_edge": "CL_ADDRESS_CLAMP_TO_EDGE", "clamp_to_edge": "CL_ADDRESS_CLAMP_TO_EDGE", "clamp": "CL_ADDRESS_CLAMP", "clamp_border": "CL_ADDRESS_CLAMP", "none": "CL_ADDRESS_NONE", "repeat": "CL_ADDRESS_REPEAT", "mirror": "CL_ADDRESS_MIRRORED_REPEAT"}  # fmt: skip
    for number, entry in enumerate(tree):
        files, before, after = {}, [], []
        for index, item in enumerate(entry["args"]):
            if "image" in item:
                array = np.load(case / item["image"])
                order, _, element = item["format"].partition("_")
                sizes = (array.shape[1], array.shape[0], 1)
                files |= image_files(
                    index, sizes, array.itemsize * array.shape[2], CHANNEL_TYPES[element], CHANNEL_ORDERS[order], 0x10F1
                )
                files[f"Argument{index}.bin"] = struct.pack("<Q", 0x7000 + index)
                name = f"Enqueue_{number:04}_Kernel_{entry['kernel']}_Arg_{index}_Image_0003_{sizes[0]}x{sizes[1]}x1_128bpp.raw"
                before.append((name, array.tobytes()))
                after.append((name, array.tobytes()))
            elif "sampler" in item:
                state = item["sampler"]
                said_words = f"CL_SAMPLER_NORMALIZED_COORDS = CL_{str(state['normalized']).upper()}, CL_SAMPLER_ADDRESSING_MODE = {words[state['addressing']]}, CL_SAMPLER_FILTER_MODE = CL_FILTER_{state['filter'].upper()}"
                files |= {f"Sampler{index}.txt": said_words.encode(), f"Argument{index}.bin": struct.pack("<Q", 0x9000)}
            elif "buffer" in item:
                wanted = np.load(case / item["expect"]) if "expect" in item else np.load(case / item["buffer"])
                before.append(memory(number, entry["kernel"], index, np.load(case / item["buffer"]).tobytes()))
                after.append(memory(number, entry["kernel"], index, wanted.tobytes()))
                files[f"Argument{index}.bin"] = struct.pack("<Q", 0x1000 * (index + 1))
            else:
                files[f"Argument{index}.bin"] = scalar_bytes(item["scalar"], item.get("type", "i32"), "")
        size, local = entry["global_size"], entry.get("local_size") or [0] * len(entry["global_size"])
        lines = [" ".join(map(str, line)) + " \n" for line in (size, local, [0] * len(size))]
        folder = written(tmp_path, number, entry["kernel"], "".join(lines).encode(), files, before, after)
        code, out, err = said(
            capsys, "vsim", tmp_path / "k.bin", "--replay", folder, "--rtol", "1e-3", "--atol", "1e-4"
        )
        assert (code, err) == (0, ""), out
        assert f"{len(before)} checked" in out


@needs_ocloc
def test_a_source_is_compiled(tmp_path, capsys):
    """The source ends with a zero; the native code in the capture tells the platform."""
    native = visakit.objects.elf.read_elf(ZEBIN.read_bytes(), "")
    native.sections = [s for s in native.sections if s.name in (".ze_info", ".note.intelgt.compat")]
    native.symbols, native.relocations = [], []
    for section in native.sections:
        section.align = 4
    x, y = X, Y
    result = y + 2.5 * x
    files = {"DeviceBinary0.bin": native.write(), "kernel.cl": SAXPY.encode() + b"\0", "Argument3.bin": None}
    folder = saxpy(tmp_path, x, y, result, **files, **{"ArgumentDataTypes.txt": b"float*\nfloat*\nfloat\n"})
    code, out, err = said(capsys, "vsim", "--replay", folder)
    assert (code, err) == (0, "") and "2 checked" in out
    (folder / "kernel.cl").write_bytes(b"\0")
    code, _, err = said(capsys, "vsim", "--replay", folder)
    assert code == 1 and "no vISA text [C011]" in err
    (folder / "kernel.cl").write_bytes(SAXPY.encode())
    assert said(capsys, "vsim", "--replay", folder, "--platform", "skl")[0] == 0
    (folder / "DeviceBinary0.bin").unlink()
    assert said(capsys, "vsim", "--replay", folder)[0] == 0  # for a device that the compiler chooses


@pytest.mark.parametrize("data", [ZEBIN.read_bytes()[:5000], ZEBIN.read_bytes()[:10], b"of another driver"])
def test_a_damaged_program_binary_is_named_before_its_source_is_compiled(data, tmp_path, capsys):
    files = {"DeviceBinary0.bin": data, "kernel.cl": SAXPY.encode() + b"\0"}
    folder = saxpy(tmp_path, X, Y, expected(X, Y), **files)
    code, _, err = said(capsys, "vsim", "--replay", folder)
    assert code == 1 and "DeviceBinary0.bin: error: " in err and "with --platform the compiler takes kernel.cl" in err


def test_a_replay_compiles_with_the_options_of_the_capture(tmp_path, capsys, driver):
    calls = driver()
    folder = saxpy(
        tmp_path,
        X,
        Y,
        expected(X, Y),
        **{"kernel.spv": b"\x03\x02\x23\x07" + bytes(16), "kernel.cl": b"\0", "DeviceBinary0.bin": None},
    )
    code, out, err = said(capsys, "vsim", "--replay", folder, "--platform", "tgllp", "--build-options=-DN=3")
    assert (code, err) == (0, "") and "2 checked" in out
    (words,) = calls()
    assert words[words.index("-options") + 1] == "-cl-kernel-arg-info -DN=3" and "-spirv_input" in words


def test_programs_of_a_capture(tmp_path, capsys):
    """The one that is named, else a binary with texts, for the platform that is wanted."""
    other = DATA / "zebins" / "xe2.bin"
    files = {
        "DeviceBinary0.bin": b"native",
        "DeviceBinary1.bin": ZEBIN.read_bytes(),
        "DeviceBinary2.bin": other.read_bytes(),
    }
    folder = saxpy(tmp_path, X, Y, expected(X, Y), **files)
    for words, name in (
        ((), "DeviceBinary1.bin"),
        (("--platform", "bmg"), "DeviceBinary2.bin"),
        (("--visa", other), "xe2.bin"),
    ):
        code, out, _ = said(capsys, "vsim", "--replay", folder, *words, "--json")
        assert code == 0 and json.loads(out)["image"].endswith(name)
    for name in ("DeviceBinary1.bin", "DeviceBinary2.bin"):
        (folder / name).unlink()
    assert "[C010]" in said(capsys, "vsim", "--replay", folder)[2]
    (folder / "DeviceBinary0.bin").unlink()
    assert "give the program with --visa" in said(capsys, "vsim", "--replay", folder)[2]


@pytest.mark.parametrize("called", ["saxpy", "kernel"])
def test_a_text_completes_a_program_binary_without_texts(called, tmp_path, capsys):
    """Arguments, data and their relocations are those of the binary: the kernel reads a table."""
    (text,) = (t.text for t in read_zebin(ZEBIN.read_bytes(), "").texts if t.name == "saxpy")
    own = tmp_path / "own.visaasm"
    own.write_text(text.replace('"saxpy"', f'"{called}"'))
    native = with_text(ZEBIN.read_bytes(), "", b"", "")
    folder = saxpy(tmp_path, X, Y, expected(X, Y), **{"DeviceBinary0.bin": native})
    assert "neither a kernel nor a function [C012]" in said(capsys, "vsim", "--replay", folder)[2]
    code, out, err = said(capsys, "vsim", "--replay", folder, "--visa", own)
    assert (code, err) == (0, "") and "2 checked" in out
    own.write_text(own.read_text().replace("mad (M1, 16)", "mat (M1, 16)", 1))
    code, _, err = said(capsys, "vsim", "--replay", folder, "--visa", own)
    assert code == 1 and "error: 'mat' is not" in err
    (folder / "DeviceBinary0.bin").unlink()
    assert "it holds no zebin" in said(capsys, "vsim", "--replay", folder, "--visa", own)[2]


DAMAGES = {
    "worksizes.txt": [b"", b"16 \n", b"16 \n16 \n", b"16 \n0 0 \n0 \n", b"a \n0 \n0 \n", b"0 \n0 \n0 \n", b"16 16 \n4 0 \n0 0 \n", b"9" * 30 + b" \n0 \n0 \n", b"-1 \n0 \n0 \n", b"\xff\n\n\n", b"1 1 1 1 \n0 0 0 0 \n0 0 0 0 \n"],
    "enqueueNumber.txt": [b"", b"x", b"1 2", b"32\n"],
    "kernelName.txt": [b"", b"\n", b"saxpyy", b"\xff", b"x" * 100000],
    "Argument0.bin": [b"", bytes(3), None],
    "Argument2.bin": [b"", bytes(3), bytes(64), None, bytes(100000)],
    "SVM_Arg_Offset_0.txt": [b"", b"64\n", b"9999999999999999999999\n", b"-1"],
    "Post/Enqueue_0031_Kernel_saxpy_Arg_0_Buffer_0000.bin": [b"", bytes(4), None],
    "Pre/Enqueue_0031_Kernel_saxpy_Arg_0_Buffer_0000.bin": [bytes(4), None],
    "Pre/Enqueue_0031_Kernel_saxpy_Arg_0_Buffer_0009.bin": [bytes(64)],
    "Pre/Enqueue_0032_Kernel_saxpy_Arg_0_Buffer_0000.bin": [bytes(64)],
    "DeviceBinary0.bin": [b"", ZEBIN.read_bytes()[:5000], ZEBIN.read_bytes()[:-1000], None],
    "Local1.txt": [b"0", b"x", b"268435456"],
    "Sampler1.txt": [b"", b"what", b"CL_SAMPLER_FILTER_MODE = CL_FILTER_CUBIC"],
    "Image_MetaData_1.txt": [b"", b"1\n" * 9, b"4\n4\n1\n16\n0\n0\n4318\n4277\n", b"4\n4\n1\n8\n0\n0\n4318\n4277\n4337\n"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data"), [(n, d) for n, items in DAMAGES.items() for d in items], ids=lambda v: str(v)[:40]
)
def test_damaged_captures_are_errors(name, data, tmp_path, capsys):
    folder = saxpy(tmp_path, X, Y, expected(X, Y))
    if data is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(data)
    code, _, err = said(capsys, "vsim", "--replay", folder)
    assert code == 1 and "error: " in err and "[" in err.splitlines()[0][-7:]


@pytest.mark.parametrize("name", ["kernelName.txt", "Argument2.bin", "Local1.txt", "DeviceBinary0.bin"])
def test_large_files_are_refused_unread(name, tmp_path, capsys):
    """A sparse file is cheap to send; its size is checked first."""
    folder = saxpy(tmp_path, X, Y, expected(X, Y))
    with open(folder / name, "wb") as stream:
        stream.truncate(1 << 36)
    code, _, err = said(capsys, "vsim", "--replay", folder)
    assert code == 1 and "it has 68719476736 bytes, more than" in err and "[S014]" in err


def test_entries_that_are_no_regular_files(tmp_path, capsys):
    import os

    folder = saxpy(tmp_path, X, Y, expected(X, Y))
    for name in (
        "kernelName.txt",
        "Argument2.bin",
        "DeviceBinary0.bin",
        "Pre/Enqueue_0031_Kernel_saxpy_Arg_0_Buffer_0000.bin",
    ):
        data = (folder / name).read_bytes()
        for make in (os.mkfifo, os.mkdir):
            (folder / name).unlink() if (folder / name).is_file() else None
            make(folder / name)
            code, _, err = said(capsys, "vsim", "--replay", folder)
            assert code == 1 and f"{folder}/{name}: error: it cannot be read" in err
            os.rmdir(folder / name) if make is os.mkdir else (folder / name).unlink()
        (folder / name).write_bytes(data)


def everything(folder):
    """Contents of all files of a folder by their names."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_captures_are_written_as_the_layer_does(tmp_path, capsys):
    """The same files, but for the numbers that a process has for its objects."""
    folder = saxpy(tmp_path, X, Y, expected(X, Y))
    code, _, err = said(
        capsys, "vsim", "--replay", folder, "--capture", tmp_path / "own", "--build-options=-cl-kernel-arg-info"
    )
    assert (code, err) == (0, "")
    (own,) = (tmp_path / "own").iterdir()
    assert own.name == "Enqueue_0_saxpy"
    theirs, ours = everything(folder), everything(own)
    renamed = {name.replace("Enqueue_0031", "Enqueue_0000"): data for name, data in theirs.items()}
    assert set(renamed) == set(ours)
    differing = {name for name in ours if ours[name] != renamed[name]}
    assert differing == {"enqueueNumber.txt", "Argument0.bin", "Argument1.bin"}
    assert said(capsys, "vsim", "--replay", own)[0] == 0


@pytest.mark.parametrize("case", sorted(p for p in (DATA / "cases").glob("*/tgllp")), ids=lambda p: p.parent.name)
def test_round_trips(case, tmp_path, capsys):
    """Launches of all kinds are captured, and replayed with equal results."""
    (tmp_path / "k.bin").write_bytes(build(case, "tgllp").to_bytes())
    code, out, err = said(
        capsys, "vsim", tmp_path / "k.bin", "--launch", case.parent / "launch.json", "--capture", tmp_path / "c"
    )
    assert (code, err) == (0, "")
    captures = sorted((tmp_path / "c").iterdir())
    assert len(captures) == len(json.loads((case.parent / "launch.json").read_text())["launches"])
    for folder in captures:
        code, out, err = said(capsys, "vsim", "--replay", folder, "--rtol", "0")
        assert (code, err) == (0, ""), out
        assert ": done" not in out


def test_every_state_of_samplers_and_formats_of_images(tmp_path):
    """A state that is written is read back as the same state."""
    from vsim.memory.memory import ADDRESSING, COMPARISONS, FILTERS
    from vsim.sources.capture_writer import _sampler_text

    same = {"clamp_to_edge": "clamp_edge", "clamp": "clamp_border", "mirrored_repeat": "mirror"}
    base = saxpy(tmp_path, X, Y, expected(X, Y))
    states = [
        SamplerArgument(n, a, f, c) for n in (False, True) for a in ADDRESSING for f in FILTERS for c in COMPARISONS
    ]
    for state in states:
        (base / "Sampler9.txt").write_text(_sampler_text(state))
        found = read_capture(str(base)).samplers[9]
        assert found == SamplerArgument(
            state.normalized, same.get(state.addressing, state.addressing), state.filter, state.compare
        )
    (base / "Sampler9.txt").write_text("NULL")
    assert read_capture(str(base)).samplers[9] == SamplerArgument(True, "clamp_border", "nearest")
    assert set(CHANNEL_TYPES) == set(ELEMENTS) and set(CHANNEL_ORDERS) == set(ORDERS)


def test_launches_that_are_captured_in_turn_get_numbers(tmp_path):
    program = load(ZEBIN)
    array = np.zeros(4, "i4")
    writer = CaptureWriter(str(tmp_path / "c"), {}, "")
    for _ in range(2):
        writer.before(program, Launch("state", (1,), args=[BufferArgument(array)]))
    CaptureWriter(str(tmp_path / "c"), {}, "").before(program, Launch("state", (1,), args=[BufferArgument(array)]))
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == [f"Enqueue_{n}_state" for n in range(3)]


CAPTURED = {
    "arguments": ["Enqueue_0_saxpy", "Enqueue_1_group", "Enqueue_2_both", "Enqueue_3_look", "Enqueue_8_svm"],
    "images": ["Enqueue_1_take", "Enqueue_2_layers", "Enqueue_3_volume"],
    "pointers": ["Enqueue_0_scan", "Enqueue_1_add"],
}


def unpacked(name, folder):
    """The captures of an archive; names of programs and enqueues."""
    with tarfile.open(DATA / "captures" / name) as archive:
        archive.extractall(folder, filter="data")
    return {p.parent for p in folder.rglob("enqueueNumber.txt")}


def replays(folder, capsys, *words):
    """A capture is replayed, bit for bit, and a bit of its results that is changed is found."""
    code, out, err = said(capsys, "vsim", "--replay", folder, "--rtol", "0", *words)
    assert (code, err) == (0, "") and ": ok (" in out
    (after,) = (folder / "Post").glob("*_Arg_0_*")
    data = bytearray(after.read_bytes())
    data[9] ^= 4
    after.write_bytes(data)
    code, out, _ = said(capsys, "vsim", "--replay", folder, "--rtol", "0", *words)
    assert code == 1 and "argument 0: 1 of " in out and "[2] is" in out


@pytest.mark.parametrize(("program", "name"), [(p, n) for p, names in CAPTURED.items() for n in names])
def test_a_capture_made_by_the_layer_itself(program, name, tmp_path, capsys):
    """Buffers, local memory and a null pointer, aliases, images of all axes, samplers, structures, pointers into shared memory."""
    found = unpacked("simulator.tar.xz", tmp_path)
    assert found == {tmp_path / p / n for p, names in CAPTURED.items() for n in names}
    replays(tmp_path / program / name, capsys)


@needs_ocloc
@pytest.mark.parametrize("name", CAPTURED["arguments"])
def test_captures_of_another_driver(name, tmp_path, capsys):
    """A capture of PoCL has only the source, which is compiled."""
    assert unpacked("pocl.tar.xz", tmp_path) == {tmp_path / n for n in CAPTURED["arguments"]}
    replays(tmp_path / name, capsys, "--platform", "tgllp")
