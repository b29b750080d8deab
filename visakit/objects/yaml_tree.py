"""YAML of compilers to a tree of plain values with the lines of its keys; other features of YAML are refused.

Users of the tree know no YAML; ``visakit.objects.yaml_reader``, which makes it, is loaded with the first text.
"""

from __future__ import annotations

import contextlib
import json

from visakit.diagnostics import FormatError
from visakit.objects.yaml_lines import Lines, Tree, not_yaml

MAXIMUM_SIZE = 1 << 25
"""Characters of a text."""


class JsonLines(Lines):
    """The lines of the keys of a JSON text, which is parsed again, as YAML, by the first request for a line."""

    def __init__(self, text: str, name: str, root: object) -> None:
        super().__init__()
        self.text, self.name, self.root = text, name, root
        self.is_read = False

    def of(self, tree: Tree, key: str) -> int:
        """The line of a key, as of the other texts."""
        if not self.is_read:
            self.is_read = True
            with contextlib.suppress(FormatError):  # JSON that is no YAML of compilers has no lines.
                self._read()
        return super().of(tree, key)

    def _read(self) -> None:
        from visakit.objects.yaml_reader import read

        lines = Lines()
        pairs = [(self.root, read(self.text, self.name, lines))]
        while pairs:
            value, twin = pairs.pop()
            if isinstance(value, dict) and isinstance(twin, dict):
                self.mappings[id(value)] = lines.mappings[id(twin)]
                pairs += [(value[key], twin[key]) for key in value.keys() & twin.keys()]
            elif isinstance(value, list) and isinstance(twin, list):
                pairs += zip(value, twin, strict=False)


def _mapping(entries: list[tuple[str, object]]) -> Tree:
    made = dict(entries)
    if len(made) < len(entries):
        raise ValueError
    return made


def parse(text: str, name: str) -> tuple[object, Lines]:
    """A text of YAML or JSON as values, and the lines of the keys.

    Raises:
        FormatError: C020, it is neither, or beyond the limits.
    """
    if len(text) > MAXIMUM_SIZE:
        raise not_yaml(f"it has {len(text)} characters, more than {MAXIMUM_SIZE}", name)
    if text.startswith("{"):
        try:
            root = json.loads(text, object_pairs_hook=_mapping)
            return root, JsonLines(text, name, root)
        except (ValueError, RecursionError):
            pass  # A YAML mapping may begin in that way, too, and its reader says which key occurs twice.
    from visakit.objects.yaml_reader import read

    lines = Lines()
    return read(text, name, lines), lines
