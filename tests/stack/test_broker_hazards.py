"""What Celery on Redis is known to do to messages and to beat, with real processes (B2, B14, B16, B17).

B3, B5 to B7 and B18 are in test_public_failures.py, test_prefork_child.py, test_health.py and faults/test_delivery.py.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuraphage.model.task import Status
from neuraphage.queue import RUN_QUEUE, RUN_TURN, make_app
from stackkit import Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers
WAITING = command("echo start >> log.txt; while [ ! -e go ]; do sleep 0.05; done; echo end >> log.txt")


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
    nothing is kept unacknowledged, and the sweep sends what nobody has claimed (B2)."""
    holding = stack.start_worker(name="holding", concurrency=4)
    make_app(stack.settings).control.rate_limit(RUN_TURN, "1/h", reply=True, limit=2)
    first = stack.submit(two_turns("first"))
    wait_for(lambda: stack.events(first, "TurnEnded") or stack.record(first).counters.iteration, "the hour's one turn")
    held = [stack.submit(two_turns(note)) for note in "abc"]
    received = [f"[{task}.0.1." for task in held]
    wait_for(lambda: all(text in holding.output() for text in received), "the messages to be taken in")
    assert stack.dispatcher.queue_length() == 0
    assert stack.broker_keys("*unacked*") == []
    holding.kill()
    stack.start_worker(name="next", concurrency=4)
    records = stack.finished(first, *held)
    assert [stack.lines(task) for task in (first, *held)] == [["1"]] * 4
    assert all(sent_again(stack, task) for task in held)
    assert [record.counters.recoveries_total for record in records] == [0] * 4, "nobody had claimed them"


def test_a_cancel_closes_a_silent_call_of_a_thread(stack: Stack) -> None:
    """A thread cannot be killed: cancel reaches it all the same, closes the request, and frees the only slot (B14)."""
    stack.start_worker(name="silent", concurrency=1)
    stack.control_model("faults", {"kind": "slow", "turn": 0, "times": 1, "delay_s": 600})
    task = stack.submit(two_turns())
    wait_for(lambda: [r["outcome"] for r in stack.model_requests(task)] == ["open"], "the silent call")
    stack.client.cancel(task)
    wait_for(lambda: stack.record(task).status is Status.CANCELLED, "the task to be cancelled")
    wait_for(lambda: [r["outcome"] for r in stack.model_requests(task)] == ["closed_by_client"], "the call to end")
    stack.finished(stack.submit(two_turns("next")))


def test_a_worker_that_does_not_know_the_task_only_delays_it(stack: Stack) -> None:
    """A worker of another release throws the message away; the next good worker gets another one (B16)."""
    other = stack.start_plain_worker("other", "-P", "threads", "-c", "1", "-Q", RUN_QUEUE, app="stackkit.older_app")
    task = stack.submit(two_turns())
    wait_for(lambda: "Received unregistered task" in other.output(), "the message to be thrown away")
    assert stack.dispatcher.queue_length() == 0
    other.destroy()
    stack.start_worker(name="good")
    stack.finished(task)
    assert (stack.lines(task), sent_again(stack, task)) == (["1"], True)


def test_a_message_that_cannot_be_decoded_is_dropped(stack: Stack) -> None:
    """A pickle is not opened, and the same worker goes on (B16)."""
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


def test_what_is_no_message_at_all_ends_one_worker_and_no_task(stack: Stack) -> None:
    """Celery ends at bytes that are no JSON; they do not come again, and the next worker finishes what ran (B16)."""
    struck = stack.start_worker(name="struck", concurrency=2)
    task = stack.submit(task_prompt(turn("", WAITING), turn("done")))
    wait_for(lambda: stack.lines(task) == ["start"], "the command to run")
    stack.push(RUN_QUEUE, b"\x80\x04 no JSON")
    wait_for(lambda: "Unrecoverable error" in struck.output(), "the worker to give up")
    stack.start_worker(name="next", concurrency=2)
    (stack.work_dir(task) / "go").touch()
    stack.finished(task)
    assert stack.lines(task) == ["start", "end"]
    assert len(stack.model_requests(task)) == 2


def test_without_beat_tasks_go_on_and_two_beats_sweep_as_one(stack: Stack) -> None:
    """kill -9 of beat: a task whose message was lost is found all the same; two beats do no harm (B17)."""
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
