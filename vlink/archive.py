"""Archives of objects, as ``ar rcSD`` of GNU binutils writes them: the same inputs give the same bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from visakit.diagnostics import Diagnostic, LinkError, Span
from visakit.objects.archive import ARCHIVE, archive_members, is_archive
from vlink.inputs import read_object

_LONGEST = 15
"""Bytes of a name in a member's header; longer ones go into a table of names."""


def archive_bytes(inputs: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive of objects and bare CISA modules; the members of an archive among the inputs become members.

    Args:
        inputs: paths and contents; a member is called as its file, without directories.

    Raises:
        FormatError: an input is no object, or damaged.
        LinkError: L024, two members would have the same name.
    """
    members: dict[str, bytes] = {}
    for path, data in inputs:
        found = archive_members(data, path) if is_archive(data) else [(os.path.basename(path), data)]
        for name, contents in found:
            read_object(contents, path if contents is data else f"{path}({name})")
            if name in members:
                raise LinkError(
                    Diagnostic(
                        "L024", f"the archive would have two members '{name}'", Span(path, 0), "rename one of the files"
                    )
                )
            members[name] = contents
    return _written(members)


def _written(members: dict[str, bytes]) -> bytes:
    long_names, where = b"", {}
    for name in members:
        if len(os.fsencode(name)) > _LONGEST:
            where[name] = f"/{len(long_names)}"
            long_names += os.fsencode(name) + b"/\n"
    out, long_names = [ARCHIVE], long_names + b"\n" * (len(long_names) & 1)
    if long_names:
        out.append(_member("//", long_names, described=False))
    out += [_member(where.get(name, name + "/"), contents) for name, contents in members.items()]
    return b"".join(out)


def _member(field: str, contents: bytes, described: bool = True) -> bytes:
    """Header and contents: name, time, owner, group, mode and size in columns; only name and size have a meaning."""
    columns = f"{0:<12}{0:<6}{0:<6}{644:<8}" if described else " " * 32
    name = os.fsencode(field).ljust(16)
    return name + f"{columns}{len(contents):<10}`\n".encode() + contents + b"\n" * (len(contents) & 1)
