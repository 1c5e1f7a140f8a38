"""Bedrock and Vertex: how the SDK's own clients sign and address a request, and a reply from a local server."""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import BedrockClient, VertexClient
from neuraphage.llm.aws_events import aws_data
from neuraphage.testing.scripted_api import ScriptRequest, reply
from neuraphage.testing.scripted_api.message import events_of, message_of, sse

pytest.importorskip("boto3")
pytest.importorskip("google.auth")
SECRET = "aws-secret-of-this-test-4711"
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


@pytest.fixture
def serve() -> Iterator[Callable[[str, bytes], tuple[str, list[bytes]]]]:
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


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials as AWS's own tools find them."""
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOFTHISTEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


BEDROCK = "application/vnd.amazon.eventstream"


def test_bedrock(serve: Any, aws: None, interrupt: Any, make_request: Callable[..., Any]) -> None:
    """The model is in the path, the request is signed for the region, and the reply comes out of AWS's frames."""
    url, asked = serve(BEDROCK, b"".join(map(inside, EVENTS)))
    client = BedrockClient("eu-central-1", base_url=url, read_timeout_s=20)
    request = make_request(model="bedrock:eu.anthropic.claude-x-v1:0")
    got = client.call(request, lambda _: None, interrupt)
    assert got.content[0] == {"type": "text", "text": "Hello from afar."}
    assert (got.content[1]["input"], got.stop_reason) == ({"a": 1}, "tool_use")
    head, body = asked
    assert head.startswith(b"POST /model/eu.anthropic.claude-x-v1:0/invoke-with-response-stream ")
    signed = next(line for line in head.decode().split("\r\n") if line.lower().startswith("authorization:"))
    assert "AWS4-HMAC-SHA256 Credential=AKIAOFTHISTEST/" in signed
    assert "/eu-central-1/bedrock/aws4_request" in signed
    assert SECRET.encode() not in head + body
    sent = json.loads(body)
    assert sent["anthropic_version"]
    assert "model" not in sent
    assert sent["messages"][0]["role"] == "user"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"".join([*map(inside, EVENTS[:4]), broken_off("throttlingException")]), FaultKind.RATE_LIMITED),
        (b"".join([*map(inside, EVENTS[:4]), broken_off("serviceUnavailableException")]), FaultKind.OVERLOADED),
        (b"".join([*map(inside, EVENTS[:4]), broken_off("internalServerException")]), FaultKind.SERVER_ERROR),
        (b"".join(map(inside, EVENTS[:4])), FaultKind.TRUNCATED),
        (inside(EVENTS[0])[:-1] + b"x" + inside(EVENTS[1]), FaultKind.GARBAGE),
        (b"no frame of AWS at all, but some text that is long enough to be one", FaultKind.GARBAGE),
    ],
)
def test_faults_of_a_bedrock_stream(
    serve: Any, aws: None, interrupt: Any, make_request: Callable[..., Any], body: bytes, kind: FaultKind
) -> None:
    """Exceptions in frames, cut and broken frames: half a reply is never taken for a whole one."""
    url, _ = serve(BEDROCK, body)
    with pytest.raises(ModelFault) as caught:
        BedrockClient("eu-central-1", base_url=url, read_timeout_s=20).call(
            make_request(model="bedrock:m"), lambda _: None, interrupt
        )
    assert caught.value.kind is kind


def test_frames_in_pieces() -> None:
    """As a network cuts them."""
    whole = b"".join(map(inside, EVENTS))
    assert list(aws_data(whole[at : at + 7] for at in range(0, len(whole), 7))) == EVENTS


def test_vertex(serve: Any, interrupt: Any, make_request: Callable[..., Any]) -> None:
    """Project, region and model are in the path, the token is a bearer's, and the reply is that of the Messages API."""
    url, asked = serve("text/event-stream", b"".join(map(sse, EVENTS)))
    client = VertexClient("europe-west1", "my-project", access_token="token-4711", base_url=url, read_timeout_s=20)
    got = client.call(make_request(model="vertex:claude-x@20260101"), lambda _: None, interrupt)
    assert got.content[0] == {"type": "text", "text": "Hello from afar."}
    head, body = asked
    where = (
        b"/projects/my-project/locations/europe-west1/publishers/anthropic/models/claude-x@20260101:streamRawPredict"
    )
    assert where in head.split(b"\r\n")[0]
    assert b"authorization: bearer token-4711" in head.lower()
    sent = json.loads(body)
    assert sent["anthropic_version"]
    assert "model" not in sent
