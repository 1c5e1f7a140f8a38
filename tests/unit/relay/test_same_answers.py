"""What servers have been seen to answer: the relay's own reader makes of it what the HTTP client makes of it.

Each was reported to some HTTP client (h11, httpcore, aiohttp, undici, Go, others), or against a server's stream.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from answerkit import LIBRARY, MOST_BYTES, OWN, RESET, WAYS, Outcome, an_order, answering, recorded
from cloudkit import EVENTS as MESSAGE
from neuraphage.llm import AnthropicClient
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.testing.scripted_api.message import sse
from patience import PATIENCE_S
from relaykit import KEY, Host, relay_process

EVENTS = b"event: ping\ndata: {}\n\nevent: message_stop\ndata: {}\n\n"
TYPED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = TYPED + b"Transfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
BROKEN = "RemoteProtocolError"


def chunk(data: bytes, behind_size: bytes = b"") -> bytes:
    return b"%x%s\r\n%s\r\n" % (len(data), behind_size, data)


def headed(lines: bytes, body: bytes = b"hi", status: bytes = b"HTTP/1.1 200 OK") -> list[bytes]:
    return [status + b"\r\n" + lines + b"\r\n" + body]


SIZED = b"Content-Length: 2\r\n"
ANSWERS: dict[str, tuple[list[bytes | str], bytes, str]] = {
    # the pieces, the body that is read, what broke it off
    "padded sizes": ([CHUNKED + chunk(EVENTS, b"  ") + END], EVENTS, ""),
    "extensions": ([CHUNKED + chunk(EVENTS, b';a="b;c"') + END], EVENTS, ""),
    "long extension": ([CHUNKED + chunk(EVENTS, b";" + b"x" * 9_000) + END], EVENTS, ""),
    "leading zeros": ([CHUNKED + b"00" + chunk(EVENTS) + b"000\r\n\r\n"], EVENTS, ""),
    "a byte a chunk": ([CHUNKED + b"".join(chunk(bytes([one])) for one in EVENTS) + END], EVENTS, ""),
    "trailers": ([CHUNKED + chunk(EVENTS) + b'0\r\nETag: "a b"\r\nX: 1\r\n\r\n'], EVENTS, ""),
    "trailers without CR": ([CHUNKED + chunk(EVENTS) + b"0\r\nX: 1\n\r\n"], EVENTS, ""),
    "no trailers": ([CHUNKED + chunk(EVENTS) + b"0\r\nno colon\r\n\r\n"], EVENTS, BROKEN),
    "endless trailers": ([CHUNKED + chunk(EVENTS) + b"0\r\n", *[b"X: yyyyyyyyyyyy\r\n" * 4_000] * 8], EVENTS, BROKEN),
    "what follows": ([CHUNKED + chunk(EVENTS) + END + b"HTTP/1.1 200 OK\r\n\r\nmore"], EVENTS, ""),
    "no last chunk": ([CHUNKED + chunk(EVENTS)], EVENTS, BROKEN),
    "half a last chunk": ([CHUNKED + chunk(EVENTS), b"0\r\n\r"], EVENTS, BROKEN),
    "cut in a chunk": ([CHUNKED + b"50\r\nhello"], b"hello", BROKEN),
    "reset behind a chunk": ([CHUNKED + chunk(EVENTS), b"", RESET], EVENTS, "ReadError"),
    "chunks without CR": ([CHUNKED + b"5\nhello\n0\n\n"], b"", BROKEN),
    "an end without CR": ([CHUNKED + b"5\r\nhello\n0\r\n\r\n"], b"hello", BROKEN),
    "no end of a chunk": ([CHUNKED + b"5\r\nhelloXX0\r\n\r\n"], b"hello", BROKEN),
    "a chunk too long": ([CHUNKED + b"5\r\nhelloworld\r\n0\r\n\r\n"], b"hello", BROKEN),
    "a signed size": ([CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n"], b"", BROKEN),
    "a size of minus nothing": ([CHUNKED + b"-0\r\n\r\n"], b"", BROKEN),
    "a size with 0x": ([CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n"], b"", BROKEN),
    "good chunks, then none": ([CHUNKED + chunk(EVENTS) + b"garbage\r\n"], EVENTS, BROKEN),
    "both frames": (headed(b"Content-Length: 3\r\nTransfer-Encoding: Chunked\r\n", chunk(EVENTS) + END), EVENTS, ""),
    "coded transfer": (headed(b"Transfer-Encoding: gzip, chunked\r\n", chunk(b"coded") + END), b"", BROKEN),
    "chunked twice": (headed(b"Transfer-Encoding: chunked\r\n" * 2, chunk(EVENTS) + END), b"", BROKEN),
    "identity": (headed(b"Transfer-Encoding: identity\r\n" + SIZED), b"", BROKEN),
    "one length twice": (headed(SIZED * 2), b"hi", ""),
    "a list of one length": (headed(b"Content-Length: 2, 2\r\n"), b"hi", ""),
    "two lengths": (headed(SIZED + b"Content-Length: 3\r\n", b"hi!"), b"", BROKEN),
    "a signed length": (headed(b"Content-Length: +2\r\n"), b"", BROKEN),
    "an empty length": (headed(b"Content-Length: \r\n"), b"", BROKEN),
    "an endless length": (headed(b"Content-Length: " + b"9" * 5_000 + b"\r\n"), b"", BROKEN),
    "less than its length": (headed(b"Content-Length: 5\r\n"), b"hi", BROKEN),
    "more than its length": (headed(SIZED, b"hi and more"), b"hi", ""),
    "no length": (headed(b""), b"hi", ""),
    "no length, reset": ([*headed(b""), b"", RESET], b"hi", "ReadError"),
    "no content": (headed(b"Content-Length: 5\r\n", b"", b"HTTP/1.1 204 No Content"), b"", ""),
    "continue": ([b"HTTP/1.1 100 Continue\r\n\r\n", CHUNKED + chunk(EVENTS) + END], EVENTS, ""),
    "processing": ([b"HTTP/1.1 102 Processing\r\n\r\n" * 3, CHUNKED + chunk(EVENTS) + END], EVENTS, ""),
    "hints": ([b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + CHUNKED + chunk(EVENTS) + END], EVENTS, ""),
    "another protocol": (headed(b"Upgrade: h2c\r\n", b"", b"HTTP/1.1 101 Switching Protocols"), b"", BROKEN),
    "a status of 600": (headed(SIZED, status=b"HTTP/1.1 600 Odd"), b"hi", ""),
    "no reason": (headed(SIZED, status=b"HTTP/1.1 200"), b"hi", ""),
    "an old server": (headed(b"", status=b"HTTP/1.0 200 OK"), b"hi", ""),
    "old, in chunks": (headed(b"Transfer-Encoding: chunked\r\n", chunk(b"hi") + END, b"HTTP/1.0 200 OK"), b"hi", ""),
    "a newer number": (headed(SIZED, status=b"HTTP/1.2 200 OK"), b"hi", ""),
    "no HTTP": ([b"<html>400 Bad Request</html>\r\n\r\n"], b"", BROKEN),
    "another one's name": (headed(SIZED, status=b"ICY 200 OK"), b"", BROKEN),
    "TLS, not asked for": ([b"\x15\x03\x01\x00\x02\x02\x50"], b"", BROKEN),
    "an empty line first": ([b"\r\n" + headed(SIZED)[0]], b"", BROKEN),
    "a head without CR": ([CHUNKED.replace(b"\r\n", b"\n") + chunk(EVENTS) + END], EVENTS, ""),
    "an end of the head without CR": ([TYPED + SIZED + b"\nhi"], b"hi", ""),
    "headers without value": (headed(b"Server:\r\nX: \r\n" + SIZED), b"hi", ""),
    "a header that goes on": (headed(b"Server: a\r\n  b\r\n\tc\r\n" + SIZED), b"hi", ""),
    "latin-1": (headed("Server: Grüße\r\n".encode("latin-1") + SIZED), b"hi", ""),
    "UTF-8": (headed("Server: Grüße\r\n".encode() + SIZED), b"hi", ""),
    "no colon": (headed(b"Server\r\n" + SIZED), b"", BROKEN),
    "blank before a colon": (headed(b"Server : x\r\n" + SIZED), b"", BROKEN),
    "no name": (headed(b"Ser(v)er: x\r\n" + SIZED), b"", BROKEN),
    "a NUL": (headed(b"Server: a\0b\r\n" + SIZED), b"", BROKEN),
    "a CR": (headed(b"Server: a\rb\r\n" + SIZED), b"", BROKEN),
    "many headers": (headed(b"".join(b"X-%d: y\r\n" % number for number in range(2_000)) + SIZED), b"hi", ""),
    "a long head": (headed(b"X: " + b"y" * 90_000 + b"\r\n" + SIZED), b"hi", ""),
    "an endless head": (headed(b"X: " + b"y" * 600_000 + b"\r\n" + SIZED), b"", BROKEN),
    "nothing": ([b""], b"", BROKEN),
    "a reset": ([RESET], b"", "ReadError"),
    "half a head": ([TYPED], b"", BROKEN),
}  # fmt: skip


def both(steps: list[bytes | str], folder: Path) -> list[Outcome]:
    with answering(steps) as url:
        return [recorded(way, an_order(url), folder).told() for way in WAYS]


@pytest.mark.parametrize("name", ANSWERS)
def test_both_ways_read_the_same(name: str, tmp_path: Path) -> None:
    """The same status, headers and body, and broken off by the same or not at all."""
    steps, body, fault = ANSWERS[name]
    own, library = both(steps, tmp_path)
    assert own == library
    assert (own.body, own.fault) == (body, fault)


def test_a_coded_body_is_kept_as_it_came(tmp_path: Path) -> None:
    """It is for whoever reads it; also where it is cut."""
    coded = gzip.compress(EVENTS * 100)
    lines = b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"
    for steps in (headed(lines, chunk(coded) + END), headed(lines, chunk(coded[:50]))):
        own, library = both(list(steps), tmp_path)
        assert own == library
        assert own.body in (coded, coded[:50])
        assert ("content-encoding", "gzip") in own.headers


def test_an_answer_before_the_request_was_read(tmp_path: Path) -> None:
    """As proxies refuse what is too long for them: the reason is told, and not that the connection broke. Where the
    server does not read on, the HTTP client loses it.
    """
    refusal = headed(b"Content-Length: 9\r\nConnection: close\r\n", b"too large", b"HTTP/1.1 413 Too Large")
    for way, lingers in ((OWN, False), (OWN, True), (LIBRARY, True)):
        with answering(refusal, reads=False, lingers=lingers) as url:
            outcome = recorded(way, an_order(url, body=b"x" * 20_000_000), tmp_path)
        assert (outcome.status, outcome.body, outcome.fault) == (413, b"too large", ""), (way, lingers)


def test_an_answer_that_is_too_long_is_broken_off(tmp_path: Path) -> None:
    """What fits is kept; a server may send without end."""
    steps: list[bytes | str] = [CHUNKED, *[chunk(b"x" * 60_000)] * 20, END]
    for outcome in both(steps, tmp_path):
        assert outcome.fault == "OverflowError"
        assert 0 < len(outcome.body) <= MOST_BYTES


def test_a_blank_before_an_extension_is_none(tmp_path: Path) -> None:
    """The standard allows it, the client's parser does not: the one thing that is read better here."""
    steps: list[bytes | str] = [CHUNKED + chunk(EVENTS, b" ;a=b") + END]
    with answering(steps) as url:
        assert recorded(OWN, an_order(url), tmp_path).body == EVENTS
        assert recorded(LIBRARY, an_order(url), tmp_path).fault == BROKEN


@pytest.mark.parametrize("way", WAYS)
def test_silence_is_told_by_its_own_name(way: str, tmp_path: Path) -> None:
    """Before the answer, and in its midst."""
    for steps in ([b"", b""], [CHUNKED + chunk(EVENTS), b""]):
        with answering([*steps, *[b""] * round(PATIENCE_S)], reads=True) as url:
            outcome = recorded(way, an_order(url, read_s=0.2), tmp_path)
        assert outcome.fault == "ReadTimeout"
        assert outcome.body == (EVENTS if steps[0] else b"")


REPLY = b"".join(map(sse, MESSAGE))
ODD = "Grüße".encode("latin-1")
WHOLE = {
    "odd header": [CHUNKED.replace(b"\r\n\r\n", b"\r\nServer: " + ODD + b"\r\n\r\n") + chunk(REPLY) + END],
    "UTF-8 header": [CHUNKED.replace(b"\r\n\r\n", "\r\nServer: Grüße\r\n\r\n".encode()) + chunk(REPLY) + END],
    "no last chunk": [CHUNKED + chunk(REPLY)],
    "garbage behind": [CHUNKED + chunk(REPLY) + b"garbage\r\n"],
    "bad trailers": [CHUNKED + chunk(REPLY) + b"0\r\nno colon\r\n\r\n"],
    "reset behind": [CHUNKED + chunk(REPLY), b"", RESET],
    "no length": [TYPED + b"\r\n" + REPLY],
    "gzip": headed(TYPED.partition(b"\r\n")[2] + b"Content-Encoding: gzip\r\n", gzip.compress(REPLY)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_reply_that_is_whole_is_had_whatever_is_odd_about_it(name: str, tmp_path: Path, call_id: str) -> None:
    """By the relay as without it: it is paid, and what comes behind it or stands in a header changes nothing."""
    with answering(WHOLE[name]) as url, relay_process(tmp_path / "relay"):
        host = Host(RelayPlace(tmp_path / "relay"), url, RelayLimits())
        _, client = host.process()
        assert host.call(client, call_id).content[0]["text"] == "Hello from afar."
        assert host.interrupt.detachable, "the relay had it"
        assert host.place.entry(call_id).sealed_by() == ""
        alone = AnthropicClient(url, KEY)
        assert host.call(alone, call_id).content[0]["text"] == "Hello from afar."
