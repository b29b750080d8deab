"""Launch files that are wrong: what each key may hold, arrays that are damaged, outputs that are no files."""

import io
import json
import os
import runpy
import struct
import time

import numpy as np
import pytest
from support.programs import ROOT, short_id

from visakit.ctm.launch import GridLaunchFile
from visakit.diagnostics import LaunchError
from visakit.json_text import JsonPlaces
from vsim.launch.array_files import read_array
from vsim.launch.launch import compare
from vsim.launch.launch_file import CALLED, LaunchFile, parse_launch
from vsim.launch.paths import LaunchPaths
from vsim.launch.schema import ARGUMENTS as ARGUMENTS_OF_LAUNCHES
from vsim.launch.schema import check_keys, json_schema

HUGE = 10**400


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(8, dtype="f4"))
    os.mkfifo("fifo")
    os.mkfifo("fifo.npy")
    os.mkdir("folder")
    os.mkdir("folder.npy")
    return tmp_path


def failure(entry, folder):
    """The message of a launch file with one launch."""
    with pytest.raises(LaunchError) as error:
        text = json.dumps({"launches": [{"global_size": 1, **entry}]})
        parse_launch(text, str(folder), "launch.json", "", ["launch.json"]).launch(0)
    found = error.value.diagnostics[0]
    assert (found.code, found.span.line) == ("S001", 1)
    return JsonPlaces(text, "launch.json", CALLED).words(found.span), found.message


ARGUMENTS = {
    "buffer": [5, "", "no.npy", "a\0b", "\ud800", "fifo", "fifo.npy", "folder", "folder.npy", ["x.npy"]],
    "image": [5, "fifo.npy"],
    "expect": [5, "fifo", [1]],
    "out": [5, "a\0b", "fifo", "folder", ["x.npy"], "launch.json"],
    "rtol": ["x", -1, HUGE, float("nan"), float("inf")],
    "atol": [None, HUGE],
    "shared": [5, {}],
    "format": [5],
}


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, values in ARGUMENTS.items() for v in values], ids=short_id)
def test_every_key_of_a_buffer_names_itself(folder, key, value):
    (folder / "launch.json").write_text("{}")
    kind = "image" if key in ("image", "format") else "buffer"
    place, message = failure({"args": [{kind: "x.npy", key: value}]}, folder)
    assert place == f"launch.json, launch 0, argument 0, {key}" and len(message) < 200


def test_an_output_is_no_input_of_its_launch(folder):
    np.save("y.npy", np.arange(8, dtype="f4"))
    (folder / "link.npy").symlink_to("y.npy")
    for first, second in (("x.npy", "y.npy"), ("y.npy", "x.npy")):
        args = [{"buffer": first, "out": "link.npy"}, {"buffer": second}]
        place, message = failure({"args": args}, folder)
        assert place == "launch.json, launch 0, argument 0, out" and "would overwrite" in message
    two = [
        {"global_size": 1, "args": [{"buffer": name, **more}]}
        for name, more in (("x.npy", {"out": "y.npy"}), ("y.npy", {}))
    ]
    file = parse_launch(json.dumps({"launches": two}), str(folder), "launch.json")
    assert [len(file.launch(i).args) for i in range(2)] == [1, 1]  # Later launches go on with what earlier ones wrote.


@pytest.mark.parametrize(
    ("argument", "match"),
    [
        ({"scalar": HUGE, "type": "f32"}, "does not fit f32"),
        ({"scalar": HUGE}, "does not fit i32"),
        ({"scalar": [1, HUGE], "type": "f64"}, "does not fit f64"),
        ({"scalar": float("inf"), "type": "i32"}, "does not fit i32"),
        ({"scalar": "x"}, "is not a number"),
        ({"scalar": 1, "type": ["i32"]}, "a text was expected"),
        ({"local": HUGE}, "'local' is a number of bytes"),
        ({"local": 1 << 28}, "'local' is a number of bytes"),
        ({"sampler": 5}, "a JSON object was expected"),
        ({"sampler": {"filter": 5}}, "a text was expected"),
    ],
    ids=short_id,
)
def test_other_arguments(folder, argument, match):
    place, message = failure({"args": [argument]}, folder)
    assert place.startswith("launch.json, launch 0, argument 0") and match in message and len(message) < 200


UNKNOWN = {
    "expct": ({"args": [{"buffer": "x.npy", "expct": "x.npy"}]}, "a buffer has no 'expct'", "did you mean 'expect'?"),
    "global": ({"globl_size": 5}, "a launch has no 'globl_size'", "did you mean 'global_size' or 'local_size'?"),
    "scalar": ({"args": [{"scalar": 5, "tpye": "i32"}]}, "a scalar has no 'tpye'", "did you mean 'type'?"),
    "two kinds": ({"args": [{"scalar": 5, "buffer": "x.npy"}]}, "a buffer has no 'scalar'", "its keys are buffer, expect"),
    "kind": ({"args": [{"bufer": "x.npy"}]}, "an argument has one of buffer, ", "did you mean 'buffer'?"),
    "sampler": ({"args": [{"sampler": {"normalised": True}}]}, "the state of a sampler has no 'normalised'", "did you mean 'normalized'?"),
    "size": ({"global_size": None}, "a launch has a 'global_size'", "it is the number of work-items"),
    "nothing to compare": ({"args": [{"buffer": "x.npy", "expect": "none.npy"}]}, "'none.npy' has no elements", ""),
    "truth": ({"args": [{"sampler": {"normalized": "yes"}}]}, "true or false was expected", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", UNKNOWN)
def test_unknown_keys_and_values_are_refused(folder, what):
    np.save("none.npy", np.zeros(0))
    entry, message, hint = UNKNOWN[what]
    with pytest.raises(LaunchError) as error:
        parse_launch(json.dumps({"launches": [{"global_size": 1, **entry}]}), str(folder), "launch.json").launch(0)
    found = error.value.diagnostics[0]
    assert (found.code, message in found.message, hint in found.hint) == ("S001", True, True), found


def test_page_and_schema_are_generated_from_the_table():
    docs = ROOT / "docs"
    made = runpy.run_path(str(docs / "generate_launch_files.py"))
    assert (docs / "launch-files.md").read_text() == made["text"]()
    assert (docs / "launch-files.schema.json").read_text() == made["schema"]()


def references(tree):
    """All references of a schema."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from [value] if key == "$ref" else references(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from references(value)


def test_all_references_of_the_schema_are_defined():
    tree = json_schema()
    for reference in references(tree):
        at = tree
        for part in reference.removeprefix("#/").split("/"):
            at = at[part]
        assert at


def test_samples_and_cases_have_known_keys_alone():
    root = ROOT
    files = [*root.glob("samples/**/launch.json"), *(root / "tests" / "data").glob("**/launch.json")]
    assert len(files) > 10
    for file in files:
        for entry in json.loads(file.read_text())["launches"]:
            check_keys(entry, "grid launch" if "width" in entry else "launch", str(file), AssertionError)
            for item in entry.get("args", []):
                kind = next(kind for kind in ARGUMENTS_OF_LAUNCHES if kind.split()[0] in item)
                check_keys(item, kind, str(file), AssertionError)


@pytest.mark.parametrize("key", ["global_size", "local_size", "global_offset"])
@pytest.mark.parametrize("value", [1 << 32, [HUGE], -1, "1", [1, 2, 3, 4], [], 1.5, {}, True, [True]], ids=short_id)
def test_sizes(folder, key, value):
    place, message = failure({key: value}, folder)
    assert place == f"launch.json, launch 0, {key}" and message.startswith(f"{key} is a list of one to three numbers")


def test_numbers_of_many_digits(folder):
    with pytest.raises(LaunchError, match="not JSON"):
        parse_launch(f'{{"launches": [{{"global_size": {"9" * 5000}}}]}}', ".", "launch.json")
    assert failure({"kernel": 5}, folder)[0] == "launch.json, launch 0, kernel"


def npy(header, data=b"", version=1):
    text = header if isinstance(header, bytes) else repr(header).encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def saved(array):
    stream = io.BytesIO()
    (np.savez if isinstance(array, dict) else np.save)(stream, array)
    return stream.getvalue()


GOOD = {"descr": "<f4", "fortran_order": False, "shape": (2,)}
DAMAGED = {
    "empty": b"",
    "cut": saved(np.arange(9))[:40],
    "cut contents": saved(np.arange(900))[:-1],
    "nothing of numpy": b"x" * 100,
    "archive": saved({"a": 1}),
    "version": npy(GOOD, bytes(8), 9),
    "no dictionary": npy(b"[1, 2"),
    "brackets": npy(b"(" * 3000),
    "no text": npy(b"\xff\xfe\0"),
    "a huge header": npy(GOOD, version=2)[:8] + b"\xff\xff\xff\x7f",
    "a call": npy(b"__import__('os').system('true')"),
    "huge": npy(GOOD | {"shape": (1 << 62,)}),
    "huge in several axes": npy(GOOD | {"shape": (1 << 40, 1 << 40)}),
    "negative": npy(GOOD | {"shape": (-1,)}, bytes(8)),
    "no shape": npy(GOOD | {"shape": 5}),
    "true for a length": npy(GOOD | {"shape": (True,)}, bytes(4)),
    "objects": npy(GOOD | {"descr": "|O"}, bytes(16)),
    "big-endian": saved(np.arange(8, dtype=">f4")),
    "texts": saved(np.array(["a", "b"])),
    "bytes": saved(np.array([b"a", b"b"])),
    "complex": saved(np.ones(3, complex)),
    "dates": saved(np.array(["2020-01-01"], "M8[D]")),
    "big-endian in structures": saved(np.zeros(3, [("a", ">f4")])),
    "texts in structures": npy(GOOD | {"descr": "<q9"}),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_arrays(folder, name):
    (folder / "y.npy").write_bytes(DAMAGED[name])
    started = time.monotonic()
    place, message = failure({"args": [{"buffer": "y.npy"}]}, folder)
    assert place == "launch.json, launch 0, argument 0, buffer"
    assert message.startswith("'y.npy' cannot be read: ") and len(message) < 250
    assert time.monotonic() - started < 5


def test_an_array_of_python_2_is_read_without_a_word(folder):
    """Its header has numbers such as 2L, of which numpy warns."""
    (folder / "y.npy").write_bytes(
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }", np.ones(2, "f4").tobytes())
    )
    assert read_array("y.npy").tolist() == [1, 1]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype="f4").reshape(2, 3, 4).T,
        np.float16(3).reshape(()),
        np.zeros((3, 0), "i2"),
        np.ones(3, [("a", "f4"), ("b", "u1", 3)]),
        np.array([True, False]),
        np.ones((2, 2), "u8"),
    ],
    ids=["transposed", "scalar", "empty", "structures", "truth", "numbers"],
)
@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_arrays_are_read_as_numpy_reads_them(folder, array, version):
    with open("y.npy", "wb") as stream:
        np.lib.format.write_array(stream, array, version)
    launch = parse_launch(
        json.dumps({"launches": [{"global_size": 1, "args": [{"buffer": "y.npy"}]}]}), str(folder), "launch.json"
    )
    found = launch.launch(0).args[0].array
    assert found.dtype == array.dtype and found.shape == np.ascontiguousarray(array).shape and (found == array).all()
    assert found.flags.c_contiguous and found.flags.writeable


def test_structures_are_compared_byte_by_byte_with_others():
    pairs = np.ones(2, [("a", "f4"), ("b", "f4")])
    assert compare(pairs, np.ones(4, "f4").view(np.uint8), 0, 0) == ""
    assert compare(pairs, np.ones(3, "f4"), 0, 0) == "16 elements, expected 12"


# -- the launch in an image


def embedded(entry, folder, way="", **more):
    tree = {"launches": [{"global_size": 1, **entry}], "directory": way}
    options = {"out_dir": None, "allow_paths": False, **more}
    return LaunchFile.parse_embedded(json.dumps(tree), str(folder / "images" / "t.bin"), **options).launch(0)


def test_the_launch_in_an_image_stays_in_its_directories(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    np.save(outside / "y.npy", np.ones(3))
    images = folder / "images"
    images.mkdir()
    np.save(images / "z.npy", np.ones(3))
    (images / "link.npy").symlink_to(outside / "y.npy")
    (images / "way").symlink_to(outside)
    up = os.path.relpath(outside, images)
    there = {"buffer": "z.npy"}
    entries = [({"buffer": name}, way) for name in (str(outside / "y.npy"), f"{up}/y.npy", "link.npy") for way in ("",)]
    entries += [({"buffer": "y.npy"}, up), ({"buffer": "y.npy"}, str(outside)), ({"buffer": "y.npy"}, "way")]
    entries += [({"buffer": "passwd"}, "/etc"), (there | {"expect": "link.npy"}, "")]
    entries += [(there | {"out": name}, "") for name in (str(outside / "new"), f"../{outside.name}/new", "/new")]
    for argument, way in entries:
        with pytest.raises(LaunchError, match="leads out of") as error:
            embedded({"args": [argument]}, folder, way)
        assert error.value.diagnostics[0].code == "S013"
        if argument["buffer"] != "passwd":
            embedded({"args": [argument]}, folder, way, allow_paths=True)
    embedded({"args": [there | {"out": str(images / "new")}]}, folder)
    embedded({"args": [{"buffer": "../x.npy", "out": "new"}]}, folder)
    embedded({"args": [{"buffer": "x.npy", "out": "new"}]}, folder, "..", out_dir=str(outside))
    embedded({"args": [there | {"out": str(outside / "new")}]}, folder, out_dir=str(outside))


@pytest.mark.parametrize("way", [5, None, ["x"], "a\0b"], ids=short_id)
def test_the_way_to_the_files_is_a_text(folder, way):
    with pytest.raises(LaunchError, match="'directory' is the way"):
        embedded({}, folder, way)


# -- the second target


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"width": HUGE}, ""),
        ({"width": 1, "height": 1 << 16}, ""),
        ({"width": 1, "inputs": {"9" * 5000: "x.npy"}}, ""),
        ({"width": 1, "inputs": {"0": "fifo"}}, ", input 0"),
        ({"width": 1, "constants": {"c0": [HUGE, 0, 0, 0]}}, ", constant c0"),
        ({"width": 1, "constants": {"i0": [float("inf"), 0, 0]}}, ", constant i0"),
        ({"width": 1, "outputs": {"0": "folder"}}, ", output 0"),
        ({"width": 1, "outputs": {"0": {"out": "fifo"}}}, ", output 0, out"),
    ],
    ids=lambda v: repr(v)[:60],
)
def test_launches_of_the_second_target(folder, entry, place):
    text = json.dumps({"launches": [entry]})
    file = GridLaunchFile.parse(text, LaunchPaths(str(folder)), "launch.json")
    with pytest.raises(LaunchError) as error:
        file.launch(0)
    found = error.value.diagnostics[0]
    words = JsonPlaces(text, "launch.json", CALLED).words(found.span)
    assert (found.code, words) == ("T062", f"launch.json, launch 0{place}") and len(found.message) < 200
