"""Code that accesses fields of the structures in :mod:`abi` (``fields.ll``), for functions out of line.

``base`` is the name of a pointer to the structure, ``offset`` the place of the field in bytes.
"""

from __future__ import annotations

from vsim.engines.llvm.support.templates import fill


def load(base: str, name: str, offset: int, ty: str = "i64") -> str:
    """Load a field; the value has the name."""
    return fill("fields", "load", base=base, name=name, offset=offset, ty=ty)


def store(base: str, place: str, offset: int, value: str) -> str:
    """Store a value (i64) into a field, whose address gets the name ``place``."""
    return fill("fields", "store", base=base, place=place, offset=offset, value=value)


def add(base: str, name: str, offset: int, value: str) -> str:
    """Add a value to a field (i64); its address and both contents have names that begin with this one."""
    return fill("fields", "add", base=base, name=name, offset=offset, value=value)
