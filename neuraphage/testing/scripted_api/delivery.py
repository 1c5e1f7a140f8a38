"""Sends an answer step by step, and sees at once when the client hangs up."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from neuraphage.testing.scripted_api.faults import Fault
from neuraphage.testing.scripted_api.log import CLOSED, COMPLETED
from neuraphage.testing.scripted_api.script import Pace
from neuraphage.testing.scripted_api.wire import Wire

HELD_POLL_S = 0.02
PING_EVERY = 50
"""Looks between two pings of a stream that is held: one a second."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Silence.

    Args:
        delay_s: its length.
    """

    delay_s: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing but pings until a file is there.

    Args:
        until: the file.
        ping: what is sent meanwhile.
    """

    until: Path
    ping: bytes


class Hang:
    """Close the connection without ending the response."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The outcome is decided by what is sent next; written down first, so that a client never knows more.

    Args:
        outcome: completed or fault:<kind>.
    """

    outcome: str


Step = bytes | Wait | Hold | Hang | Mark


def steps_of(wire: Wire, pace: Pace, fault: Fault | None) -> Iterator[Step]:
    """The steps of a streamed answer: its events at their pace, with at most one fault among them."""
    if fault is not None and fault.kind == "slow":
        yield Wait(fault.delay_s)
    if pace.first_byte_delay_s:
        yield Wait(pace.first_byte_delay_s)
    in_stream = fault if fault is not None and fault.kind != "slow" else None
    frames = wire.frames
    whole = len(frames) - wire.ending
    # A fault in mid-stream comes before the end, however short the answer is.
    last = min(in_stream.after_events, whole) if in_stream else len(frames)
    for index, frame in enumerate(frames[:last]):
        if index and pace.between_events_s:
            yield Wait(pace.between_events_s)
        if pace.until is not None and index == len(frames) // 2:
            yield Hold(pace.until, wire.ping)
        if index == whole:
            yield Mark(COMPLETED)
        yield frame
    if in_stream is None:
        return
    if in_stream.kind == "stall":
        yield Wait(in_stream.delay_s)
        yield Mark(COMPLETED)
    else:
        yield Mark(f"fault:{in_stream.kind}")
        yield from _fault_steps(in_stream, wire)
    if in_stream.kind in ("stall", "garbage"):
        yield from frames[last:]


def _fault_steps(fault: Fault, wire: Wire) -> Iterator[Step]:
    if fault.kind == "garbage":
        yield wire.garbage
    elif fault.kind == "error_event":
        yield wire.error(fault.error_type or "overloaded_error", fault.message)
    elif fault.kind == "cut":
        yield Hang()


class Delivery(Response):
    """A response that carries out steps.

    Args:
        steps: what to send; an answer that starts with Hang gets no status line.
        headers: response headers.
        on_end: told the outcome (the first one counts): what a Mark says, or closed_by_client.
    """

    def __init__(self, steps: Iterable[Step], headers: dict[str, str], on_end: Callable[[str], None]) -> None:
        super().__init__(headers=headers)
        # Content-Length stands for a whole body; a stream has none.
        self.raw_headers = [pair for pair in self.raw_headers if pair[0] != b"content-length"]
        self._steps = steps
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Send; a client that hangs up ends it at once, also within a silence."""
        sending = asyncio.ensure_future(self._send(send))
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            sending.cancel()
            gone.cancel()
            self._on_end(CLOSED)

    async def _send(self, send: Send) -> None:
        steps = iter(self._steps)
        step = next(steps, None)
        if isinstance(step, Mark):
            self._on_end(step.outcome)
            step = next(steps, None)
        if isinstance(step, Hang):
            await _close_unanswered(send)
            return
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        # An empty piece sends the headers off before any silence.
        await send(_body(b""))
        while step is not None:
            if isinstance(step, Hang):
                return
            if isinstance(step, Mark):
                self._on_end(step.outcome)
            elif isinstance(step, Wait):
                await asyncio.sleep(step.delay_s)
            elif isinstance(step, Hold):
                await _held(send, step)
            else:
                await send(_body(step))
            step = next(steps, None)
        await send(_body(b"", more=False))


async def _held(send: Send, hold: Hold) -> None:
    for count in itertools.count():
        if hold.until.exists():
            return
        if count % PING_EVERY == 0:
            await send(_body(hold.ping))
        await asyncio.sleep(HELD_POLL_S)


def _body(piece: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": piece, "more_body": more}


async def _close_unanswered(send: Send) -> None:
    # ASGI has no way to close without an answer. A header that may not be written makes the server close the
    # connection once it believes that the answer has begun, with no byte sent.
    with contextlib.suppress(Exception):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"not a name", b"")]})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
