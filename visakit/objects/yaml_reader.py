"""The events of a YAML text to a tree.

A text is read event by event, without recursion and within limits: no aliases (a few lines could mean gigabytes, or
contain themselves), no tags, one document, limits of values and depth.
"""

from __future__ import annotations

import re

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
)

from visakit.diagnostics import FormatError
from visakit.objects.yaml_lines import Lines, Tree, not_yaml

MAXIMUM_VALUES, MAXIMUM_DEPTH = 1 << 21, 32
"""Limits of values in a text, and of their nesting."""
TOO_DEEP = f"it is nested deeper than {MAXIMUM_DEPTH}"
_CONSTANTS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None, "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
"""Plain words of YAML 1.2, which the compiler writes: an argument with the name ``off`` has no quotes."""
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})")
_HEXADECIMAL = re.compile(r"[-+]?0x[0-9a-fA-F]{1,30}")
_OCTAL = re.compile(r"[-+]?0[0-7]{1,30}")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]{1,9})?")


def read(text: str, name: str, lines: Lines) -> object:
    """The values of a text; ``lines`` gets the lines of its keys.

    Raises:
        FormatError: C020, it is not YAML, or beyond the limits.
    """
    reader = _Reader(name, lines)
    try:
        for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            reader.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = (mark.line + 1, mark.column + 1) if mark else ()
        problem = getattr(error, "problem", None) or str(error)
        # libyaml 0.2.6 also has a limit, far above ours, and its scanner reads ahead far enough to meet it.
        raise not_yaml(TOO_DEEP if "nesting depth" in problem else problem, name, *place) from None
    except (ValueError, RecursionError) as error:
        raise not_yaml(str(error), name) from None
    return reader.root


class _Reader:
    """Takes events and builds values; ``open`` has the lists and mappings around the next one."""

    def __init__(self, name: str, lines: Lines) -> None:
        self.name, self.lines = name, lines
        self.root: object = None
        self.documents = self.values = 0
        self.open: list[list[object] | Tree] = []
        self.keys: list[str | None] = []

    def take(self, event: Event) -> None:
        """One event of the text."""
        if isinstance(event, ScalarEvent):
            self._scalar(event)
        elif isinstance(event, CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, CollectionEndEvent):
            self.open.pop()
            self.keys.pop()
        elif isinstance(event, AliasEvent):
            raise self.fail(f"it has an alias, *{event.anchor:.40}; compilers write none", event)
        elif isinstance(event, DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self.fail("there is a second document", event)

    def fail(self, message: str, event: Event) -> FormatError:
        """An error at an event."""
        mark = event.start_mark
        return not_yaml(message, self.name, *((mark.line + 1, mark.column + 1) if mark else ()))

    def _scalar(self, event: ScalarEvent) -> None:
        if event.tag is not None and event.tag != "!":
            raise self.fail(f"it has a tag, {event.tag:.40}; compilers write none", event)
        if self.open and isinstance(self.open[-1], dict) and self.keys[-1] is None:
            lines = self.lines.mappings[id(self.open[-1])][1]
            if event.value in lines:
                raise self.fail(f"the key '{event.value:.40}' of line {lines[event.value]} occurs again", event)
            self.keys[-1], lines[event.value] = event.value, _line(event)
            return
        self._add(_plain(event.value) if event.implicit[0] else event.value, event)

    def _add(self, value: object, event: Event) -> None:
        """A value where the text has come to."""
        self.values += 1
        if self.values > MAXIMUM_VALUES:
            raise self.fail(f"it has more than {MAXIMUM_VALUES} values", event)
        if not self.open:
            self.root = value
            return
        around = self.open[-1]
        if isinstance(around, list):
            around.append(value)
            return
        key = self.keys[-1]
        if key is None:
            raise self.fail("a key is a list or a mapping", event)
        around[key], self.keys[-1] = value, None

    def _begin(self, event: CollectionStartEvent) -> None:
        """A list or mapping, which all values go into up to its end."""
        if event.tag is not None:
            raise self.fail(f"it has a tag, {event.tag:.40}; compilers write none", event)
        if len(self.open) >= MAXIMUM_DEPTH:
            raise self.fail(TOO_DEEP, event)
        value: list[object] | Tree = {} if isinstance(event, MappingStartEvent) else []
        self._add(value, event)
        self.open.append(value)
        self.keys.append(None)
        if isinstance(value, dict):
            self.lines.mappings[id(value)] = _line(event), {}


def _line(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _plain(text: str) -> object:
    """The value of a word without quotes."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _OCTAL.fullmatch(text):
        return int(text, 8)
    return float(text) if _FLOAT.fullmatch(text) else text
