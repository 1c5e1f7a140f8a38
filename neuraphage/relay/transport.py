"""The HTTP client's way through the relay: to the SDK it looks like the provider itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Protocol

import httpx2

from neuraphage.errors import RelayError
from neuraphage.relay.answer import Answer, AnswerLost, AnswerSilent
from neuraphage.relay.kept import End
from neuraphage.relay.order import Order
from neuraphage.relay.reply_relay import NotTaken, ReplyRelay

IN_HAND = "neuraphage"
"""Name of the extension of a request that holds its CallInHand."""


class CallInHand(Protocol):
    """The call that a request belongs to."""

    call_id: str
    """Names it; the same for whoever goes on with it."""
    task_id: str
    timeout_s: float
    """Longest whole call."""

    def poll(self) -> None:
        """Return when the reader may go on; what it raises ends the reading, not the call."""
        ...

    def relayed(self) -> None:
        """From now on the call outlives this process."""
        ...


class RelayUnavailable(RelayError, httpx2.TransportError):
    """Nothing was sent: the relay did not take the call, and never will."""


class RelayTransport(httpx2.BaseTransport):
    """Sends requests by the relay.

    Args:
        relay: of this host.
    """

    def __init__(self, relay: ReplyRelay) -> None:
        self._relay = relay
        self._hops = threading.local()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Have a request sent, unless it was sent before; return its answer, perhaps while it comes.

        Raises:
            RelayUnavailable: nothing was sent.
            httpx2.TransportError, httpx2.InvalidURL: as the provider's own connection would.
        """
        call: CallInHand = request.extensions[IN_HAND]
        order = self._order(request, call)
        try:
            answer = self._relay.answer(order, call.poll)
            call.relayed()
            head = answer.head()
        except NotTaken as error:
            raise RelayUnavailable(str(error)) from error
        except AnswerSilent as error:
            raise httpx2.ReadTimeout(str(error)) from error
        except AnswerLost as error:
            raise httpx2.ReadError(str(error)) from error
        if isinstance(head, End):
            raise _fault(head)
        self._hops.is_redirect = 300 <= head.status < 400
        # as they were sent: of a text the HTTP client takes ASCII alone
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers]
        return httpx2.Response(head.status, headers=headers, stream=_Body(answer))

    def _order(self, request: httpx2.Request, call: CallInHand) -> Order:
        """A redirect that is followed is a call of its own, and each hop is found again by its number."""
        before = getattr(self._hops, "call_id", ""), getattr(self._hops, "is_redirect", False)
        number = self._hops.number + 1 if before == (call.call_id, True) else 0
        self._hops.call_id, self._hops.is_redirect, self._hops.number = call.call_id, False, number
        timeout = request.extensions.get("timeout", {})
        return Order(
            call_id=call.call_id if not number else f"{call.call_id}{number:04x}",
            task_id=call.task_id,
            method=request.method,
            url=str(request.url),
            headers=tuple(request.headers.multi_items()),
            body=request.read(),
            connect_s=timeout.get("connect") or call.timeout_s,
            read_s=timeout.get("read") or call.timeout_s,
            total_s=call.timeout_s,
        )


class _Body(httpx2.SyncByteStream):
    """The body of an answer, as it comes."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._answer.body()
        except AnswerSilent as error:
            raise httpx2.ReadTimeout(str(error)) from error
        except AnswerLost as error:
            raise httpx2.ReadError(str(error)) from error
        if self._answer.ended is not None and self._answer.ended.fault:
            raise _fault(self._answer.ended)


def _fault(end: End) -> Exception:
    """What the relay's HTTP client raised, as this one's would."""
    known = getattr(httpx2, end.fault, None)
    if isinstance(known, type) and issubclass(known, httpx2.TransportError | httpx2.InvalidURL):
        return known(end.text)
    return httpx2.ReadError(f"{end.fault}: {end.text}")
