"""What Celery on Redis is known to do to messages and to beat, with real processes.

More of it is in test_public_failures.py, test_prefork_child.py, test_health.py and faults/test_delivery.py.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuraphage.model.task import Status
from neuraphage.queue.app import make_app
from neuraphage.queue.names import CONTROL_QUEUE, RUN_QUEUE, RUN_TURN, SWEEP
from stackkit import Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers


@pytest.fixture(scope="module")
def running_stack() -> Iterator[Stack]:
    """A stack that sends again after a second what nobody has claimed; `stack` is made of it."""
    with (
        tempfile.TemporaryDirectory(prefix="np-", ignore_cleanup_errors=True) as folder,
        Stack(Path(folder), first_republish_s=1.0, max_republish_s=2.0) as stack,
    ):
        yield stack


def two_turns(note: str = "") -> str:
    """A prompt whose task writes one line."""
    return task_prompt(turn("", command("echo 1 >> log.txt")), turn("done"), note=note)


def sent_again(stack: Stack, task: str) -> bool:
    """Whether the sweep had to publish for the task."""
    return stack.admin.hget(stack.store.context.keys.task(task), "published") is not None


def test_messages_that_a_killed_worker_had_taken_in_come_again_by_the_sweep(stack: Stack) -> None:
    """kill -9 of a worker that holds three turns back for their rate: no visibility timeout of hours is waited for, as
    nothing is kept unacknowledged, and the sweep sends what nobody has claimed."""
    holding = stack.start_worker(name="holding", concurrency=4)
    make_app(stack.settings).control.rate_limit(RUN_TURN, "1/h", reply=True, limit=2)
    first = stack.submit(two_turns("first"))
    wait_for(lambda: stack.events(first, "TurnEnded") or stack.record(first).counters.iteration, "the hour's one turn")
    held = [stack.submit(two_turns(note)) for note in "abc"]
    received = [f"[{task}.0.1." for task in held]
    wait_for(lambda: all(text in holding.output() for text in received), "the messages to be taken in")
    assert stack.dispatcher.queue_length() == 0
    assert stack.turns_held_unacknowledged() == []
    holding.kill()
    stack.start_worker(name="next", concurrency=4)
    records = stack.finished(first, *held)
    assert [stack.lines(task) for task in (first, *held)] == [["1"]] * 4
    assert all(sent_again(stack, task) for task in held)
    assert [record.counters.recoveries_total for record in records] == [0] * 4, "nobody had claimed them"


def test_a_cancel_closes_a_silent_call_of_a_thread(stack: Stack) -> None:
    """A thread cannot be killed: cancel reaches it all the same, closes the request, and frees the only slot."""
    stack.start_worker(name="silent", concurrency=1)
    stack.control_model("faults", {"kind": "slow", "turn": 0, "times": 1, "delay_s": 600})
    task = stack.submit(two_turns())
    wait_for(lambda: [r["outcome"] for r in stack.model_requests(task)] == ["open"], "the silent call")
    stack.client.cancel(task)
    wait_for(lambda: stack.record(task).status is Status.CANCELLED, "the task to be cancelled")
    wait_for(lambda: [r["outcome"] for r in stack.model_requests(task)] == ["closed_by_client"], "the call to end")
    stack.finished(stack.submit(two_turns("next")))


def test_a_worker_that_does_not_know_the_task_only_delays_it(stack: Stack) -> None:
    """A worker of another release throws the message away; the next good worker gets another one."""
    other = stack.start_plain_worker("other", "-P", "threads", "-c", "1", "-Q", RUN_QUEUE, app="stackkit.older_app")
    task = stack.submit(two_turns())
    wait_for(lambda: "Received unregistered task" in other.output(), "the message to be thrown away")
    assert stack.dispatcher.queue_length() == 0
    other.destroy()
    stack.start_worker(name="good")
    stack.finished(task)
    assert (stack.lines(task), sent_again(stack, task)) == (["1"], True)


def test_a_message_that_cannot_be_decoded_is_dropped(stack: Stack) -> None:
    """A pickle is not opened, and the same worker goes on."""
    info = {"exchange": "", "routing_key": RUN_QUEUE}
    pickled = {
        "body": "gASVAAAAAAAAAA==",
        "content-encoding": "binary",
        "content-type": "application/x-python-serialize",
        "headers": {"id": "1", "task": RUN_TURN, "lang": "py"},
        "properties": {"delivery_info": info, "delivery_tag": "1", "body_encoding": "base64"},
    }
    worker = stack.start_worker(name="reader", concurrency=2)
    stack.push(RUN_QUEUE, json.dumps(pickled).encode())
    stack.finished(stack.submit(two_turns()))
    assert "Refusing to deserialize" in worker.output()
    assert worker.is_alive()


def envelope(body: object = ((), {}, {}), **changed: object) -> bytes:
    """A message as Celery sends a turn's, with this JSON in its body and these fields in place of its own."""
    properties = {
        "delivery_info": {"exchange": "", "routing_key": RUN_QUEUE},
        "delivery_tag": "t",
        "body_encoding": None,
    }
    headers = {"id": "1", "task": RUN_TURN, "lang": "py"}
    whole = {"content-encoding": "utf-8", "content-type": "application/json", "headers": headers}
    return json.dumps({"body": json.dumps(body), "properties": properties, **whole, **changed}).encode()


SECRET = "pa55word"
DROPPED = "was dropped"
FOREIGN = {
    "no text": b"\x80\x04 no JSON " + SECRET.encode(),
    "no JSON": f"a note with {SECRET}".encode(),
    "a number that is too long for Python": b"1" * 5_000,
    "JSON without end": b"[" * 100_000,
    "a list": json.dumps([SECRET]).encode(),
    "a wrong id in kombu's own form": json.dumps({"__type__": "uuid", "__value__": SECRET}).encode(),
    "an empty object": b"{}",
    "no delivery tag": envelope(properties={"delivery_info": {}}),
    "a body that is not what it says": envelope(properties={"delivery_tag": "t", "body_encoding": "base64"}, body="%"),
    "a body of another shape": envelope(5),
    "a turn without an id": envelope(headers={"task": RUN_TURN}),
    "a task of somebody else without an id": envelope(headers={"task": "elsewhere"}),
    "no headers at all": envelope(headers="none"),
    "a limit that is none": envelope(headers={"id": "1", "task": RUN_TURN, "lang": "py", "timelimit": "soon"}),
}
"""What a foreign hand may put into a queue."""


@pytest.mark.parametrize("queue", [RUN_QUEUE, CONTROL_QUEUE])
def test_what_no_worker_can_use_is_dropped(stack: Stack, queue: str) -> None:
    """Whatever lies in a queue, its one worker goes on, with every slot, and logs how long each thing was.

    On the queue that is acknowledged nothing is kept of it either: it would come again, and take the place of others.
    """
    worker = stack.start_worker(name="reader", concurrency=1)
    struck = worker if queue == RUN_QUEUE else next(one for one in stack.processes if one.name == "control")
    pid, shown = struck.pid, len(struck.output())
    for raw in FOREIGN.values():
        stack.push(queue, raw)
    # Celery tells of the unregistered task itself, and stumbles over its missing id only afterwards, or not at all
    wait_for(lambda: said(struck.output()[shown:]) >= len(FOREIGN) - 1, "all but what Celery drops by itself")
    stack.finished(stack.submit(two_turns()), stack.submit(two_turns("next")))
    assert (struck.pid, struck.is_alive()) == (pid, True)
    lines = [line for line in struck.output()[shown:].splitlines() if DROPPED in line]
    assert not any(SECRET in line for line in lines)
    assert any(f"{len(FOREIGN['no JSON'])} bytes, beginning with 61 20 6e" in line for line in lines)
    wait_for(lambda: all(SWEEP in raw for raw in stack.held_unacknowledged()), "nothing of it to be kept")


def test_remote_control_of_nobody_is_dropped(stack: Stack) -> None:
    """What is published to the workers and is no order ends none of them; the next order is obeyed."""
    worker = stack.start_worker(name="heard", concurrency=1)
    for raw in (b"no JSON", b"[1]", b"{}"):
        stack.publish("/0.celery.pidbox", raw)
    wait_for(lambda: said(worker.output()) >= 2, "both that are JSON")
    answers = make_app(stack.settings).control.ping(timeout=10.0, limit=len(stack.processes))
    assert any(name.startswith("heard") for answer in answers for name in answer)
    assert worker.is_alive()


def said(output: str) -> int:
    """How many messages were dropped, by the log."""
    return output.count(DROPPED)


def test_without_beat_tasks_go_on_and_two_beats_sweep_as_one(stack: Stack) -> None:
    """kill -9 of beat: a task whose message was lost is found all the same; two beats do no harm."""
    beat = next(process for process in stack.processes if process.name == "beat")
    beat.kill()
    lost = stack.submit(two_turns("lost"))
    make_app(stack.settings).control.purge()
    stack.start_worker(name="beatless", concurrency=2)
    stack.finished(lost)
    assert sent_again(stack, lost)
    beat.start()
    second = stack.start_second_beat()
    make_app(stack.settings).control.purge()
    tasks = [stack.submit(two_turns(note)) for note in "abcd"]
    records = stack.finished(*tasks)
    second.destroy()
    assert [record.fence for record in records] == [2] * 4, "one claim a turn"
    assert [stack.lines(task) for task in tasks] == [["1"]] * 4
