"""A server with a few scripts, and the real SDK to talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import anthropic
import pytest

from neuraphage.testing.scripted_api import Script, ScriptedReply, ScriptedServer, ScriptRequest, reply
from patience import PATIENCE_S


def agent(request: ScriptRequest) -> ScriptedReply:
    """Calls a tool in each of two turns, then ends."""
    if request.turn == 0:
        return reply("Let me look.", thinking="I should look.", tools=[("bash", {"command": "ls -l"})])
    if request.turn == 1:
        return reply(tools=[("read", {"path": request.last_tool_results[0].text})])
    return reply("; ".join(outcome.text for outcome in request.tool_results))


def broken(request: ScriptRequest) -> ScriptedReply:
    """Fails."""
    raise RuntimeError("a bug in the script")


SCRIPTS = {"agent": agent, "broken": broken, "hello": lambda _: reply("Hello there, this is a scripted reply.")}


@pytest.fixture
def scripts() -> dict[str, Script]:
    return dict(SCRIPTS)


@pytest.fixture(scope="session")
def shared_server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPTS, default="hello") as running:
        yield running


@pytest.fixture
def server(shared_server: ScriptedServer) -> ScriptedServer:
    """The shared server, with nothing in its log and no fault on order."""
    shared_server.reset()
    return shared_server


@pytest.fixture
def sdk(server: ScriptedServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="key", max_retries=0, timeout=PATIENCE_S) as client:
        yield client
