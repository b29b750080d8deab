"""The names of one function and their meanings, in nested scopes."""

from __future__ import annotations

import functools
from typing import NamedTuple

from visakit.diagnostics import did_you_mean
from visakit.language.program import NAMED_SAMPLER, PREDEFINED_SURFACES, predefined_names

MAXIMUM_SCOPES = 1000
"""One in another."""
KIND_NAMES = {
    "V": "a general variable",
    "A": "an address variable",
    "P": "a predicate variable",
    "S": "a sampler variable",
    "T": "a surface variable",
}


class Symbol(NamedTuple):
    """What a name stands for: class letter (V, A, P, S, T) and index."""

    kind: str
    index: int  # type: ignore[assignment] # In place of the tuple's method, which nothing calls.


@functools.cache
def _predefined(version: tuple[int, int]) -> dict[str, Symbol]:
    """The names that every function has."""
    outer: dict[str, Symbol] = {}
    for index, name in enumerate(predefined_names(version)):
        outer[f"V{index}"] = outer[name] = Symbol("V", index)
    for index, name in enumerate(PREDEFINED_SURFACES):
        outer[name] = Symbol("T", index)
    outer["S31"] = Symbol("S", NAMED_SAMPLER)
    return outer


class Names:
    """Nested scopes of one function."""

    def __init__(self, version: tuple[int, int]) -> None:
        self._all, self.predefined = dict(_predefined(version)), _predefined(version).keys()
        self._lines: list[dict[str, int]] = [{}]
        self._hidden: list[dict[str, Symbol | None]] = [{}]
        self.misdeclared: set[str] = set()
        """Names whose declaration could not be read, so that their uses are not further errors."""

    @property
    def depth(self) -> int:
        return len(self._lines)

    def open(self) -> None:
        self._hidden.append({})
        self._lines.append({})

    def close(self) -> None:
        self._lines.pop()
        for name, symbol in self._hidden.pop().items():
            if symbol is None:
                del self._all[name]
            else:
                self._all[name] = symbol

    def declared_here(self, name: str) -> int | None:
        """Line of a declaration of the name in the innermost scope, 0 for a predefined one."""
        if name in self.predefined:
            return 0
        return self._lines[-1].get(name)

    def define(self, name: str, symbol: Symbol, line: int) -> None:
        self._hidden[-1].setdefault(name, self._all.get(name))
        self._lines[-1][name] = line
        self._all[name] = symbol

    def find(self, name: str) -> Symbol | None:
        return self._all.get(name)

    def similar(self, name: str) -> str:
        """A hint that names declared ones that look alike."""
        return did_you_mean(name, self._all)
