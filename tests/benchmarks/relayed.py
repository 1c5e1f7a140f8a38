"""What the relay costs: a call and a turn with it and without, in turn; and a relay with many streams."""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import orjson

from neuraphage.llm import AnthropicClient
from neuraphage.model.message import ModelRequest
from neuraphage.relay import frames
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.relay.reply_relay import ReplyRelay
from neuraphage.relay.transport import RelayTransport
from neuraphage.store import live
from neuraphage.store.tasks import RedisStore
from tests.benchmarks.contenders import ROOT, Pool, Runtime
from tests.benchmarks.machine import rss_bytes, tree_cpu_s, wait_until
from tests.benchmarks.provider import EVENTS_PER_S
from tests.benchmarks.servers import BenchServer
from tests.benchmarks.workload import gaps_ms
from tests.relaykit import Interrupted, relay_process

KEY = "sk-ant-bench-0123456789"
WARM_CALLS, WARM_TURNS, WARM_TASKS = 10, 10, 8
"""Tasks: so many that each worker has called the model before one of them is killed."""
WITHOUT, WITH = "off", "on"


@contextmanager
def provider(folder: Path) -> Iterator[str]:
    """The address of a provider, a process of its own."""
    port = folder / f"port-{secrets.token_hex(4)}"
    process = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.provider", str(port)], cwd=ROOT)
    try:
        wait_until(port.exists, "the provider to listen")
        yield f"http://127.0.0.1:{int(port.read_text(encoding='utf-8'))}"
    finally:
        process.kill()
        process.wait()


def calls_ms(folder: Path, calls: int) -> dict[str, list[float]]:
    """Milliseconds of whole calls on loopback, one without the relay and one with it in turn."""
    found: dict[str, list[float]] = {WITHOUT: [], WITH: []}
    with provider(folder) as url, relay_process(folder / "relay"):
        relay = ReplyRelay(RelayPlace(folder / "relay"), RelayLimits())
        times = {"connect_timeout_s": 5, "read_timeout_s": 20, "call_timeout_s": 60}
        client = AnthropicClient(url, KEY, **times, transport=lambda: RelayTransport(relay))
        for number in range(WARM_CALLS + calls):
            for kind, ms in found.items():
                took_ms = _call_ms(client, relay, secrets.token_hex(16) if kind == WITH else "")
                if number >= WARM_CALLS:
                    ms.append(took_ms)
    return found


def _call_ms(client: AnthropicClient, relay: ReplyRelay, call_id: str) -> float:
    request = ModelRequest(
        request_id="req-bench", model="claude-sonnet-5-5", system=[], tools=[], max_tokens=100,
        messages=[{"role": "user", "content": "Hello."}], call_id=call_id, task_id="task-bench",
    )  # fmt: skip
    began_s = time.perf_counter()
    reply = client.call(request, lambda _: None, Interrupted())
    took_ms = (time.perf_counter() - began_s) * 1000
    if reply.content != [{"type": "text", "text": "A word."}]:
        raise RuntimeError(f"the provider said something else: {reply.content}")
    if call_id:
        relay.stored(call_id)
    return took_ms


def turns_ms(folder: Path, rounds: int, turns: int = 100) -> dict[str, list[float]]:
    """Milliseconds of a turn of a real worker whose model answers at once: of each round the median.

    Args:
        folder: logs and data.
        rounds: how often, one without the relay and one with it in turn.
        turns: of the task of each round.
    """
    found: dict[str, list[float]] = {WITHOUT: [], WITH: []}
    with BenchServer(folder / "r") as server, provider(folder) as url:
        for _ in range(rounds):
            for kind, ms in found.items():
                runtime = Runtime(server, server, folder)
                addresses = {"BENCH_PROVIDER": url, "NEURAPHAGE_ANTHROPIC_BASE_URL": url}
                runtime.env |= {**addresses, "NEURAPHAGE_RELAY": kind, "ANTHROPIC_API_KEY": KEY}
                runtime.start(Pool("threads", 4))
                try:
                    runtime.run([f"w{secrets.token_hex(6)}"], WARM_TURNS, 0)
                    name = f"b{secrets.token_hex(6)}"
                    runtime.run([name], turns, 0)
                finally:
                    runtime.stop()
                gaps = gaps_ms(folder, name)
                if len(gaps) != turns - 1:
                    raise RuntimeError(f"{len(gaps) + 1} calls of the model for {turns} turns")
                ms.append(median(gaps))
    return found


def resumed_s(folder: Path, kills: int) -> list[float]:
    """Seconds from the kill -9 of a worker in the midst of a reply to the next piece of that reply for viewers.

    Raises:
        RuntimeError: the reply was asked for again.
    """
    found: list[float] = []
    with BenchServer(folder / "w") as server, provider(folder) as url:
        runtime = Runtime(server, server, folder)
        runtime.env |= {"BENCH_PROVIDER": url, "NEURAPHAGE_ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}
        runtime.start(Pool("threads", 4, 2))
        try:
            store = runtime.store
            for number in range(kills):
                runtime.run([f"w{secrets.token_hex(4)}" for _ in range(WARM_TASKS)], 2, 0)
                task_id = runtime.submit(f"s{number}", EVENTS_PER_S * 20, 0, prompt="stream {turns}")
                _next_piece(store, task_id)
                owner = next(row.pid for row in store.registered() if row.process_id == store.get(task_id).owner)
                os.kill(owner, signal.SIGKILL)
                killed_s = time.monotonic()
                _next_piece(store, task_id)
                found.append(time.monotonic() - killed_s)
                if store.get(task_id).counters.model_resends:
                    raise RuntimeError("the reply was asked for again")
                runtime.processes = [process for process in runtime.processes if process.poll() is None]
                runtime.add(Pool("threads", 4), f"again{number}")
        finally:
            runtime.stop()
    return found


def _next_piece(store: RedisStore, task_id: str) -> None:
    """Wait until viewers of a task are shown something new."""
    live.watch(store.context, task_id)
    client, key = store.context.client, store.context.keys.live(task_id)
    last = client.xrevrange(key, count=1)[0][0]
    wait_until(lambda: any(row[1].get(b"t") for row in client.xrange(key, f"({last.decode()}")), "the next piece")


def streams(folder: Path, count: int, measured_s: float) -> tuple[float, float, float]:
    """A relay that holds many streams, each read by somebody, at fifty events a second each.

    Args:
        folder: for the relay.
        count: of the streams.
        measured_s: how long it is watched, once all have begun.

    Returns:
        Megabytes of the relay's memory; its share of a core; events a second that came to each reader.

    Raises:
        RuntimeError: less came than was sent: then what was measured is something else.
    """
    events = int(EVENTS_PER_S * (measured_s + 60))
    with provider(folder) as url, relay_process(folder / "relay") as process, ExitStack() as opened:
        place = RelayPlace(folder / "relay")
        readers = [opened.enter_context(_reader(place, url, events)) for _ in range(count)]
        _read(readers, 2.0)
        used_s, began_s = tree_cpu_s([process.pid]), time.monotonic()
        come = _read(readers, measured_s)
        took_s = time.monotonic() - began_s
        share = (tree_cpu_s([process.pid]) - used_s) / took_s
        return rss_bytes(process.pid) / 1e6, share, come / took_s / count


def _reader(place: RelayPlace, url: str, events: int) -> socket.socket:
    """A connection that reads a stream of so many events, as a worker asks for it."""
    body = {"model": "claude-sonnet-5-5", "messages": [{"role": "user", "content": f"stream {events}"}]}
    data = orjson.dumps(body)
    times = {"connect_s": 10, "read_s": 60, "total_s": 900}
    headers = [["content-length", str(len(data))], ["x-api-key", KEY]]
    order = {"op": "start", "id": secrets.token_hex(16), "task": "task-bench", "method": "POST"}
    connection = place.connect(place.current(), 5.0)
    connection.sendall(frames.json_frame({**order, "url": f"{url}/v1/messages", "headers": headers, **times}))
    connection.sendall(frames.data_header(len(data)) + data)
    return connection


def _read(readers: list[socket.socket], for_s: float) -> int:
    """Read what comes for so long; how many events it was."""
    poll = select.epoll()
    by_number = {one.fileno(): one for one in readers}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    until_s, come = time.monotonic() + for_s, 0
    while time.monotonic() < until_s:
        for number, _ in poll.poll(0.1):
            come += by_number[number].recv(1 << 20).count(b"text_delta")
    poll.close()
    return come
