"""The linker: objects to images."""

from vlink.linker import LinkOptions, link

__all__ = ["LinkOptions", "link"]
