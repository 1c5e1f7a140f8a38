"""The relay's side of its socket: takes orders, and serves answers to whoever asks."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import sys
import time
from contextlib import suppress
from typing import Any

from neuraphage import __version__
from neuraphage.relay import frames
from neuraphage.relay.entry import CALL_ID
from neuraphage.relay.frames import BadFrame
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.order import Order
from neuraphage.relay.place import RelayPlace
from neuraphage.relay.recording import Recording
from neuraphage.relay.sending import Sender

log = logging.getLogger(__name__)

LINGER_S = 10.0
"""Longest wait for readers of answers that are over: the files have them, too."""
STORED_S = 0.1
"""So long the end of an answer waits for its reader to store what it made of it, before it is synced to the disk."""
_DRAIN_LOOK_S = 0.05
_CREDENTIALS = struct.Struct("3i")


class RelayServer:
    """One relay.

    Args:
        place: where it is found.
        link: by which it is the current one.
        name: of its socket.
        limits: what it takes.
    """

    def __init__(self, place: RelayPlace, link: str, name: str, limits: RelayLimits) -> None:
        self.is_draining = False
        self.used_s = time.monotonic()
        """When somebody was connected last."""
        self.connections = 0
        self._place = place
        self._link = link
        self._name = name
        self._limits = limits
        self._sender = Sender(limits.calls)
        self._recordings: dict[str, Recording] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._readers: dict[str, int] = {}
        self.kept_bytes = 0
        """Of calls that are over, as last counted."""

    @property
    def running(self) -> frozenset[str]:
        """Ids of the calls that are under way, or still read."""
        return frozenset(self._recordings)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        self.connections += 1
        try:
            if _is_of_this_user(writer) and self.connections <= self._limits.connections:
                await self._answer(reader, writer)
        except (BadFrame, KeyError, TypeError, ValueError) as error:
            log.warning("what came at the relay's socket is no order: %r", error)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass  # who asked is gone, or stands still
        except asyncio.CancelledError:
            pass  # this process ends, and who only stays is let go; else asyncio itself complains of it
        finally:
            self.connections -= 1
            self.used_s = time.monotonic()
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def drain(self) -> None:
        """Take no new calls; return when those under way are over, and read by who reads them now."""
        self.is_draining = True
        self._place.leave(self._link, self._name)
        while self._tasks:
            await asyncio.sleep(_DRAIN_LOOK_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while self._recordings:
                    await asyncio.sleep(_DRAIN_LOOK_S)
        await self._sender.close()

    def cancel_unread(self) -> None:
        """End the calls that nobody reads: their files are gone, so nobody will."""
        for call_id in [one for one in self._tasks if not self._readers.get(one)]:
            self._tasks[call_id].cancel()

    # --- orders ---

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self._limits.order_s):
            order = frames.parsed(await frames.read_frame(reader, frames.JSON, frames.MAX_JSON_BYTES))
            op = order["op"]
            body = await frames.read_frame(reader, frames.DATA, frames.MAX_BODY_BYTES) if op == "start" else b""
        if op == "stay":
            await reader.read(1)  # until it ends
            return
        if op == "end":
            ends = not self._recordings
            if ends:
                self._place.leave(self._link, self._name)
            await _say(writer, {"pid": os.getpid() if ends else 0})
            return
        if op == "state":
            await _say(writer, self._state())
            return
        call_id = str(order["id"])
        if not CALL_ID.fullmatch(call_id):
            raise BadFrame("no call id")
        if op == "cancel":
            self._cancel(call_id)
            await _say(writer, {"state": "cancelled"})
            return
        if op == "stored":
            self._stored(call_id)
            return
        if op == "start":
            refusal = self._start(_order(order, call_id, body))
            if refusal is not None:
                await _say(writer, {"state": "refused", "why": refusal})
                return
        await self._follow(call_id, reader, writer)

    def _state(self) -> dict[str, Any]:
        """What it is asked for by people."""
        return {
            "pid": os.getpid(),
            "version": __version__,
            "calls": len(self._tasks),
            "draining": self.is_draining,
            "kept_bytes": self.kept_bytes,
            "quota_bytes": self._limits.quota_bytes,
        }

    def _start(self, order: Order) -> str | None:
        """Begin a call, unless it is known already; returns why it is not taken."""
        if order.call_id in self._recordings:
            return None
        if self.is_draining:
            return "it ends"
        if len(self._tasks) >= self._limits.calls:
            return f"{len(self._tasks)} calls are under way"
        if self.kept_bytes > self._limits.quota_bytes:
            return f"calls under way have put out {self.kept_bytes} bytes"
        entry = self._place.entry(order.call_id)
        try:
            begun = entry.begin(self._name, order.task_id, int(time.time() * 1000))
        except OSError as error:
            return f"it cannot write to {entry.path}: {error.strerror or error}"
        if begun is None:
            return None
        recording = Recording(begun, self._limits.answer_bytes)
        self._recordings[order.call_id] = recording
        task = asyncio.create_task(self._hold(order, recording))
        self._tasks[order.call_id] = task
        task.add_done_callback(lambda _: self._over(order.call_id))
        return None

    async def _hold(self, order: Order, recording: Recording) -> None:
        """One call, to its end on the disk; what its reader stores at once is not written there."""
        await self._sender.send(order, recording)
        if self._readers.get(order.call_id):
            with suppress(TimeoutError):
                await asyncio.wait_for(recording.stored.wait(), STORED_S)
        if not recording.stored.is_set():
            await recording.sync()

    def _over(self, call_id: str) -> None:
        """A call is over; what was kept in memory of it goes with its last reader."""
        self._tasks.pop(call_id, None)
        if self._recordings[call_id].stored.is_set():
            self._place.entry(call_id).remove()  # who still reads has it open
        if not self._readers.get(call_id):
            self._let_go(call_id)

    def _let_go(self, call_id: str) -> None:
        recording = self._recordings.pop(call_id, None)
        if recording is not None:
            recording.close()

    def _stored(self, call_id: str) -> None:
        """What a reader made of the answer is stored: the files are of no use any more."""
        recording = self._recordings.get(call_id)
        if recording is not None:
            recording.stored.set()
        if call_id not in self._tasks:
            self._place.entry(call_id).remove()

    def _cancel(self, call_id: str) -> None:
        task = self._tasks.get(call_id)
        if task is not None:
            task.cancel()

    # --- answers ---

    async def _follow(self, call_id: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        recording = self._recordings.get(call_id)
        if recording is None:
            await _say(writer, {"state": "elsewhere"})  # over, sealed, or another relay's: the files tell
            return
        self._readers[call_id] = self._readers.get(call_id, 0) + 1
        leaving = asyncio.create_task(_left(reader))
        leaving.add_done_callback(lambda _: recording.tell())
        try:
            if await _send_answer(recording, writer, leaving):
                await leaving
        finally:
            leaving.cancel()
            self._readers[call_id] -= 1
            if not self._readers[call_id]:
                del self._readers[call_id]
                if call_id not in self._tasks:
                    self._let_go(call_id)


async def _left(reader: asyncio.StreamReader) -> None:
    """Return when who reads an answer has gone."""
    with suppress(OSError):
        await reader.read(1)


async def _send_answer(recording: Recording, writer: asyncio.StreamWriter, leaving: asyncio.Task[None]) -> bool:
    """Send all of an answer as it comes; returns whether the reader stayed for all of it."""
    offset = 0
    while not leaving.done():
        if offset < recording.size_bytes:
            piece = recording.read(offset, frames.PIECE_BYTES)
            offset += len(piece)
            writer.write(piece)
            await writer.drain()
        elif recording.ended is not None:
            return True
        else:
            await recording.change()
    return False


def _order(order: dict[str, Any], call_id: str, body: bytes) -> Order:
    headers = tuple((str(name), str(text)) for name, text in order["headers"])
    times = (float(order["connect_s"]), float(order["read_s"]), float(order["total_s"]))
    return Order(call_id, str(order["task"]), str(order["method"]), str(order["url"]), headers, body, *times)


async def _say(writer: asyncio.StreamWriter, value: dict[str, Any]) -> None:
    writer.write(frames.json_frame(value))
    await writer.drain()


def _is_of_this_user(writer: asyncio.StreamWriter) -> bool:
    """The folder is private already; a folder that somebody has opened by mistake opens nothing (Linux)."""
    if not sys.platform.startswith("linux"):
        return True
    with suppress(OSError):
        peer = writer.get_extra_info("socket")
        _, user, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
        return bool(user == os.geteuid())
    return False
