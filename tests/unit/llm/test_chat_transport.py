"""What a Chat Completions server gets to see, and answers that break off, are no stream, or tell of an error."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import openai
import pytest

from neuraphage.errors import BadInput, FaultKind, ModelFault
from neuraphage.llm import OpenAIClient
from neuraphage.llm.chat import call as chat_call
from neuraphage.llm.chat.faults import fault_of, fault_of_chunk, kind_of
from neuraphage.llm.sse import data_of
from neuraphage.model.message import ModelReply

KEY = "local.key-of-no-known-shape"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
TEXT = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hello"}}]}
STOP = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
WHOLE = {"id": "c", "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}


class OneAnswer:
    """A server that answers one connection with fixed bytes, and keeps what it was asked.

    Args:
        raw: the answer.
        reset: whether the connection breaks behind it, in place of a clean end.
    """

    def __init__(self, raw: bytes, *, reset: bool = False) -> None:
        self.asked = b""
        self._raw = raw
        self._reset = reset
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._listener:
            connection, _ = self._listener.accept()
            with connection:
                head, _, body = connection.recv(65_536).partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                while len(body) < length:
                    body += connection.recv(65_536)
                self.asked = head + b"\r\n\r\n" + body
                connection.sendall(self._raw)
                if self._reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def stream(*events: object) -> bytes:
    """A stream of these, each an object or the text of its data."""
    return STREAM + b"".join(
        f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode() for event in events
    )


BODY = stream(TEXT, STOP)[len(STREAM) :]


def answer(status: int, body: Any) -> bytes:
    """An answer with a JSON body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = b"text/plain" if isinstance(body, bytes) else b"application/json"
    head = b"HTTP/1.1 %d X\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n"
    return head % (status, kind, len(raw)) + raw


@pytest.fixture
def ask(interrupt: Any, make_request: Callable[..., Any]) -> Callable[..., ModelReply]:
    """Call a server once."""

    def run(server: OneAnswer, key: str | None = KEY, **changes: Any) -> ModelReply:
        client = OpenAIClient(server.url, key, connect_timeout_s=20, read_timeout_s=20)
        return client.call(make_request(model="openai:m", **changes), lambda _: None, interrupt)

    return run


@pytest.mark.parametrize("key", [KEY, None])
def test_only_the_key_that_was_given_is_sent(ask, monkeypatch, key) -> None:
    """Whatever the SDK would find in the environment: that key belongs to another server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-of-somebody")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin-of-somebody")
    server = OneAnswer(stream(TEXT, STOP, "[DONE]"))
    assert ask(server, key).content == [{"type": "text", "text": "Hello"}]
    head, _, body = server.asked.partition(b"\r\n\r\n")
    assert b"of-somebody" not in head
    assert (f"authorization: bearer {KEY}".encode() in head.lower()) is (key is not None)
    assert (b"authorization" in head.lower()) is (key is not None)
    assert head.startswith(b"POST /v1/chat/completions ")
    assert b"X-Neuraphage-Request-Id: req-1".lower() in head.lower()
    assert json.loads(body)["model"] == "m"


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "ключ"])
def test_a_key_that_is_no_header_is_refused_without_showing_it(key: str) -> None:
    """At once, and its text stays out of the error."""
    with pytest.raises(BadInput) as caught:
        OpenAIClient("http://127.0.0.1:1/v1", key)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "is_openai"),
    [("api.openai.com", True), ("me.openai.azure.com", True), ("127.0.0.1", False), ("notopenai.com", False)],
)
def test_how_the_limit_of_a_reply_is_called(host: str, is_openai: bool) -> None:
    """`max_completion_tokens` for OpenAI's newer models, `max_tokens` for everybody else."""
    assert chat_call._is_openai(host) is is_openai


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(stream(TEXT, STOP, "[DONE]"), id="by the documentation"),
        pytest.param(stream(TEXT, STOP), id="no end mark (textgen 4778, mistral.rs 1226)"),
        pytest.param(stream(TEXT, STOP)[:-2], id="nor a blank line"),
        pytest.param(stream(TEXT, STOP, "[DONE]", "more"), id="something behind the end mark"),
        pytest.param(
            STREAM + b": processing\n\nretry: 10\n\nevent: ping\n\n" + BODY,
            id="comments, and events without data",
        ),
        pytest.param(STREAM + BODY.replace(b"data: ", b"data:").replace(b"\n", b"\r\n"), id="no space, CRLF"),
        pytest.param(answer(200, WHOLE), id="a server that does not stream"),
    ],
)
def test_whole_replies(ask, raw: bytes) -> None:
    """The reason is what ends a reply."""
    got = ask(OneAnswer(raw))
    assert (got.content, got.stop_reason) == ([{"type": "text", "text": "Hello"}], "end_turn")


def test_a_connection_that_breaks_behind_a_whole_reply(ask) -> None:
    """Nothing of it is missing, so it is not paid again."""
    chunked = STREAM.replace(b"connection: close", b"transfer-encoding: chunked")
    raw = chunked + b"%x\r\n" % len(BODY) + BODY + b"\r\n"
    assert ask(OneAnswer(raw)).stop_reason == "end_turn"
    with pytest.raises(ModelFault) as caught:
        ask(OneAnswer(raw.replace(b'"stop"', b"null  ")))
    assert caught.value.kind is FaultKind.NETWORK


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (stream(TEXT), FaultKind.TRUNCATED),
        (stream(TEXT, "[DONE]"), FaultKind.TRUNCATED),  # vllm 27572
        (stream(), FaultKind.TRUNCATED),
        (stream(TEXT, "{"), FaultKind.GARBAGE),
        (stream(TEXT, "[]"), FaultKind.GARBAGE),
        (stream(TEXT).replace(b"Hello", b"\xff\xfe"), FaultKind.GARBAGE),
        (answer(200, b"<html>"), FaultKind.GARBAGE),
        (answer(200, {"id": "x"}), FaultKind.GARBAGE),
        (answer(200, {"error": {"message": "no such model", "code": 404}}), FaultKind.NOT_FOUND),
        (b"", FaultKind.NETWORK),
        (b"not http\r\n\r\n", FaultKind.NETWORK),
    ],
)
def test_what_is_no_reply(ask, raw: bytes, kind: FaultKind) -> None:
    """Whatever comes has a kind, and half a reply is never taken for one."""
    with pytest.raises(ModelFault) as caught:
        ask(OneAnswer(raw))
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, FaultKind.RATE_LIMITED, "slow down"),
        (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, FaultKind.PERMISSION, "no money"),
        (503, {"error": {"message": "Loading model", "type": "unavailable_error"}}, FaultKind.OVERLOADED, "Loading"),
        (503, b"busy", FaultKind.OVERLOADED, "busy"),
        (502, b"<html>", FaultKind.SERVER_ERROR, "<html>"),
        (404, {"error": {"message": "no model m", "code": "model_not_found"}}, FaultKind.NOT_FOUND, "no model m"),
        (404, b"404 page not found", FaultKind.NOT_FOUND, "want /v1 at the end of the base URL"),
        (400, {"error": {"code": "context_length_exceeded", "message": "long"}}, FaultKind.CONTEXT_OVERFLOW, "long"),
        (500, {"error": {"message": "Context size has been exceeded."}}, FaultKind.CONTEXT_OVERFLOW, "Context size"),
        (400, {"error": {"type": "exceed_context_size_error", "message": "x"}}, FaultKind.CONTEXT_OVERFLOW, "x"),
        (400, {"error": "Invalid 'messages' in payload"}, FaultKind.BAD_REQUEST, "in payload"),
        (400, {"object": "error", "message": "bad", "code": 400}, FaultKind.BAD_REQUEST, "bad"),
        (422, {"detail": [{"loc": ["body"], "msg": "Field required"}]}, FaultKind.BAD_REQUEST, "Field required"),
        (400, {"error": {"message": "Invalid 'messages[2].tool_calls[0].id'"}}, FaultKind.BAD_HISTORY, "messages[2]"),
        (401, {"error": {"message": f"bad key {KEY}"}}, FaultKind.AUTHENTICATION, "bad key [api key]"),
        (400, None, FaultKind.BAD_REQUEST, "nothing"),
    ],
)
def test_refusals_of_all_shapes(ask, status: int, body: Any, kind: FaultKind, words: str) -> None:
    """An object, a text, `detail`, plain text, nothing: the code says more than the status, and the words are told."""
    with pytest.raises(ModelFault) as caught:
        ask(OneAnswer(answer(status, b"" if body is None else body)))
    assert caught.value.kind is kind
    assert words in caught.value.detail
    assert KEY not in caught.value.detail


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"error": {"message": "m", "type": "overloaded_error"}}, FaultKind.OVERLOADED),
        ({"error": {"message": "m", "code": 502}}, FaultKind.SERVER_ERROR),
        ({"error": {"message": "m", "code": "429"}}, FaultKind.RATE_LIMITED),
        ({"error": {"message": "m", "type": "invalid_request_error"}}, FaultKind.BAD_REQUEST),
        ({"error": "CUDA out of memory"}, FaultKind.SERVER_ERROR),
        ({"error": {"message": "maximum context length is 8 tokens"}}, FaultKind.CONTEXT_OVERFLOW),
        ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, FaultKind.BAD_REQUEST),
        (TEXT, None),
        ({"error": None, "choices": []}, None),
        ("text", None),
    ],
)
def test_errors_inside_a_stream(data: Any, kind: FaultKind | None) -> None:
    """The status was 200; type and code tell."""
    found = fault_of_chunk(data)
    assert (found and found.kind) == kind


def test_every_exception_of_the_sdk_has_a_kind() -> None:
    """A new class of the SDK needs a rule."""
    tree = [one for one in list(vars(openai).values()) if isinstance(one, type) and issubclass(one, openai.OpenAIError)]
    assert len(tree) > 10
    for kind in tree:
        if not issubclass(kind, openai.APIStatusError):  # those are told by their status
            assert kind_of(kind.__new__(kind), streaming=True) is not None
    assert fault_of(RuntimeError("x"), streaming=False, now_s=0).kind is FaultKind.NETWORK


def test_a_redirect_elsewhere_is_refused(ask) -> None:
    """Key and conversation stay with the address that a person wrote."""
    raw = b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:1/v1/chat/completions\r\ncontent-length: 0\r\n\r\n"
    with pytest.raises(ModelFault, match="NEURAPHAGE_OPENAI_BASE_URL") as caught:
        ask(OneAnswer(raw))
    assert caught.value.kind is FaultKind.BAD_REQUEST


def test_a_reply_without_end(ask, monkeypatch) -> None:
    """Its memory is bounded as that of any other answer."""
    monkeypatch.setattr("neuraphage.llm.bounded_answer.MAX_REPLY_BYTES", 1_000)
    with pytest.raises(ModelFault, match="longer than 1000 bytes") as caught:
        ask(OneAnswer(stream(*[TEXT] * 100)))
    assert caught.value.kind is FaultKind.GARBAGE


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data\n\ndata:\n\n", ["", ""]),
        (b": c\n\nid: 3\n\ndata:  a\n\n", [" a"]),
        (b"data: a\r\n\r\ndata: b", ["a", "b"]),
        (b"data:a\r\rdata:b\r\r", ["a", "b"]),
    ],
)
def test_events(raw: bytes, data: list[str]) -> None:
    """As the HTML standard parses them; an event that the end cuts counts, too."""
    assert list(data_of([raw])) == data
