"""Every way a call fails is a ModelFault of the right kind."""

import inspect
import json
import socket
import ssl
import threading
from datetime import UTC, datetime
from email.utils import format_datetime

import anthropic
import httpcore2
import httpx2
import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient
from neuraphage.llm.faults import fault_of, kind_of, kind_of_status
from neuraphage.llm.transport_faults import MAX_DETAIL_CHARS, retry_after_s
from neuraphage.testing.scripted_api import reply

KEY = "sk-ant-test-key-0123456789"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("400", FaultKind.BAD_REQUEST),
        ("401", FaultKind.AUTHENTICATION),
        ("403", FaultKind.PERMISSION),
        ("404", FaultKind.NOT_FOUND),
        ("413", FaultKind.CONTEXT_OVERFLOW),
        ("422", FaultKind.BAD_REQUEST),
        ("429", FaultKind.RATE_LIMITED),
        ("500", FaultKind.SERVER_ERROR),
        ("529", FaultKind.OVERLOADED),
        ("drop", FaultKind.NETWORK),
        ("cut", FaultKind.NETWORK),
        ("garbage", FaultKind.GARBAGE),
        ("truncated", FaultKind.TRUNCATED),
    ],
)
def test_faults_of_the_server(call, server, fault, kind):
    """Each fault over real HTTP has its kind, is sent once (no retry below us), and the next call succeeds."""
    server.set_fault(fault)
    with pytest.raises(ModelFault) as caught:
        call()
    assert caught.value.kind is kind
    assert server.log()["totals"]["received"] == 1
    assert call()[0].stop_reason == "end_turn"


@pytest.mark.parametrize("after_events", [0, 1, 2, 3, 5, 100])
@pytest.mark.parametrize("fault", ["cut", "truncated"])
def test_a_stream_that_ends_early_never_counts_as_a_reply(call, server, fault, after_events):
    """Wherever it ends before message_stop, it is a fault."""
    server.set_fault(fault, after_events=after_events)
    with pytest.raises(ModelFault) as caught:
        call()
    assert caught.value.kind is (FaultKind.NETWORK if fault == "cut" else FaultKind.TRUNCATED)


@pytest.mark.parametrize(
    ("error_type", "kind"),
    [
        ("overloaded_error", FaultKind.OVERLOADED),
        ("rate_limit_error", FaultKind.RATE_LIMITED),
        ("api_error", FaultKind.SERVER_ERROR),
        ("timeout_error", FaultKind.TIMEOUT),
        ("invalid_request_error", FaultKind.BAD_REQUEST),
        ("authentication_error", FaultKind.AUTHENTICATION),
        ("permission_error", FaultKind.PERMISSION),
        ("billing_error", FaultKind.PERMISSION),
        ("not_found_error", FaultKind.NOT_FOUND),
        ("request_too_large", FaultKind.CONTEXT_OVERFLOW),
        ("brand_new_error", FaultKind.SERVER_ERROR),
    ],
)
def test_an_error_event_counts_by_its_type(call, server, error_type, kind):
    """An error inside a stream (status 200) is told apart by its type."""
    server.set_fault("error_event", error_type=error_type)
    with pytest.raises(ModelFault) as caught:
        call()
    assert caught.value.kind is kind
    assert error_type in str(caught.value)


def test_no_stop_reason_is_truncated(call, answers):
    """message_stop without a stop reason is no reply."""
    answers.reply = reply("x").__class__(blocks=({"type": "text", "text": "x"},), stop_reason=None)
    with pytest.raises(ModelFault) as caught:
        call()
    assert caught.value.kind is FaultKind.TRUNCATED


@pytest.mark.parametrize("fault", ["stall", "slow"])
def test_silence_is_a_timeout(server, interrupt, make_request, fault):
    """No byte for the read timeout, in mid-stream or before the first event: TIMEOUT; the server sees us leave."""
    server.set_fault(fault)
    client = AnthropicClient(server.url, KEY, read_timeout_s=0.1)
    with pytest.raises(ModelFault) as caught:
        client.call(make_request(), lambda _: None, interrupt)
    assert caught.value.kind is FaultKind.TIMEOUT


def test_the_whole_call_has_a_limit_of_its_own(server, answers, interrupt, make_request):
    """A stream that keeps dripping ends at call_timeout_s though the read timeout never fires."""
    from neuraphage.testing.scripted_api import Pace

    answers.reply = reply("word " * 5_000, pace=Pace(between_events_s=0.01, chunk_chars=1))
    client = AnthropicClient(server.url, KEY, read_timeout_s=30, call_timeout_s=0.3)
    with pytest.raises(ModelFault) as caught:
        client.call(make_request(), lambda _: None, interrupt)
    assert caught.value.kind is FaultKind.TIMEOUT
    assert "0.3 s" in str(caught.value)


def test_nobody_listens(interrupt, make_request):
    """A refused connection is NETWORK and names the cause."""
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        client = AnthropicClient(f"http://127.0.0.1:{unheard.getsockname()[1]}", KEY)
        with pytest.raises(ModelFault) as caught:
            client.call(make_request(), lambda _: None, interrupt)
    assert caught.value.kind is FaultKind.NETWORK
    assert "refused" in str(caught.value)


def _serve_once(raw: bytes) -> str:
    """A server that answers one connection with fixed bytes; returns its URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            connection, _ = listener.accept()
            with connection:
                # The whole request is read: closing with unread bytes would reset the connection.
                head, _, body = connection.recv(65_536).partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                while len(body) < length:
                    body += connection.recv(65_536)
                connection.sendall(raw)

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _stream(*events: object) -> bytes:
    body = "".join(f"event: x\ndata: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events)
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body.encode()


START = {"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1}}}
TEXT = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"not http at all\r\n\r\n", FaultKind.NETWORK),
        (b"", FaultKind.NETWORK),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi", FaultKind.GARBAGE),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", FaultKind.GARBAGE),
        (
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"content-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
            FaultKind.GARBAGE,
        ),
        (b"HTTP/1.1 302 Found\r\nlocation: ftp://x/\r\ncontent-length: 0\r\n\r\n", FaultKind.BAD_REQUEST),
        (b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 5\r\n\r\n<html", FaultKind.SERVER_ERROR),
        (b"HTTP/1.1 418 Teapot\r\ncontent-length: 0\r\n\r\n", FaultKind.BAD_REQUEST),
        (_stream(START).replace(b"message_start", b"\xff\xfe"), FaultKind.GARBAGE),
        (_stream("[]"), FaultKind.GARBAGE),
        (_stream({"no": "type"}), FaultKind.GARBAGE),
        (_stream(TEXT), FaultKind.GARBAGE),
        (
            _stream(START, {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta"}}),
            FaultKind.GARBAGE,
        ),
        (_stream(START, TEXT, TEXT), FaultKind.GARBAGE),
        (_stream(START, TEXT, {"type": "message_stop"}), FaultKind.GARBAGE),
        (_stream({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}), FaultKind.OVERLOADED),
        (_stream(START, {"type": "a_new_event"}), FaultKind.TRUNCATED),
    ],
)
def test_answers_that_are_not_the_api(interrupt, make_request, raw, kind):
    """Whatever a broken server or a proxy says, the fault has a kind."""
    client = AnthropicClient(_serve_once(raw), KEY, read_timeout_s=10)
    with pytest.raises(ModelFault) as caught:
        client.call(make_request(), lambda _: None, interrupt)
    assert caught.value.kind is kind


def test_a_reply_without_end_is_cut_off(interrupt, make_request, monkeypatch):
    """A body past the limit ends in GARBAGE, even when it never completes an event."""
    monkeypatch.setattr("neuraphage.llm.bounded_answer.MAX_REPLY_BYTES", 1_000)
    client = AnthropicClient(_serve_once(_stream(START) + b"data: " + b"x" * 5_000), KEY)
    with pytest.raises(ModelFault, match="longer than 1000 bytes"):
        client.call(make_request(), lambda _: None, interrupt)


def test_the_key_is_in_no_error(server, interrupt, make_request):
    """A server that echoes the key gets it blanked, and no chained exception carries it."""
    server.set_fault("400", message=f"your key {KEY} is odd")
    with pytest.raises(ModelFault) as caught:
        AnthropicClient(server.url, KEY).call(make_request(), lambda _: None, interrupt)
    assert "[api key] is odd" in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_long_errors_are_shortened(call, server):
    """A huge error body does not become a huge stored message."""
    server.set_fault("400", message="x" * 100_000)
    with pytest.raises(ModelFault) as caught:
        call()
    assert len(caught.value.detail) < MAX_DETAIL_CHARS + 100


NOW_S = 1_800_000_000.0
DATE = format_datetime(datetime.fromtimestamp(NOW_S + 90, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": DATE}, 90.0),
        ({"retry-after": "999999999"}, 3600.0),
        ({"retry-after": "inf"}, 3600.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Fri, 99 Foo 2026 99:99:99 GMT"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({}, None),
    ],
)
def test_retry_after(headers, wait_s):
    """Seconds, dates and milliseconds are read; nonsense is none; the result stays within an hour."""
    assert retry_after_s(headers, NOW_S) == wait_s


def test_retry_after_reaches_the_fault(call, server):
    """The provider's wait is told with a 429."""
    server.set_fault("429", retry_after="17")
    with pytest.raises(ModelFault) as caught:
        call()
    assert caught.value.retry_after_s == 17.0


def _exceptions_of(*modules):
    found = set()
    for module in modules:
        found |= {each for _, each in inspect.getmembers(module, inspect.isclass) if issubclass(each, BaseException)}
    grown = set()
    while grown != found:
        grown = set(found)
        found |= {sub for each in grown for sub in each.__subclasses__() if sub.__module__.split(".")[0] in LIBRARIES}
    return sorted(
        (each for each in found if each.__module__.split(".")[0] in LIBRARIES), key=lambda each: each.__qualname__
    )


LIBRARIES = {"anthropic", "httpx2", "httpcore2"}


def _instance(cls):
    """An exception of the class without its constructor; the attributes that rules read are set."""
    error = cls.__new__(cls)
    error.request_id = None
    request = httpx2.Request("POST", "http://x/")
    if issubclass(cls, anthropic.APIStatusError):
        error.status_code = getattr(cls, "status_code", 500)
        error.type, error.message, error.api_message, error.error_code = None, "m", None, None
        error.response = httpx2.Response(error.status_code, request=request)
    if issubclass(cls, httpx2.HTTPStatusError):
        error.response = httpx2.Response(503, request=request)
    return error


@pytest.mark.parametrize(
    "cls", _exceptions_of(anthropic, anthropic._exceptions, httpx2, httpcore2), ids=lambda c: c.__qualname__
)
def test_no_exception_class_of_the_libraries_is_unmapped(cls):
    """A new class in a new release of the SDK or its HTTP client fails here, before it reaches a turn."""
    assert kind_of(_instance(cls), streaming=True) is not None
    assert isinstance(fault_of(_instance(cls), streaming=False, now_s=0.0), ModelFault)


def test_the_enumeration_finds_the_trees():
    """The test above is not empty: it sees the classes that are known to be let out."""
    names = {cls.__qualname__ for cls in _exceptions_of(anthropic, anthropic._exceptions, httpx2, httpcore2)}
    assert {"RateLimitError", "OverloadedError", "ReadTimeout", "RemoteProtocolError", "StreamClosed"} <= names


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ssl.SSLError("bad record"), FaultKind.NETWORK),
        (ConnectionResetError(), FaultKind.NETWORK),
        (TimeoutError(), FaultKind.TIMEOUT),
        (httpx2.PoolTimeout("full"), FaultKind.TIMEOUT),
        (RuntimeError("can't start new thread"), FaultKind.NETWORK),
    ],
)
def test_errors_of_sockets_and_the_rest(error, kind):
    """Errors from below the libraries have a kind too, and a kind that is retried."""
    assert fault_of(error, streaming=True, now_s=0.0).kind is kind


def test_a_value_error_counts_by_when_it_comes():
    """Before the stream the request is wrong, inside it the reply is."""
    assert fault_of(ValueError("x"), streaming=False, now_s=0.0).kind is FaultKind.BAD_REQUEST
    assert fault_of(ValueError("x"), streaming=True, now_s=0.0).kind is FaultKind.GARBAGE


def test_statuses_without_a_row():
    """Any other 5xx is the server's failure and is retried; any other 4xx is ours and is not."""
    assert {kind_of_status(status, None) for status in (500, 501, 502, 503, 504, 599)} == {FaultKind.SERVER_ERROR}
    assert {kind_of_status(status, None) for status in (400, 405, 410, 418, 422, 498)} == {FaultKind.BAD_REQUEST}
    assert kind_of_status(304, None) is FaultKind.GARBAGE
