"""Refusals that are about the account, and how a refusal is named to the provider."""

import anthropic
import httpx2
import pytest

from neuraphage.decide.retry import can_be_retried
from neuraphage.errors import FaultKind
from neuraphage.llm.faults import fault_of, fault_of_event

CREDIT = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."
LIMIT = "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."


def _fault(status, error, headers=None):
    """The fault of an answer, as the SDK tells it."""
    request = httpx2.Request("POST", "http://x")
    response = httpx2.Response(status, request=request, headers=headers, json={"type": "error", "error": error})
    with anthropic.Anthropic(api_key="k", base_url="http://x") as client:
        told = client._make_status_error_from_response(response)
    return fault_of(told, streaming=False, now_s=0.0)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"type": "invalid_request_error", "message": CREDIT}),
        (400, {"type": "invalid_request_error", "message": LIMIT}),
        (400, {"type": "invalid_request_error", "message": "m", "details": {"error_code": "organization_on_hold"}}),
        (429, {"type": "rate_limit_error", "message": "m", "details": {"error_code": "enforced_spend_limit_reached"}}),
        (402, {"type": "billing_error", "message": "m"}),
    ],
)
def test_an_account_without_money_is_a_matter_for_a_person(status, error):
    """It is not waited for, and not final: once the account is in order, the task may be retried as it is."""
    for fault in (_fault(status, error), fault_of_event({"type": "error", "error": error})):
        assert fault.kind is FaultKind.PERMISSION
        assert error["message"] in fault.detail
        assert can_be_retried(fault.kind.value)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, {"type": "rate_limit_error", "message": LIMIT}, FaultKind.RATE_LIMITED),
        (
            429,
            {"type": "rate_limit_error", "message": "m", "details": {"error_code": "ramp_limit_exceeded"}},
            FaultKind.RATE_LIMITED,
        ),
        (400, {"type": "invalid_request_error", "message": "max_tokens: 99999 > 8192"}, FaultKind.BAD_REQUEST),
        (400, {"type": "invalid_request_error", "message": None, "details": [1]}, FaultKind.BAD_REQUEST),
        (429, {"type": "rate_limit_error", "message": "m", "details": {"error_code": ["x"]}}, FaultKind.RATE_LIMITED),
    ],
)
def test_other_refusals_keep_their_kind(status, error, kind):
    """A limit that passes by itself is waited for, and a wrong request stays wrong."""
    for fault in (_fault(status, error), fault_of_event({"type": "error", "error": error})):
        assert fault.kind is kind


def test_a_refusal_names_its_request():
    """The provider's id is what its support asks for; it stands where a long message cannot push it out."""
    fault = _fault(500, {"type": "api_error", "message": "x" * 100_000}, {"request-id": "req_011"})
    assert fault.detail.startswith("the API answered 500 to request req_011: xxx")


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "prompt is too long: 213462 tokens > 200000 maximum", FaultKind.CONTEXT_OVERFLOW),
        (400, "input length and `max_tokens` exceed context limit: 190000 + 16384", FaultKind.CONTEXT_OVERFLOW),
        (400, "This endpoint's maximum context length is 1048576 tokens.", FaultKind.CONTEXT_OVERFLOW),
        (400, "Input is too long for requested model.", FaultKind.CONTEXT_OVERFLOW),
        (413, "Prompt is too long", FaultKind.CONTEXT_OVERFLOW),
        (413, "Request exceeds the maximum size", FaultKind.CONTEXT_OVERFLOW),
        (400, "messages.5.content.0: Invalid `signature` in `thinking` block", FaultKind.BAD_HISTORY),
        (400, "messages: text content blocks must contain non-whitespace text", FaultKind.BAD_HISTORY),
        (400, "messages.27: The final block in an assistant message cannot be `thinking`.", FaultKind.BAD_HISTORY),
        (400, "thinking.budget_tokens: Input should be greater than 1024", FaultKind.BAD_REQUEST),
        (429, "prompt is too long", FaultKind.RATE_LIMITED),
    ],
)
def test_a_bad_request_is_told_apart_by_its_words(status, message, kind):
    """A conversation that is too long, or holds a block that is not taken back, can be helped; parameters cannot."""
    error_type = {400: "invalid_request_error", 413: "request_too_large", 429: "rate_limit_error"}[status]
    error = {"type": error_type, "message": message}
    for fault in (_fault(status, error), fault_of_event({"type": "error", "error": error})):
        assert fault.kind is kind
