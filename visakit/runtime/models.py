"""Properties of the devices of each generation."""

from __future__ import annotations

from typing import NamedTuple

DP4A, DPAS = 1, 2
"""Instructions as ``CL_DEVICE_FEATURE_CAPABILITIES_INTEL`` has them: products of bytes, products of matrices."""


class Hardware(NamedTuple):
    """A product of a generation, as its driver describes it.

    Attributes:
        device_id: of the product on its bus.
        ip_version: architecture, release and revision of the graphics core.
        slices, sub_slices, units, threads: slices; sub-slices of a slice, execution units of a sub-slice, hardware
            threads of a unit.
        features: :data:`DP4A` and :data:`DPAS`, where there are such instructions.
    """

    device_id: int
    ip_version: tuple[int, int, int]
    slices: int
    sub_slices: int
    units: int
    threads: int
    features: int

    @property
    def all_units(self) -> int:
        """Execution units of the whole device."""
        return self.slices * self.sub_slices * self.units

    @property
    def ip_number(self) -> int:
        """The version as a number: bits 22 to 31 architecture, 14 to 21 release, 0 to 5 revision."""
        architecture, release, revision = self.ip_version
        return architecture << 22 | release << 14 | revision


class Model(NamedTuple):
    """Properties of the devices of a generation.

    Attributes:
        device: its name for the compiler driver.
        group: work-items of a group.
        sub_groups: SIMD widths of kernels.
        local: bytes of local memory of a group.
        hardware: a common product.
        has_double, has_images: whether kernels may use them.
    """

    device: str
    group: int
    sub_groups: tuple[int, ...]
    local: int
    hardware: Hardware
    has_double: bool
    has_images: bool = True


_HD_530 = Hardware(0x1912, (9, 0, 9), 1, 3, 8, 7, 0)
_IRIS_PLUS = Hardware(0x8A52, (11, 0, 0), 1, 8, 8, 7, 0)
_IRIS_XE = Hardware(0x9A49, (12, 0, 0), 1, 6, 16, 7, DP4A)
_ARC_A770 = Hardware(0x56A0, (12, 55, 8), 8, 4, 16, 8, DP4A | DPAS)
_MAX_1550 = Hardware(0x0BD5, (12, 60, 7), 8, 16, 8, 8, DP4A | DPAS)
_ARC_B580 = Hardware(0xE20B, (20, 1, 4), 5, 4, 8, 8, DP4A | DPAS)
_ARC_B390 = Hardware(0xB080, (30, 0, 4), 2, 6, 8, 10, DP4A | DPAS)
MODELS = {
    "skl": Model("skl", 256, (8, 16, 32), 64 << 10, _HD_530, True),
    "icllp": Model("icllp", 256, (8, 16, 32), 64 << 10, _IRIS_PLUS, False),
    "tgllp": Model("tgllp", 512, (8, 16, 32), 64 << 10, _IRIS_XE, False),
    "dg2": Model("dg2", 1024, (8, 16, 32), 64 << 10, _ARC_A770, False),
    "pvc": Model("pvc", 1024, (16, 32), 128 << 10, _MAX_1550, True, has_images=False),
    "bmg": Model("bmg", 1024, (16, 32), 128 << 10, _ARC_B580, True),
    "ptl": Model("ptl", 1024, (16, 32), 128 << 10, _ARC_B390, True),
}
"""The generations that the compiler makes kernels for and the simulator runs."""
