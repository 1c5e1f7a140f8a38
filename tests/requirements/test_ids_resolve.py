"""Ids of requirements and bugs, wherever they are mentioned, are rows of `rows.py`."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

from rows import ROWS

from source_tree import ROOT

ID = re.compile(r"\b[BKR][1-9]\d*\b|\b[Rr](?:ow|equirement)s? [BKR]?\d+")
"""An id of the table, or what may be taken for one."""
TEXTS = (".md", ".lua", ".py")
WRITTEN = ("*.md", "docs/*.md", "neuraphage/**/*", "workers/**/*", "tests/**/*.py")


def prose(path: Path) -> str:
    """What a file says to people: a document as a whole, of code its comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".lua":
        return "\n".join(line.partition("--")[2] for line in text.splitlines())
    if path.suffix != ".py":
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    said = [one.string for one in tokens if one.type == tokenize.COMMENT or one.string.startswith('"""')]
    return "\n".join(said)


def test_every_id_that_is_mentioned_is_a_row() -> None:
    """Nobody meets an id, in code or in a document, that the table does not explain."""
    paths = {path for pattern in WRITTEN for path in ROOT.glob(pattern) if path.suffix in TEXTS}
    assert len(paths) > 500
    unknown = {str(path.relative_to(ROOT)): set(ID.findall(prose(path))) - ROWS.keys() for path in paths}
    assert {path: ids for path, ids in unknown.items() if ids} == {}
