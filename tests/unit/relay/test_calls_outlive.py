"""A call goes on whatever becomes of who made it, and is sent once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from neuraphage.decide.begun_call import Finding
from neuraphage.errors import CancelRequested, FaultKind, LeaseLost, ModelFault
from neuraphage.model.detached import DetachedState
from neuraphage.ports import Delta
from neuraphage.relay.entry import DIRECT, NEVER
from neuraphage.testing.scripted_api import ScriptedServer
from relaykit import GO, HELD, TEXT, Host, relay_process
from turnkit import until

CALLER = Path(__file__).with_name("caller.py")
TESTS = Path(__file__).parents[2]


def received(provider: ScriptedServer) -> int:
    """Requests that reached the provider."""
    return int(provider.log()["totals"]["received"])


def text_of(host: Host, call_id: str) -> str:
    """What another process makes of the call."""
    _, client = host.process()
    return str(host.call(client, call_id).content[0]["text"])


def started(host: Host, call_id: str) -> tuple[threading.Thread, list[Delta], list[BaseException]]:
    """A call in a thread, once its reply has begun."""
    relay, client = host.process()
    pieces: list[Delta] = []
    ended: list[BaseException] = []

    def run() -> None:
        try:
            client.call(host.request(call_id, HELD), pieces.append, host.interrupt)
        except BaseException as error:
            ended.append(error)
            relay.leave(call_id)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: len(pieces) > 2)
    return thread, pieces, ended


def test_a_killed_worker_costs_nothing(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """kill -9 in mid-stream: the next process reads the same reply from its first character, and it is paid once."""
    argv = [sys.executable, str(CALLER), str(host.place.root), provider.url, call_id]
    worker = subprocess.Popen(argv, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(TESTS)}, text=True)
    assert worker.stdout is not None
    assert [worker.stdout.readline() for _ in range(3)] == ["One \n", "two \n", "thre\n"]
    worker.kill()
    worker.wait()
    worker.stdout.close()
    relay, _ = host.process()
    assert relay.settle(call_id) is Finding.RUNNING
    (host.place.root.parent / GO).touch()
    assert text_of(host, call_id) == TEXT
    assert received(provider) == 1


def test_a_reply_that_is_over_is_read_without_a_relay(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """The files hold it, also when no relay lives any more."""
    with relay_process(host.place.root):
        assert text_of(host, call_id) == TEXT
        relay, _ = host.process()
        until(lambda: host.place.entry(call_id).state() is DetachedState.DONE)
    assert relay.settle(call_id) is Finding.ENDED
    assert text_of(host, call_id) == TEXT
    assert received(provider) == 1


def test_many_at_once_send_one_request(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """Whoever asks for a call id gets its one answer, at any offset of it."""
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: text_of(host, call_id), range(8))) == {TEXT}
    assert received(provider) == 1


def test_a_lost_lease_leaves_the_call(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """And a shutdown need not wait for it: the interrupt is told."""
    thread, _, ended = started(host, call_id)
    assert host.interrupt.detachable
    host.interrupt.pull(LeaseLost("task-1"))
    thread.join()
    assert isinstance(ended[0], LeaseLost)
    host.interrupt.raises = None
    (host.place.root.parent / GO).touch()
    assert text_of(host, call_id) == TEXT
    assert received(provider) == 1


def test_a_drain_is_noticed_without_a_wake_up(host: Host, call_id: str) -> None:
    """Nobody tells a reader that its process ends: it looks by itself."""
    thread, _, ended = started(host, call_id)
    host.interrupt.raises = LeaseLost("task-1")
    thread.join()
    assert isinstance(ended[0], LeaseLost)


def test_a_cancelled_call_ends_at_the_provider(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """Its connection is closed, and who reads it later is told."""
    thread, _, ended = started(host, call_id)
    relay, client = host.process()
    relay.cancel(call_id)
    thread.join()
    assert isinstance(ended[0], ModelFault)
    assert "cancelled" in str(ended[0])
    until(lambda: provider.log()["totals"].get("disconnected", 0) or provider.log()["entries"][0]["outcome"])
    assert provider.log()["totals"]["completed"] == 0
    with pytest.raises(ModelFault, match="cancelled"):
        host.call(client, call_id)
    host.interrupt.pull(CancelRequested("task-1"))


def test_a_call_that_nobody_has_taken_never_is(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """A frozen worker that wakes late must not send what another lease has given up."""
    relay, client = host.process()
    assert relay.settle(call_id) is Finding.UNKNOWN
    assert host.place.entry(call_id).sealed_by() == NEVER
    with pytest.raises(ModelFault) as fault:
        host.call(client, call_id)
    assert fault.value.kind is FaultKind.NETWORK
    assert not fault.value.reply_begun
    assert received(provider) == 0
    assert relay.settle(call_id) is Finding.UNKNOWN


def test_without_a_relay_the_worker_calls_itself(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """Then the call is sealed, so that no relay sends it later; and nobody takes it for one that was not sent."""
    host.place.make()
    host.place.starting.mkdir()  # no relay can be started
    assert text_of(host, call_id) == TEXT
    assert host.place.entry(call_id).sealed_by() == DIRECT
    assert host.process()[0].settle(call_id) is Finding.UNKNOWN
    assert not host.interrupt.detachable
    assert received(provider) == 1


def test_what_is_stored_is_kept_no_longer(host: Host, call_id: str) -> None:
    """Whether the last bytes were read before or not."""
    relay, client = host.process()
    host.call(client, call_id)
    relay.stored(call_id)
    until(lambda: host.place.entry(call_id).state() is DetachedState.ABSENT)


def test_what_is_stored_is_told_although_its_reader_hung_up(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """In the midst of the answer: nothing that is said to the relay rides on a connection that it writes to."""
    thread, _, _ = started(host, call_id)
    relay, _ = host.process()
    entry = host.place.entry(call_id)
    relay._open[call_id] = hung_up = host.place.connect(entry.relay(), 5.0)
    hung_up.shutdown(socket.SHUT_RDWR)
    relay.stored(call_id)
    (host.place.root.parent / GO).touch()
    thread.join()
    until(lambda: entry.state() is DetachedState.ABSENT)
    assert received(provider) == 1


def test_what_is_stored_goes_although_its_relay_is_dead(host: Host, call_id: str) -> None:
    """Its end was still read from the files."""
    with relay_process(host.place.root) as process:
        relay, client = host.process()
        host.call(client, call_id)
        until(lambda: host.place.entry(call_id).state() is DetachedState.DONE)
        process.kill()
        process.wait()
    relay.stored(call_id)
    assert host.place.entry(call_id).state() is DetachedState.ABSENT


def test_what_was_read_from_files_is_removed_when_stored(host: Host, call_id: str) -> None:
    """By whoever read it: no relay need live any more."""
    text_of(host, call_id)
    until(lambda: host.place.entry(call_id).state() is DetachedState.DONE)
    relay, client = host.process()
    host.call(client, call_id)
    relay.stored(call_id)
    until(lambda: host.place.entry(call_id).state() is DetachedState.ABSENT)


def test_a_killed_relay_costs_what_a_lost_call_costs(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """Who reads is told at once; the call is known as lost, and another relay takes the next one."""
    with relay_process(host.place.root) as process:
        thread, _, ended = started(host, call_id)
        process.kill()
        thread.join()
    (fault,) = ended
    assert isinstance(fault, ModelFault)
    assert (fault.kind, fault.reply_begun) == (FaultKind.NETWORK, True)
    relay, _ = host.process()
    assert relay.settle(call_id) is Finding.UNKNOWN
    assert text_of(host, "b" * 32) == TEXT
    assert received(provider) == 2


def test_a_frozen_relay_is_left_behind(
    host: Host, provider: ScriptedServer, call_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may wake at any time: what it was asked for is sealed before the worker sends it itself."""
    monkeypatch.setattr("neuraphage.relay.reply_relay.ANSWER_S", 0.3)
    with relay_process(host.place.root) as process:
        process.send_signal(signal.SIGSTOP)
        assert text_of(host, call_id) == TEXT
        process.send_signal(signal.SIGCONT)
        assert text_of(host, "c" * 32) == TEXT
    assert received(provider) == 2
