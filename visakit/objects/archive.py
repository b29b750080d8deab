"""``ar`` archives: libraries of objects, and the compiler driver's containers of zebins."""

from __future__ import annotations

from collections.abc import Iterator

from visakit.diagnostics import Diagnostic, FormatError, Span

ARCHIVE = b"!<arch>\n"
"""How an archive begins."""


def archive_members(data: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the members of an ``ar`` archive (GNU and BSD long names).

    Raises:
        FormatError: the archive is damaged.
    """
    position, long_names = len(ARCHIVE), b""

    def problem(message: str) -> FormatError:
        return FormatError(Diagnostic("L001", f"{message} at offset {position:#x}", Span(name, 0)))

    while position < len(data):
        header = data[position : position + 60]
        size_text = header[48:58].strip()
        if len(header) < 60 or header[58:60] != b"`\n" or not size_text.isdigit():
            raise problem("the archive is damaged")
        size = int(size_text)
        contents = data[position + 60 : position + 60 + size]
        if len(contents) < size:
            raise problem("the archive ends inside the member")
        member = header[:16].rstrip()
        if member.startswith(b"#1/") and member[3:].isdigit():
            length = int(member[3:])
            if length > size:
                raise problem("the archive is damaged")
            member, contents = contents[:length].rstrip(b"\0"), contents[length:]
        elif member.startswith(b"/") and member[1:].isdigit():
            member = long_names[int(member[1:]) :].split(b"\n")[0]
        position += 60 + size + (size & 1)
        if member == b"//":
            long_names = contents
        elif member not in (b"/", b"/SYM64/") and not member.startswith(b"__.SYMDEF"):  # no table of symbols
            yield member.rstrip(b"/").decode("utf-8", "surrogateescape"), contents


def is_archive(data: bytes) -> bool:
    """Whether bytes begin as an ``ar`` archive does."""
    return data.startswith(ARCHIVE)
