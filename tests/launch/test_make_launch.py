"""``vsim --make-launch``: its launch files run unchanged, and have all options of the command line."""

import json

import numpy as np
import pytest
from support.commands import said
from support.programs import DATA, SHARED, build, needs_corpus

from vsim.command.command_arguments import given_launch
from vsim.launch.launch import BufferArgument, ImageArgument, LocalArgument, SamplerArgument, ScalarArgument
from vsim.launch.launch_file import parse_launch
from vsim.launch.writer import make_launch, scalar_item
from vsim.program import Program

ZEBIN = DATA / "zebins" / "xelp.bin"


def written(signature, folder, sizes=(None, None), values=(), save=()):
    """The launch of a file that was made for a kernel, and its entry."""
    path = folder / "launch.json"
    make_launch(str(path), [given_launch(signature, *sizes, values, dict(save))], [])
    file = parse_launch(path.read_text(), str(folder), str(path))
    return file.launch(0), json.loads(path.read_text())["launches"][0]


@pytest.mark.parametrize(
    ("data", "declared", "item"),
    [
        (np.float32(2.5), "float;4", {"scalar": 2.5, "type": "float"}),
        (np.float16([1, -2]), "half2;4", {"scalar": [1.0, -2.0], "type": "half"}),
        (np.float32([1, np.inf]), "float2;8", {"scalar": [0x3F800000, 0x7F800000], "type": "u32"}),
        (np.float64(np.nan), "double;8", {"scalar": 0x7FF8 << 48, "type": "u64"}),
        (np.int64(-(1 << 63)), "long;8", {"scalar": -(1 << 63), "type": "long"}),
        (np.uint8(1), "bool;1", {"scalar": 1, "type": "u8"}),
        (np.uint8([1, 2, 3]), "struct s;3", {"scalar": [1, 2, 3], "type": "u8"}),
        (np.uint32([1, 1 << 31]), "struct s;8", {"scalar": [1, 1 << 31], "type": "u32"}),
    ],
)
def test_scalars(data, declared, item, tmp_path):
    assert scalar_item(data.tobytes(), declared) == item
    text = json.dumps({"launches": [{"global_size": 1, "args": [item]}]})
    assert parse_launch(text, str(tmp_path), "l").launch(0).args == [ScalarArgument(data.tobytes())]


def test_the_written_file_has_the_arguments_of_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(16, dtype="f4"))
    words = [ZEBIN, "--kernel", "saxpy", "--global-size", 16, "--local-size", 8, "--arg", "y=random:16:f4:seed3"]
    words += ["--arg", "x=x.npy", "--arg", "a=2.5f", "--arg", "n=12", "--save", "y=y.npy"]
    assert said(capsys, "vsim", *words)[0] == 0
    before = np.load("y.npy")
    assert said(capsys, "vsim", *words, "--make-launch", "sub/launch.json") == (0, "", "")
    (entry,) = json.loads((tmp_path / "sub" / "launch.json").read_text())["launches"]
    assert entry == {
        "kernel": "saxpy",
        "global_size": [16],
        "local_size": [8],
        "args": [
            {"buffer": "launch.y.npy", "out": "y.npy"},
            {"buffer": "../x.npy"},
            {"scalar": 2.5, "type": "float"},
            {"scalar": 12, "type": "uint"},
        ],
    }
    (tmp_path / "y.npy").unlink()
    code, _, err = said(capsys, "vsim", ZEBIN, "--launch", "sub/launch.json")
    assert (code, err) == (0, "") and np.array_equal(np.load("y.npy"), before)


def test_a_launch_of_every_kernel_runs(tmp_path, capsys):
    path = tmp_path / "all.json"
    assert said(capsys, "vsim", ZEBIN, "--make-launch", path)[0] == 0
    assert [e["kernel"] for e in json.loads(path.read_text())["launches"]] == ["saxpy", "steps", "state"]
    assert (tmp_path / "all.saxpy.y.npy").exists()
    code, out, err = said(capsys, "vsim", ZEBIN, "--launch", path)
    assert (code, err) == (0, "") and out.count("done") == 3


@needs_corpus
@pytest.mark.parametrize("name", ["img_float_samplers", "img_unorm8", "wg_reduce_slm", "mem_struct_arg"])
def test_skeletons_of_kernels_with_other_arguments(name, tmp_path):
    """Images, samplers, local memory and structures."""
    program = Program(build(SHARED / "cases" / name / "tgllp", "tgllp"))
    for kernel in program.kernels:
        launch, entry = written(program.signature(kernel), tmp_path)
        program.run(launch, engine="numpy")
        kinds = {BufferArgument: "buffer", ImageArgument: "image", LocalArgument: "local", SamplerArgument: "sampler", ScalarArgument: "scalar"}  # fmt: skip
        assert all(kinds[type(a)] in item for a, item in zip(launch.args, entry["args"], strict=True))


@needs_corpus
def test_images_and_null_pointers_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = Program(build(SHARED / "cases" / "img_float_samplers" / "tgllp", "tgllp"))
    signature = program.signature("")
    image = min(signature.image_arguments)
    np.save("image.npy", np.arange(256, dtype="f4").reshape(8, 8, 4))
    values = [f"{image}=image.npy", *(f"{i}=null" for i in range(signature.argument_count) if any(f.address_space == "global" for f in signature.fields[i]))]  # fmt: skip
    assert len(values) == 2
    launch, entry = written(signature, tmp_path, ("8,8", None), values)
    assert entry["args"][image] == {"image": "image.npy", "format": "rgba_f32"} and entry["global_size"] == [8, 8]
    assert {"buffer": None} in entry["args"] and ScalarArgument(bytes(8)) in launch.args
