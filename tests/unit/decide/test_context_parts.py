"""What fills the window of a task, by parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from neuraphage.decide.context_parts import BIGGEST, biggest_results, context_parts, past_compactions
from neuraphage.model.compaction import Compaction, Shortening
from neuraphage.model.context_size import ContextSize, PartKind


def turn(number: int, result: str) -> list[dict[str, Any]]:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Now."},
        {"type": "tool_use", "id": f"t{number}", "name": "act", "input": {}},
    ]
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    return [{"role": "assistant", "content": content}, {"role": "user", "content": [answer], "turn": number}]


ENTRIES = [
    {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
    *(entry for number in range(8) for entry in turn(number, "r" * 1_000 * (number + 1))),
    {"role": "user", "content": [{"type": "text", "text": "And that."}]},
]
POINT = Compaction(
    how=Shortening.SUMMARY, first=1, to=5, results_to=9, thoughts_to=9, summary="So far.", before_tokens=9
)
SHORTER = [*ENTRIES, {"role": "user", "content": [], "turn": 8, "compaction": POINT.model_dump(mode="json")}]


def kinds(entries: list[dict[str, Any]]) -> dict[PartKind, int]:
    return {part.kind: part.count for part in context_parts(entries, [{"type": "text", "text": "s"}], [{}, {}])}


def test_every_block_of_the_request_is_in_one_part() -> None:
    """In the order of the API; what is not sent is in none."""
    assert list(kinds(ENTRIES).items()) == [
        (PartKind.SYSTEM, 1), (PartKind.TOOLS, 2), (PartKind.INSTRUCTIONS, 1), (PartKind.SAID, 1), (PartKind.TEXT, 8),
        (PartKind.THINKING, 8), (PartKind.CALLS, 8), (PartKind.RESULTS, 8),
    ]  # fmt: skip
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    assert kinds([{"role": "user", "content": [image, {"type": "text", "text": "Look."}]}])[PartKind.MEDIA] == 1
    shorter = kinds(SHORTER)
    assert shorter[PartKind.SUMMARY] == 1
    assert (shorter[PartKind.CALLS], shorter[PartKind.RESULTS], shorter[PartKind.THINKING]) == (6, 6, 4)


def test_the_largest_results_are_named_with_what_is_sent_of_them() -> None:
    """A shortened one is smaller than it is stored."""
    found = biggest_results(ENTRIES)
    assert [one.tool_use_id for one in found] == ["t7", "t6", "t5", "t4", "t3"]
    assert len(found) == BIGGEST
    assert not any(one.shortened for one in found)
    assert found[0].tokens > 2_000
    after = {one.tool_use_id: one for one in biggest_results(SHORTER)}
    assert after["t2"].shortened
    assert after["t2"].tokens < 500
    assert not after["t7"].shortened


def test_every_compaction_is_listed() -> None:
    """With its turn, sizes and what a summary stands for."""
    (found,) = past_compactions(SHORTER)
    assert (found.turn, found.how, found.before_tokens, found.summarized) == (8, Shortening.SUMMARY, 9, 4)
    assert past_compactions(ENTRIES) == ()


def test_who_made_a_summary_is_told_of_summaries_alone() -> None:
    """A later, milder point holds the summary on, and nobody was asked for it then."""
    by = POINT.model_copy(update={"summary_model": "tiny", "why_own": "why"})
    later = by.model_copy(update={"how": Shortening.RESULTS})
    entries = [{"role": "user", "content": [], "compaction": point.model_dump(mode="json")} for point in (by, later)]
    assert [(one.summary_model, one.why_own) for one in past_compactions(entries)] == [("tiny", "why"), ("", "")]


def test_the_share_of_the_window() -> None:
    """Without a window there is none."""
    size = ContextSize(1, 1, 1, 1, window_tokens=200, tokens=50)
    assert size.percent == 25.0
    assert "1 message of 1 character, about 50 tokens" in str(size)
    assert "1 turn done" in str(size)
    assert "2 turns done" in str(replace(size, turns=2))
    assert ContextSize(1, 1, 1, 1).percent == 0.0
