"""What lies between the client and the API: proxies, handshakes, and answers of any length."""

import itertools
import json
import socket
import threading

import pytest

from neuraphage.errors import CancelRequested, FaultKind, ModelFault
from neuraphage.llm import AnthropicClient
from neuraphage.llm.bounded_answer import MAX_ERROR_BYTES
from neuraphage.llm.hangup import Cause, Hangup
from patience import PATIENCE_S

KEY = "gateway.key-of-no-known-shape"


@pytest.fixture
def listener():
    """A socket that accepts and answers only what a test sends."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(20)
        yield made


def _url(listener, scheme="http"):
    return f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"


def _start(client, request, interrupt):
    """Call in a thread; returns (thread, outcome list)."""
    outcome = []

    def run():
        try:
            outcome.append(client.call(request, lambda _: None, interrupt))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, outcome


def _answer(listener, parts):
    """Answer the next connection once its request is read; what the client no longer takes is dropped."""

    def serve():
        connection, _ = listener.accept()
        with connection:
            while b"}" not in connection.recv(65_536):
                pass
            try:
                for part in parts:
                    connection.sendall(part)
            except OSError:
                pass  # the client has left

    threading.Thread(target=serve, daemon=True).start()


def _fault(listener, request, interrupt, parts):
    _answer(listener, parts)
    with pytest.raises(ModelFault) as caught:
        AnthropicClient(_url(listener), KEY, read_timeout_s=20).call(request, lambda _: None, interrupt)
    return caught.value


def test_an_interrupt_ends_a_tls_handshake(listener, interrupt, make_request):
    """A server that accepts and never says its hello holds nobody up."""
    client = AnthropicClient(_url(listener, "https"), KEY, connect_timeout_s=60)
    thread, outcome = _start(client, make_request(), interrupt)
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(1)
        interrupt.pull()
        thread.join(PATIENCE_S)
    assert isinstance(outcome[0], CancelRequested)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_an_interrupt_ends_a_call_through_a_proxy(listener, interrupt, make_request, monkeypatch, answer):
    """Before the proxy has connected, and in the handshake through it."""
    monkeypatch.setenv("https_proxy", _url(listener))
    client = AnthropicClient("https://api.example", KEY, connect_timeout_s=60)
    thread, outcome = _start(client, make_request(), interrupt)
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(65_536).startswith(b"CONNECT api.example:443 ")
        if answer:
            connection.sendall(answer)
            assert connection.recv(1)
        interrupt.pull()
        thread.join(PATIENCE_S)
    assert isinstance(outcome[0], CancelRequested)


def test_a_connection_through_a_socks_proxy_is_learnt():
    """The HTTP client names its steps by who connects; a socket that is not learnt could not be hung up."""
    hangup = Hangup()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        hangup.trace("socks.connect_tcp.complete", {"return_value": _Stream(ours)})
        hangup.hang_up(Cause.INTERRUPT)
        theirs.settimeout(20)
        assert theirs.recv(1) == b""


class _Stream:
    def __init__(self, sock):
        self.sock = sock

    def get_extra_info(self, _name):
        return self.sock


def test_an_error_without_end_is_read_to_a_limit(listener, interrupt, make_request):
    """The fault keeps the kind of its status, and memory stays small."""
    head = b"HTTP/1.1 500 Oops\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    sent = []
    chunks = (sent.append(1) or b"x" * 65_536 for _ in range(4_000))
    fault = _fault(listener, make_request(), interrupt, itertools.chain([head], chunks))
    assert fault.kind is FaultKind.SERVER_ERROR
    # Beyond the limit there are only the buffers of the two sockets.
    assert len(sent) * 65_536 < MAX_ERROR_BYTES + 64 * 1024 * 1024


def test_a_short_error_is_read_whole(listener, interrupt, make_request):
    """The limit takes nothing from an ordinary refusal."""
    body = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "later"}}).encode()
    head = b"HTTP/1.1 529 Busy\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    fault = _fault(listener, make_request(), interrupt, [head, body])
    assert (fault.kind, fault.detail) == (FaultKind.OVERLOADED, "the API answered 529: later")


def test_the_type_of_an_answer_may_be_written_in_capitals(listener, interrupt, make_request):
    """Media types know no case."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\nconnection: close\r\n\r\n"
    assert _fault(listener, make_request(), interrupt, [head]).kind is FaultKind.TRUNCATED


@pytest.mark.parametrize("before", range(1_950, 2_001, 5))
def test_no_half_of_the_key_is_left_where_a_long_error_is_cut(listener, interrupt, make_request, before):
    """What is kept of an error is cut after its secrets are gone."""
    body = f"{'y' * before}{KEY}{'y' * 50_000}".encode()
    head = b"HTTP/1.1 400 No\r\ncontent-type: text/plain\r\ncontent-length: %d\r\n\r\n" % len(body)
    assert KEY[:6] not in _fault(listener, make_request(), interrupt, [head, body]).detail
