"""The linker: objects to images. docs/python.md documents every public name."""

from __future__ import annotations

import visakit.start  # noqa: F401 # first, so that an interrupt from here on ends a command

# isort: split

from typing import TYPE_CHECKING

from visakit.lazy import lazy_attributes

if TYPE_CHECKING:
    from visakit.objects.image import LinkedImage
    from vlink.linker import LinkOptions, link

__all__ = ["LinkOptions", "LinkedImage", "link"]
__getattr__, __dir__ = lazy_attributes(
    __name__, {"LinkOptions": "vlink.linker", "LinkedImage": "visakit.objects.image", "link": "vlink.linker"}
)
