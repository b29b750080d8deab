"""Arguments of the command line and of Python programs: errors are reported, and no value is cast in silence."""

import numpy as np
import pytest
from support.programs import DATA, build

from visakit import LaunchError
from visakit.files import UsageError
from vsim.command.command_arguments import argument_value
from vsim.launch.launch import LocalArgument, ScalarArgument
from vsim.program import Program


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("5", b"\5\0\0\0"), ("-1", b"\xff\xff\xff\xff"), ("0x1f:u8", b"\x1f"), ("007", b"\7\0\0\0"), ("1:f32", b"\0\0\x80?"), ("2f", b"\0\0\0@"),
        ("[1,0x2]", b"\1\0\0\0\2\0\0\0"), ("[1:u8, 2:u16]", b"\1\0\2\0"), ("[1]:f4", b"\0\0\x80?"),
        (".5", b"\0\0\0?"), ("1e0:f64", b"\0\0\0\0\0\0\xf0?"),
    ],
)  # fmt: skip
def test_argument(text, data):
    found = argument_value(text)
    assert isinstance(found, ScalarArgument) and found.data == data


def test_local_argument():
    assert argument_value("local:64") == LocalArgument(64)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "local:x",
        "local:0",
        "1.2.3",
        "300:u8",
        "nan:i32",
        "1.5:i32",
        "3:zz",
        "[]",
        "[1:u8,2]",
        "[1,x]:f32",
        "[1]:zz",
        "[256]:u8",
        "zeros:99999999999999:f32",
    ],
)
def test_bad_argument(text):
    with pytest.raises((UsageError, LaunchError)) as caught:
        argument_value(text)
    assert [d.code for d in caught.value.diagnostics] in (["U001"], ["S001"])


def test_generated_buffers():
    """Numbers in order, and random ones that are the same for the same seed; both in their type."""
    made = {text: argument_value(text).array for text in ("iota:5:f4", "iota:300:u8", "iota:5000:half", "zeros:3:f4")}
    assert made["iota:5:f4"].tolist() == [0, 1, 2, 3, 4] and made["iota:5:f4"].dtype == np.float32
    assert made["iota:300:u8"].tolist() == [n % 256 for n in range(300)] and made["iota:300:u8"].dtype == np.uint8
    assert made["iota:5000:half"].tolist() == [n % 2048 for n in range(5000)]
    assert made["zeros:3:f4"].tolist() == [0, 0, 0] and made["zeros:3:f4"].dtype == np.float32
    for type_name, dtype in (("f4", "f4"), ("f64", "f8"), ("half", "f2"), ("i8", "i1"), ("u64", "u8"), ("i4", "i4")):
        first, second, other = (
            argument_value(f"random:1000:{type_name}{seed}").array for seed in (":seed7", ":seed7", "")
        )
        assert first.dtype == dtype and first.tolist() == second.tolist() != other.tolist()
        assert len(set(first.tolist())) > 100
        if first.dtype.kind == "f":
            assert 0 <= first.min() < 0.1 and 0.9 < first.max() < 1


@pytest.mark.parametrize(
    "text",
    [
        "iota:5:zz",
        "iota:5:f4:seed1",
        "random:5:f4:seed",
        "random:x:f4",
        "iota:99999999999:f4",
        "random:999999999999999:f8",
    ],
)
def test_generated_buffers_of_another_form(text):
    with pytest.raises(UsageError):
        argument_value(text)


def test_values_of_python_programs():
    program = Program(build(DATA.parent.parent / "samples" / "saxpy", "tgllp"))
    with pytest.raises(LaunchError, match="not contiguous") as caught:
        program.launch("saxpy", 64, 64, [np.zeros(128, "f4")[::2], np.zeros(64, "f4"), 1.0, 64])
    assert caught.value.diagnostics[0].code == "S003"
