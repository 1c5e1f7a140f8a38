"""No secret that a person, the model or a tool lets slip is stored, logged or used as a name."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fakeredis
import pytest

from neuraphage.client_wiring import new_task_id, redactor
from neuraphage.errors import BadInput, FaultKind, ModelFault
from neuraphage.logs import configure_logging
from neuraphage.model.effect import EffectClass
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Mode, Status, TaskSpec
from neuraphage.model.tool import ToolResult
from neuraphage.ports import Delta, Signal, SignalKind
from neuraphage.redaction.redactor import Redactor
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store import live
from neuraphage.store.tasks import RedisStore
from neuraphage.testing import Call, Recorder
from turnkit import FakeModel, FakeTool, Killed, Rig, calls, new_rig, says

SHAPED = "sk-ant-api03-Zq8sV2bN5mK1xW7cT4rL9pD3fH6jG0yB"
"""Known by its shape."""
OWN = "the words of our own key, 4711"
"""Known only because this process's environment holds it."""
BOTH = f"{SHAPED} and {OWN}"


class Watch(Recorder):
    """Writes down all of the server after every write of a turn: what was consumed since was stored too."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[str] = []
        self.rig: Rig | None = None

    def look(self) -> None:
        if self.rig is not None:
            self.stored.append(str(self.rig.kit.state()))

    def leaving(self, call: Call) -> None:
        self.look()


class Careless(FakeTool):
    """A tool that keeps secrets in its evidence."""

    def prepare(self, params: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return {"before": f"prepared {BOTH}", f"key {SHAPED}": 1}


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Everything that is logged, through the product's own handler; the root logger is put back."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    configure_logging(redactor(), level=logging.DEBUG, stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def watch() -> Watch:
    """Looks at the server at every write."""
    return Watch()


@pytest.fixture
def rig(tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """A process with a key in its environment, over a watched store."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", OWN)
    settings = Settings(namespace="turns", data_dir=tmp_path / ".data")
    client = fakeredis.FakeRedis(server=fakeredis.FakeServer())
    store = watch.turn_store(RedisStore(settings, SystemClock(), client=client))
    tools = [
        FakeTool(name="leak", act=lambda params, context: ToolResult(text=f"found {BOTH}")),
        FakeTool(name="fails", act=fails),
        Careless(name="careless", effect_class=EffectClass.CHECKABLE, side_effecting=True),
    ]
    made = new_rig(
        tmp_path, FakeModel(), client=client, settings=settings, extra=tools, redactor=redactor(), store=store
    )
    watch.rig = made
    return made


def fails(params: Any, context: Any) -> ToolResult:
    raise RuntimeError(f"cannot open {BOTH}")


def streamed(reply: ModelReply) -> Any:
    """A model step that shows its text piece by piece, as a stream does."""

    def step(request: Any, show: Any, interrupt: Any) -> ModelReply:
        for at in range(0, len(BOTH), 7):
            show(Delta("text", BOTH[at : at + 7]))
        return reply

    return step


def play(rig: Rig, watch: Watch) -> str:
    """A task in which everyone lets the secrets slip wherever they can."""
    line = f"echo 'ran with {SHAPED}'; env; echo {OWN}"
    rig.model.steps = [
        ModelFault(FaultKind.NETWORK, f"refused: {BOTH}"),
        streamed(calls(("t1", "leak", {"q": BOTH}), ("t2", "fails", {}), ("t3", f"no {SHAPED}", {}), text=f"a {BOTH}")),
        calls(("t4", "run_command", {"command": line}), ("t5", "write_file", {"path": "f", "content": BOTH})),
        calls(("t6", "careless", {"p": BOTH}), ("t7", "ask_user", {"question": f"q {BOTH}", "options": [BOTH, "b"]})),
        says(f"the end {BOTH}"),
        says("x", stop_reason="refusal"),
    ]
    task_id = rig.submit(
        f"prompt {BOTH}",
        system=f"system {BOTH}",
        tags=(f"tag {SHAPED}",),
        allow=("leak", "fails", "run_command", "write_file"),
        mode=Mode.CONVERSATIONAL,
    )
    live.watch(rig.store.context, task_id)
    rig.drain()
    rig.retry_now(task_id)
    rig.drain()
    watch.look()
    for prompt in rig.get(task_id).prompts:
        rig.people.answer(task_id, prompt.prompt_id, "yes" if prompt.tool == "careless" else "b")
        watch.look()
    rig.drain()
    rig.people.send(task_id, f"input {BOTH}")
    watch.look()
    rig.drain()
    watch.look()
    return task_id


def shown(rig: Rig, task_id: str) -> str:
    """What a viewer saw, put together: a secret in pieces is one too."""
    rows = rig.client.xrange(rig.kit.keys.live(task_id))
    return "".join(fields[b"t"].decode() for _, fields in rows)


@pytest.mark.parametrize("secret", [SHAPED, OWN])
def test_no_secret_is_stored_logged_or_used_as_a_name(rig: Rig, watch: Watch, logged: io.StringIO, secret: str) -> None:
    """Prompt, words, answers, replies, deltas, calls, results, evidence, errors: searched after every write."""
    task_id = play(rig, watch)
    assert rig.get(task_id).status is Status.FAILED
    places = {
        "redis": "".join(watch.stored),
        "logs": logged.getvalue(),
        "messages": str(rig.dispatcher.published),
        "spool": str(sorted(path.name for path in (rig.folder / ".data").rglob("*"))),
        "viewers": shown(rig, task_id),
        "requests": str(rig.model.requests),
    }
    for place, text in places.items():
        assert secret not in text, f"{place}: {text[max(0, text.find(secret) - 300) : text.find(secret) + 60]}"


def test_what_was_planted_did_arrive(rig: Rig, watch: Watch, logged: io.StringIO) -> None:
    """The control of the search: around every secret its own words are stored, with the secret cut out."""
    task_id = play(rig, watch)
    assert shown(rig, task_id).startswith("[redacted:")
    stored = "".join(watch.stored)
    for words in (
        "prompt ",
        "system ",
        "tag ",
        "a ",
        "found ",
        "cannot open ",
        "prepared ",
        "q ",
        "input ",
        "the end ",
    ):
        assert f"{words}[redacted:" in stored, words
    assert "ran with [redacted:" in stored
    assert "refused: [redacted:" in stored
    assert "cannot open [redacted:" in logged.getvalue()


def test_words_from_a_process_that_does_not_know_our_keys_are_cleaned(rig: Rig, watch: Watch) -> None:
    """Only workers know their own key: what a client let through is cleaned before the model and the history see it."""
    rig.model.steps = [calls(("t1", "ask_user", {"question": "?"})), says("And?"), says("Done.")]
    task_id = rig.submit(mode=Mode.CONVERSATIONAL)
    rig.drain()
    (prompt,) = rig.get(task_id).prompts
    rig.store.signal(task_id, Signal(SignalKind.ANSWER, "k1", f"answer {OWN}", prompt.prompt_id))
    rig.store.signal(task_id, Signal(SignalKind.INPUT, "k2", f"input {OWN}"))
    rig.dispatcher.publish_turn(task_id, 0, rig.get(task_id).seq)
    rig.drain()
    assert len(rig.model.requests) == 2
    sent = str(rig.model.requests[-1].messages)
    assert ("answer [redacted:" in sent, "input [redacted:" in sent, OWN in sent) == (True, True, False)
    assert OWN not in str(rig.kit.state())


def test_what_stands_for_a_secret_makes_no_record_too_long_to_be_read(tmp_path: Path) -> None:
    """The placeholder may be longer than the secret: a name is cut again, a text over its limit is refused."""
    rig = new_rig(tmp_path, FakeModel(says("Done.")), redactor=Redactor(secrets=["hunter2222"]))
    spec = TaskSpec(task_id=new_task_id(), name="a" * 189 + " hunter2222", prompt="Do it.", model="m")
    assert rig.get(rig.people.submit(spec)).spec.name.startswith("a" * 189 + " [redacted:")
    for field in ("prompt", "system"):
        long = spec.model_copy(update={"task_id": new_task_id(), field: "a " * 499_995 + "hunter2222"})
        with pytest.raises(BadInput, match=f"{field}: it has 10000.. characters"):
            rig.people.submit(long)
    rig.drain()
    assert rig.get(spec.task_id).status is Status.COMPLETED


@pytest.mark.parametrize("before", range(14_900, 15_000, 10))
def test_no_half_of_a_secret_is_left_where_a_long_result_is_cut(tmp_path: Path, before: int) -> None:
    """A tool of others may return any length; its result is within the limit, and each secret of it gone."""
    text = "x " * (before // 2) + SHAPED + " y" * 15_000
    tool = FakeTool(act=lambda params, context: ToolResult(text=text))
    rig = new_rig(tmp_path, FakeModel(calls(("t1", "act", {})), says("Done.")), redactor=redactor(), extra=[tool])
    stored = rig.results(rig.run())["t1"]["content"]
    assert SHAPED[:12] not in stored
    assert len(stored) <= 30_000


def test_a_cancel_reason_is_cleaned(rig: Rig, watch: Watch) -> None:
    """The last words of a person are stored with the ended task."""
    task_id = rig.submit()
    rig.people.cancel(task_id, f"because {BOTH}")
    assert SHAPED not in str(rig.kit.state())
    assert OWN not in str(rig.kit.state())
    assert "because [redacted:" in (rig.get(task_id).detail.reason or "")


def test_a_command_runs_without_the_keys_of_its_worker(rig: Rig, watch: Watch) -> None:
    """What a command could print of our environment holds no key, so not even its raw output file does."""
    rig.model.steps = [calls(("t1", "run_command", {"command": "env"})), says("Done.")]
    rig.run()
    outputs = [path.read_bytes() for path in (rig.folder / ".data").rglob("*") if path.is_file()]
    assert any(b"PATH=" in raw for raw in outputs)
    assert not any(OWN.encode() in raw for raw in outputs)


def test_recovery_decisions_hold_no_secret(rig: Rig, watch: Watch, logged: io.StringIO) -> None:
    """Readings and logs of a recovery are made from what was cleaned before."""

    def dies(request: Any, show: Any, interrupt: Any) -> ModelReply:
        raise Killed

    rig.model.steps = [dies]
    task_id = rig.submit(f"prompt {BOTH}")
    rig.dies()
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    assert SHAPED not in str(rig.kit.state()) + logged.getvalue()
    assert OWN not in str(rig.kit.state()) + logged.getvalue()
    assert "recovered" in logged.getvalue()
