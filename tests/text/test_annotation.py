"""Annotated disassembly: comments beside the unchanged text; files named in debug information are opened with care."""

import os
import re

import pytest
from support.programs import DATA

import vasm
from vasm.annotation import Annotations, annotated_text
from visakit.binary import read_module
from visakit.binary.codec import Encoder
from visakit.language.source_lines import MAXIMUM_SOURCE, SourceFiles, SourcePlace

GOLDEN = sorted((DATA / "golden").glob("*.isa"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_annotated_text_gives_the_same_bytes(path):
    """Each instruction has its bytes, one behind the other, and comments change nothing."""
    module = read_module(path.read_bytes(), path.name)
    text = annotated_text(module, Annotations(True, True, True), {}, ["/nowhere"])
    assert vasm.assemble_text(text, silent=()).isa == path.read_bytes()
    shown = re.findall(r"^/\* ([0-9a-f]+) \*/.* /// \$(\d+): ([0-9a-f ]+)((?:\n +// [0-9a-f ]+)*)$", text, re.MULTILINE)
    encoder, expected = Encoder(), []
    for function in module.all_functions:
        offset = 0
        for number, code in enumerate(encoder.encode(function.instructions)):
            expected.append((offset, number, code))
            offset += len(code)
    assert [(int(at, 16), int(n), bytes.fromhex((a + b).replace("//", ""))) for at, n, a, b in shown] == expected


def test_source_files_are_regular_files_of_a_sensible_size(tmp_path):
    os.mkfifo(tmp_path / "pipe.cl")
    (tmp_path / "large.cl").write_bytes(bytes(MAXIMUM_SOURCE + 1))
    (tmp_path / "good.cl").write_bytes(b"one\r\n\ttwo \xff\n")
    files = SourceFiles([str(tmp_path)])
    assert files.text(SourcePlace("good.cl", 1)) == "one"
    assert (
        files.text(SourcePlace("/elsewhere/good.cl", 2))
        == files.text(SourcePlace("C:\\x\\good.cl", 2))
        == "\ttwo \ufffd"
    )
    assert files.text(SourcePlace("good.cl", 9)) == files.problem("good.cl") == ""
    assert files.problem("pipe.cl") == "this is not a file" and "more than" in files.problem("large.cl")
    assert files.problem("/dev/zero") == "this is not a file" and files.problem("none\0.cl")
    assert files.problem("") == files.problem("none.cl") == "No such file or directory"


def test_files_of_others_are_looked_into_within_folders_only(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.cl").write_text("secret\n")
    (inside / "own.cl").write_text("own\n")
    (inside / "link.cl").symlink_to(outside / "secret.cl")
    files = SourceFiles([str(inside)], within=True)
    assert files.text(SourcePlace(str(inside / "own.cl"), 1)) == files.text(SourcePlace("own.cl", 1)) == "own"
    for name in (str(outside / "secret.cl"), "../outside/secret.cl", "link.cl"):
        assert files.text(SourcePlace(name, 1)) == "" and files.problem(name)
        assert SourceFiles([str(inside)]).text(SourcePlace(name, 1)) == "secret"
