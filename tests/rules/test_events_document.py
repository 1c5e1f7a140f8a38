"""docs/events.md is what the types of the events say."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

from neuraphage.model.event import RESERVED, Cause, EventGroup, EventKind
from source_tree import ROOT


def maker() -> ModuleType:
    """docs/make_events.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("make_events", ROOT / "docs" / "make_events.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_page_is_the_one_that_is_made() -> None:
    """Else run `python docs/make_events.py`."""
    assert (ROOT / "docs" / "events.md").read_text(encoding="utf-8") == maker().text()


def test_every_kind_group_and_cause_is_explained() -> None:
    """A kind that is written has a row; one that is not is said to be reserved."""
    page = maker().text()
    rows = set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)) & {kind.value for kind in EventKind}
    assert rows == {kind.value for kind in EventKind if kind not in RESERVED}
    assert all(f"`{kind.value}`" in page.partition("## Reserved")[2] for kind in RESERVED)
    assert all(f"\n## {group.value}\n" in page for group in EventGroup)
    assert all(f"{cause.value}: " in page for cause in Cause)
