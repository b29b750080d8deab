"""The processor that native code is made for: the host's, or a level of x86-64 that the host has, too.

``VISAKIT_CPU`` chooses it, so that one machine shows the speed of code for several: ``x86-64-v2`` has vectors of 128
bits, ``x86-64-v3`` of 256 (AVX2), ``x86-64-v4`` of 512 (AVX-512). LLVM splits wider values.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import NamedTuple

from llvmlite import binding as llvm

from visakit.diagnostics import UsageError, did_you_mean

VARIABLE = "VISAKIT_CPU"
NATIVE = "native"
_V2 = ("cx16", "popcnt", "sahf", "sse2", "sse3", "ssse3", "sse4.1", "sse4.2")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
LEVELS = {
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""What a processor of each level has, in LLVM's words (System V ABI for x86-64, "Micro-Architecture Levels")."""


_HELD: ContextVar[str] = ContextVar("_HELD", default="")
"""The level of a compilation that has begun."""


class Target(NamedTuple):
    """A processor and its features, by LLVM's names."""

    cpu: str
    features: str


def target() -> Target:
    """What code is made for now.

    Raises:
        UsageError: ``VISAKIT_CPU`` names no level, or one that this machine does not have.
    """
    return _target(level())


def level() -> str:
    """The name of what code is made for now."""
    return _HELD.get() or os.environ.get(VARIABLE) or NATIVE


@contextmanager
def held(name: str) -> Iterator[None]:
    """Code is made for this level, also if ``VISAKIT_CPU`` changes: LLVM ends the process when it meets instructions of
    another processor.
    """
    token = _HELD.set(name)
    try:
        yield
    finally:
        _HELD.reset(token)


def converts_halves() -> bool:
    """Whether the target processor has instructions that convert halves, or is not x86-64."""
    return has_feature("f16c") or not is_x86_64()


def is_sanitized() -> bool:
    """Whether code that is made now checks its accesses a second time (``VISAKIT_GUARD``, ``passes/sanitize.py``)."""
    return os.environ.get("VISAKIT_GUARD", "") not in ("", "0")


def fuses() -> bool:
    """Whether the target processor has fused multiply-add, or is not x86-64."""
    return has_feature("fma") or not is_x86_64()


def has_feature(name: str) -> bool:
    """Whether the processor that code is made for has something, in LLVM's words."""
    if (wanted := level()) != NATIVE:
        return name in LEVELS.get(wanted, ())
    return is_x86_64() and name in host_features()


@cache
def is_x86_64() -> bool:
    """Whether this process runs x86-64 code."""
    return str(llvm.get_process_triple()).startswith("x86_64")


@cache
def host_features() -> frozenset[str]:
    """What this machine's processor has, in LLVM's words: asked once, because each compilation wants to know often."""
    return frozenset(name for name, has in llvm.get_host_cpu_features().items() if has)


def possible() -> list[str]:
    """What ``VISAKIT_CPU`` may be on this machine."""
    return [NATIVE, *(name for name in LEVELS if not _missing(name))]


@cache
def _target(name: str) -> Target:
    if name == NATIVE:
        return Target(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    if name not in LEVELS:
        hint = did_you_mean(name, (NATIVE, *LEVELS))
        words = f"; {hint}" if hint else ""
        raise UsageError(f"{VARIABLE} is {', '.join(LEVELS)} or {NATIVE}, found '{name}'{words}")
    missing = _missing(name)
    if missing:
        what = ", ".join(missing)
        raise UsageError(
            f"{VARIABLE} is '{name}', but this machine's processor ({llvm.get_host_cpu_name()}) lacks {what}; "
            f"possible here: {', '.join(possible())}"
        )
    # Processors of the level that do without them are few, and LLVM would take gathers of AVX2 apart.
    return Target(name, "+fast-gather" if "avx2" in LEVELS[name] else "")


def _missing(name: str) -> list[str]:
    """What this machine lacks of a level."""
    return [feature for feature in LEVELS[name] if feature not in host_features()]


def vector_bits() -> int:
    """Bits of the vectors of the processor that code is made for."""
    return 512 if has_feature("avx512f") else 256 if has_feature("avx2") else 128
