"""Whether lanes of a thread may wait for each other without an instruction that does: a barrier of a sub-group orders
their accesses to memory, and compilers leave none where a thread has all lanes of it.

Later compilers leave an instruction without effect. Of older texts only the SPIR-V tells that they were compiled from.
"""

from __future__ import annotations

from visakit.language.platforms import PLATFORMS, find
from visakit.language.program import Function
from visakit.objects.image import LinkedImage

_SHOWN_FROM, _SHOWN_SINCE = PLATFORMS["tgllp"].order, (4, 2)
"""The platform and the version of texts from which on compilers leave an instruction of a sub-group's barrier."""


def lanes_may_wait(image: LinkedImage, kernel: Function) -> bool:
    """Whether a kernel may have had barriers of sub-groups that its text does not show."""
    platform = find(image.platform)
    if platform is not None and platform.order >= _SHOWN_FROM and kernel.version >= _SHOWN_SINCE:
        return False
    zebin = image.zebin()
    if not zebin:
        return True
    from visakit.objects.spirv import may_wait  # which most launches do without
    from visakit.objects.zebin import spirv_of

    try:
        return not (module := spirv_of(zebin)) or may_wait(module)
    except ValueError:
        return True
