"""Arguments of the command line and of Python programs: what is wrong is said, nothing is cast in silence."""

import numpy as np
import pytest
from conftest import DATA, build

from visa import LaunchError
from visa.files import UsageError
from vsim.command_arguments import argument_value
from vsim.launch import LocalArgument, ScalarArgument
from vsim.program import Program


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("5", b"\5\0\0\0"), ("-1", b"\xff\xff\xff\xff"), ("0x1f:u8", b"\x1f"), ("007", b"\7\0\0\0"), ("1:f32", b"\0\0\x80?"), ("2f", b"\0\0\0@"),
        (".5", b"\0\0\0?"), ("1e0:f64", b"\0\0\0\0\0\0\xf0?"),
    ],
)  # fmt: skip
def test_argument(text, data):
    found = argument_value(text)
    assert isinstance(found, ScalarArgument) and found.data == data


def test_local_argument():
    assert argument_value("local:64") == LocalArgument(64)


@pytest.mark.parametrize(
    "text", ["x", "local:x", "local:0", "1.2.3", "300:u8", "nan:i32", "1.5:i32", "3:zz", "zeros:99999999999999:f32"]
)
def test_bad_argument(text):
    with pytest.raises((UsageError, LaunchError)) as caught:
        argument_value(text)
    assert [d.code for d in caught.value.diagnostics] in (["U001"], ["S001"])


def test_values_of_python_programs():
    program = Program(build(DATA.parent.parent / "samples" / "saxpy", "tgllp"))
    with pytest.raises(LaunchError, match="not contiguous") as caught:
        program.launch("saxpy", 64, 64, [np.zeros(128, "f4")[::2], np.zeros(64, "f4"), 1.0, 64])
    assert caught.value.diagnostics[0].code == "S003"
