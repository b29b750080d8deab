"""Directories of the files of a launch, and the files that it may use."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from visakit.diagnostics import Diagnostic, FileError, Span


class PathError(Exception):
    """A launch may not use a file; ``code`` and ``hint`` are for the diagnostic, no code means the usual one."""

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.hint, self.code = hint, code


class LaunchPaths(NamedTuple):
    """The directories of a launch file.

    Attributes:
        inputs: the directory that names of arrays are relative to.
        outputs: the directory that names of outputs are relative to; empty for the working directory.
        within: directories that contain all files; empty if files may be anywhere.
        sources: the image and the launch file, which no output may overwrite.
    """

    inputs: str
    outputs: str = ""
    within: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @classmethod
    def embedded(cls, image: str, way: str, out_dir: str | None, allow_paths: bool) -> LaunchPaths:
        """Directories of the launch in an image: its author is not its user, so its files are near the image or the
        user.

        Args:
            image: the image's path.
            way: from the image's directory to that of the launch file, as the linker noted it.
            out_dir: where outputs go; None for the working directory.
            allow_paths: whether the files may be anywhere.
        """
        directory = os.path.dirname(os.path.abspath(image))
        within = () if allow_paths else tuple(map(os.path.realpath, (directory, ".", out_dir or ".")))
        return cls(os.path.join(directory, way), out_dir or "", within, (image,))

    def input(self, name: object) -> str:
        """The path of an array.

        Raises:
            PathError: it is no file name, or is outside of the directories.
        """
        return self._path(self.inputs, name)

    def output(self, name: object) -> str:
        """The path of an output.

        Raises:
            PathError: it is no file name, is outside of the directories, is no regular file, or is the image or launch
                file.
        """
        path = self._path(self.outputs, name)
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return path  # The file does not exist, or writing reports the error.
        if stat.S_ISDIR(status.st_mode):
            raise PathError(f"'{name}' is a directory")
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISCHR(status.st_mode)):
            raise PathError(f"'{name}' is there and is not a file")
        for source in self.sources:
            if os.path.exists(source) and os.path.samestat(os.stat(source), status):
                raise PathError(f"'{name}' would overwrite '{source}', which is being run")
        return path

    def _path(self, directory: str, name: object) -> str:
        if not isinstance(name, str) or not name or "\0" in name:
            raise PathError(f"a file name was expected, found {name!r:.80}")
        path = os.path.join(directory, name)
        if self.within:
            try:
                real = os.path.realpath(path)
            except (OSError, ValueError) as error:
                raise PathError(f"'{name}' is not a path: {error}") from None
            if not any(os.path.commonpath([real, root]) == root for root in self.within):
                raise PathError(
                    f"'{name}' of the image's launch leads out of the directories of this run",
                    "it may use the image's directory, the working one and --out-dir; --allow-paths allows all",
                    "S013",
                )
        return path


def is_one_of(path: str, others: Iterable[str]) -> bool:
    """Whether a path leads to a file that is there, and so does one of others."""
    return os.path.exists(path) and any(os.path.exists(other) and os.path.samefile(path, other) for other in others)


def check_overwriting(path: str, read: Iterable[str]) -> None:
    """Refuse an output that is a file that the run has read: the image, the launch file or an array.

    Raises:
        FileError: F001, it is one.
    """
    if is_one_of(path, read):
        message = f"'{path}' would overwrite an input of the run"
        raise FileError(Diagnostic("F001", message, Span(path, 0), "name another file, or another --out-dir"))
