"""The platforms that the tools know, in order of age, and what differs between them."""

from __future__ import annotations

from typing import NamedTuple


class Platform(NamedTuple):
    """A GPU generation. ``grf_size`` is the register size in bytes; ``order`` compares ages."""

    name: str
    order: int
    grf_size: int
    title: str
    aliases: tuple[str, ...] = ()


_ALL = (
    Platform("skl", 9, 32, "Gen9 (Skylake)", ("SKL", "GEN9")),
    Platform("icllp", 11, 32, "Gen11 (Ice Lake)", ("ICLLP", "ICL")),
    Platform("tgllp", 12, 32, "Xe-LP (Tiger Lake)", ("TGLLP", "TGL")),
    Platform("xehp", 13, 32, "Xe-HP", ("XEHP_SDV", "XEHP")),
    Platform("dg2", 14, 32, "Xe-HPG (Alchemist)", ("DG2",)),
    Platform("pvc", 15, 64, "Xe-HPC (Ponte Vecchio)", ("PVC", "PVCXT", "PVCXT_A0")),
    Platform("bmg", 20, 64, "Xe2 (Battlemage)", ("BMG", "XE2", "LNL")),
    Platform("ptl", 30, 64, "Xe3 (Panther Lake)", ("PTL", "XE3")),
    Platform("cri", 35, 64, "Xe3P (Crescent Island)", ("CRI", "XE3P", "XE3P_CRI")),
)
PLATFORMS = {p.name: p for p in _ALL}
_ALIASES = {a.upper(): p for p in _ALL for a in (p.name, *p.aliases)}


def find(name: str) -> Platform | None:
    """The platform with this name or one of its other names, or None."""
    return _ALIASES.get(name.upper())


def since(name: str) -> frozenset[str]:
    """Names of the platform and all that came after it."""
    first = PLATFORMS[name].order
    return frozenset(p.name for p in _ALL if p.order >= first)


ALL = frozenset(PLATFORMS)
SMALLEST_GRF_SIZE, MAXIMUM_GRF_SIZE = min(p.grf_size for p in _ALL), max(p.grf_size for p in _ALL)
"""Bytes of a register. Where the platform is not known, rows count the smaller ones, and nothing is refused that the
larger ones have room for.
"""
