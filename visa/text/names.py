"""The names of one function and what they stand for, in nested scopes."""

from __future__ import annotations

from dataclasses import dataclass

from visa.diagnostics import did_you_mean
from visa.program import NAMED_SAMPLER, PREDEFINED_SURFACES, predefined_names

KIND_NAMES = {
    "V": "a general variable",
    "A": "an address variable",
    "P": "a predicate variable",
    "S": "a sampler variable",
    "T": "a surface variable",
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a name stands for: class letter (V, A, P, S, T) and index."""

    kind: str
    index: int


class Names:
    """Nested scopes of one function."""

    def __init__(self, version: tuple[int, int]) -> None:
        outer: dict[str, Symbol] = {}
        for index, name in enumerate(predefined_names(version)):
            outer[f"V{index}"] = outer[name] = Symbol("V", index)
        for index, name in enumerate(PREDEFINED_SURFACES):
            outer[name] = Symbol("T", index)
        outer["S31"] = Symbol("S", NAMED_SAMPLER)
        self.predefined = frozenset(outer)
        self._scopes: list[dict[str, Symbol]] = [outer]
        self._lines: list[dict[str, int]] = [{}]
        self._all = dict(outer)
        self.misdeclared: set[str] = set()
        """Names whose declaration could not be read, so that their uses are not errors of their own."""

    @property
    def depth(self) -> int:
        return len(self._scopes)

    def open(self) -> None:
        self._scopes.append({})
        self._lines.append({})

    def close(self) -> None:
        self._scopes.pop()
        self._lines.pop()
        self._all = {name: symbol for scope in self._scopes for name, symbol in scope.items()}

    def declared_here(self, name: str) -> int | None:
        """Line of a declaration of the name in the innermost scope, 0 for a predefined one."""
        if name in self.predefined:
            return 0
        return self._lines[-1].get(name)

    def define(self, name: str, symbol: Symbol, line: int) -> None:
        self._scopes[-1][name] = symbol
        self._lines[-1][name] = line
        self._all[name] = symbol

    def find(self, name: str) -> Symbol | None:
        return self._all.get(name)

    def similar(self, name: str) -> str:
        """A hint that names declared ones that look alike."""
        return did_you_mean(name, self._all)
