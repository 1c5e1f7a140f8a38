"""An answer on the wire, in the form of the API that was asked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from neuraphage.testing.scripted_api.message import events_of, sse
from neuraphage.testing.scripted_api.script import ScriptRequest


@dataclass(frozen=True, slots=True)
class Wire:
    """A streamed answer, and what may befall it.

    Args:
        frames: its events, in order.
        ending: how many of the last ones end it; faults in mid-stream come before them.
        garbage: an event that is no JSON.
        ping: what is sent while a stream is held.
        error: makes the event that tells of an error, from its type and its text.
    """

    frames: Sequence[bytes]
    ending: int
    garbage: bytes
    ping: bytes
    error: Callable[[str, str], bytes]


def messages_wire(_: ScriptRequest, message: dict[str, Any], chunk_chars: int) -> Wire:
    """The events of the Messages API; message_stop is the last one."""
    return Wire(
        [sse(event) for event in events_of(message, chunk_chars)],
        ending=1,
        garbage=b'event: content_block_delta\ndata: {"type": "content_block_delta", <<garbage\n\n',
        ping=sse({"type": "ping"}),
        error=lambda kind, text: sse({"type": "error", "error": {"type": kind, "message": text}}),
    )
