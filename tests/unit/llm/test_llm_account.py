"""Refusals that are about the account, and how a refusal is named to the provider."""

import anthropic
import httpx2
import pytest

from neuraphage.errors import FaultKind
from neuraphage.llm.faults import fault_of, fault_of_event
from neuraphage.runtime.model_step import is_passing

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
        assert is_passing(fault.kind.value)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, {"type": "rate_limit_error", "message": LIMIT}, FaultKind.RATE_LIMITED),
        (
            429,
            {"type": "rate_limit_error", "message": "m", "details": {"error_code": "ramp_limit_exceeded"}},
            FaultKind.RATE_LIMITED,
        ),
        (400, {"type": "invalid_request_error", "message": "prompt is too long"}, FaultKind.BAD_REQUEST),
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
