"""What users of other agents reported, replayed in whole turns: the real SDK over HTTP, and the API's own rules.

Each report ended there with a task that was taken for done, repeated itself to its limit, or could never go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from neuraphage.llm import AnthropicClient
from neuraphage.model.task import Status
from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, ScriptRequest, reply
from turnkit import Rig, new_rig

KEY = "sk-ant-test-key-0123456789"
Play = Callable[..., tuple[Rig, str]]


class Steps:
    """A script that gives one reply after the other to different requests, and the same one to a repeated request."""

    def __init__(self) -> None:
        self.steps: Sequence[ScriptedReply] = ()
        self.requests: list[ScriptRequest] = []

    def __call__(self, request: ScriptRequest) -> ScriptedReply:
        seen = [one.request_hash for one in self.requests]
        if request.request_hash not in seen:
            self.requests.append(request)
            seen.append(request.request_hash)
        return self.steps[seen.index(request.request_hash)]


@pytest.fixture(scope="module")
def provider() -> Iterator[tuple[ScriptedServer, Steps]]:
    steps = Steps()
    with ScriptedServer({"main": steps}) as running:
        yield running, steps


@pytest.fixture
def play(provider: tuple[ScriptedServer, Steps], tmp_path: Path) -> Iterator[Play]:
    """Run a task whose model gives these replies."""
    server, steps = provider
    server.reset()
    steps.requests.clear()
    client = AnthropicClient(server.url, KEY, connect_timeout_s=20, read_timeout_s=60, call_timeout_s=120)
    made: list[Rig] = []

    def run(*replies: ScriptedReply, **fields: Any) -> tuple[Rig, str]:
        steps.steps = replies
        made.append(new_rig(tmp_path, client))
        return made[-1], made[-1].run(**fields)

    yield run
    client.close()
    for rig in made:
        rig.check()


LIST = ("list_directory", {"path": "."})
DONE = reply("The list is above.")


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(reply(stop_reason="tool_use"), id="pi 9681: tool_use and no block at all"),
        pytest.param(reply(stop_reason="end_turn"), id="thane 167: two tokens and no content after a tool"),
        pytest.param(reply("(empty content)", thinking="Now the next step."), id="qwen-code 7034: placeholder"),
        pytest.param(reply(thinking="I am done."), id="claude-code: the final block is a thought"),
        pytest.param(reply(blocks=[{"type": "text", "text": " \n"}]), id="kibitz 87: white space"),
        pytest.param(reply(blocks=[{"type": "text", "text": ""}]), id="litellm 22930: empty text"),
    ],
)
def test_a_reply_that_says_nothing_after_a_tool(play: Play, odd: ScriptedReply) -> None:
    """The task goes on until the model has said how it ended, and no request is refused on the way."""
    rig, task_id = play(reply(tools=[LIST]), odd, DONE)
    record = rig.get(task_id)
    assert record.status is Status.COMPLETED
    assert (record.detail.summary, record.counters.model_calls) == ("The list is above.", 3)
    assert "RequestFailed" not in rig.kinds(task_id)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param('{"path": "a.py", "content": "def f():\\n    ret', id="opencode 18108: cut in the text"),
        pytest.param('{"path": "a.py", "content": "def main(): ..."}', id="cogtrix 1370: half, and whole JSON"),
        pytest.param("", id="cline 9276: cut before the content"),
    ],
)
def test_a_file_that_does_not_fit_into_one_reply(play: Play, tmp_path: Path, raw: str) -> None:
    """The old file is left alone, the limit is told, and the file in pieces is written."""
    (tmp_path / "a.py").write_text("whole\n", encoding="utf-8")
    part = ("write_file", {"path": "b.py", "content": "first part\n"})
    rig, task_id = play(
        reply(tools=[("write_file", raw)], stop_reason="max_tokens"), reply(tools=[part]), DONE, max_tokens=4096
    )
    assert rig.get(task_id).status is Status.COMPLETED
    assert ((tmp_path / "a.py").read_text(encoding="utf-8"), (tmp_path / "b.py").read_text(encoding="utf-8")) == (
        "whole\n",
        "first part\n",
    )
    told = rig.results(task_id)[rig.called(task_id)[0]]["content"]
    assert "4096 tokens" in told
    assert "smaller pieces" in told


def test_a_thought_whose_signature_is_not_taken_back(play: Play) -> None:
    """claude-code 63335, openclaw 84430: one such block failed every later request; here it is left out."""
    broken = {"type": "thinking", "thinking": "Hm.", "signature": "sig_of_another_model"}
    rig, task_id = play(reply(blocks=[broken], tools=[LIST]), reply(tools=[LIST]), DONE)
    assert rig.get(task_id).detail.summary == "The list is above."
    assert rig.kinds(task_id).count("RequestFailed") == 2  # once for each request that held it


def test_a_thought_that_held_a_secret(play: Play) -> None:
    """What is taken out of it breaks its signature: the thought stays stored, and is not sent back."""
    secret = "sk-ant-" + "api03-" + "A1b2C3d4E5f6G7h8" * 3
    rig, task_id = play(reply(thinking=f"The key is {secret}.", tools=[LIST]), DONE)
    assert rig.get(task_id).status is Status.COMPLETED
    assert "RequestFailed" not in rig.kinds(task_id)
    assert secret not in str(rig.entries(task_id))


def test_a_conversation_that_no_longer_fits(play: Play, provider: tuple[ScriptedServer, Steps]) -> None:
    """prompt is too long: a failure that says what to do, and a retry that goes on where it stopped."""
    provider[0].set_fault("400", message="prompt is too long: 213462 tokens > 200000 maximum", turn=1)
    rig, task_id = play(reply(tools=[LIST]), DONE)
    detail = rig.get(task_id).detail
    assert (detail.status, detail.recoverable) == (Status.FAILED, True)
    assert "a reset begins anew" in detail.error
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).detail.summary == "The list is above."
    assert rig.get(task_id).counters.model_calls == 2
