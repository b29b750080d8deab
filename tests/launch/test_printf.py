"""What kernels print: directives beside those of the C library, and records as compilers have kernels write them."""

import ctypes
import itertools
import re
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from visakit.diagnostics import Diagnostic, SimulationError
from vsim.memory.memory import AddressSpace
from vsim.observe import c_format, printf
from vsim.observe.c_format import Directive
from vsim.observe.printf import PrintfRecords

FLAGS = ["", "-", "+", " ", "#", "0", "-0", "+ ", "+0", "#0", "-#", " 0", "-+ #0"]
WIDTHS, PRECISIONS = (0, 1, 6, 20), (None, 0, 1, 5, 13)
WHOLE = (0, 1, -1, 7, 8, 399, -32768, 100_000_000, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
REAL = (
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    10.0,
    123456.789,
    1e-5,
    9.9999995,
    1e20,
    5e-324,
    1.1754944e-38,
    1.9999999,
    255.96875,
    1e300,
)
LENGTHS = {8: b"hh", 16: b"h", 32: b"", 64: b"ll"}
library = ctypes.CDLL(None)


def by_the_library(directive, value, argument):
    shown = b"" if directive.precision is None else b".%d" % directive.precision
    width = b"%d" % directive.width if directive.width else b""
    length = LENGTHS[directive.bits] if directive.kind in "diouxX" else b""
    whole = b"%" + directive.flags.encode() + width + shown + length + directive.kind.encode()
    room = ctypes.create_string_buffer(512)
    library.snprintf(room, ctypes.c_size_t(512), whole, argument(value))
    return room.value.decode("latin1")


def directives(kinds, bits=(32,)):
    return [Directive(*row) for row in itertools.product(FLAGS, WIDTHS, PRECISIONS, bits, kinds)]


@pytest.mark.parametrize("kind", "diouxX")
def test_whole_numbers(kind):
    for directive, value in itertools.product(directives(kind, LENGTHS), WHOLE):
        assert c_format.integer(directive, value) == by_the_library(directive, value, ctypes.c_longlong), (
            directive,
            value,
        )


@pytest.mark.parametrize("kind", "fFeEgGaA")
def test_numbers_with_a_point(kind):
    for directive, value in itertools.product(directives(kind), (*REAL, float("inf"), float("-inf"), float("nan"))):
        assert c_format.real(directive, value) == by_the_library(directive, value, ctypes.c_double), (directive, value)


def test_texts_and_characters():
    for directive in directives("s"):
        for value in ("", "foo", "0123456789"):
            found = by_the_library(directive, value.encode(), ctypes.c_char_p)
            assert c_format.text(directive, value) == found, directive
    for directive in directives("c"):
        assert c_format.character(directive, 0x141) == by_the_library(directive, 0x141, ctypes.c_int), directive


def printed(text, *values):
    """The text of a record with a format and values: pairs of the code of a type and bytes, or texts by address."""
    memory, data, strings = AddressSpace(), b"", text + b"\0"
    places = []
    for code, value in values:
        places.append((code, len(strings) if code in (5, 7) else value))
        strings += value + b"\0" if code in (5, 7) else b""
    constants = memory.allocate("strings", np.frombuffer(strings, "u1").copy())
    for code, value in places:
        data += struct.pack("<I", code) + (struct.pack("<Q", constants.address + value) if code in (5, 7) else value)
    record = struct.pack("<Q", constants.address) + data
    return PrintfRecords(struct.pack("<I", 4 + 2 * len(record)) + 2 * record, memory).text()


def test_records():
    assert printed(b"%d %s|\n", (3, struct.pack("<i", -5)), (5, b"foo")) == 2 * "-5 foo|\n"
    assert printed(b"%s|", (7, b"")) == "||" and printed(b"%s|", (7, b"foo\0bar")) == 2 * "foo|"
    assert printed(b"%p|", (7, b"")) != "||"
    assert printed(b"one\n", (5, b"foo"), (3, struct.pack("<i", 9))) == 2 * "one\n"
    assert printed(b"%d\n", (3, struct.pack("<i", 1)), (9, struct.pack("<I8b", 2, 1, 2, *bytes(6)))) == 2 * "1\n"


def test_printed_text_is_bounded(monkeypatch):
    """A few bytes of a kernel may ask for gigabytes: by a width, and by printing a long text often."""
    one = (3, struct.pack("<i", 1))
    for directive in (b"%2000000000d", b"%-2000000000d", b"%02000000000d", b"%.2000000000d"):
        assert len(printed(directive, one)) == 2 * 4095, directive
    assert len(printed(b"%.2000000000f", (8, struct.pack("<d", 0.5)))) == 2 * (4095 + 2)
    assert len(printed(b"%.2000000000a", (8, struct.pack("<d", 0.5)))) < 2 * 4200
    monkeypatch.setattr("vsim.observe.printf.MAXIMUM_TEXT", 10)
    assert printed(b"0123456789", one) == 2 * "0123456789"
    assert printed(b"0123456789a", one) == "0123456789a\n<the rest of the kernel's output is left out>\n"


def many_records(text, count):
    """Records of a text alone."""
    memory = AddressSpace()
    constants = memory.allocate("strings", np.frombuffer(text + b"\0", "u1").copy())
    record = struct.pack("<Q", constants.address)
    return PrintfRecords(struct.pack("<I", 4 + count * len(record)) + count * record, memory)


@pytest.mark.parametrize("begin", [0, 8])
@pytest.mark.parametrize("mark", [b"\xff" * 4 + bytes(8), b"\xff" * 4, b""], ids=["behind", "at the end", "none"])
def test_a_full_buffer_is_no_silence(begin, mark):
    """A record without room is a mark in place of an address; the next record would begin behind the buffer."""
    memory = AddressSpace()
    text = memory.allocate("strings", np.frombuffer(b"one\n\0", "u1").copy())
    data = bytes(begin) + struct.pack("<IQ", 1000, text.address) + mark
    buffer = memory.allocate("printf", np.frombuffer(data, "u1").copy())
    rest = "\n<the rest of the kernel's output is left out>\n"
    assert PrintfRecords.of(buffer, memory, begin).text() == "one\n" + rest


def test_a_format_is_read_once(monkeypatch):
    """Thousands of records have it, and it may be long."""
    asked = []
    pattern = re.compile(printf._DIRECTIVE.pattern)

    class Counted:
        def finditer(self, text):
            asked.append(text)
            return pattern.finditer(text)

    monkeypatch.setattr(printf, "_DIRECTIVE", Counted())
    assert many_records(b"%%" * 100 + b"\n", 1000).text() == ("%" * 100 + "\n") * 1000
    assert len(asked) == 1


def test_a_format_that_is_no_directive_is_read_in_one_pass():
    """Zeros are flags or a width: tried as each of them, 60,000 of them had no end."""
    for text in (b"%" + b"0" * 60000, b"%" + b"1" * 60000, b"%." + b"0" * 60000, b"%v" + b"1" * 60000):
        assert many_records(text, 1).text() == text.decode()


def test_writing_ends_in_time():
    records = many_records(b"foo\n", 1000)
    assert records.text_until(0.0) == ("\n<the rest of the kernel's output is left out>\n", False)
    assert records.text_until(float("inf")) == ("foo\n" * 1000, True)
    dispatch = SimpleNamespace(timeout=lambda seconds: SimulationError(Diagnostic("S040", f"{seconds} seconds")))
    assert records.in_time(dispatch, 0.0, None) is records and records.in_time(dispatch, 0.0, 1e9) == "foo\n" * 1000
    with pytest.raises(SimulationError) as caught:
        records.in_time(dispatch, 0.0, 1e-9)
    assert caught.value.diagnostics[0].code == "S040" and caught.value.printf.endswith("is left out>\n")
