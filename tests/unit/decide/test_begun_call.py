"""What came of a call that a former lease had begun, by what its tool or its detached work tells."""

from __future__ import annotations

import pytest

from neuraphage.decide.begun_call import OF_DETACHED, Finding, Found, of_detached, of_probe
from neuraphage.model.detached import DetachedState
from neuraphage.model.tool import Probe, ProbeVerdict, ToolCall, ToolResult

CALL = ToolCall(tool_use_id="t1", name="act", params={})
KEPT_S = 100.0


def test_every_state_of_detached_work_has_a_row() -> None:
    """Whether its record would still be there or not."""
    assert set(OF_DETACHED) == {(state, fresh) for state in DetachedState for fresh in (True, False)}


@pytest.mark.parametrize("age_ms", [0, 49_999, 50_000, 10**9])
@pytest.mark.parametrize(
    ("state", "finding"),
    [
        (DetachedState.RUNNING, Finding.RUNNING),
        (DetachedState.DONE, Finding.ENDED),
        (DetachedState.LOST, Finding.UNKNOWN),
        (DetachedState.ABSENT, Finding.UNKNOWN),
    ],
)
def test_what_has_a_record_is_believed_at_any_age(state: DetachedState, finding: Finding, age_ms: int) -> None:
    """It goes on, has ended, or nobody knows."""
    assert of_detached(state, age_ms, KEPT_S) is finding


@pytest.mark.parametrize(
    ("age_ms", "finding"),
    [(-5, Finding.SEALED), (0, Finding.SEALED), (49_999, Finding.SEALED), (50_000, Finding.UNKNOWN)],
)
def test_what_has_no_record_is_run_only_while_one_could_not_be_gone(age_ms: int, finding: Finding) -> None:
    """Until half of the time for which records are kept."""
    assert of_detached(DetachedState.SEALED, age_ms, KEPT_S) is finding


def test_a_probe_says_done_not_done_or_unknown() -> None:
    """Its own result goes before ours."""
    said = ToolResult(text="written: 3 lines")
    assert of_probe(CALL, Probe(verdict=ProbeVerdict.HAPPENED, result=said)) == Found(Finding.ENDED, said)
    assert of_probe(CALL, Probe(verdict=ProbeVerdict.NOT_HAPPENED)) == Found(Finding.NOT_DONE)
    done, unknown = (
        of_probe(CALL, Probe(verdict=verdict)) for verdict in (ProbeVerdict.HAPPENED, ProbeVerdict.UNKNOWN)
    )
    assert done.result is not None
    assert "act was done before an interruption" in done.result.text
    assert unknown.finding is Finding.UNKNOWN
    assert unknown.result is not None
    assert unknown.result.unknown_outcome
