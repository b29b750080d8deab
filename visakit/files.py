"""Reading and writing files as all commands do: ``-`` is a standard stream, output appears complete or not at all."""

from __future__ import annotations

import binascii
import codecs
import contextlib
import errno
import io
import itertools
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO, NoReturn

from visakit.diagnostics import Diagnostic, FileError, Span, UsageError, VisaError, did_you_mean
from visakit.file_kinds import kind_of

if sys.platform != "win32":
    import fcntl

__all__ = [
    "MAXIMUM_INPUT",
    "UsageError",
    "check_appendable",
    "check_folder",
    "check_outputs",
    "check_writable",
    "make_directory",
    "open_streams",
    "read_bytes",
    "read_text",
    "write_bytes",
    "write_file",
    "write_text",
]

MAXIMUM_INPUT = 1 << 30
MAXIMUM_STREAM = 1 << 28
"""Limit in bytes of files without a size: standard input, devices, FIFOs."""


def _failure(path: str, error: OSError | ValueError) -> FileError:
    return FileError(Diagnostic("F001", f"{getattr(error, 'strerror', None) or error}", Span(path, 0)))


@contextlib.contextmanager
def _failures(path: str) -> Iterator[None]:
    """Give errors of the system the place and the code of a :class:`FileError`."""
    try:
        yield
    except VisaError:
        raise
    except (OSError, ValueError) as error:
        raise _failure(path, error) from None


def _near(path: str) -> str:
    """A hint at files of nearly the same name beside one that is not there."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in itertools.islice(entries, 1000)]
    except (OSError, ValueError):
        return ""
    return did_you_mean(name, names)


def read_bytes(path: str) -> bytes:
    """The contents of a file or of standard input.

    Raises:
        FileError: it cannot be read, or is too large.
    """
    try:
        if path == "-":
            path, size = "<stdin>", 0
            data = sys.stdin.buffer.read(MAXIMUM_STREAM + 1)
        else:
            size = os.path.getsize(path) if os.path.isfile(path) else 0
            data = _contents(path, size)
    except FileNotFoundError as error:
        raise FileError(replace(_failure(path, error).diagnostics[0], hint=_near(path))) from None
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be a path.
        raise _failure(path, error) from None
    if size > MAXIMUM_INPUT:
        raise FileError(Diagnostic("F002", f"the file has {size} bytes, more than {MAXIMUM_INPUT}", Span(path, 0)))
    if not size and len(data) > MAXIMUM_STREAM:
        raise FileError(Diagnostic("F002", f"there are more than {MAXIMUM_STREAM} bytes", Span(path, 0)))
    return data


def _contents(path: str, size: int) -> bytes:
    """The contents of a file of ``size`` bytes, 0 for an unknown size; empty, or cut, if they exceed the limits."""
    if size > MAXIMUM_INPUT:
        return b""
    with open(path, "rb") as f:
        return f.read() if size else f.read(MAXIMUM_STREAM + 1)


def read_text(path: str, wanted: str = "text") -> str:
    """A UTF-8 text file, without the byte order mark that some editors write.

    Args:
        wanted: the name of such a text in messages.

    Raises:
        FileError: it cannot be read or is not text.
    """
    data = read_bytes(path)
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise FileError(Diagnostic("F004", "this is UTF-16 text", Span(path, 1), "save it as UTF-8"))
    if b"\0" in data[:4096]:
        kind = kind_of(path, data)
        hint = "this is an object; disassemble it with vdis" if data[:4] in (b"CISA", b"\x7fELF") else ""
        message = f"this is {kind.title if kind else 'a binary file'}, not {wanted}"
        raise FileError(Diagnostic("F003", message, Span(path, 0), kind.cure if kind else hint))
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(
            Diagnostic("F004", f"byte {data[error.start]:#04x} is not UTF-8 text", Span(path, line, 1))
        ) from None


def write_bytes(path: str, data: bytes) -> None:
    """Write a file as :func:`write_file` does; ``-`` is standard output, and never a terminal for binary data.

    Raises:
        FileError: it cannot be written.
        UsageError: it would go to a terminal.
    """
    if path != "-":
        write_file(path, lambda stream: stream.write(data))
        return
    if sys.stdout.isatty() and b"\0" in data:
        raise UsageError("binary output is not written to a terminal; use -o FILE or a pipe")
    rest = memoryview(data)
    try:
        while rest:  # Unbuffered (PYTHONUNBUFFERED), a write may take a part of the data only.
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise  # The reader has seen enough.
    except OSError as error:
        raise _failure("<stdout>", error) from None


def write_text(path: str, text: str) -> None:
    """Write a text as :func:`write_bytes` does; names of files that are no UTF-8 keep their bytes in it.

    Raises:
        FileError: it cannot be written.
    """
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_file(path: str, write: Callable[[BinaryIO], object]) -> None:
    """Write an output: a hidden file beside the target, which is renamed when it is complete.

    The next writer of the same target removes the files of a killed one. Readers see the old contents or the new ones
    at any time. A link stays a link: its target is replaced, and keeps its mode. Other hard links of the target keep
    the old contents. A file without permission to write is refused. Devices and FIFOs are written in place; a FIFO
    needs a reader.

    Args:
        write: is called with the stream; the caller gets its exceptions, which leave the target unchanged.

    Raises:
        FileError: it cannot be written.
    """
    with _failures(path):
        target = os.path.realpath(path)
        mode = _mode(path)
        if mode is None:
            _replace(target, write, None)
        elif _is_replaced(path, mode):
            _check_mode(target, mode)
            _replace(target, write, stat.S_IMODE(mode))
        else:
            with os.fdopen(_open_in_place(path), "wb") as stream:
                write(stream)


def _is_replaced(path: str, mode: int) -> bool:
    """Whether another file takes the place of a target; others are written in place. Some names of open files are no
    names of the files that they lead to.
    """
    return stat.S_ISREG(mode) and not path.startswith(("/dev/fd/", "/dev/std", "/proc/"))


def _check_mode(target: str, mode: int) -> None:
    """Refuse to replace a file without permission to write."""
    if not (mode & 0o222 and os.access(target, os.W_OK)):
        raise PermissionError(errno.EACCES, "the file that is there is read-only")


def check_writable(path: str) -> None:
    """Refuse an output that :func:`write_file` could not write now, before the work whose result goes there; its folder
    may be absent. Devices, FIFOs and ``-`` are not tried.

    Raises:
        FileError: it cannot be written.
    """
    if path == "-":
        return
    with _failures(path):
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        target = os.path.realpath(path)
        if mode is not None and _is_replaced(path, mode):
            _check_mode(target, mode)
        if mode is None or _is_replaced(path, mode):
            _check_folder(os.path.dirname(target))


def check_folder(path: str) -> None:
    """Refuse a folder that files cannot be written into, or that cannot be made.

    Raises:
        FileError: they cannot be written there.
    """
    with _failures(path):
        _check_folder(os.path.realpath(path))


def _check_folder(folder: str) -> None:
    """Make and remove a file in a folder; of one that is absent, in the nearest one above that is there."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    temporary, handle = _open_beside(os.path.join(folder, "x"), 0o600)
    os.close(handle)
    os.unlink(temporary)


def check_appendable(path: str) -> None:
    """Refuse a file that nothing can be appended to: a folder, a read-only file, a device or disk without room.

    A file that is absent is made. FIFOs, which wait for their readers, and ``-`` are not tried.

    Raises:
        FileError: it cannot be written.
    """
    if path == "-":
        return
    with _failures(path):
        mode = _mode(path)
        if mode is not None and stat.S_ISFIFO(mode):
            return
        with open(path, "ab", buffering=0) as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.write(b"\n")
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                stream.truncate(size)


def _mode(path: str) -> int | None:
    """Kind and permissions of the target; None if it does not exist."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _replace(target: str, write: Callable[[BinaryIO], object], mode: int | None) -> None:
    """Write a file beside the target and rename it; ``mode`` is that of the target, if there is one."""
    temporary, handle = _open_beside(target, 0o666 if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            if mode is not None:
                os.chmod(temporary, mode)  # The mask took some of it away.
            if os.name != "nt":  # The lock of an open file tells other writers that it is in use.
                os.replace(temporary, target)
        if os.name == "nt":
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _open_beside(target: str, mode: int) -> tuple[str, int]:
    """A new file in the target's directory, hidden, to be written: its path and handle.

    The name follows from the target's, and the file is locked, so that a writer finds and removes the file of a killed
    one. While another writer of the target is at work, the file gets an unused name.
    """
    folder, name = os.path.split(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    temporary = os.path.join(folder, f".{binascii.crc32(os.fsencode(name)):08x}.tmp")
    _remove_left(temporary)
    with contextlib.suppress(FileExistsError):
        handle = os.open(temporary, flags, mode)
        if _is_ours(temporary, handle):
            return temporary, handle
        os.close(handle)
    temporary = os.path.join(folder, f".{os.urandom(8).hex()}.tmp")
    return temporary, os.open(temporary, flags, mode)


def _is_ours(temporary: str, handle: int) -> bool:
    """Lock a new file; False if another writer was faster, and took it for one that was left."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), os.lstat(temporary))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # A file system without locks: the file of a killed writer stays.
        return True


def _remove_left(temporary: str) -> None:
    """Remove the file of a writer that was killed; files of other programs, and of running writers, stay."""
    if sys.platform == "win32" or not os.path.lexists(temporary):
        return
    with contextlib.suppress(OSError):
        handle = os.open(temporary, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between opening and locking the file may have become an output, and this name another's.
            if os.path.samestat(status, os.lstat(temporary)):
                os.unlink(temporary)
        finally:
            os.close(handle)


class NoRegularFileError(OSError):
    """A FIFO, a device or another special file in place of a regular one."""


def open_regular(path: str) -> BinaryIO:
    """A file, open to be read. A FIFO would be waited for, and a device may have no end.

    Raises:
        NoRegularFileError: it has another kind.
        OSError, ValueError: it cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    stream = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        stream.close()
        raise NoRegularFileError(errno.EINVAL, "it is not a file")
    return stream


def _open_in_place(path: str) -> int:
    """A device or FIFO, open to be written. A FIFO without a reader is an error instead of a wait."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "no process reads this FIFO") from None
        raise
    if hasattr(os, "set_blocking"):
        os.set_blocking(handle, True)
    return handle


def check_outputs(outputs: Iterable[str | None], inputs: Iterable[str]) -> None:
    """Refuse outputs that are inputs, or that are each other; None and ``-`` are no files.

    Raises:
        UsageError: an output would overwrite an input or another output.
    """
    known = {_identity(path): (path, True) for path in inputs if path != "-"}
    for path in outputs:
        if path is None or path == "-":
            continue
        identity = _identity(path)
        if identity in known:
            other, is_input = known[identity]
            if not is_input:
                raise UsageError(f"two outputs go to '{path}'")
            same = "" if other == path else f", as '{other}'"
            raise UsageError(f"the output '{path}' is an input, too{same}")
        if not path.startswith("/dev/"):  # /dev/null
            known[identity] = path, False


def _identity(path: str) -> object:
    """The identity of a file, which all of its names share."""
    with contextlib.suppress(OSError, ValueError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return os.path.realpath(path)


def make_directory(path: str) -> None:
    """Make a directory and those above it; one that exists is fine.

    Raises:
        FileError: it cannot be made.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError:
        raise _failure(path, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))) from None
    except (OSError, ValueError) as error:
        raise _failure(path, error) from None


class _Closed(io.RawIOBase):
    """Replaces a standard output that the caller has closed: writing fails as it does in C."""

    def writable(self) -> bool:
        """It is there to be written to."""
        return True

    def write(self, data: object) -> NoReturn:
        """Fail.

        Raises:
            OSError: always.
        """
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def open_streams() -> None:
    """Standard streams that were closed become ones that are there: no file that is opened later takes their numbers.

    Characters without an encoding are escaped.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()), "utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
