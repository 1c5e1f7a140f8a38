"""A scripted server, a client that calls it, and an interrupt that a test can pull."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from neuraphage.errors import CancelRequested
from neuraphage.llm import AnthropicClient
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta, Interrupt
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.relay.reply_relay import ReplyRelay
from neuraphage.relay.transport import RelayTransport
from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, ScriptRequest, reply

KEY = "sk-ant-test-key-0123456789"


class SwitchInterrupt:
    """ports.Interrupt, pulled by hand."""

    def __init__(self) -> None:
        self.pulled = False
        self.subscribed = threading.Event()
        self._wakes: list[Callable[[], None]] = []

    def check(self) -> None:
        if self.pulled:
            raise CancelRequested

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._wakes.append(wake)
        self.subscribed.set()
        return lambda: self._wakes.remove(wake)

    def pull(self) -> None:
        self.pulled = True
        for wake in list(self._wakes):
            wake()

    @property
    def subscriptions(self) -> int:
        return len(self._wakes)


class Answers:
    """The script of the server: says what the test has set."""

    def __init__(self) -> None:
        self.reply = reply("Hello, world, from a script.")

    def __call__(self, request: ScriptRequest) -> ScriptedReply:
        return self.reply


@pytest.fixture(scope="session")
def shared_server() -> Iterator[tuple[ScriptedServer, Answers]]:
    answers = Answers()
    with ScriptedServer({"main": answers}) as running:
        yield running, answers


@pytest.fixture
def answers(shared_server: tuple[ScriptedServer, Answers]) -> Answers:
    """What the server says; each test begins with a greeting."""
    shared_server[1].reply = Answers().reply
    return shared_server[1]


@pytest.fixture
def server(shared_server: tuple[ScriptedServer, Answers], answers: Answers) -> ScriptedServer:
    """The shared server, with nothing in its log and no fault on order."""
    shared_server[0].reset()
    return shared_server[0]


@pytest.fixture
def interrupt() -> SwitchInterrupt:
    return SwitchInterrupt()


@pytest.fixture
def make_request() -> Callable[..., ModelRequest]:
    def make(prompt: str = "hi", **changes: Any) -> ModelRequest:
        fields: dict[str, Any] = {
            "request_id": "req-1",
            "model": "scripted-1",
            "system": [{"type": "text", "text": "You are a test."}],
            "messages": [{"role": "user", "content": prompt}],
            "tools": [],
            "max_tokens": 100,
            "call_id": secrets.token_hex(16),
        }
        return ModelRequest(**(fields | changes))

    return make


class StoringClient(AnthropicClient):
    """A client by a relay, which is told of each reply that it is stored, as a turn tells it."""

    def __init__(self, relay: ReplyRelay, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options, transport=partial(RelayTransport, relay))
        self._relay = relay

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        try:
            return super().call(request, on_delta, interrupt)
        finally:
            self._relay.stored(request.call_id)


@pytest.fixture(scope="session", params=["direct", "by relay"])
def shared_client(
    request: pytest.FixtureRequest,
    shared_server: tuple[ScriptedServer, Answers],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[AnthropicClient]:
    """One that connects by itself, and one by a relay; each test of calls holds for both."""
    make: Callable[..., AnthropicClient] = AnthropicClient
    if request.param == "by relay":
        place = RelayPlace(tmp_path_factory.mktemp("relay") / "place")
        make = partial(StoringClient, ReplyRelay(place, RelayLimits()))
    made = make(shared_server[0].url, KEY, connect_timeout_s=5, read_timeout_s=20, call_timeout_s=30)
    yield made
    made.close()


@pytest.fixture
def client(shared_client: AnthropicClient, server: ScriptedServer) -> AnthropicClient:
    """The shared client of the shared server, which is reset."""
    return shared_client


@pytest.fixture
def call(
    client: AnthropicClient, interrupt: SwitchInterrupt, make_request: Callable[..., ModelRequest]
) -> Callable[..., tuple[ModelReply, list[Delta]]]:
    """Call the model once: (reply, pieces)."""

    def run(prompt: str = "hi", **changes: Any) -> tuple[ModelReply, list[Delta]]:
        pieces: list[Delta] = []
        return client.call(make_request(prompt, **changes), pieces.append, interrupt), pieces

    return run
