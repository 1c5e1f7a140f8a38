"""A scripted model whose reply streams for about half a minute, for the memory benchmark."""

from __future__ import annotations

from neuraphage.testing.scripted_api import Pace, ScriptedReply, ScriptRequest, reply

TEXT = "A reply that is streamed slowly, a few characters at a time. " * 30


def slow(request: ScriptRequest) -> ScriptedReply:
    """The same slow answer to everything."""
    return reply(TEXT, pace=Pace(between_events_s=0.2, chunk_chars=12))
