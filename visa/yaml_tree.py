"""YAML as a compiler writes it, to a tree of plain values with the lines of its keys; what else YAML can do is refused.

Whoever has the tree knows no YAML; ``visa.yaml_reader``, which makes it, is loaded when there is something to read.
"""

from __future__ import annotations

import json
from typing import Any

from visa.diagnostics import Diagnostic, FormatError, Span

MAXIMUM_SIZE = 1 << 25
"""Characters of a text."""

Tree = dict[str, Any]
"""A mapping as YAML or JSON give it: what a key holds is known only when it is read."""


class Lines:
    """The lines of keys, by the mapping that they are in."""

    def __init__(self) -> None:
        self.mappings: dict[int, tuple[int, dict[str, int]]] = {}

    def of(self, tree: Tree, key: str) -> int:
        """The line of a key, or where its mapping begins if that has no such key; 0 if the text has no lines."""
        start, keys = self.mappings.get(id(tree), (0, {}))
        return keys.get(key, start)


def parse(text: str, name: str) -> tuple[object, Lines]:
    """A text of YAML or JSON as values, and the lines of the keys; JSON has none.

    Raises:
        FormatError: C020, it is neither, or beyond the limits.
    """
    if len(text) > MAXIMUM_SIZE:
        raise not_yaml(f"it has {len(text)} characters, more than {MAXIMUM_SIZE}", name)
    if text.startswith("{"):
        try:
            return json.loads(text), Lines()
        except (ValueError, RecursionError):
            pass  # A YAML mapping may begin in that way, too.
    from visa.yaml_reader import read

    lines = Lines()
    return read(text, name, lines), lines


def not_yaml(message: str, name: str, line: int = 0, column: int = 1) -> FormatError:
    """The error that a text is not what a compiler writes."""
    return FormatError(Diagnostic("C020", f"ze_info is not YAML: {message}", Span(name, line, column)))
