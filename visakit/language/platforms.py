"""The known platforms in order of age, and their differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", int, tuple[int, int])


class Platform(NamedTuple):
    """A GPU generation. ``grf_size`` is the register size in bytes; ``order`` compares ages."""

    @property
    def local_memory(self) -> int:
        """The most local memory that a work-group can have, in bytes."""
        return (64 if self.grf_size == SMALLEST_GRF_SIZE else 128) << 10

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
    Platform("nvl", 36, 64, "Xe3P graphics (Nova Lake)", ("NVL", "XE3P_GRAPHICS", "XE3PLPG")),
)
PLATFORMS = {p.name: p for p in _ALL}
_ALIASES = {a.upper(): p for p in _ALL for a in (p.name, *p.aliases)}


_DEVICES = {
    "skl": "gen9 kbl cfl apl bxt glk whl aml cml",
    "icllp": "gen11 icl lkf ehl jsl",
    "tgllp": "gen12lp xe-lp tgl rkl adl adl-s adl-p adl-n rpl rpl-s rpl-p dg1",
    "xehp": "xe-hp xehp_sdv xe_hp_sdv",
    "dg2": "xe-hpg xe-lpg xe-lpgplus dg2-g10 dg2-g11 dg2-g12 acm acm-g10 acm-g11 acm-g12 ats-m ats-m75 ats-m150 "
    "mtl mtl-u mtl-m mtl-s mtl-h mtl-p arl arl-s arl-u arl-h",
    "pvc": "xe-hpc xe-hpc-vg pvc-sdv pvc-vg pvc-xl pvc-xt pvc-xt-vg",
    "bmg": "xe2 xe2-hpg xe2-lpg bmg-g21 bmg-g31 lnl lnl-m",
    "ptl": "xe3 xe3-lpg ptl-h ptl-u wcl nvl-s nvl-hx nvl-ul nvl-h nvl-u",
    "cri": "xe3p xe3p-xpc",
    "nvl": "xe3p-lpg nvl-p",
}
"""The names that the compiler driver (``ocloc -device``) has for devices and releases of each platform, and the words
that people say for several of them (``adl``).
"""
_ALIASES |= {device.upper(): PLATFORMS[name] for name, devices in _DEVICES.items() for device in devices.split()}
_STEPPING = r"-[A-D]\d[A-Z]?(?=-|$)"
_ARCHITECTURES = (
    ((9, 0), "skl"), ((11, 0), "icllp"), ((12, 0), "tgllp"), ((12, 50), "xehp"), ((12, 55), "dg2"), ((12, 60), "pvc"),
    ((12, 70), "dg2"), ((20, 0), "bmg"), ((30, 0), "ptl"), ((31, 0), ""),
    ((35, 10), "nvl"), ((35, 11), "cri"), ((35, 12), ""),
)  # fmt: skip
"""From which architecture and release on, in the numbers of the compiler's notes, devices are of a platform."""
_PRODUCTS = (
    (18, "skl"), (26, "icllp"), (29, "tgllp"), (34, ""), (1210, "tgllp"), (1211, ""), (1250, "xehp"), (1251, ""),
    (1270, "dg2"), (1271, "pvc"), (1272, "dg2"), (1274, "bmg"), (1276, ""), (1300, "ptl"), (1341, ""),
    (1360, "nvl"), (1361, ""), (1380, "cri"), (1381, ""),
)  # fmt: skip
"""Platforms by product family, the only platform in the output of older compilers; the numbers are the families'."""
_CORES = {
    12: "skl", 15: "icllp", 16: "icllp", 17: "tgllp", 18: "tgllp", 0xC05: "xehp", 0xC07: "dg2", 0xC08: "pvc",
    0xC09: "bmg", 0x1E00: "ptl",
}  # fmt: skip
"""Platforms by family of cores, the only platform in the output of the older vector compiler."""


def find(name: str) -> Platform | None:
    """The platform with this name or one of its other names, or of a device that the compiler knows; else None."""
    wanted = name.upper()
    return _ALIASES.get(wanted) or _ALIASES.get(re.sub(_STEPPING, "", wanted))


def platform_table() -> str:
    """All platforms and the names of devices that mean them, for people: lines of at most 100 characters."""
    import textwrap

    lines = []
    for p in _ALL:
        lines.append(f"{p.name:<6} {p.title}, registers of {p.grf_size} bytes")
        names = _DEVICES.get(p.name, "")
        blanks = " " * 7
        lines += textwrap.wrap(names, 100, initial_indent=blanks, subsequent_indent=blanks, break_on_hyphens=False)
    return "\n".join([*lines, "", "A device may be followed by its stepping, as dg2-g10-a0."])


def all_names() -> list[str]:
    """Every name of a platform or device, in lower case."""
    return [name.lower() for name in _ALIASES]


def of_architecture(architecture: int, release: int) -> Platform | None:
    """The platform of devices by their IP version, such as 20.1 of Battlemage G21; None for an unknown one."""
    return PLATFORMS.get(_last(_ARCHITECTURES, (architecture, release)))


def of_product(family: int) -> Platform | None:
    """The platform of devices of a product family; None for an unknown one."""
    return PLATFORMS.get(_last(_PRODUCTS, family))


def of_core(family: int) -> Platform | None:
    """The platform of devices of a family of cores; None for an unknown family, or one of several platforms."""
    return PLATFORMS.get(_CORES.get(family, ""))


def _last(rows: Sequence[tuple[Key, str]], key: Key) -> str:
    """The value of the last row that begins at or before the key."""
    return next((name for first, name in reversed(rows) if first <= key), "")


def since(name: str) -> frozenset[str]:
    """Names of the platform and all that came after it."""
    first = PLATFORMS[name].order
    return frozenset(p.name for p in _ALL if p.order >= first)


ALL = frozenset(PLATFORMS)
WITH_MACROS = ALL - {"icllp", "tgllp", "dg2"}
"""Platforms with the instructions that IEEE divisions and roots, and those of df, are made of (madm)."""
SMALLEST_GRF_SIZE, MAXIMUM_GRF_SIZE = min(p.grf_size for p in _ALL), max(p.grf_size for p in _ALL)
"""Bytes of a register. Where the platform is not known, rows count the smaller ones, and nothing is refused that the
larger ones have room for.
"""
