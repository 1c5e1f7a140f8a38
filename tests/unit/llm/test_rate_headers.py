"""What headers tell of a provider's limits, by themselves and over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from neuraphage.decide.learned_limits import exhausted_s
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.rate_headers import LONGEST_S, limits_told
from neuraphage.model.capacity import LearnedLimits
from neuraphage.testing.scripted_api import RateLimit

NOW_S = 1_764_531_234.0
PREFIX = "anthropic-ratelimit-"


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
    found = exhausted_s(limits_told(headers, NOW_S))
    assert found == (None if wait_s is None else pytest.approx(wait_s, abs=0.01))


REPORTED = [
    # openai/openai-dotnet 838: Azure, on each answer for weeks
    ({"x-ratelimit-limit-tokens": "-1", "x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0"}, None),
    # BerriAI/litellm 400
    (
        {
            "x-ratelimit-limit-requests": "3500",
            "x-ratelimit-remaining-requests": "3499",
            "x-ratelimit-reset-requests": "17ms",
        },
        ({"requests": 3_500}, {"requests": 3_499}, {"requests": 0.017}),
    ),
    # BaseIntelligence/bounty-challenge 10752: three forms of one header, of which a number alone was read
    (
        {"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "6m0s"},
        ({"requests": 60}, {}, {"requests": 360.0}),
    ),
    (
        {"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "2m30.5s"},
        ({"requests": 60}, {}, {"requests": 150.5}),
    ),
    (
        {"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "2025-11-30T19:34:54Z"},
        ({"requests": 60}, {}, {"requests": 60.0}),
    ),
    # its 52868: seconds, and a time
    (
        {"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "60"},
        ({"requests": 60}, {}, {"requests": 60.0}),
    ),
    (
        {"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "1764531244"},
        ({"requests": 60}, {}, {"requests": 10.0}),
    ),
    (
        {"x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "1764531244500"},
        ({"requests": 60}, {}, {"requests": 10.5}),
    ),
    # alisaifee/flask-limiter 56: a time before any other
    (
        {
            "x-ratelimit-limit-requests": "2",
            "x-ratelimit-remaining-requests": "2",
            "x-ratelimit-reset-requests": "-1",
        },
        ({"requests": 2}, {"requests": 2}, {}),
    ),
    # anthropics/anthropic-sdk-typescript 357: a refusal without retry-after
    (
        {
            "anthropic-ratelimit-requests-limit": "5",
            "anthropic-ratelimit-requests-remaining": "0",
            "anthropic-ratelimit-requests-reset": "2024-03-26T20:00:00Z",
            "anthropic-ratelimit-tokens-limit": "25000",
            "anthropic-ratelimit-tokens-remaining": "16000",
            "anthropic-ratelimit-tokens-reset": "2024-03-26T20:00:00Z",
            "date": "Tue, 26 Mar 2024 19:59:59 GMT",
        },
        (
            {"requests": 5, "tokens": 25_000},
            {"requests": 0, "tokens": 16_000},
            {"requests": 1.0, "tokens": 1.0},
        ),
    ),
    # mistralai/client-ts 169: names of its own, and no time
    (
        {
            "x-ratelimit-limit-tokens-minute": "5000000",
            "x-ratelimit-remaining-tokens-minute": "4999911",
            "x-ratelimit-tokens-query-cost": "52",
            "x-ratelimit-limit-req-minute": "720",
            "x-ratelimit-remaining-req-minute": "717",
        },
        ({"requests": 720, "tokens": 5_000_000}, {"requests": 717, "tokens": 4_999_911}, {}),
    ),
]
"""Headers of public reports, where programs had read them wrong."""
NONSENSE = [
    (
        {"x-ratelimit-limit-requests": "0", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "60"},
        None,
    ),
    ({"x-ratelimit-limit-requests": "-5", "x-ratelimit-remaining-requests": "0"}, None),
    ({"x-ratelimit-limit-requests": "None", "x-ratelimit-remaining-requests": "None"}, None),
    ({"x-ratelimit-limit-requests": "9" * 12}, None),
    ({"x-ratelimit-limit-requests": "1e3"}, None),
    ({"x-ratelimit-limit-requests": "\u0663"}, None),
    ({"x-ratelimit-limit-requests": "nan", "x-ratelimit-reset-requests": "nan"}, None),
    ({"x-ratelimit-reset-requests": "5s"}, None),
    ({"x-ratelimit-limit-requests": " 50.7 "}, ({"requests": 50}, {}, {})),
    (
        {"x-ratelimit-limit-requests": "50", "x-ratelimit-remaining-requests": "-1", "x-ratelimit-reset-requests": ""},
        ({"requests": 50}, {}, {}),
    ),
    (
        {"x-ratelimit-limit-requests": "50", "x-ratelimit-remaining-requests": "70.0"},
        ({"requests": 50}, {"requests": 50}, {}),
    ),
    (
        {"x-ratelimit-limit-requests": "50", "x-ratelimit-reset-requests": "1h1m1s1ms1us1ns"},
        ({"requests": 50}, {}, {"requests": LONGEST_S}),
    ),
    (
        {"x-ratelimit-limit-requests": "50", "x-ratelimit-reset-requests": "1m or so"},
        ({"requests": 50}, {}, {}),
    ),
    (
        {"x-ratelimit-limit-requests": "50", "x-ratelimit-reset-requests": "0001-01-01T00:00:00+23:59"},
        ({"requests": 50}, {}, {"requests": 0.0}),
    ),
    (
        {"x-ratelimit-limit-requests": "50", "x-ratelimit-reset-requests": "9" * 14},
        ({"requests": 50}, {}, {"requests": LONGEST_S}),
    ),
]


@pytest.mark.parametrize(("headers", "found"), [*REPORTED, *NONSENSE])
def test_what_servers_write_is_read(headers: dict[str, str], found: tuple[Any, Any, Any] | None) -> None:
    """In all their forms; what says nothing is left out, and never counts as nothing left."""
    told_now = limits_told(headers, NOW_S)
    if found is None:
        assert told_now is None
        return
    limits, left, reset_s = found
    assert told_now is not None
    assert (told_now.limits, told_now.left) == (LearnedLimits(**limits), left)
    assert told_now.reset_s == pytest.approx(reset_s)


def test_a_reply_tells_that_nothing_is_left(call: Any, server: Any) -> None:
    """From the first of as many calls as the server allows on, its last one does; the next is refused."""
    server.set_limit(RateLimit(2, 500.0))
    assert exhausted_s(call()[0].told) is None
    assert 400 < (exhausted_s(call()[0].told) or 0.0) < 600
    with pytest.raises(ModelFault) as caught:
        call()
    assert caught.value.kind is FaultKind.RATE_LIMITED
    assert 400 < (caught.value.retry_after_s or 0) <= 501
    assert [entry["outcome"] for entry in server.log()["entries"]][-1] == "limited:429"
    server.reset()
    assert exhausted_s(call()[0].told) is None
