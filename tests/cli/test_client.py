"""The Python client on a real server; the test plays the workers through the store."""

from __future__ import annotations

import io
import os
import pwd
from typing import Any

import orjson
import pytest
from pydantic import SecretStr
from rich.console import Console

from clikit import Bench, CommandLine
from neuraphage.cli.client_words import ClientWords
from neuraphage.cli.viewer import Viewer
from neuraphage.client import Client
from neuraphage.errors import (
    BadInput,
    CorruptRecord,
    IllegalMove,
    PromptNotOpen,
    TaskNotFound,
)
from neuraphage.model.effect import EffectState, ToolEffect
from neuraphage.model.message import Entry
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.recovery import RecoveryDecision, RecoveryReport
from neuraphage.model.task import Status, TaskRecord
from neuraphage.ports import Changes, Delta, FinishTo, SignalKind, SignalVerdict, SuspendTo
from neuraphage.queue.names import RUN_QUEUE
from neuraphage.store import live, reports
from storekit import MODEL_CALL, item, text_entry

UNKNOWN = "task-01a2b3c4-0000-7000-8000-000000000000"
PERMISSION = Prompt(prompt_id="p1", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)


def queued(bench: Bench) -> int:
    """Messages that wait for workers."""
    return bench.client._ports.waker.queue_length() or 0


def test_submit_stores_and_wakes(bench: Bench) -> None:
    """Every field arrives, one message waits for a worker, and what was not given comes from the settings."""
    task_id = bench.client.submit(
        "do it", working_dir="/w", allow=["edit"], max_turns=3, max_cost_usd=0.5, tags=["t"], priority=1
    )
    record = bench.client.get(task_id)
    assert (record.status, record.spec.prompt, record.spec.name) == (Status.QUEUED, "do it", "do it")
    assert (record.spec.working_dir, record.spec.allow, record.spec.tags) == ("/w", ("edit",), ("t",))
    assert (record.spec.limits.max_turns, record.spec.limits.max_cost_microusd) == (3, 500_000)
    assert queued(bench) == 1
    plain = bench.client.get(bench.client.submit("x"))
    assert (plain.spec.limits.max_turns, plain.spec.limits.max_cost_microusd) == (50, 10_000_000)
    assert plain.spec.model == bench.client.settings.default_model


@pytest.mark.parametrize("followed", [True, False])
def test_who_follows_a_little_late_has_missed_nothing(bench: Bench, followed: bool) -> None:
    """A quick worker streams its reply before the follower has begun; what it streams is kept for who said so."""
    task_id = bench.client.submit("do it", followed=followed)
    live.publish(bench.kit.store.context, task_id, [Delta("text", "the first words")])
    found = []
    for piece in bench.client.follow(task_id):
        found.append(piece)
        if isinstance(piece, TaskRecord):
            break
    assert (Delta("text", "the first words") in found) is followed


def test_submit_again_under_one_key(bench: Bench) -> None:
    """A repeat finds the first task; it sends the first message again, which may never have been sent."""
    first = bench.client.submit("x", key="k")
    assert bench.client.submit("y", key="k") == first
    assert len(bench.client.list()) == 1
    assert queued(bench) == 2


def test_submit_while_the_broker_is_away(bench: Bench) -> None:
    """The task is stored all the same: the message is only a hint."""
    away = bench.client.settings.model_copy(update={"broker_url": SecretStr("redis://127.0.0.1:1/0")})
    with Client(away) as client:
        task_id = client.submit("x")
    assert bench.client.get(task_id).place == "outbox"


def test_secrets_in_a_prompt_are_not_stored(bench: Bench) -> None:
    """What people paste by mistake is cut out before anything is written."""
    token = "ghp_" + "a1B2" * 9
    task_id = bench.client.submit(f"use {token}")
    bench.client.send(task_id, f"or {token}")
    assert token not in repr(bench.kit.state())


@pytest.mark.parametrize("before", range(40, 76, 5))
def test_a_name_made_from_the_prompt_holds_no_half_of_a_secret(bench: Bench, before: int) -> None:
    """A secret that the cut would go through is cut out first."""
    token = "ghp_" + "a1B2" * 9
    name = bench.client.get(bench.client.submit(f"{'x' * before} {token}")).spec.name
    assert "ghp_" not in name
    assert len(name) <= 80


@pytest.mark.parametrize(
    "fields",
    [
        {"max_turns": -1},
        {"max_cost_usd": float("inf")},
        {"priority": 9},
        *({"permission_timeout_s": wrong} for wrong in (0.0, -1.0, float("inf"), float("nan"))),
    ],
)
def test_submit_out_of_range(bench: Bench, fields: dict[str, float]) -> None:
    """Nothing is stored of a task that makes no sense."""
    with pytest.raises(BadInput):
        bench.client.submit("x", **fields)  # type: ignore[arg-type]  # wrong on purpose
    assert bench.client.list() == []


@pytest.mark.parametrize(
    ("setting", "given", "stored"),
    [(300.0, None, 300.0), (7.0, None, 7.0), ("none", None, None), (7.0, "none", None), ("none", 9.0, 9.0)],
)
def test_how_long_permissions_wait(bench: Bench, setting: Any, given: Any, stored: float | None) -> None:
    """What is stored is always said: no time in a spec is no limit, never "not given"."""
    object.__setattr__(bench.client.settings, "permission_timeout_s", setting)
    task_id = bench.client.submit("x", permission_timeout_s=given)
    assert bench.client.get(task_id).spec.permission_timeout_s == stored


def test_find(bench: Bench) -> None:
    """By the whole id, its beginning or its end; not by what fits none or two."""
    one, two = (bench.kit.create(task_id=f"task-01a2b3c4-0000-7000-8000-00000000000{n}") for n in (1, 2))
    assert bench.client.find("0001") == one
    assert bench.client.find(one) == one
    assert bench.client.find(two.removeprefix("task-")) == two
    for wrong in ("01a2", "task-", ""):
        with pytest.raises(BadInput):
            bench.client.find(wrong)
    with pytest.raises(TaskNotFound):
        bench.client.find("ffff")


@pytest.mark.parametrize("read", ["get", "conversation", "journal", "decisions", "wait"])
def test_reads_of_a_task_that_is_not_there(bench: Bench, read: str) -> None:
    """An empty answer would look like a task without history."""
    with pytest.raises(TaskNotFound):
        getattr(bench.client, read)(UNKNOWN)


@pytest.mark.parametrize("read", ["events", "follow"])
def test_history_of_a_task_that_is_not_there(bench: Bench, read: str) -> None:
    """The same for reads that come line by line."""
    with pytest.raises(TaskNotFound):
        next(iter(getattr(bench.client, read)(UNKNOWN)))


def test_conversation_and_journal(bench: Bench) -> None:
    """What a turn wrote is read back."""
    task_id, lease = bench.kit.running()
    entry = ToolEffect(key="t1", state=EffectState.STARTED, tool="edit")
    bench.kit.store.commit(lease, Changes(journal=(entry,), entries=(text_entry("hello"),)))
    assert bench.client.journal(task_id) == {"t1": entry}
    assert bench.client.conversation(task_id)[-1]["content"] == [{"type": "text", "text": "hello"}]


def test_list_skips_what_cannot_be_read(bench: Bench) -> None:
    """One damaged record does not hide the others; its history can still be read."""
    bench.kit.broken_on_purpose = True
    good, bad = bench.kit.create(), bench.kit.create()
    bench.kit.client.hset(bench.kit.keys.task(bad), "status", "Nonsense")
    assert [record.task_id for record in bench.client.list()] == [good]
    assert [event.kind for event in bench.client.events(bad)] == ["TaskCreated"]


def test_counts(bench: Bench) -> None:
    """Tasks by status, and the members of the four places."""
    bench.kit.put(Status.PAUSED)
    bench.kit.create()
    counts = bench.client.counts()
    assert (counts["Queued"], counts["Paused"], counts["outbox"]) == (1, 1, 1)


def test_send_is_a_no_op_under_the_same_key(bench: Bench) -> None:
    """A repeat leaves one message."""
    task_id = bench.kit.create()
    assert bench.client.send(task_id, "hello", key="k").verdict is SignalVerdict.ACCEPTED
    assert bench.client.send(task_id, "hello", key="k").verdict is SignalVerdict.REPEATED
    assert [item(raw).text for raw in bench.kit.inbox(task_id)] == ["hello"]


def test_send_refuses_what_makes_no_sense(bench: Bench) -> None:
    """Nothing to say, a full inbox, a task that has failed."""
    task_id = bench.kit.create()
    with pytest.raises(BadInput, match="empty"):
        bench.client.send(task_id, " ")
    for number in range(bench.client.settings.max_inbox_items):
        bench.client.send(task_id, f"message {number}")
    with pytest.raises(BadInput, match="too many"):
        bench.client.send(task_id, "one more")
    with pytest.raises(IllegalMove):
        bench.client.send(bench.kit.put(Status.FAILED), "still there?")


def test_an_answer_wakes_the_task(bench: Bench) -> None:
    """It is kept once; its message, which is only a hint, is sent again with a repeat (the first may be lost)."""
    task_id = bench.kit.waiting(PERMISSION)
    before = queued(bench)
    assert bench.client.answer(task_id, "Y", prompt_id="p1", key="k").place == "outbox"
    assert bench.client.answer(task_id, "yes", prompt_id="p1", key="k").verdict is SignalVerdict.REPEATED
    assert [item(raw).text for raw in bench.kit.inbox(task_id)] == ["yes"]
    assert queued(bench) == before + 2


def test_answers_that_fit_no_prompt(bench: Bench) -> None:
    """The wrong prompt, several open ones, none at all."""
    two = bench.kit.waiting(PERMISSION, PERMISSION.model_copy(update={"prompt_id": "p2"}))
    with pytest.raises(BadInput, match="must name its prompt"):
        bench.client.answer(two, "yes")
    with pytest.raises(PromptNotOpen):
        bench.client.answer(two, "yes", prompt_id="p3")
    bench.client.answer(two, "no", prompt_id="p2")
    with pytest.raises(PromptNotOpen):
        bench.client.answer(bench.kit.create(), "yes")


def test_who_answers_late_is_told_what_became_of_the_prompt(bench: Bench) -> None:
    """While the answer waits for a turn, and when the prompt is gone; a repeat of a request is told it was taken."""
    task_id = bench.kit.waiting(PERMISSION)
    bench.client.answer(task_id, "no: not today", prompt_id=PERMISSION.prompt_id, key="mine")
    me = pwd.getpwuid(os.geteuid()).pw_name
    for _ in range(2):
        with pytest.raises(PromptNotOpen, match=rf"{me} answered no at \d{{4}}-.* UTC"):
            bench.client.answer(task_id, "yes", prompt_id=PERMISSION.prompt_id)
        fate = bench.client.became_of(task_id, PERMISSION.prompt_id)
        assert fate is not None
        assert (fate.answer, fate.by, fate.who) == ("no", "user", me)
        lease = bench.kit.claim(task_id)
        bench.kit.suspend(lease, SuspendTo.SHUTDOWN, Changes(prompts_closed=(PERMISSION.prompt_id,)))
    again = bench.client.answer(task_id, "no: not today", prompt_id=PERMISSION.prompt_id, key="mine")
    assert again.verdict is SignalVerdict.REPEATED


def test_what_became_of_prompts_that_nobody_answered(bench: Bench) -> None:
    """Still open, timed out, or never asked; and one whose person has no name."""
    task_id, other = (bench.kit.waiting(PERMISSION) for _ in range(2))
    assert bench.client.became_of(task_id, PERMISSION.prompt_id) is None
    bench.kit.send(task_id, SignalKind.ANSWER, text="no", prompt_id=PERMISSION.prompt_id, by="timeout")
    with pytest.raises(PromptNotOpen, match="nobody had answered it in time, so it counted as no at"):
        bench.client.answer(task_id, "yes", prompt_id=PERMISSION.prompt_id)
    assert bench.client.became_of(task_id, "ffffffff") is None
    bench.kit.send(other, SignalKind.ANSWER, "k", text="yes", prompt_id=PERMISSION.prompt_id)
    assert str(bench.client.became_of(other, PERMISSION.prompt_id)).startswith("user answered yes at ")


def test_pause_and_resume(bench: Bench) -> None:
    """A task between turns is paused at once, a running one by its worker; resume wakes it."""
    task_id = bench.kit.create()
    bench.client.pause(task_id)
    assert bench.client.get(task_id).status is Status.PAUSED
    assert bench.client.resume(task_id).place == "outbox"
    running, _ = bench.kit.running()
    bench.client.pause(running)
    assert bench.client.get(running).pause_requested
    with pytest.raises(IllegalMove):
        bench.client.resume(bench.kit.put(Status.COMPLETED))


def test_cancel_retry_and_reset(bench: Bench) -> None:
    """Each is possible where the table of moves has a row for it, and nowhere else."""
    task_id = bench.kit.create()
    bench.client.cancel(task_id, reason="enough")
    assert bench.client.get(task_id).detail.reason == "enough"  # type: ignore[union-attr]  # it is cancelled
    for call in (bench.client.retry, bench.client.reset):
        failed = bench.kit.put(Status.FAILED)
        assert call(failed).place == "outbox"
        with pytest.raises(IllegalMove):
            call(task_id)


def test_another_try_at_a_reply(bench: Bench, cli: CommandLine) -> None:
    """Of a completed task and of a conversation, by the client and by the command; a repeat changes nothing."""
    reply = Entry(role="assistant", content=[{"type": "text", "text": "Hm."}])
    task_id, lease = bench.kit.running()
    bench.kit.finish(lease, FinishTo.COMPLETED, Changes(entries=(reply,), add=MODEL_CALL), summary="Hm.")
    assert bench.client.retry_reply(task_id, key="k").place == "outbox"
    assert bench.client.retry_reply(task_id, key="k").verdict is SignalVerdict.REPEATED
    assert [entry.get("supersedes") for entry in bench.client.conversation(task_id)] == [None, None, 1]
    talk = Prompt(prompt_id="tttt", kind=PromptKind.CONVERSATION, text="Your turn.")
    other, lease = bench.kit.running()
    bench.kit.finish(lease, FinishTo.WAIT, Changes(entries=(reply,), add=MODEL_CALL, prompts_opened=(talk,)))
    ran = cli("retry", other, "--reply")
    assert (ran.code, ran.out) == (0, "asking again\n")
    assert bench.client.get(other).prompts == ()
    with pytest.raises(PromptNotOpen, match="answered /retry at"):
        bench.client.answer(other, "late", prompt_id="tttt")
    assert cli("retry", other, "--reply").code == 2
    refused = cli("retry", other, "--reply", "--max-turns", "7")
    assert (refused.code, "--reply sets no limits" in refused.err) == (2, True)


def test_another_try_is_of_the_reply_that_was_seen(bench: Bench) -> None:
    """Who types /retry below a reply that somebody else has superseded meanwhile changes nothing."""
    reply = Entry(role="assistant", content=[{"type": "text", "text": "Hm."}])
    talk = Prompt(prompt_id="tttt", kind=PromptKind.CONVERSATION, text="Your turn.")
    task_id, lease = bench.kit.running()
    rests = Changes(entries=(reply,), add=MODEL_CALL, prompts_opened=(talk,))
    bench.kit.finish(lease, FinishTo.WAIT, rests)
    seen = bench.client.get(task_id)
    bench.client.retry_reply(task_id)
    bench.kit.finish(bench.kit.claim(task_id), FinishTo.WAIT, rests)
    said = io.StringIO()
    assert ClientWords(bench.client, Viewer(Console(file=said))).take(seen, "/retry")
    assert "it has gone on meanwhile" in said.getvalue()
    assert [entry.get("supersedes") for entry in bench.client.conversation(task_id)] == [None, None, 1, None]


def test_wake_sends_the_message_of_a_task_that_waits_for_a_worker(bench: Bench) -> None:
    """And of no other."""
    before = queued(bench)
    assert bench.client.wake(bench.kit.create())
    assert not bench.client.wake(bench.kit.put(Status.PAUSED))
    assert queued(bench) == before + 1


def test_recovery_report(bench: Bench) -> None:
    """The newest one that is not empty."""
    assert bench.client.recovery_report() is None
    report = RecoveryReport(swept_at_ms=1_000, failed=(RecoveryDecision(task_id="t", verdict="failed"),))
    reports.save_report(bench.kit.store.context, report)
    assert bench.client.recovery_report() == report


@pytest.mark.parametrize("written", ['{"swept_at_ms":1,"of_a_later_release":2}', "{"])
def test_what_the_sweep_wrote_and_this_release_cannot_read(bench: Bench, written: str) -> None:
    """Told by name, as every stored record; not as an error of some library."""
    task_id = bench.kit.create()
    bench.kit.client.set(bench.kit.keys.report, written)
    bench.kit.client.rpush(bench.kit.keys.why(task_id), orjson.dumps({"at_ms": 1, "reading": written}))
    with pytest.raises(CorruptRecord, match="recovery report"):
        bench.client.recovery_report()
    with pytest.raises(CorruptRecord, match="decision"):
        bench.client.why(task_id)


def test_the_queue_is_the_one_that_workers_read(bench: Bench) -> None:
    """The message lies under the name that the README's worker command reads."""
    bench.client.submit("x")
    broker = bench.kit.client.connection_pool.connection_kwargs | {"db": 0}
    names = type(bench.kit.client)(unix_socket_path=broker["path"], db=0).keys("*")
    assert any(name.endswith(RUN_QUEUE.encode()) for name in names)
