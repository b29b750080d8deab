"""A step of the build: wheels have the tables of the grammars, which the first command of each user would make."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
VISA, CTM = ("tests/data/[!f]*/**/*.visaasm", "grammar/lines.txt"), ("samples/ctm/*/*.ctm",)
"""Texts whose kinds of lines are known beforehand; without them wheels have Lark's tables alone."""


class GrammarTables(BuildHookInterface):  # type: ignore[misc] # hatchling is installed for builds alone.
    """Writes the tables beside the grammars; an editable install finds them there, too."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Make them before files are collected."""
        sys.path.insert(0, str(ROOT))
        from visakit.cache import read
        from visakit.text.tables import CACHE

        for file in [*ROOT.glob("grammar/*.tables"), *ROOT.glob("grammar/*.derivations")]:
            file.unlink()  # Tables that are there would not be made.
        with tempfile.TemporaryDirectory() as folder:
            os.environ["VISAKIT_CACHE"] = folder
            make_tables()
            for file in Path(folder, CACHE).iterdir():
                kept = read(CACHE, file.name)
                if kept is not None:
                    (ROOT / "grammar" / file.name).write_bytes(kept)


def make_tables() -> None:
    """Read texts, so that the cache directory gets what later processes need."""
    from visakit.ctm.grammar import LineGrammar, LineSyntaxError
    from visakit.text.comments import without_comments
    from visakit.text.problem import Problem
    from visakit.text.reader import LineReader

    visa, ctm = LineReader(), LineGrammar()
    for file in (file for pattern in VISA for file in sorted(ROOT.glob(pattern))):
        for line in filter(str.strip, without_comments(file.read_text().splitlines(), file.name)):
            with contextlib.suppress(Problem):
                visa.statements(line)
    for file in (file for pattern in CTM for file in sorted(ROOT.glob(pattern))):
        for line in file.read_text().splitlines():
            with contextlib.suppress(LineSyntaxError):
                ctm.statement(line.strip())
    for grammar in (visa, ctm):
        grammar.lark.parse_interactive()
        grammar.keep()
