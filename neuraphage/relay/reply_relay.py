"""Calls of the model that outlive this process (implements ports.Relay): takes part in the relay of this host."""

from __future__ import annotations

import logging
import os
import socket
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from neuraphage.decide.begun_call import Finding
from neuraphage.errors import RelayError
from neuraphage.model.detached import DetachedState
from neuraphage.relay import frames
from neuraphage.relay.answer import Answer, AnswerSilent, Stream
from neuraphage.relay.entry import DIRECT, NEVER, CallEntry
from neuraphage.relay.frames import BadFrame
from neuraphage.relay.joining import RelayAway, RelayDoor
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.order import Order
from neuraphage.relay.place import RelayPlace

log = logging.getLogger(__name__)

ANSWER_S = 5.0
"""Longest wait until the relay says whether it takes a call."""
MARGIN_S = 10.0
"""The relay itself tells of a provider that is silent; one that tells nothing for so much longer is stuck."""
MOST_OPEN = 256
"""Answers that are read whole, and of which nobody has said yet that they are stored."""


class NotTaken(Exception):
    """No relay has taken the call, and none ever will: its worker sends it itself."""


class ReplyRelay:
    """The relay of this host, as one process uses it. Thread-safe.

    Args:
        place: where it is found.
        limits: of one that this process starts.
    """

    def __init__(self, place: RelayPlace, limits: RelayLimits) -> None:
        self._place = place
        self._door = RelayDoor(place, limits)
        self._open: OrderedDict[str, socket.socket | None] = OrderedDict()
        self._lock = threading.Lock()
        forget = weakref.WeakMethod(self._forget)
        os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    # --- ports.Relay -----------------------------------------------------------------------------------------

    def warm(self) -> None:
        """Have a relay ready, so that no call waits for one to start; a failure shows itself at the call."""
        with suppress(RelayAway):
            self._door.connect().close()

    def settle(self, call_id: str) -> Finding:
        """Find out what became of a call that a former lease announced; one that nobody has taken never will be.

        Returns:
            RUNNING or ENDED: its answer can be had under this id. UNKNOWN: nobody can tell.
        """
        entry = self._place.entry(call_id)
        try:
            self._place.make()
            if entry.seal(NEVER):
                return Finding.UNKNOWN  # it may have been announced on another host, or sent without a relay
        except (RelayError, OSError) as error:
            log.warning("what became of a model call cannot be told: %s", error)
            return Finding.UNKNOWN
        match entry.state(is_alive=self._place.is_alive(entry.relay())):
            case DetachedState.RUNNING:
                return Finding.RUNNING
            case DetachedState.DONE:
                return Finding.ENDED
            case _:
                return Finding.UNKNOWN

    def stored(self, call_id: str) -> None:
        """What was made of an answer is stored: the relay need not keep it."""
        with self._lock:
            if call_id not in self._open:
                return
            connection = self._open.pop(call_id)
        entry = self._place.entry(call_id)
        is_told = False
        if connection is not None:
            with suppress(OSError), self._place.connect(entry.relay(), ANSWER_S) as order:
                # Not by the connection of the answer: the relay may be writing the end of it, and loses what was said
                # on a connection that is closed under its hands.
                order.sendall(frames.json_frame({"op": "stored", "id": call_id}))
                is_told = True
            connection.close()
        if not is_told:
            entry.remove()

    def cancel(self, call_id: str) -> None:
        """End a call: the provider's connection is closed."""
        name = self._place.entry(call_id).relay()
        with suppress(OSError):
            connection = self._place.connect(name, ANSWER_S)
            with connection:
                connection.sendall(frames.json_frame({"op": "cancel", "id": call_id}))
                connection.recv(1)

    # --- for the transport -----------------------------------------------------------------------------------

    def answer(self, order: Order, poll: Callable[[], None]) -> Answer:
        """The answer to a request, which is sent unless it was sent before.

        Args:
            order: the request.
            poll: see Stream.

        Raises:
            NotTaken: it was not sent, and never will be.
        """
        entry = self._place.entry(order.call_id)
        silence_s = max(order.read_s, order.connect_s) + MARGIN_S
        for _ in range(2):  # a relay may end in just the moment in which it is asked
            stream = self._asked(order, poll, silence_s)
            if stream is not None:
                return self._answer(entry, stream)
            state = entry.state(is_alive=self._place.is_alive(entry.relay()))
            if state is not DetachedState.ABSENT:
                return self._begun(entry, state, poll, silence_s)
        try:
            sealed = entry.seal(DIRECT)
        except RelayError as error:  # a disk that takes no seal takes no call either
            raise NotTaken(str(error)) from error
        if sealed or entry.sealed_by() == DIRECT:
            raise NotTaken(f"the relay did not take {order.call_id}")
        return self._begun(entry, entry.state(), poll, silence_s)

    def leave(self, call_id: str) -> None:
        """Read no more of an answer; the call goes on."""
        with self._lock:
            connection = self._open.pop(call_id, None)
        if connection is not None:
            connection.close()

    # --- parts -----------------------------------------------------------------------------------------------

    def _asked(self, order: Order, poll: Callable[[], None], silence_s: float) -> Stream | None:
        """Hand the request over; None where the relay has not said that it holds the call."""
        try:
            connection = self._door.connect()
        except RelayAway as error:
            log.warning("no relay: %s; this call ends with its worker", error)
            return None
        try:
            connection.settimeout(ANSWER_S)
            head = frames.json_frame(_head_of(order)) + frames.data_header(len(order.body))
            connection.sendall(head + order.body)
            stream = Stream(connection, poll, silence_s)
            _, text = stream.frame(ANSWER_S)
            said = frames.parsed(text)
        except (OSError, AnswerSilent, BadFrame) as error:
            log.warning("the relay did not answer: %s", error)
            connection.close()
            return None
        except BaseException:
            connection.close()
            raise
        if said.get("state") != "running":
            if "why" in said:
                log.warning("the relay does not take a call: %s", said["why"])
            connection.close()
            return None
        self._keep(order.call_id, connection)
        return stream

    def _begun(self, entry: CallEntry, state: DetachedState, poll: Callable[[], None], silence_s: float) -> Answer:
        """The answer to a call that was decided before."""
        if state is DetachedState.SEALED:
            if entry.sealed_by() == DIRECT:
                raise NotTaken(f"{entry.path.name} is sent without a relay")
            return self._answer(entry, None)
        if state is DetachedState.RUNNING:
            with suppress(OSError, AnswerSilent, BadFrame):
                connection = self._place.connect(entry.relay(), ANSWER_S)
                connection.sendall(frames.json_frame({"op": "read", "id": entry.path.name}))
                stream = Stream(connection, poll, silence_s)
                _, text = stream.frame(ANSWER_S)
                if frames.parsed(text).get("state") == "running":
                    self._keep(entry.path.name, connection)
                    return self._answer(entry, stream)
                connection.close()  # it is over since: the files tell
        self._keep(entry.path.name, None)
        return self._answer(entry, None)

    def _answer(self, entry: CallEntry, stream: Stream | None) -> Answer:
        return Answer(entry, stream, lambda: self._place.is_alive(entry.relay()))

    def _keep(self, call_id: str, connection: socket.socket | None) -> None:
        with self._lock:
            self._open[call_id] = connection
            oldest = self._open.popitem(last=False)[1] if len(self._open) > MOST_OPEN else None
        if oldest is not None:
            oldest.close()

    def _forget(self) -> None:
        # In a forked child: the parent's lock may be held for ever and its connections are not ours.
        self._lock = threading.Lock()
        for connection in self._open.values():
            if connection is not None:
                connection.close()
        self._open.clear()
        self._door.forget()


def _head_of(order: Order) -> dict[str, object]:
    return {
        "op": "start",
        "id": order.call_id,
        "task": order.task_id,
        "method": order.method,
        "url": order.url,
        "headers": order.headers,
        "connect_s": order.connect_s,
        "read_s": order.read_s,
        "total_s": order.total_s,
    }
