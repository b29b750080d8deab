"""A launch as far as a command line or a proof gives it; :mod:`vsim.launch.writer` makes the rest."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from vsim.launch.launch import Argument
from vsim.launch.signature import KernelSignature


class GivenLaunch(NamedTuple):
    """A launch whose missing parts are still to be made.

    Attributes:
        signature: of its kernel.
        args: by index; missing ones are made.
        files: names of the files of arguments, by index.
        outs: names of the files in which arguments are saved, by index.
    """

    signature: KernelSignature
    args: Mapping[int, Argument]
    global_size: tuple[int, ...] | None
    local_size: tuple[int, ...] | None
    files: Mapping[int, str] = MappingProxyType({})
    outs: Mapping[int, str] = MappingProxyType({})
