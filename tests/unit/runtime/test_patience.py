"""How long a finished outcome is held while the state server is away."""

from __future__ import annotations

import pytest

from neuraphage.errors import DamagedKey, StoreError, StoreUnavailable
from neuraphage.runtime import patience
from neuraphage.runtime.patience import persistently


class Server:
    """Refuses so many writes, by this error.

    Args:
        refusals: how many.
        error: what it answers.
    """

    def __init__(self, refusals: float, error: type[StoreError] = StoreUnavailable) -> None:
        self.tries, self._refusals, self._error = 0, refusals, error

    def write(self) -> str:
        self.tries += 1
        if self.tries <= self._refusals:
            raise self._error("no")
        return "written"


FOR_EVER = float("inf")


def test_it_is_offered_again_until_it_is_taken() -> None:
    """And once it is taken, never again."""
    server = Server(4)
    assert persistently(server.write, lambda: False, lambda: False) == "written"
    assert server.tries == 5


@pytest.mark.parametrize("tries", [1, 3])
def test_a_lost_lease_ends_the_waiting(tries: int) -> None:
    """Asked after each refusal, the first one too."""
    server = Server(FOR_EVER)
    with pytest.raises(StoreUnavailable):
        persistently(server.write, lambda: server.tries >= tries, lambda: False)
    assert server.tries == tries


def test_another_refusal_is_no_reason_to_wait() -> None:
    """Only a server that is away comes back."""
    server = Server(FOR_EVER, StoreError)
    with pytest.raises(StoreError):
        persistently(server.write, lambda: False, lambda: False)
    assert server.tries == 1


@pytest.mark.parametrize("draining", [True, False])
def test_patience_ends(draining: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never comes back holds no thread for ever; a shutdown has its own, shorter time."""
    monkeypatch.setattr(patience, "DRAIN_PATIENCE_S", 0.2 if draining else 1e9)
    monkeypatch.setattr(patience, "PATIENCE_S", 1e9 if draining else 0.2)
    server = Server(FOR_EVER)
    with pytest.raises(StoreUnavailable):
        persistently(server.write, lambda: False, lambda: draining)
    assert server.tries > 1


def test_a_damaged_key_is_waited_for_by_who_holds_an_outcome(caplog: pytest.LogCaptureFixture) -> None:
    """A person repairs the key meanwhile; the log says why it takes so long. A claim does not wait: others go on."""
    assert persistently(Server(2, DamagedKey).write, lambda: False, lambda: False, (DamagedKey,)) == "written"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    server = Server(FOR_EVER, DamagedKey)
    with pytest.raises(DamagedKey):
        persistently(server.write, lambda: False, lambda: False)
    assert server.tries == 1
