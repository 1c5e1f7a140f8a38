"""docs/hooks.md has its tables from the types, and every point stands in one of them."""

from __future__ import annotations

import re
import runpy

from neuraphage.model.hook import GUARD_POINTS, MAY_SAY, OBSERVER_POINTS, HookPoint
from neuraphage.model.hook_payload import GIVEN
from source_tree import ROOT


def test_the_tables_are_those_that_are_made() -> None:
    """`python docs/make_hooks.py` makes them anew."""
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(ROOT / "docs" / "make_hooks.py"))["text"](page) == page


def test_there_are_thirty_points_of_two_kinds() -> None:
    """Each is in one table; each of guards has a payload, and says what may be said there."""
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(point.value for point in HookPoint)
    assert (len(GUARD_POINTS), len(OBSERVER_POINTS)) == (11, 19)
    assert set(GIVEN) == set(MAY_SAY) == set(GUARD_POINTS)
