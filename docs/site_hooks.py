"""Changes to the pages of the documentation site (``make site``) that no setting makes."""

from __future__ import annotations

import re
from typing import Any


def on_page_content(html: str, **_: Any) -> str:
    """The page without the roles of Sphinx, which docstrings have before code: ``:class:`vsim.Program```."""
    return re.sub(r":(?:attr|class|data|func|meth|mod):(?=<(?:code|a)\b)", "", html)
