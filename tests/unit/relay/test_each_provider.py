"""Every provider's calls go by the relay: sent once, read again by the next process; no credential is on the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cloudkit import BEDROCK, EVENTS, inside, serving
from neuraphage.llm import BedrockClient, OpenAIClient, VertexClient
from neuraphage.model.detached import DetachedState
from neuraphage.ports import ModelClient
from neuraphage.relay.entry import DIRECT
from neuraphage.relay.reply_relay import ReplyRelay
from neuraphage.relay.transport import RelayTransport
from neuraphage.testing.scripted_api import ScriptedServer
from neuraphage.testing.scripted_api.message import sse
from relaykit import TEXT, Host, relay_process
from turnkit import until

SECRET = "secret-of-this-test-4711"
Way = Callable[[], RelayTransport]


def bedrock(url: str, way: Way) -> BedrockClient:
    return BedrockClient("eu-central-1", base_url=url, read_timeout_s=20, transport=way)


def vertex(url: str, way: Way) -> VertexClient:
    return VertexClient("europe-west1", "my-project", access_token=SECRET, base_url=url, transport=way)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """As AWS's own tools find them."""
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOFTHISTEST")


def by_relay(host: Host) -> Way:
    """The way of a process of this host."""
    relay = ReplyRelay(host.place, host._limits)
    return lambda: RelayTransport(relay)


def call(host: Host, client: ModelClient, model: str, call_id: str) -> str:
    request = host.request(call_id).model_copy(update={"model": model})
    return str(client.call(request, lambda _: None, host.interrupt).content[0]["text"])


@pytest.mark.parametrize(
    ("model", "kind", "body", "make"),
    [
        pytest.param("bedrock:m", BEDROCK, b"".join(map(inside, EVENTS)), bedrock, id="bedrock"),
        pytest.param("vertex:m", "text/event-stream", b"".join(map(sse, EVENTS)), vertex, id="vertex"),
    ],
)
def test_a_cloud_is_asked_once(host: Host, call_id: str, model: str, kind: str, body: bytes, make: Any) -> None:
    """The server answers one request alone; the second process has the reply from the relay."""
    pytest.importorskip("boto3")
    pytest.importorskip("google.auth")
    with serving() as serve, relay_process(host.place.root):
        url, asked = serve(kind, body)
        for _ in range(2):
            assert call(host, make(url, by_relay(host)), model, call_id) == "Hello from afar."
        assert asked[0].lower().count(b"authorization: ") == 1
        until(lambda: host.place.entry(call_id).state() is DetachedState.DONE)
        kept = [path.read_bytes() for path in host.place.root.rglob("*") if path.is_file()]
        assert kept
        assert not [one for one in kept if SECRET.encode() in one or b"AWS4-HMAC" in one]


def test_chat_completions_are_asked_for_once(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """Of OpenAI, or of a local server that speaks as it does; without a relay the worker sends by itself."""
    with relay_process(host.place.root):
        for _ in range(2):
            client = OpenAIClient(f"{provider.url}/v1", SECRET, transport=by_relay(host))
            assert call(host, client, "openai:m", call_id) == TEXT
        until(lambda: host.place.entry(call_id).state() is DetachedState.DONE)
        assert host.interrupt.detachable
        assert not [
            path for path in host.place.root.rglob("*") if path.is_file() and SECRET in path.read_text("latin-1")
        ]
    assert provider.log()["totals"]["received"] == 1
    host.place.starting.unlink(missing_ok=True)
    host.place.starting.mkdir()  # no relay can be started
    client = OpenAIClient(f"{provider.url}/v1", SECRET, transport=by_relay(host))
    assert call(host, client, "openai:m", "f" * 32) == TEXT
    assert host.place.entry("f" * 32).sealed_by() == DIRECT
