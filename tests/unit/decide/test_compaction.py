"""When and how a conversation is sent in a shorter form: the mildest way that suffices, and never a broken request."""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraphage.decide.assembly import Assembly
from neuraphage.decide.compacted import READ_RESULT, SHORT_RESULT_CHARS, shortened
from neuraphage.decide.compaction import (
    SAID_CHARS,
    filled_the_window,
    fills_it_again,
    is_due,
    is_near,
    measured,
    planned,
)
from neuraphage.decide.context_bounds import ContextBounds, context_bounds
from neuraphage.decide.context_size import tokens_of
from neuraphage.decide.conversation import CONTINUE_TEXT, api_messages, numbered_visible, request_messages, result_of
from neuraphage.decide.summary_request import SUMMARY_SYSTEM, summary_of, summary_request
from neuraphage.model.compaction import Compaction, Shortening
from neuraphage.model.message import ModelReply
from neuraphage.model.model_facts import SMALLEST, ModelFacts
from neuraphage.model.usage import Usage
from neuraphage.testing.scripted_api.message import prompt_tokens
from neuraphage.testing.scripted_api.rules import check_body
from neuraphage.testing.scripted_api.script import sign
from neuraphage.testing.scripted_api.shape import MessagesBody

Entry = dict[str, Any]
BOUNDS = ContextBounds(
    window_tokens=10_000, limit_tokens=8_000, target_tokens=4_000, summary_tokens=500, keep_entries=4, head_tokens=100
)


def said(text: str) -> Entry:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def turn(number: int, result: str = "done", thought: str = "", tokens: int = 0, words: str = "") -> list[Entry]:
    """A reply of one call, and its result."""
    content: list[Any] = [{"type": "thinking", "thinking": thought, "signature": sign(thought)}] if thought else []
    content += [{"type": "text", "text": words}] if words else []
    content.append({"type": "tool_use", "id": f"t{number}", "name": "act", "input": {"n": number}})
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    return [
        {"role": "assistant", "content": content, "turn": number, "tokens": tokens, "stop_reason": "tool_use"},
        {"role": "user", "content": [answer], "turn": number},
    ]


def talk(count: int, **more: Any) -> list[Entry]:
    return [said("Do it all."), *(entry for number in range(count) for entry in turn(number, **more))]


def stored(point: Compaction | None, summary: str | None = "What was done.") -> Entry:
    """The entry of a compaction."""
    assert point is not None
    made = point.model_copy(update={"summary": summary}) if point.how is Shortening.SUMMARY else point
    return {"role": "user", "content": [], "turn": 99, "compaction": made.model_dump(mode="json")}


def sent(entries: list[Entry]) -> str:
    return str(request_messages(entries))


def check(entries: list[Entry]) -> None:
    body = {"model": "m", "max_tokens": 10, "messages": request_messages(entries)}
    check_body(orjson.loads(orjson.dumps(body)), MessagesBody)


# --- when ----------------------------------------------------------------------------------------------


def test_the_providers_count_is_used_and_what_came_since_is_added() -> None:
    """Of an estimate of all there is only what nobody has counted."""
    entries = talk(3, tokens=7_000)
    since = tokens_of(entries[-1]["content"])
    assert measured(entries, BOUNDS).tokens == 7_000 + since
    assert not is_due(entries, BOUNDS)
    assert is_due(entries, dataclasses.replace(BOUNDS, waiting_tokens=1_000))
    assert is_due([*entries, said("x" * 4_000)], BOUNDS)


def test_without_a_count_all_is_estimated() -> None:
    """The provider may tell none, and the first request has none before it."""
    assert measured([said("x" * 3_000)], BOUNDS).tokens == pytest.approx(1_100, abs=20)
    assert is_due([said("x" * 30_000)], BOUNDS)


@pytest.mark.parametrize("value", ["word " * 500, {"a": [1, 2.5, None, True] * 50}, ["ä\u4e2d\U0001f600" * 100]])
def test_an_estimate_errs_on_the_side_of_too_many(value: Any) -> None:
    """It is not less than a token for four bytes, in whatever script."""
    assert tokens_of(value) * 4 >= len(orjson.dumps(value))
    assert tokens_of(value) <= len(orjson.dumps(value))


def test_the_provider_is_asked_only_where_its_answer_may_change_something() -> None:
    """Where what is guessed may be wrong by more than what is missing to the limit."""
    assert not is_near(talk(3, tokens=7_000), BOUNDS)
    assert not is_near(talk(3, tokens=7_990), dataclasses.replace(BOUNDS, limit_tokens=9_000))
    assert is_near([*talk(3, tokens=6_000), said("x" * 6_500)], BOUNDS)
    assert is_near([said("x" * 20_000)], BOUNDS)
    assert not is_near([said("x" * 10_000)], BOUNDS)
    assert not is_near([*talk(3), stored(planned(talk(9, words="word " * 500), BOUNDS))], BOUNDS)


def test_what_the_provider_counts_is_believed() -> None:
    """What waits to be taken in comes on top; no answer is none."""
    entries = [said("x" * 30_000)]
    assert is_due(entries, BOUNDS)
    assert not is_due(entries, BOUNDS, counted=7_000)
    assert is_due(entries, dataclasses.replace(BOUNDS, waiting_tokens=2_000), counted=7_000)
    assert is_due(entries, BOUNDS, counted=0)
    assert is_due(talk(3, tokens=7_000), BOUNDS, counted=8_500)


def test_what_was_just_made_shorter_is_tried_first() -> None:
    """Else one that the estimate finds too long for ever would be made shorter for ever."""
    entries = talk(8, tokens=9_000, words="word " * 200)
    assert is_due(entries, BOUNDS)
    assert not is_due([*entries, stored(planned(entries, BOUNDS))], dataclasses.replace(BOUNDS, limit_tokens=1))


def test_a_reply_that_filled_the_window_asks_for_it_once() -> None:
    """Until a compaction stands behind it."""
    entries = talk(3, words="word " * 900)
    entries[-2]["stop_reason"] = "model_context_window_exceeded"
    assert filled_the_window(entries)
    assert not filled_the_window([*entries, {**stored(planned(entries, BOUNDS, refused=True)), "turn": 3}])
    assert not filled_the_window(talk(3))


def test_a_reply_fills_the_window_again() -> None:
    """Right behind a compaction that was made for it, or behind another one that did; else it is the first one."""
    full = {**turn(5)[0], "stop_reason": "model_context_window_exceeded"}
    point = {"role": "user", "content": [], "turn": 5, "compaction": {}}
    assert fills_it_again([*talk(3), point, full], 5)
    assert fills_it_again([*talk(3), full, said(CONTINUE_TEXT), full], 5)
    assert not fills_it_again([*talk(3), full], 5)
    assert not fills_it_again([*talk(3), {**point, "turn": 3}, *turn(4), full], 5)
    assert not fills_it_again([*talk(3), point, *turn(5)], 5)
    assert not fills_it_again([*talk(3), full, {**point, "turn": 4}, full], 5)
    assert not fills_it_again([], 0)


def test_the_bounds_of_a_model() -> None:
    """Room for the reply is kept, also where the share would leave less; of a small window half."""
    chosen: dict[str, Any] = {"threshold_percent": 90.0, "target_percent": 50.0, "summary_tokens": 4_000}
    chosen |= {"keep_entries": 3, "most_tokens": 200_000}
    big = context_bounds(SMALLEST, reply_tokens=50_000, **chosen)
    assert (big.limit_tokens, big.target_tokens, big.summary_tokens) == (150_000, 100_000, 4_000)
    small = context_bounds(ModelFacts(8_000, 1, 1), reply_tokens=50_000, **chosen)
    assert (small.limit_tokens, small.target_tokens, small.summary_tokens) == (4_000, 3_000, 1_000)
    assert context_bounds(SMALLEST, reply_tokens=100, **chosen).limit_tokens == 180_000
    huge = context_bounds(ModelFacts(1_000_000, 1, 1), reply_tokens=50_000, **chosen)
    assert (huge.window_tokens, huge.limit_tokens, huge.target_tokens) == (1_000_000, 200_000, 150_000)


# --- how -----------------------------------------------------------------------------------------------


def test_old_results_are_shortened_first() -> None:
    """The newest entries stay whole; the stored result stays whole, and the note says how to read it."""
    entries = talk(6, result="r" * 3_000, tokens=6_000)
    point = planned(entries, BOUNDS)
    assert point is not None
    assert point.how is Shortening.RESULTS
    assert point.after_tokens <= BOUNDS.target_tokens < point.before_tokens
    after = [*entries, stored(point)]
    check(after)
    assert sent(after).count("r" * 3_000) == 2
    assert f'{READ_RESULT} with tool_use_id "t0"' in sent(after)
    assert result_of(after, "t0") == "r" * 3_000
    assert result_of(after, "t9") is None


def test_a_short_result_is_left_alone() -> None:
    """A note would be as long."""
    short = {"type": "tool_result", "tool_use_id": "t", "content": "x" * 2 * SHORT_RESULT_CHARS}
    assert shortened(short) is short
    long = shortened({**short, "content": "x" * (2 * SHORT_RESULT_CHARS + 1), "is_error": True})
    assert len(long["content"]) < 2 * SHORT_RESULT_CHARS
    assert long["is_error"]


def test_then_old_thoughts_are_left_out() -> None:
    """Those of the newest replies go back, as the API wants them."""
    entries = talk(8, thought="hm " * 1_000, tokens=9_000)
    point = planned(entries, BOUNDS)
    assert point is not None
    assert point.how is Shortening.THOUGHTS
    after = [*entries, stored(point)]
    check(after)
    kept = [block for message in request_messages(after) for block in message["content"] if block["type"] == "thinking"]
    assert len(kept) == 2


def test_then_the_older_part_is_summarized() -> None:
    """What was asked for stays word for word, and what people said since; no call is parted from its result."""
    entries = talk(8, tokens=9_000, words="word " * 300)
    entries[7:7] = [said("Use the blue one."), said(CONTINUE_TEXT)]
    point = planned(entries, BOUNDS)
    assert point is not None
    assert (point.how, point.first) == (Shortening.SUMMARY, 1)
    assert point.said == ("Use the blue one.",)
    after = [*entries, stored(point)]
    check(after)
    messages = request_messages(after)
    assert messages[0]["content"][0] == {"type": "text", "text": "Do it all."}
    assert "Use the blue one." in messages[0]["content"][1]["text"]
    assert "What was done." in messages[0]["content"][1]["text"]
    assert CONTINUE_TEXT not in messages[0]["content"][1]["text"]
    assert sent(after).count("word word") < sent(entries).count("word word")
    assert "'id': 't7'" in sent(after)
    assert "'id': 't0'" not in sent(after)


def test_a_summary_follows_a_summary() -> None:
    """The second stands for the first one, too, and keeps what people said before it."""
    entries = talk(8, tokens=9_000, words="word " * 300)
    entries.insert(3, said("Use the blue one."))
    first = planned(entries, BOUNDS)
    entries += [stored(first), *(e for n in range(8, 16) for e in turn(n, tokens=9_000, words="word " * 300))]
    second = planned(entries, BOUNDS)
    assert first is not None
    assert second is not None
    assert second.how is Shortening.SUMMARY
    assert second.first == first.first < first.to < second.to
    assert second.said == ("Use the blue one.",)
    asked = summary_request(entries, second, request_id="r", model="m", window_tokens=10_000, summary_tokens=500)
    record = asked.messages[0]["content"][0]["text"]
    assert "What was done." in record
    assert "Do it all." in record
    check([*entries, stored(second)])


def test_where_nothing_can_be_left_out_there_is_no_plan() -> None:
    """What was asked for, and results that no request has held yet, are needed as they are."""
    assert planned([said("x" * 30_000)], BOUNDS) is None
    assert planned([said("x" * 300_000), *turn(0)], BOUNDS, refused=True) is None


def test_results_that_no_request_has_held_are_shortened_in_the_last_resort() -> None:
    """A turn of many calls may fill the window alone."""
    entries = talk(3, tokens=5_000)
    entries[-1]["content"][0]["content"] = "r" * 60_000
    point = planned(entries, BOUNDS)
    assert point is not None
    assert (point.how, point.results_to) == (Shortening.SUMMARY, len(entries))
    assert "r" * 60_000 not in sent([*entries, stored(point)])


def test_a_refused_request_is_made_much_shorter() -> None:
    """The provider knows better than the estimate, so nothing mild is tried."""
    entries = talk(8, result="r" * 3_000, words="word " * 40)
    point = planned(entries, BOUNDS, refused=True)
    assert point is not None
    assert point.how is Shortening.SUMMARY
    assert point.before_tokens >= BOUNDS.window_tokens


def test_of_many_words_of_people_the_newest_are_kept() -> None:
    """A talk of hundreds of messages would fill the window by itself."""
    entries = talk(4, tokens=9_000, words="word " * 500)
    entries[3:3] = [said(f"{number}: " + "y" * (SAID_CHARS // 4)) for number in range(6)]
    point = planned(entries, BOUNDS, refused=True)
    assert point is not None
    assert [text.partition(":")[0] for text in point.said] == ["3", "4", "5"]


# --- what is sent --------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.builds(
            turn,
            st.just(0),
            st.sampled_from(["done", "r" * 4_000]),
            st.sampled_from(["", "hm " * 500]),
            st.sampled_from([0, 100, 9_000]),
            st.sampled_from(["", "word " * 200]),
        )
        | st.just([said("Go on.")])
        | st.just([{"role": "assistant", "content": [{"type": "text", "text": "So."}], "stop_reason": "end_turn"}]),
        min_size=1,
        max_size=14,
    ),
    st.integers(1, 9),
    st.booleans(),
)
def test_whatever_is_left_out_the_request_is_valid_and_grows_by_its_end(
    stretches: list[list[Entry]], keep: int, refused: bool
) -> None:
    """Pairs, roles and signatures hold after any compaction; and between two of them each request begins as the one
    before, byte by byte, whether it is put together piece by piece or at once."""
    bounds = dataclasses.replace(BOUNDS, keep_entries=keep)
    entries, assembly, before = [said("Do it all.")], Assembly(), b""
    for number, stretch in enumerate(stretches):
        for entry in stretch:
            text = orjson.dumps(entry).replace(b'"t0"', b'"t%d"' % number)
            entries.append(orjson.loads(text))
        if is_due(entries, bounds) or (refused and number == len(stretches) // 2):
            point = planned(entries, bounds, refused=refused)
            if point is not None:
                entries.append(stored(point))
                before = b""
        check(entries)
        assert assembly.request_messages(entries) == request_messages(entries)
        assert request_messages(entries)[0]["content"][0]["text"] == "Do it all."
        now = orjson.dumps(api_messages(entries))[:-1]
        if entries[-1]["role"] == "user" and not entries[-1].get("compaction"):
            assert now.startswith(before[: before.rfind(b'{"role"')])
            before = now


def test_another_try_at_a_reply_keeps_what_was_made_shorter_before_it() -> None:
    """It was paid for, and says nothing of what is hidden."""
    entries = talk(8, tokens=9_000, words="word " * 300)
    reply, point = len(entries), stored(planned(entries, BOUNDS))
    parts = [{"role": "assistant", "content": [{"type": "text", "text": f"Part {n}."}]} for n in (1, 2)]
    entries += [parts[0], point, said(CONTINUE_TEXT), parts[1]]
    behind = [*entries, {"role": "user", "content": [], "supersedes": reply}]
    assert "What was done." in sent(behind)
    assert "Part" not in sent(behind)
    from_within = [*entries, {"role": "user", "content": [], "supersedes": 4}]
    assert "What was done." not in sent(from_within)
    assert all(number < 4 or entry.get("supersedes") for number, entry in numbered_visible(from_within))


def test_a_reply_of_two_parts_is_kept_or_summarized_as_a_whole() -> None:
    """The provider had paused in it, and goes on from its first part."""
    entries = talk(6, tokens=9_000, words="word " * 300)
    part = {"role": "assistant", "content": [{"type": "text", "text": "word " * 300}], "stop_reason": "pause_turn"}
    entries += [part, {**part, "tokens": 9_000}, said("Well?")]
    point = planned(entries, dataclasses.replace(BOUNDS, keep_entries=2))
    assert point is not None
    assert point.to == len(entries) - 3


# --- the summary ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 20_000, 2_000_000])
def test_the_request_for_a_summary_fits_the_window(size: int) -> None:
    """However long what it is about may be; and the record in it is no order."""
    entries = talk(6, result="ä" * size, words="word " * 50)
    plan = Compaction(how=Shortening.SUMMARY, first=1, to=9, results_to=9, thoughts_to=9)
    asked = summary_request(entries, plan, request_id="r", model="m", window_tokens=10_000, summary_tokens=500)
    body = {"model": "m", "max_tokens": 500, "messages": asked.messages, "system": asked.system}
    check_body(orjson.loads(orjson.dumps(body)), MessagesBody)
    assert prompt_tokens(body) + 500 <= 10_000
    assert tokens_of(asked.messages) + 500 <= 10_000
    assert asked.system[0]["text"] == SUMMARY_SYSTEM
    assert "Do it all." in asked.messages[0]["content"][0]["text"]
    assert asked.tools == []


def test_a_summary_without_words_is_none() -> None:
    """Nor is one that was refused."""

    def reply(text: str, stop: str = "end_turn") -> ModelReply:
        content = [{"type": "text", "text": text}]
        return ModelReply(content=content, stop_reason=stop, usage=Usage(), model="m", message_id="1")

    assert summary_of(reply("It is done.", "max_tokens")) == "It is done."
    assert summary_of(reply(" ")) is None
    assert summary_of(reply("No.", "refusal")) is None
