"""Bedrock and Vertex: how the SDK's own clients sign and address a request, and a reply from a local server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cloudkit import BEDROCK, EVENTS, broken_off, inside, serving
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import BedrockClient, VertexClient
from neuraphage.llm.aws_events import aws_data
from neuraphage.testing.scripted_api.message import sse

pytest.importorskip("boto3")
pytest.importorskip("google.auth")
SECRET = "aws-secret-of-this-test-4711"


@pytest.fixture
def serve() -> Iterator[Callable[[str, bytes], tuple[str, list[bytes]]]]:
    """See cloudkit.serving."""
    with serving() as serve:
        yield serve


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials as AWS's own tools find them."""
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOFTHISTEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


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
