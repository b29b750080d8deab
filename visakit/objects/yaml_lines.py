"""What trees of YAML and JSON share: their values, the lines of their keys, the error of a text that is neither."""

from __future__ import annotations

from typing import Any

from visakit.diagnostics import Diagnostic, FormatError, Span

Tree = dict[str, Any]
"""A mapping of YAML or JSON: values have any type until they are read."""


class Lines:
    """The lines of keys, by the mapping that they are in."""

    def __init__(self) -> None:
        self.mappings: dict[int, tuple[int, dict[str, int]]] = {}

    def of(self, tree: Tree, key: str) -> int:
        """The line of a key, or where its mapping begins if that has no such key; 0 if neither is known."""
        start, keys = self.mappings.get(id(tree), (0, {}))
        return keys.get(key, start)


def not_yaml(message: str, name: str, line: int = 0, column: int = 1) -> FormatError:
    """The error of a text that no compiler writes."""
    return FormatError(Diagnostic("C020", f"ze_info is not YAML: {message}", Span(name, line, column)))
