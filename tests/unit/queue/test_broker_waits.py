"""How long a worker takes no messages after its path to the broker fell silent: a sum of waits, no clock."""

from __future__ import annotations

import pytest
from kombu.transport.redis import Transport

from neuraphage.configuration import load
from neuraphage.errors import SettingsError
from neuraphage.queue.celery_config import celery_settings
from neuraphage.queue.patched.connections import RECONNECTING
from neuraphage.setting_relations import TAKEN_AGAIN_S, silent_broker_s
from neuraphage.settings import Settings


def waits_s(settings: Settings) -> float:
    """The longest waits, one after the other, as kombu is told of them."""
    options = celery_settings(settings)["broker_transport_options"]
    pop = Transport.brpop_timeout  # a pop that was just sent: until then its answer is not even late
    seen = 2 * options["health_check_interval"]  # it must be late for so long, and is looked at so often
    other = max(options["socket_timeout"], options["socket_connect_timeout"])  # another connection over the same path
    return float(pop + seen + other + RECONNECTING["interval_max"])


def test_by_default_messages_are_taken_again_within_what_is_promised() -> None:
    """10 s in all."""
    assert waits_s(Settings()) <= TAKEN_AGAIN_S == 10


@pytest.mark.parametrize("timeout_s", [0.5, 1.0, 2.0, 3.0])
def test_the_relation_is_about_what_kombu_is_told(timeout_s: float) -> None:
    """No other number is summed up in the settings than the queue works with."""
    settings = Settings(broker_timeout_s=timeout_s)
    assert silent_broker_s(timeout_s) == pytest.approx(waits_s(settings))
    assert waits_s(settings) <= TAKEN_AGAIN_S


@pytest.mark.parametrize("timeout_s", ["3.01", "60"])
def test_a_wait_for_the_broker_that_would_break_the_promise(monkeypatch: pytest.MonkeyPatch, timeout_s: str) -> None:
    """The number, what is possible, the reason and the place are told."""
    monkeypatch.setenv("NEURAPHAGE_BROKER_TIMEOUT_S", timeout_s)
    with pytest.raises(SettingsError) as caught:
        load()
    said = str(caught.value)
    assert said.startswith(f"settings clash: broker_timeout_s ({timeout_s}) must not exceed 3: ")
    assert "must take messages again within 10 s" in said
    assert said.endswith("(broker_timeout_s from NEURAPHAGE_BROKER_TIMEOUT_S)")
