"""What a worker says at its start of the model that its settings name for summaries."""

from __future__ import annotations

from pathlib import Path

import fakeredis
import pytest

from neuraphage import own_secrets
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.services import Services
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from neuraphage.wiring import build_services


def services(folder: Path, summary_model: str) -> Services:
    settings = Settings(data_dir=folder, summary_model=summary_model, sandbox="off")
    return build_services(settings, RedisStore(settings, SystemClock(), client=fakeredis.FakeRedis()))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("cheap", ""),
        ("own", ""),
        ("claude-haiku-5-5", ""),
        ("claude-nobody", "no price is known for it"),
        ("openai:small", "set NEURAPHAGE_OPENAI_BASE_URL"),
    ],
)
def test_one_that_cannot_be_asked_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, model: str, told: str
) -> None:
    """Each summary says it too; and what this worker can call is known where that is decided."""
    known = {"ANTHROPIC_API_KEY": "sk-ant-test-key-0123456789"}
    monkeypatch.setattr(own_secrets, "value", lambda name: known.get(name, ""))
    made = services(tmp_path, model)
    said = [record.getMessage() for record in caplog.records if "summary_model" in record.getMessage()]
    assert [told in line for line in said] == ([True] if told else [])
    assert (made.can_call("claude-any"), made.can_call("openai:any")) == (True, False)
