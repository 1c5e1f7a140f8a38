"""A scripted server, a client that calls it, and an interrupt that a test can pull."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from neuraphage.errors import CancelRequested
from neuraphage.llm import AnthropicClient
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta
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
        }
        return ModelRequest(**(fields | changes))

    return make


@pytest.fixture(scope="session")
def shared_client(shared_server: tuple[ScriptedServer, Answers]) -> Iterator[AnthropicClient]:
    made = AnthropicClient(shared_server[0].url, KEY, connect_timeout_s=5, read_timeout_s=20, call_timeout_s=30)
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
