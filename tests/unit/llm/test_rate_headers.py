"""What headers tell of a provider's limits, by themselves and over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.rate_headers import LONGEST_S, PREFIX, exhausted_s
from neuraphage.testing.scripted_api import RateLimit

NOW_S = 1_764_531_234.0


def at(after_s: float) -> str:
    return datetime.fromtimestamp(NOW_S + after_s, UTC).isoformat().replace("+00:00", "Z")


def told(**kinds: tuple[object, object]) -> dict[str, str]:
    """Headers of each kind: what remains, and when it resets."""
    named = {kind.replace("_", "-"): pair for kind, pair in kinds.items()}
    left = {f"{PREFIX}{kind}-remaining": str(remaining) for kind, (remaining, _) in named.items()}
    return left | {f"{PREFIX}{kind}-reset": str(reset) for kind, (_, reset) in named.items()}


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        (told(requests=(1, at(20))), None),
        (told(requests=(0, at(20))), 20.0),
        (told(requests=(0, at(20)), input_tokens=(0, at(40)), output_tokens=(5, at(60))), 40.0),
        (told(tokens=(0, at(7.5))), 7.5),
        (told(requests=(0, at(-5))), 0.0),
        (told(requests=(0, at(9 * LONGEST_S))), LONGEST_S),
        (told(requests=(0, "soon")), None),
        (told(requests=("none", at(20))), None),
        ({f"{PREFIX}requests-remaining": "0"}, None),
        (told(requests=(0, at(20))) | {"date": "Sun, 30 Nov 2025 19:33:24 GMT"}, 50.0),
        (told(requests=(0, at(20))) | {"date": "Sun, 30 Nov 2025 19:33:46 GMT"}, 20.0),
        (told(requests=(0, at(20))) | {"date": "yesterday"}, 20.0),
    ],
)
def test_nothing_left_is_a_wait(headers: dict[str, str], wait_s: float | None) -> None:
    """Of all kinds of which nothing is left the latest; by the provider's clock where ours differs."""
    found = exhausted_s(headers, NOW_S)
    assert found == (None if wait_s is None else pytest.approx(wait_s, abs=0.01))


def test_a_reply_tells_that_nothing_is_left(call: Any, server: Any) -> None:
    """From the first of as many calls as the server allows on, its last one does; the next is refused."""
    server.set_limit(RateLimit(2, 500.0))
    assert call()[0].exhausted_s == 0.0
    assert 400 < call()[0].exhausted_s < 600
    with pytest.raises(ModelFault) as caught:
        call()
    assert caught.value.kind is FaultKind.RATE_LIMITED
    assert 400 < (caught.value.retry_after_s or 0) <= 501
    assert [entry["outcome"] for entry in server.log()["entries"]][-1] == "limited:429"
    server.reset()
    assert call()[0].exhausted_s == 0.0
