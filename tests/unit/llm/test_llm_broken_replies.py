"""A reply that breaks off may be billed: its fault tells how far the provider had counted."""

import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient
from neuraphage.testing.scripted_api import reply
from patience import PATIENCE_S

KEY = "k"
USAGE = {
    "input_tokens": 11,
    "output_tokens": 9,
    "cache_creation_input_tokens": 7,
    "cache_read_input_tokens": 3,
}
FIVE_MINUTES = {"cache_creation_1h_tokens": 0}


@pytest.mark.parametrize("fault", ["cut", "truncated", "garbage", "error_event", "drop"])
@pytest.mark.parametrize(("after_events", "output_tokens"), [(0, None), (1, 1), (3, 1), (5, 9)])
def test_a_fault_tells_what_the_reply_had_told(call, server, answers, fault, after_events, output_tokens):
    """None before message_start; from there on input and cache, and the whole output once message_delta has come."""
    answers.reply = reply("x", usage=USAGE)  # start, block, ping, piece, end of block, message_delta, stop
    server.set_fault(fault, after_events=after_events + (output_tokens == 9))
    with pytest.raises(ModelFault) as caught:
        call()
    begun = output_tokens is not None and fault != "drop"
    assert caught.value.reply_begun is begun
    assert caught.value.usage == ({**USAGE, **FIVE_MINUTES, "output_tokens": output_tokens} if begun else None)
    assert caught.value.model == ("scripted-1" if begun else "")


def test_a_call_that_takes_too_long_tells_what_the_reply_had_told(server, answers, interrupt, make_request):
    """The limit of the whole call is a fault as any other."""
    answers.reply = reply("x", usage=USAGE)
    for limit_s in (0.5, 4.0, PATIENCE_S):  # the first is enough unless the machine is busy
        server.set_fault("stall", after_events=3)
        client = AnthropicClient(server.url, KEY, read_timeout_s=PATIENCE_S, call_timeout_s=limit_s)
        with pytest.raises(ModelFault) as caught:
            client.call(make_request(), lambda _: None, interrupt)
        if caught.value.reply_begun:
            break
    assert (caught.value.kind, caught.value.usage) == (FaultKind.TIMEOUT, {**USAGE, **FIVE_MINUTES, "output_tokens": 1})
