"""Summaries of kernels in the user's cache, beside their native code: where both are found, no instruction is read.

An entry stands for the bytes of the code of an image: that there is one says that these bytes are a whole module, which
was validated. It has the summaries of those kernels that ran on native code so far, or ended before it was made.
"""

from __future__ import annotations

import json

from visakit import object_cache
from visakit.objects.image import KernelSummary, LinkedImage, Summaries
from vsim.launch.signature import KernelSignature


def _name(code: bytes, grf_size: int) -> str:
    return object_cache.key("summaries", code, grf_size)


def known(code: bytes, grf_size: int) -> Summaries | None:
    """The summaries of an image's code; None where it was not read and validated before.

    Args:
        code: the module as CISA bytes.
        grf_size: bytes of a register.
    """
    data = object_cache.load(_name(code, grf_size))
    if data is None:
        return None
    found = json.loads(data).items()
    return {name: KernelSummary(count, *map(bool, said), tuple(apart)) for name, (count, *said, apart) in found}


def keep(image: LinkedImage, signature: KernelSignature, module: bytes) -> None:
    """Keep the summary of a kernel, beside its native code if there is some.

    Args:
        module: the module as CISA bytes. If they differ from the bytes that were read and validated, or there are no
            such bytes, nothing is kept.
    """
    if signature.known is not None or not module or module != image.code:
        return
    found = {**(known(module, image.grf_size) or {}), signature.name: signature.summary}
    object_cache.save(_name(module, image.grf_size), json.dumps(found).encode())
