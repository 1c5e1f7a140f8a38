"""What a new task stores of its models, and of the further fields of its requests."""

from __future__ import annotations

import pytest

from neuraphage.api.models import asked_models
from neuraphage.errors import BadInput
from neuraphage.redaction.redactor import Redactor
from neuraphage.settings import Settings


def test_what_is_stored() -> None:
    """Ids in place of a tier, and the fields of the settings beneath those of the task."""
    settings = Settings(
        tiers={"worker": ("a", "openai:b")}, request_extra={"top_p": 0.5, "seed": 1}, default_model="worker"
    )
    assert asked_models(settings, Redactor, None, {"seed": 2}) == {
        "model": "a",
        "fallbacks": ("openai:b",),
        "tier": "worker",
        "extra": {"top_p": 0.5, "seed": 2},
    }
    assert asked_models(settings, Redactor, "c", None)["model"] == "c"


def test_without_further_fields_no_redaction_is_made() -> None:
    """Its patterns take as long as a whole command."""

    def never() -> Redactor:
        raise AssertionError

    assert asked_models(Settings(), never, None, None)["extra"] == {}


def test_a_secret_is_not_stored() -> None:
    """Wherever it stands in the fields, and it is not told either."""
    secret = "sk-ant-" + "api03-" + "A1b2C3d4E5f6G7h8" * 3
    with pytest.raises(BadInput, match="holds a secret") as caught:
        asked_models(Settings(), Redactor, None, {"metadata": {"user": [secret]}})
    assert secret not in str(caught.value)
    with pytest.raises(BadInput, match="extra: messages is set by neuraphage itself"):
        asked_models(Settings(), Redactor, None, {"messages": []})
