"""A relay's own life: who it ends for, what it keeps, and what it refuses."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest

from neuraphage import __version__
from neuraphage.model.detached import DetachedState
from neuraphage.relay import frames
from neuraphage.relay.entry import ANSWER, DIRECT, NEVER, CallEntry
from neuraphage.relay.joining import state_of
from neuraphage.relay.kept import Head
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.relay.recording import Recording
from neuraphage.relay.retention import expire
from neuraphage.testing.scripted_api import ScriptedServer
from relaykit import TEXT, Host, relay_process
from turnkit import until


@pytest.fixture
def place(tmp_path: Path) -> RelayPlace:
    made = RelayPlace(tmp_path / "relay")
    made.make()
    return made


def test_it_ends_when_nobody_uses_it(host: Host, call_id: str) -> None:
    """Its last user is gone, and no call is under way: a worker starts another one."""
    relay, client = host.process()
    host.call(client, call_id)
    relay.stored(call_id)
    name = host.place.current()
    assert host.place.is_alive(name)
    relay._door.close()
    until(lambda: not (host.place.root / name).exists())  # to ask whether it lives would be to use it
    assert not host.place.is_alive(name)


def test_it_drains(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """SIGTERM: the call under way goes on to its end, read by whoever asks; new ones go to another relay."""
    with relay_process(host.place.root) as process:
        _, client = host.process()
        pieces: list[str] = []

        def end_it(_: object) -> None:
            if not pieces:
                process.send_signal(signal.SIGTERM)
                until(lambda: not host.place.current())
            pieces.append("")

        reply = host.call(client, call_id, end_it)
        assert reply.content[0]["text"] == TEXT
        assert host.call(host.process()[1], "d" * 32).content[0]["text"] == TEXT
        client.close()
        process.wait()
    assert host.place.entry(call_id).state() is DetachedState.DONE
    assert provider.log()["totals"]["received"] == 2


def test_it_says_what_it_is(host: Host, call_id: str) -> None:
    """As `doctor` asks: whose version, and what it holds and keeps."""
    with relay_process(host.place.root, RelayLimits(quota_bytes=4_711)) as process:
        said = state_of(host.place, host.place.current())
    assert said == {
        "pid": process.pid, "version": __version__, "calls": 0, "draining": False,
        "kept_bytes": 0, "quota_bytes": 4_711,
    }  # fmt: skip
    assert state_of(host.place, "s-gone") == {}


def test_it_ends_with_its_folder(host: Host, call_id: str) -> None:
    """A data folder that was removed: nobody finds it any more, and what it would keep is to be gone."""
    with relay_process(host.place.root) as process:
        host.call(host.process()[1], call_id)
        shutil.rmtree(host.place.root)
        process.wait()
    assert not host.place.root.exists()


def test_a_newer_relay_takes_its_place(host: Host, call_id: str) -> None:
    """As after an upgrade: the older one ends when its calls are over."""
    with relay_process(host.place.root) as old, relay_process(host.place.root):
        old.wait()
        assert host.call(host.process()[1], call_id).content[0]["text"] == TEXT


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        frames.HEADER.pack(frames.JSON, 2**31) + b"{",
        frames.json_frame({"op": "start"}),
        frames.json_frame({"op": "read", "id": "../../etc/passwd"}),
        frames.json_frame({"op": "read", "id": "a" * 32, "more": ["x"] * 1000}),
        frames.json_frame({"op": "none"}),
        frames.HEADER.pack(frames.JSON, 3) + b"[1]",
        frames.json_frame({"op": "start", "id": "a" * 32}) + frames.data_header(2**31),
        b"",
        os.urandom(4_096),
    ],
)
def test_what_is_no_order_is_let_go(host: Host, call_id: str, said: bytes) -> None:
    """Whatever comes at its socket: the next order is carried out."""
    with relay_process(host.place.root) as process:
        with host.place.connect(host.place.current(), 5.0) as connection:
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
        assert host.call(host.process()[1], call_id).content[0]["text"] == TEXT
        assert process.poll() is None


def test_more_calls_than_it_holds_are_made_without_it(host: Host, provider: ScriptedServer, call_id: str) -> None:
    """The worker makes the call itself, and what it cannot hold is no failure."""
    with relay_process(host.place.root, RelayLimits(calls=1)):
        _, client = host.process()

        def second(_: object) -> None:
            if not seen:
                seen.append(host.call(host.process()[1], "e" * 32).content[0]["text"])

        seen: list[str] = []
        assert host.call(client, call_id, second).content[0]["text"] == TEXT
    assert seen == [TEXT]
    assert host.place.entry("e" * 32).sealed_by() == DIRECT
    assert provider.log()["totals"]["received"] == 2


def test_no_key_is_on_the_disk(host: Host, call_id: str) -> None:
    """Neither in the files of a call nor in the relay's log; and the files are this user's alone."""
    with relay_process(host.place.root):
        host.call(host.process()[1], call_id)
        until(lambda: host.place.entry(call_id).state() is DetachedState.DONE)
        for path in host.place.root.rglob("*"):
            assert path.lstat().st_mode & 0o077 == 0 or path.is_symlink(), path
            if path.is_file():
                assert b"sk-ant-" not in path.read_bytes(), path


def test_an_answer_that_cannot_be_kept_is_read_all_the_same(host: Host, call_id: str) -> None:
    """A full disk: the reply is paid for, so it is handed on from memory; only a death of the relay would lose it."""
    with relay_process(host.place.root):
        _, client = host.process()

        def spoil(_: object) -> None:
            if not spoilt:
                spoilt.append(True)
                shutil.rmtree(host.place.entry(call_id).path)

        spoilt: list[bool] = []
        assert host.call(client, call_id, spoil).content[0]["text"] == TEXT


# --- what is kept ---


def made(place: RelayPlace, number: int, body: bytes = b"x" * 1_000, age_s: float = 0.0) -> CallEntry:
    """A call that is over."""
    entry = place.entry(f"{number:032x}")
    begun = entry.begin("s-none", "task", 0)
    assert begun is not None
    recording = Recording(begun, 1_000_000)
    recording.begin(Head(200, (("content-type", "text/plain"),)))
    recording.add(body)
    recording.finish()
    recording.close()
    os.utime(entry.path / ANSWER, (time.time() - age_s,) * 2)
    return entry


def test_answers_go_by_age_and_the_oldest_by_size(place: RelayPlace) -> None:
    """Never one that is under way."""
    old, older, running = made(place, 1, age_s=10), made(place, 2, age_s=20), made(place, 3, age_s=10_000)
    gone, young = made(place, 4, age_s=10_000), made(place, 5)
    left = expire(place.calls, 3_600.0, 4_000, {running.path.name})
    assert [entry.path.exists() for entry in (old, older, running, gone, young)] == [True, False, True, False, True]
    assert left <= 4_000


def test_an_answer_is_kept_as_it_came(place: RelayPlace) -> None:
    """Who took the call, its head, its body, and that it is whole."""
    kept = made(place, 1).kept()
    assert (kept.relay, kept.head, kept.body) == ("s-none", Head(200, (("content-type", "text/plain"),)), b"x" * 1_000)
    assert kept.end is not None
    assert place.entry(f"{1:032x}").state(is_alive=False) is DetachedState.DONE


@pytest.mark.parametrize("spoil", ["short", "zeros", "no end", "no body", "torn end", "nothing", "more"])
def test_a_torn_answer_is_lost(place: RelayPlace, spoil: str) -> None:
    """What a power cut leaves is never taken for whole."""
    entry = made(place, 1)
    path = entry.path / ANSWER
    data = path.read_bytes()
    body, end = data.index(b"x" * 1_000), data.rindex(b"J\0\0\0")
    match spoil:
        case "short":
            path.write_bytes(data[: body + 10] + data[body + 11 :])
        case "zeros":
            path.write_bytes(data[:body] + bytes(1_000) + data[body + 1_000 :])
        case "no end":
            path.write_bytes(data[:end])
        case "no body":
            path.write_bytes(data[: body - frames.HEADER.size] + data[end:])
        case "torn end":
            path.write_bytes(data[:-1])
        case "nothing":
            path.write_bytes(b"")
        case "more":
            path.write_bytes(
                data[: body - frames.HEADER.size] + frames.data_frames(b"y") + data[body - frames.HEADER.size :]
            )
    assert entry.state(is_alive=False) is DetachedState.LOST


def test_each_call_is_decided_once(place: RelayPlace) -> None:
    """Taken or sealed, by whoever comes first."""
    one, two = place.entry("1" * 32), place.entry("2" * 32)
    begun = one.begin("s-a", "task", 0)
    assert begun is not None
    os.close(begun.file)
    assert not one.begin("s-b", "task", 0)
    assert not one.seal(NEVER)
    assert two.seal(NEVER)
    assert not two.begin("s-a", "task", 0)
    assert not two.seal(DIRECT)
    assert (one.relay(), two.sealed_by()) == ("s-a", NEVER)
    assert [path.name for path in place.calls.iterdir() if path.name.startswith(".")] == []


def test_a_long_path_is_no_hindrance(tmp_path: Path, provider: ScriptedServer, call_id: str) -> None:
    """A socket's own path is short; the folder's may be longer."""
    host = Host(RelayPlace(tmp_path / ("long-" * 20) / ("name-" * 20) / "relay"), provider.url, RelayLimits())
    relay, client = host.process()
    assert host.call(client, call_id).content[0]["text"] == TEXT
    assert host.place.entry(call_id).sealed_by() == ""
    relay.stored(call_id)
