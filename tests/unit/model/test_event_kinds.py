"""The vocabulary of events: every kind has its group, and data whose fields say what they mean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import neuraphage
from everykind import WRITTEN_IN, missing_kinds
from neuraphage.model.event import RESERVED, Event, EventGroup, EventKind
from neuraphage.model.event_data import DATA, EventData, NoData
from neuraphage.model.event_data.lifecycle import TaskFailed
from storekit import new_kit


def test_every_kind_that_is_written_says_what_it_carries() -> None:
    """And nothing has data that is no kind."""
    assert set(EventKind) - RESERVED <= set(DATA)
    assert set(DATA) <= set(EventKind)


def test_only_what_tasks_learn_is_reserved() -> None:
    """All else is written: each kind by a test that fails without it (`everykind`)."""
    assert {kind.value for kind in RESERVED} == {"LearningExtracted", "KnowledgeQuery", "KnowledgeInjected"}
    assert set(WRITTEN_IN) == set(EventKind) - RESERVED


def test_each_kind_has_a_test_that_exists() -> None:
    """Under its very name, and in a suite that looks at what was written."""
    root = Path(__file__).parents[3]
    for test in set(WRITTEN_IN.values()):
        path, _, name = test.partition("::")
        function = name.partition("[")[0]
        assert f"def {function}(" in (root / path).read_text(encoding="utf-8"), test


def test_a_kind_that_its_test_does_not_write_fails_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check of a rig or a store asks; another test is asked for nothing."""
    context = new_kit().store.context
    monkeypatch.setenv("PYTEST_CURRENT_TEST", f"{WRITTEN_IN[EventKind.TOOL_STARTED]} (teardown)")
    assert missing_kinds(context) == ["ToolStarted", "PermissionGranted"]
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/unit/test_of_others.py::test_it (call)")
    assert missing_kinds(context) == []


def test_no_kind_that_is_written_is_reserved() -> None:
    """docs/events.md would not tell of it."""
    package = Path(neuraphage.__file__).parent
    sources = [path for path in package.rglob("*.py") if path.name not in {"event.py", "hook.py", "hook_payload.py"}]
    texts = [path.read_text(encoding="utf-8") for path in sources if path.parent.name != "event_data"]
    texts += [path.read_text(encoding="utf-8") for path in package.rglob("*.lua")]
    words = {kind: (f"EventKind.{kind.name}", f"EVENT.{kind.value}") for kind in RESERVED}
    assert [kind for kind, names in words.items() if any(name in text for text in texts for name in names)] == []


def test_every_group_has_kinds() -> None:
    """A kind knows its group by itself, and by an event of it."""
    assert {kind.group for kind in EventKind} == set(EventGroup)
    assert EventKind("BudgetWarning").group is EventGroup.DRIFT
    assert Event(kind="TaskRecovered").group is EventGroup.RECOVERY


@pytest.mark.parametrize("shape", sorted(set(DATA.values()) - {NoData}, key=lambda shape: shape.__name__))
def test_every_field_says_what_it_means(shape: type[EventData]) -> None:
    """In the docstring of its class, under its own name, in their order."""
    told = re.findall(r"^ *(\w+): \S", (shape.__doc__ or "").partition("Args:")[2], flags=re.MULTILINE)
    assert told == list(shape.model_fields)


def test_what_a_newer_release_adds_is_left_out() -> None:
    """A field more makes no event unreadable."""
    event = Event(kind="TaskFailed", data={"error": "no", "recoverable": True, "of_tomorrow": 1})
    assert event.typed() == TaskFailed(error="no", recoverable=True)


def test_what_is_not_known_is_no_error() -> None:
    """A kind of a newer release, and data of an older one, are lines all the same."""
    assert Event(kind="OfTomorrow", data={"a": 1}).typed() is None
    assert Event(kind="OfTomorrow").group is None
    assert Event(kind="TaskResumed").typed() is None
