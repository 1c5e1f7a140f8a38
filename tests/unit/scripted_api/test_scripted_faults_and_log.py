"""Faults on order, the request log, many streams at once, and the server as a process."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import anthropic
import httpx2
import pytest

from neuraphage.testing.scripted_api import Fault, Pace, ScriptedServer, reply
from neuraphage.testing.scripted_api.faults import FaultPlan
from neuraphage.testing.scripted_api.log import RequestLog
from patience import PATIENCE_S

BODY = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "X-Neuraphage-Request-Id": "r-7"}


def _post(url, body=BODY, headers=HEADERS):
    return httpx2.post(f"{url}/v1/messages", json=body, headers=headers)


def _wait_for(condition, timeout_s=PATIENCE_S):
    """Poll a condition until it holds."""
    pause = threading.Event()
    for _ in range(int(timeout_s / 0.005)):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("the condition never held")


def test_faults_are_keyed_by_attempt(server):
    """The first two tries of the same request fail, the third succeeds; another request is on its own count."""
    server.set_fault("529", attempts=(1, 2))
    other = {**BODY, "max_tokens": 10}
    assert [_post(server.url).status_code for _ in range(3)] == [529, 529, 200]
    assert [_post(server.url, other).status_code for _ in range(3)] == [529, 529, 200]


@pytest.mark.parametrize(
    ("fault", "fits"),
    [
        (Fault(kind="500"), True),
        (Fault(kind="500", script="s", turn=2, request_hash="h"), True),
        (Fault(kind="500", script="t"), False),
        (Fault(kind="500", turn=1), False),
        (Fault(kind="500", request_hash="x"), False),
        (Fault(kind="500", attempts=(2, 3)), False),
        (Fault(kind="500", attempts=()), True),
    ],
)
def test_all_conditions_must_hold(fault, fits):
    """A fault hits only the request that it names."""
    assert fault.fits("s", 2, "h", 1) is fits


def test_a_fault_is_used_up():
    """`times` bounds how often it happens; the next order in line comes then."""
    plan = FaultPlan()
    plan.add(Fault(kind="500", attempts=(), times=2))
    plan.add(Fault(kind="429", attempts=()))
    kinds = [plan.take("s", 0, "h", attempt).kind for attempt in range(1, 5)]
    assert kinds == ["500", "500", "429", "429"]


def test_status_faults_have_the_api_shape(server):
    """A 429 carries retry-after and the API's error type."""
    server.set_fault("429", retry_after="13", message="slow down")
    answer = _post(server.url)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "13")
    assert answer.json()["error"] == {"type": "rate_limit_error", "message": "slow down"}


def test_the_control_endpoints(server):
    """Faults, log and reset over HTTP; a fault that does not exist is refused and nothing is ordered."""
    control = f"{server.url}/_control"
    assert httpx2.post(f"{control}/faults", json={"kind": "500", "attempts": [2]}).json() == {"added": 1}
    assert httpx2.post(f"{control}/faults", json=[{"kind": "403", "attempts": []}, {"kind": "nope"}]).status_code == 400
    assert [_post(server.url).status_code for _ in range(3)] == [200, 500, 200]
    log = httpx2.get(f"{control}/log").json()
    assert log == server.log()
    assert httpx2.post(f"{control}/reset").status_code == 200
    assert server.log() == {
        "totals": {"received": 0, "completed": 0, "closed_by_client": 0, "fault": 0, "refused": 0},
        "requests": {},
        "entries": [],
    }
    assert _post(server.url).status_code == 200


def test_the_log_counts_by_request(server):
    """Arrivals and ends by request hash, with our request id; refused bodies are counted too."""
    server.set_fault("cut", attempts=(2,))
    _post(server.url)
    with pytest.raises(httpx2.RemoteProtocolError):
        _post(server.url)
    _post(server.url, {"model": "m"})
    log = server.log()
    first, second, third = log["entries"]
    assert [entry["outcome"] for entry in log["entries"]] == ["completed", "fault:cut", "refused:400"]
    assert first["request_hash"] == second["request_hash"]
    assert (first["attempt"], second["attempt"], first["script"], first["turn"]) == (1, 2, "hello", 0)
    assert {entry["request_id"] for entry in log["entries"]} == {"r-7"}
    assert "max_tokens: Field required" in third["detail"] or "messages: Field required" in third["detail"]
    assert log["requests"][first["request_hash"]] == {"received": 2, "completed": 1, "closed_by_client": 0, "fault": 1}


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_is_seen_while_the_server_waits(stream):
    """Within a long silence of the pace, the end of the connection is written down at once."""
    slow = {"slow": lambda _: reply("x", pace=Pace(first_byte_delay_s=3600))}
    with ScriptedServer(slow) as server:
        host, port = server.url.removeprefix("http://").split(":")
        body = json.dumps({**BODY, "stream": stream}).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(
                f"POST /v1/messages HTTP/1.1\r\nhost: x\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body
            )
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        _wait_for(lambda: server.log()["totals"]["closed_by_client"] == 1)
        assert server.log()["totals"]["completed"] == 0


def test_drop_sends_no_byte(server):
    """The connection ends without an answer."""
    server.set_fault("drop")
    with pytest.raises(httpx2.RemoteProtocolError, match="without sending a response"):
        _post(server.url)


@pytest.mark.parametrize("kind", ["garbage", "truncated", "cut"])
def test_faults_of_an_answer_that_is_not_streamed(server, kind):
    """Without a stream the same orders break the one body."""
    server.set_fault(kind)
    body = {**BODY, "stream": False}
    if kind == "cut":
        with pytest.raises(httpx2.RemoteProtocolError):
            _post(server.url, body)
    else:
        with pytest.raises(ValueError, match=r"(?i)expect|unterminated"):
            _post(server.url, body).json()
    assert _post(server.url, body).json()["stop_reason"] == "end_turn"


def test_300_streams_at_once():
    """All are open at the same time, and each gets its own whole answer."""
    gate = threading.Barrier(300, timeout=PATIENCE_S)
    paced = {"p": lambda request: reply(request.last_text * 10, pace=Pace(first_byte_delay_s=0.2))}

    with ScriptedServer(paced) as server:
        limits = httpx2.Limits(max_connections=300)
        with httpx2.Client(limits=limits, timeout=PATIENCE_S) as client:

            def ask(number):
                body = {**BODY, "messages": [{"role": "user", "content": f"<{number}>"}]}
                gate.wait()
                text = client.post(f"{server.url}/v1/messages", json=body, headers=HEADERS).text
                events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
                assert events[-1]["type"] == "message_stop"
                return "".join(
                    event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta"
                )

            with ThreadPoolExecutor(300) as pool:
                texts = list(pool.map(ask, range(300)))
        assert texts == [f"<{number}>" * 10 for number in range(300)]
        assert server.log()["totals"]["completed"] == 300


def test_stop_ends_open_streams():
    """A server that stops does not wait for a stalled stream, and starts again on the same port."""
    server = ScriptedServer()
    server.start()
    url = server.url
    server.set_fault("stall")
    with httpx2.stream("POST", f"{url}/v1/messages", json=BODY, headers=HEADERS, timeout=PATIENCE_S) as response:
        chunks = response.iter_bytes()
        next(chunks)
        server.stop()
        with pytest.raises(httpx2.RemoteProtocolError):
            list(chunks)
    server.start()
    assert server.url == url
    assert _post(url).status_code == 200
    server.stop()


SCRIPT_MODULE = """
from neuraphage.testing.scripted_api import reply

def one(request):
    return reply("from one")

BOTH = {"two": lambda request: reply("from two")}
"""


@pytest.fixture
def process(tmp_path):
    """The server as a process of its own: (url, log file, process)."""
    (tmp_path / "my_scripts.py").write_text(SCRIPT_MODULE, encoding="utf-8")
    port_file, log_file = tmp_path / "port", tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "neuraphage.testing.scripted_api", "--port", "0", "--port-file", str(port_file)]
    command += ["--script", "my_scripts:one", "--script", "my_scripts:BOTH", "--default", "one"]
    command += ["--log-file", str(log_file)]
    with subprocess.Popen(command, cwd=tmp_path) as running:
        try:
            _wait_for(port_file.exists)
            yield f"http://127.0.0.1:{int(port_file.read_text(encoding='utf-8'))}", log_file, running
        finally:
            running.kill()


def test_the_server_as_a_process(process):
    """Scripts by module, faults and log by the control endpoints, lines in the file; SIGTERM ends it cleanly."""
    url, log_file, running = process
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as sdk:
        texts = [
            sdk.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": prompt}]).content[0].text
            for prompt in ("hi", "[script:two]")
        ]
    assert texts == ["from one", "from two"]
    httpx2.post(f"{url}/_control/faults", json={"kind": "500", "attempts": []})
    assert _post(url).status_code == 500
    assert httpx2.get(f"{url}/_control/log").json()["totals"]["received"] == 3
    lines = [json.loads(line) for line in log_file.read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in lines] == ["received", "ended"] * 3
    assert [line["outcome"] for line in lines][1::2] == ["completed", "completed", "fault:500"]
    os.kill(running.pid, signal.SIGTERM)
    assert running.wait(PATIENCE_S) in (0, -signal.SIGTERM)


def test_wrong_arguments_end_with_a_reason(tmp_path):
    """A script that cannot be loaded is told in one line, with exit code 2."""
    command = [sys.executable, "-m", "neuraphage.testing.scripted_api", "--script", "json:nothing"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert "cannot start" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_request_from_before_a_reset_is_not_counted():
    """A stream that outlives a reset does not appear in the new counts when it ends."""
    log = RequestLog()
    old = log.received("h", "r")
    log.clear()
    log.ended(old, "closed_by_client")
    new = log.received("h", "r")
    assert new.attempt == 1
    assert log.as_json()["totals"] == {"received": 1, "completed": 0, "closed_by_client": 0, "fault": 0, "refused": 0}
