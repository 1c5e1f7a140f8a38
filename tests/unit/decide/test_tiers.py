"""Names that stand for models, and further fields of a request."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.request_extra import MAX_CHARS, OURS, check_extra
from neuraphage.decide.tiers import FALLS_BACK, fallen_back, resolved
from neuraphage.errors import BadInput, FaultKind
from neuraphage.model.model_choice import ModelChoice

TIERS = {"cheap": ("small",), "worker": ("middle", "openai:other", "third")}


@pytest.mark.parametrize(
    ("given", "choice"),
    [
        ("worker", ModelChoice(model="middle", fallbacks=("openai:other", "third"), tier="worker")),
        ("tier:cheap", ModelChoice(model="small", tier="cheap")),
        ("claude-x", ModelChoice(model="claude-x")),
        ("anthropic:worker", ModelChoice(model="anthropic:worker")),
        ("openai:worker", ModelChoice(model="openai:worker")),
    ],
)
def test_a_name_becomes_ids(given: str, choice: ModelChoice) -> None:
    """An id stays one; a prefix says what is meant where a model is called like a tier."""
    assert resolved(given, TIERS) == choice


@pytest.mark.parametrize(
    ("given", "words"), [("tier:expert", "there are: cheap, worker"), ("openai:", "names no model")]
)
def test_what_is_neither(given: str, words: str) -> None:
    """Refused before anything is stored, with what there is."""
    with pytest.raises(BadInput, match=words):
        resolved(given, TIERS)


@pytest.mark.parametrize("kind", list(FaultKind))
@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("fallbacks", [(), ("second", "third")])
def test_what_comes_behind_a_refused_model(kind: FaultKind, is_over: bool, fallbacks: tuple[str, ...]) -> None:
    """The next of the list, when no retry is left and the fault is one of the model; else nothing."""
    choice = ModelChoice(model="first", fallbacks=fallbacks, tier="worker")
    found = fallen_back(choice, kind, is_over=is_over)
    if kind in FALLS_BACK and is_over and fallbacks:
        assert found == ModelChoice(model="second", fallbacks=("third",), tier="worker")
    else:
        assert found is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [({}, {}), ('{"temperature": 0.2}', {"temperature": 0.2}), ({"a": {"b": [1, None]}}, {"a": {"b": [1, None]}})],
)
def test_further_fields(given: Any, kept: dict[str, Any]) -> None:
    """An object, or the text of one."""
    assert check_extra(given) == kept


@pytest.mark.parametrize(
    "given", ["", "[1]", "{", 3, None, '{"a": NaN}', {"a": "\ud800"}, "[" * 100_000, "x" * (MAX_CHARS + 1)]
)
def test_what_are_no_fields(given: Any) -> None:
    """Nothing that could not be stored and sent."""
    with pytest.raises(BadInput):
        check_extra(given)


@pytest.mark.parametrize("name", sorted(OURS))
def test_fields_that_are_ours(name: str) -> None:
    """Nobody overrides what is asked, of whom, by which tools, or what bounds its cost."""
    with pytest.raises(BadInput, match=name):
        check_extra({name: 1, "temperature": 1})


def test_too_many_fields() -> None:
    """They go with every request."""
    with pytest.raises(BadInput, match="longer"):
        check_extra({"a": "x" * MAX_CHARS})
