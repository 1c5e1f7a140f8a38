"""Images and documents in turns: from people and from tools, over deaths, a reset and both APIs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mediakit import pdf, png
from neuraphage.client_wiring import new_task_id
from neuraphage.decide.attachments import attachment_of, label
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient, OpenAIClient
from neuraphage.model.attachment import Attachment
from neuraphage.model.task import Status, TaskSpec
from neuraphage.redaction.redactor import Redactor
from neuraphage.store.encode import stored_entry
from neuraphage.testing.scripted_api import ScriptedServer
from neuraphage.tools import ToolContext, tool
from turnkit import Killed, Rig, calls, new_rig, says

MakeRig = Callable[..., Rig]


def submit(rig: Rig, *given: Attachment, model: str = "scripted-1") -> str:
    spec = TaskSpec(
        task_id=new_task_id(), name="A task", prompt="Look.", allow=("*",), model=model, working_dir=str(rig.folder)
    )
    return rig.people.submit(spec, None, given)


def dies(*_: Any) -> Any:
    raise Killed


def stored(rig: Rig, task_id: str) -> list[dict[str, Any]]:
    """The conversation as it is stored, bytes of images included."""
    return [stored_entry(raw) for raw in rig.client.lrange(rig.store.context.keys.messages(task_id), 0, -1)]


def test_what_people_and_tools_show_is_sent_and_stored_once(make_rig: MakeRig) -> None:
    """With the prompt, as a result, by its digest, with a message; a death in between costs no byte and no prefix."""
    image, paper = attachment_of(png(), "a.png"), attachment_of(pdf(2), "p.pdf")
    rig = make_rig(
        calls(("r1", "read_file", {"path": "b.txt"})),
        dies,
        calls(("r2", "read_result", {"tool_use_id": f"sha256:{image.sha256[:12]}"})),
        says("Seen."),
        says("Seen again."),
        images="on",
    )
    (rig.folder / "b.txt").write_bytes(png(seed=7))  # whatever it is called
    task_id = submit(rig, image)
    rig.step()
    rig.dies()
    rig.recover(task_id).drain()
    rig.people.send(task_id, "And this.", "1", [image, paper])
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    other = attachment_of(png(seed=7))
    entries = stored(rig, task_id)
    assert [list(entry["media"]) for entry in entries if entry.get("media")] == [
        [image.sha256], [other.sha256], [paper.sha256],
    ]  # fmt: skip
    last = str(rig.model.requests[-1].messages)
    assert [last.count(one.data) for one in (image, other, paper)] == [1, 1, 1]
    assert "'type': 'document'" in last
    result = rig.results(task_id)["r1"]
    assert result["content"][0]["text"].startswith(f"[image/png {other.size_bytes} B sha256:{other.sha256[:12]}")
    for former, later in pairwise(rig.model.requests):
        assert later.messages[: len(former.messages) - 1] == former.messages[:-1]
        begin = former.messages[-1]["content"]
        assert later.messages[len(former.messages) - 1]["content"][: len(begin)] == begin
    assert image.data not in str(rig.entries(task_id)), "who reads for people is given no base64"


def test_a_reset_keeps_what_came_with_the_prompt(make_rig: MakeRig) -> None:
    """It belongs to what was asked."""
    image = attachment_of(png(), "a.png")
    rig = make_rig(ModelFault(FaultKind.AUTHENTICATION, "no"), says("Seen."), images="on")
    task_id = submit(rig, image)
    rig.drain()
    assert rig.get(task_id).status is Status.FAILED
    rig.people.reset(task_id, key="anew")
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert image.data in str(rig.model.requests[-1].messages)


def test_a_tool_of_ones_own_shows_what_it_returns(make_rig: MakeRig) -> None:
    """Alone, among words, and as a result; over a limit it is told, and the turn goes on. Names are redacted."""
    shots = [attachment_of(png(seed=n), f"hunter2222-{n}.png") for n in range(3)]

    @tool(effect="pure")
    def shot(number: int, context: ToolContext) -> Any:
        """Take one."""
        assert context.task_id
        return shots[number] if number else [shots[0], "the first"]

    steps = [calls((f"s{n}", "shot", {"number": n})) for n in range(3)]
    redactor = Redactor(secrets=["hunter2222"])
    rig = make_rig(*steps, says("Seen."), extra=[shot], images="on", attachments_max=2, redactor=redactor)
    task_id = submit(rig)
    rig.drain()
    results = rig.results(task_id)
    assert results["s0"]["content"][0]["text"].endswith("\nthe first")
    assert [part["type"] for part in results["s1"]["content"]] == ["text", "image"]
    assert results["s2"]["is_error"]
    assert "attachments_max is 2" in results["s2"]["content"]
    assert "hunter2222" not in str(stored(rig, task_id))
    sent = str(rig.model.requests[-1].messages)
    assert [sent.count(shot.data) for shot in shots] == [1, 1, 0]


def test_a_model_that_sees_nothing_gets_words(make_rig: MakeRig) -> None:
    """Nobody knows this one: the turns' own table is empty here."""
    image = attachment_of(png(), "a.png")
    rig = make_rig(says("I cannot see it."))
    task_id = submit(rig, image, model="openai:llama3")
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    (block, *_) = rig.model.requests[0].messages[0]["content"]
    assert block["text"].startswith(label(image))
    assert "you cannot see it" in block["text"]


def test_an_image_that_the_provider_refuses_fails_no_task(make_rig: MakeRig) -> None:
    """Damaged, or too large for it: the request goes out once more without, and the model is told."""
    image = attachment_of(png()[:40], "a.png")
    refused = ModelFault(FaultKind.BAD_HISTORY, "messages.0.content.0.image.source.base64: Could not process image")
    rig = make_rig(refused, says("I cannot see it."), images="on")
    task_id = submit(rig, image)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    first, again = rig.model.requests
    assert image.data in str(first.messages)
    assert image.data not in str(again.messages)
    assert "the provider has refused the request with it" in str(again.messages)


@pytest.mark.parametrize("model", ["scripted-1", "openai:scripted-1"])
def test_both_apis_take_them(tmp_path: Path, model: str) -> None:
    """Over HTTP by the real SDKs: as blocks of the Messages API, as data URLs and files of Chat Completions."""
    image, paper = attachment_of(png(), "a.png"), attachment_of(pdf(), "p.pdf")
    with ScriptedServer() as api:
        key = "sk-test-of-images"
        client = OpenAIClient(f"{api.url}/v1", key) if model.startswith("openai") else AnthropicClient(api.url, key)
        rig = new_rig(tmp_path, client, images="on")
        task_id = submit(rig, image, paper, model=model)
        rig.drain()
        assert rig.get(task_id).status is Status.COMPLETED
        assert [entry["outcome"] for entry in api.log()["entries"]] == ["completed"]
    rig.check()
