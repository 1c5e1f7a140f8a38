"""How the events of a stream become a reply that can be stored, run and sent back."""

import json

import orjson
import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.collect import ReplyCollector
from neuraphage.model.usage import Usage


def _collected(block, *deltas, stop_reason="tool_use"):
    """A collector that has taken a reply of one block."""
    collector = ReplyCollector(lambda _: None)
    collector.take({"type": "message_start", "message": {"id": None, "model": None, "usage": {}}})
    collector.take({"type": "content_block_start", "index": 0, "content_block": block})
    for delta in deltas:
        collector.take({"type": "content_block_delta", "index": 0, "delta": delta})
    collector.take({"type": "content_block_stop", "index": 0})
    collector.take({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {}})
    collector.take({"type": "message_stop"})
    return collector


CALL = {"type": "tool_use", "id": "t1", "name": "deploy", "input": {}}


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_that_was_cut_before_its_input_is_not_one_without_parameters(reason):
    """The model had not come to its parameters: the call is told as broken, not run with none."""
    empty = {"type": "input_json_delta", "partial_json": ""}
    assert _collected(CALL, empty, stop_reason=reason).invalid_inputs == {"t1": ""}
    assert _collected(CALL, empty).invalid_inputs == {}
    assert _collected(CALL, {**empty, "partial_json": "{}"}, stop_reason=reason).invalid_inputs == {}


@pytest.mark.parametrize("given", [[], [1], "text", 0, False])
def test_input_of_the_first_event_that_is_no_object_is_told(given):
    """A server that sends the input whole, and wrong, makes no call that breaks the turn."""
    collector = _collected({**CALL, "input": given})
    assert collector.content == [CALL]
    assert collector.invalid_inputs == {"t1": json.dumps(given)}


@pytest.mark.parametrize("given", [{}, {"input": None}])
def test_a_call_without_input_has_no_parameters(given):
    """A call whose input was left out is one without parameters."""
    call = {name: CALL[name] for name in ("type", "id", "name")}
    collector = _collected({**call, **given})
    assert (collector.content, collector.invalid_inputs) == ([CALL], {})


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "thinking", "signature": "s"},
        {"type": 5, "text": "x"},
        {"type": "hologram", "size": 2**70},
    ],
)
def test_a_block_that_can_be_neither_stored_nor_sent_back_is_garbage(block):
    """It is a fault of the call, which may be repeated, and not of every later turn."""
    with pytest.raises(ModelFault) as caught:
        _collected(block)
    assert caught.value.kind is FaultKind.GARBAGE


def test_halves_of_characters_are_replaced_wherever_they_stand():
    """Text inside citations and blocks of other kinds is stored too, and so is the stop reason."""
    collector = _collected({"type": "text", "text": "", "citations": [{"cited_text": "\ud83c"}]}, stop_reason="\ud800")
    orjson.dumps([collector.content, collector.stop_reason])
    assert collector.content[0]["citations"] == [{"cited_text": "\ufffd"}]


def test_names_that_are_null_are_empty():
    """A null model is no model named None: its price is the asked model's."""
    collector = _collected({"type": "text", "text": "x"})
    assert (collector.model, collector.message_id) == ("", "")


def test_citations_are_kept_in_order():
    """Each comes in a delta of its own."""
    collector = _collected(
        {"type": "text", "text": "x", "citations": None},
        *({"type": "citations_delta", "citation": {"n": number}} for number in range(3)),
    )
    assert collector.content == [{"type": "text", "text": "x", "citations": [{"n": 0}, {"n": 1}, {"n": 2}]}]


def test_a_long_reply_is_put_together_once():
    """A piece is not copied with each that follows: 15 MB in small pieces would take minutes, and hold all threads."""
    piece = {"type": "text_delta", "text": "x" * 25}
    assert (
        len(_collected({"type": "text", "text": ""}, *(piece for _ in range(600_000))).content[0]["text"]) == 15_000_000
    )


def test_a_count_that_no_reply_can_have_is_none():
    """The server's sums of it would not fit, and the paid reply could not be stored."""
    collector = _collected({"type": "text", "text": "x"})
    collector.take({"type": "message_delta", "delta": {}, "usage": {"input_tokens": 10**20, "output_tokens": 7}})
    assert collector.usage == Usage(output_tokens=7)
