"""Folders of ``visakit registers``: which files are read, and where the search ends."""

import os
import sys

import pytest

from visakit.diagnostics import CostError, FileError
from vsim.cost import folders
from vsim.cost.folders import files_with_visa

HOST = b"\x7fELF\2\1\1".ljust(18, b"\0") + b"\x3e\0"
OURS = b"\x7fELF\2\1\1".ljust(18, b"\0") + b"\xcd\0"
FILES = {
    "a/k.visaasm": (b'.version 4.1\n.kernel "k"\n', True),
    "a/k.inline.visaasm": (b'.version 4.1\n.kernel "k"\n', False),
    "a/host": (HOST, False),
    "a/program.bin": (OURS, True),
    "b/k.isa": (b"CISA\1\1", True),
    "b/library.a": (b"!<arch>\n/               0", False),
    "b/container.ar": (b"!<arch>\npad_0           0", True),
    "b/style.css": (b".function {\n color: red }\n.kernel, .a { }\n", False),
    "b/notes": (b"nothing here", False),
    "empty": (b"", False),
}


@pytest.fixture
def dump(tmp_path):
    for name, (data, _) in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "b" / "up").symlink_to("..")
    return str(tmp_path)


def test_files_that_begin_with_visa_are_found_in_order(dump):
    found = [os.path.relpath(path, dump) for path in files_with_visa(dump)]
    assert found == sorted(name for name, (_, wanted) in FILES.items() if wanted)


def test_a_folder_with_too_many_files_is_refused(dump, monkeypatch):
    monkeypatch.setattr(folders, "MOST_FILES", 11)
    with pytest.raises(FileError, match="more than 11 files"):
        files_with_visa(dump)
    monkeypatch.setattr(folders, "MOST_FILES", 12)
    assert files_with_visa(dump)


@pytest.mark.skipif(sys.platform != "linux" or not os.path.ismount("/proc"), reason="there is no /proc")
def test_the_state_of_the_system_is_refused_and_left_out(monkeypatch):
    for folder in ("/proc", "/proc/self"):
        with pytest.raises(CostError, match="the state of the system"):
            files_with_visa(folder)
    inside = ["proc", "usr"]
    monkeypatch.setattr(os, "walk", lambda folder: [(folder, inside, ["file"])])
    assert list(folders._files("/")) == ["/file"] and inside == ["usr"]
