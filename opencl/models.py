"""What devices of each generation have."""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """What devices of a generation have.

    Attributes:
        device: what the compiler driver is told.
        group: work-items of a group.
        sub_groups: SIMD widths of kernels.
        local: bytes of local memory of a group.
        units: execution units of a common product.
        has_double, has_images: whether kernels may use them.
    """

    device: str
    group: int
    sub_groups: tuple[int, ...]
    local: int
    units: int
    has_double: bool
    has_images: bool = True


MODELS = {
    "skl": Model("skl", 256, (8, 16, 32), 64 << 10, 24, True),
    "icllp": Model("icllp", 256, (8, 16, 32), 64 << 10, 64, False),
    "tgllp": Model("tgllp", 512, (8, 16, 32), 64 << 10, 96, False),
    "dg2": Model("dg2", 1024, (8, 16, 32), 64 << 10, 512, False),
    "pvc": Model("pvc", 1024, (16, 32), 128 << 10, 1024, True, has_images=False),
    "bmg": Model("bmg", 1024, (16, 32), 128 << 10, 160, True),
    "ptl": Model("ptl", 1024, (16, 32), 128 << 10, 96, True),
}
"""The generations that the compiler makes kernels for and the simulator runs."""
