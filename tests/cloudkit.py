"""Bedrock and Vertex as local servers: frames of AWS, and a server that answers once."""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from neuraphage.testing.scripted_api import ScriptRequest, reply
from neuraphage.testing.scripted_api.message import events_of, message_of

BEDROCK = "application/vnd.amazon.eventstream"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
EVENTS = list(events_of(message_of(ScriptRequest.of(ASKED), reply("Hello from afar.", tools=[("bash", {"a": 1})])), 5))


def frame(body: Any, **headers: str) -> bytes:
    """One frame of AWS: lengths and sums, headers, a body of JSON."""
    named = {":message-type": "event", ":event-type": "chunk", ":content-type": "application/json", **headers}
    packed = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for name, value in named.items()
    )
    payload = json.dumps(body).encode()
    prelude = struct.pack("!II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + packed + payload
    return message + struct.pack("!I", zlib.crc32(message))


def inside(event: Any) -> bytes:
    """A frame with an event of the Messages API."""
    return frame({"bytes": base64.b64encode(json.dumps(event).encode()).decode()})


def broken_off(kind: str) -> bytes:
    """A frame that tells of an exception."""
    return frame({"message": "on order"}, **{":message-type": "exception", ":exception-type": kind})


@contextmanager
def serving() -> Iterator[Callable[[str, bytes], tuple[str, list[bytes]]]]:
    """Makes a server that answers once with this type and body: (its address, what it was asked)."""
    made: list[socket.socket] = []

    def start(kind: str, body: bytes) -> tuple[str, list[bytes]]:
        listener = socket.create_server(("127.0.0.1", 0))
        made.append(listener)
        asked: list[bytes] = []

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                head, _, rest = connection.recv(65_536).partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                while len(rest) < length:
                    rest += connection.recv(65_536)
                asked.extend((head, rest))
                top = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n"
                connection.sendall(top.encode() + body)

        threading.Thread(target=answer, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}", asked

    yield start
    for listener in made:
        listener.close()
