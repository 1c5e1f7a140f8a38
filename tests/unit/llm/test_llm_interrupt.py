"""A call that is blocked ends at once when it is interrupted, and the server sees it."""

import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from neuraphage.errors import CancelRequested, FaultKind, ModelFault
from neuraphage.llm import AnthropicClient
from neuraphage.llm.hangup import Cause, Hangup
from neuraphage.testing.scripted_api import Pace, reply
from patience import PATIENCE_S

KEY = "k"
READ_TIMEOUT_S = 60.0


@pytest.fixture
def patient(server):
    """A client that would wait for a minute: a call that ends sooner was ended by the interrupt."""
    client = AnthropicClient(server.url, KEY, read_timeout_s=READ_TIMEOUT_S, call_timeout_s=90)
    yield client
    client.close()


def _call_in_thread(client, request, interrupt, on_delta=lambda _: None):
    """Start a call; returns (thread, outcome list)."""
    outcome = []

    def run():
        try:
            outcome.append(client.call(request, on_delta, interrupt))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, outcome


def _wait_for(condition, timeout_s=PATIENCE_S):
    """Poll a condition until it holds."""
    pause = threading.Event()
    for _ in range(int(timeout_s / 0.005)):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("the condition never held")


@pytest.mark.parametrize("fault", ["stall", "slow"])
def test_a_blocked_read_ends(server, patient, interrupt, make_request, fault):
    """Blocked in mid-stream or before the first event: check()'s exception comes, the server sees us gone."""
    server.set_fault(fault, after_events=3)
    thread, outcome = _call_in_thread(patient, make_request(), interrupt)
    _wait_for(lambda: server.log()["totals"]["received"] == 1)
    interrupt.pull()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert isinstance(outcome[0], CancelRequested)
    _wait_for(lambda: server.log()["totals"]["closed_by_client"] == 1)
    assert interrupt.subscriptions == 0


def test_a_server_that_accepts_and_says_nothing(interrupt, make_request):
    """Blocked before the response's headers: the read ends too."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = AnthropicClient(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY, read_timeout_s=READ_TIMEOUT_S)
        thread, outcome = _call_in_thread(client, make_request(), interrupt)
        connection, _ = listener.accept()
        with connection:
            while b"\r\n\r\n" not in connection.recv(65_536):
                pass
            interrupt.pull()
            thread.join(PATIENCE_S)
            assert isinstance(outcome[0], CancelRequested)
            connection.settimeout(20)
            while connection.recv(65_536):
                pass  # the end of the connection arrives, or this times out


def test_a_call_after_an_answered_one_can_be_ended_too(server, patient, interrupt, make_request):
    """No connection is kept from a call that was answered in full: its socket would be unknown to the next call."""
    server.set_fault("429")
    with pytest.raises(ModelFault):
        patient.call(make_request(), lambda _: None, interrupt)
    server.set_fault("stall", attempts=(2,))
    thread, outcome = _call_in_thread(patient, make_request(), interrupt)
    _wait_for(lambda: server.log()["totals"]["received"] == 2)
    interrupt.pull()
    thread.join(PATIENCE_S)
    assert outcome
    assert isinstance(outcome[0], CancelRequested)


def test_a_dripping_stream_ends(server, patient, answers, interrupt, make_request):
    """An interrupt between two pieces ends the stream; pacing on the server does not delay it seeing so."""
    answers.reply = reply("word " * 10_000, pace=Pace(between_events_s=0.01))
    first = threading.Event()
    thread, outcome = _call_in_thread(patient, make_request(), interrupt, lambda _: first.set())
    assert first.wait(PATIENCE_S)
    interrupt.pull()
    thread.join(PATIENCE_S)
    assert isinstance(outcome[0], CancelRequested)
    _wait_for(lambda: server.log()["totals"]["closed_by_client"] == 1)


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_call_that_resolves_a_name_waits_for_the_resolver(server, interrupt, make_request, monkeypatch, cancelled):
    """Neither an interrupt nor the limit of the call wakes it; when it answers, the call ends and sends nothing."""
    resolving, answered, resolve = threading.Event(), threading.Event(), socket.getaddrinfo

    def resolve_late(*args, **more):
        resolving.set()
        assert answered.wait(PATIENCE_S)
        return resolve(*args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolve_late)
    overdue, hang_up = threading.Event(), Hangup.hang_up
    monkeypatch.setattr(Hangup, "hang_up", lambda self, cause: (hang_up(self, cause), overdue.set()))
    client = AnthropicClient(server.url, KEY, call_timeout_s=90 if cancelled else 0.1)
    thread, outcome = _call_in_thread(client, make_request(), interrupt)
    assert resolving.wait(PATIENCE_S)
    if cancelled:
        interrupt.pull()
    assert overdue.wait(PATIENCE_S)
    assert thread.is_alive()
    answered.set()
    thread.join(PATIENCE_S)
    assert isinstance(outcome[0], CancelRequested if cancelled else ModelFault)
    assert cancelled or outcome[0].kind is FaultKind.TIMEOUT
    assert server.log()["totals"]["received"] == 0


def test_an_interrupt_that_is_pulled_already_sends_nothing(server, patient, interrupt, make_request):
    """A task that was cancelled before the call costs nothing."""
    interrupt.pulled = True
    with pytest.raises(CancelRequested):
        patient.call(make_request(), lambda _: None, interrupt)
    assert server.log()["totals"]["received"] == 0
    assert interrupt.subscriptions == 0


def test_a_wake_without_reason_is_a_network_fault(server, patient, interrupt, make_request):
    """When check() does not raise after a wake-up, the call still ends, as a fault that is retried."""
    server.set_fault("stall")
    thread, outcome = _call_in_thread(patient, make_request(), interrupt)
    _wait_for(lambda: server.log()["totals"]["received"] == 1)
    for wake in list(interrupt._wakes):
        wake()
    thread.join(PATIENCE_S)
    assert isinstance(outcome[0], ModelFault)
    assert outcome[0].kind is FaultKind.NETWORK


def test_other_calls_of_the_same_client_go_on(server, patient, answers, interrupt, make_request):
    """Hanging up one call leaves the calls of other threads alone."""
    other = type(interrupt)()
    server.set_fault("stall", attempts=(), turn=0, delay_s=0.3, times=2)
    stalled, first = _call_in_thread(patient, make_request("one"), interrupt)
    going, second = _call_in_thread(patient, make_request("two"), other)
    _wait_for(lambda: server.log()["totals"]["received"] == 2)
    interrupt.pull()
    stalled.join(PATIENCE_S)
    going.join(PATIENCE_S)
    assert isinstance(first[0], CancelRequested)
    assert second[0].stop_reason == "end_turn"


def test_a_hang_up_before_the_connection_is_remembered():
    """A connection that comes to be after the hang-up is shut down at once."""
    hangup = Hangup()
    hangup.hang_up(Cause.INTERRUPT)
    hangup.hang_up(Cause.DEADLINE)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        hangup.trace("connection.connect_tcp.complete", {"return_value": _Stream(ours)})
        assert theirs.recv(1) == b""
    assert hangup.cause is Cause.INTERRUPT


class _Stream:
    def __init__(self, sock):
        self.sock = sock

    def get_extra_info(self, _name):
        return self.sock


def test_a_blocked_read_over_tls_ends(interrupt, make_request, tmp_path, monkeypatch):
    """TLS takes the first socket object over; the shutdown reaches the connection all the same."""
    certificate = _self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    request_seen = threading.Event()
    closed = threading.Event()

    def serve():
        raw, _ = listener.accept()
        with context.wrap_socket(raw, server_side=True) as connection:
            while b"\r\n\r\n" not in connection.recv(65_536):
                pass
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n")
            request_seen.set()
            connection.settimeout(20)
            try:
                while connection.recv(65_536):
                    pass
            except ssl.SSLError:
                pass  # an end without close_notify
            closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        client = AnthropicClient(f"https://127.0.0.1:{listener.getsockname()[1]}", KEY, read_timeout_s=READ_TIMEOUT_S)
        thread, outcome = _call_in_thread(client, make_request(), interrupt)
        assert request_seen.wait(PATIENCE_S)
        interrupt.pull()
        thread.join(PATIENCE_S)
        assert isinstance(outcome[0], CancelRequested)
        assert closed.wait(PATIENCE_S)


def _self_signed(folder):
    """A key and certificate for 127.0.0.1 in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl program to make a certificate")
    path = folder / "cert.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    command = [openssl, "req", *kind, *subject, "-keyout", str(path), "-out", str(folder / "only.pem")]
    subprocess.run(command, check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + (folder / "only.pem").read_bytes())
    return path
