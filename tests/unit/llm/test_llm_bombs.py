"""Answers that grow: compressed a thousand times and more, over real HTTP, against a process with little memory."""

import bz2
import json
import socket
import subprocess
import sys
import threading
import zlib
from contextlib import suppress
from pathlib import Path

import brotli
import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient, bounded_answer

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHILD = Path(__file__).with_name("bomb_child.py")
MIB = 1024 * 1024
GROWN_MIB = 512
"""What each bomb would become."""


def deflated(window_bits):
    """Zeros without end of the stream: a head, and the same compressed piece again and again."""
    coder = zlib.compressobj(9, zlib.DEFLATED, window_bits)
    head = coder.compress(b"\0") + coder.flush(zlib.Z_FULL_FLUSH)
    piece = coder.compress(bytes(16 * MIB)) + coder.flush(zlib.Z_FULL_FLUSH)
    return head + piece * (GROWN_MIB // 16)


def zstd_bomb():
    return zstd.compress(bytes(64 * MIB)) * (GROWN_MIB // 64)


def brotli_bomb():
    coder = brotli.Compressor(quality=1)
    return b"".join(coder.process(bytes(64 * MIB)) + coder.flush() for _ in range(GROWN_MIB // 64))


def twice():
    return zlib.compress(deflated(zlib.MAX_WBITS | 16), 9, zlib.MAX_WBITS | 16)


BOMBS = {
    "gzip": lambda: deflated(zlib.MAX_WBITS | 16),
    "deflate": lambda: deflated(zlib.MAX_WBITS),
    "br": brotli_bomb,
    "zstd": zstd_bomb,
    "gzip, gzip": twice,
    "identity": lambda: bytes(100 * MIB),
}


class OneAnswer:
    """A server that gives one answer, and drops what the client no longer takes."""

    def __init__(self, answer):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._answer = answer
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        connection, _ = self._listener.accept()
        with connection, self._listener:
            while b"}" not in connection.recv(65_536):
                pass
            with suppress(OSError):  # the client has left
                connection.sendall(self._answer)


def answer(status, kind, coding, body):
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-encoding: {coding}\r\nconnection: close\r\n\r\n"
    return head.encode() + body


def call_in_child(raw):
    """What the call of a process with little memory told."""
    argv = [sys.executable, str(CHILD), OneAnswer(raw).url]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    return json.loads(ran.stdout)


@pytest.mark.parametrize("coding", BOMBS)
def test_a_refusal_that_grows_is_read_to_a_limit(coding):
    """The fault keeps the kind of its status; half a gigabyte of text was not made of it."""
    told = call_in_child(answer(500, "application/json", coding, BOMBS[coding]()))
    assert told["kind"] == FaultKind.SERVER_ERROR
    assert told["peak_bytes"] < 64 * MIB


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_reply_that_grows_is_read_to_a_limit(coding):
    """One line without end is no event."""
    told = call_in_child(answer(200, "text/event-stream", coding, BOMBS[coding]()))
    assert told["kind"] == FaultKind.GARBAGE
    assert "an event of the stream is longer than" in told["detail"]
    assert told["peak_bytes"] < 160 * MIB


def test_an_encoding_of_bytes_is_none_of_text():
    """Python takes bz2 for the name of an encoding, and the HTTP client would decode a refusal with it."""
    bomb = bz2.compress(bytes(256 * MIB), 1)
    told = call_in_child(answer(400, "text/plain; charset=bz2", "identity", bomb))
    assert told["kind"] == FaultKind.BAD_REQUEST
    assert told["peak_bytes"] < 64 * MIB


def fault(raw, request, interrupt):
    with pytest.raises(ModelFault) as caught:
        AnthropicClient(OneAnswer(raw).url, "a-key-of-tests", read_timeout_s=20).call(
            request, lambda _: None, interrupt
        )
    return caught.value


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_compressed_refusal_is_told(interrupt, make_request, coding):
    """What a gateway compresses all the same is read as before."""
    body = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "later"}}).encode()
    coders = {
        "gzip": lambda data: zlib.compress(data, wbits=zlib.MAX_WBITS | 16),
        "deflate": zlib.compress,
        "br": brotli.compress,
        "zstd": zstd.compress,
    }
    told = fault(
        answer(529, "application/json; charset=utf-8", coding, coders[coding](body)), make_request(), interrupt
    )
    assert (told.kind, told.detail) == (FaultKind.OVERLOADED, "the API answered 529: later")


def test_a_refusal_in_a_broken_coding_keeps_its_kind_or_is_garbage(interrupt, make_request):
    """Nothing but a fault comes of it."""
    told = fault(answer(500, "text/plain", "gzip", b"no gzip"), make_request(), interrupt)
    assert told.kind in {FaultKind.GARBAGE, FaultKind.SERVER_ERROR}


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_an_event_of_many_lines_is_none(interrupt, make_request, end):
    """The SDK copies an event at each of its lines: a few megabytes of short ones would keep a processor for hours."""
    told = fault(answer(200, "text/event-stream", "identity", (b"data: x" + end) * 500_000), make_request(), interrupt)
    assert told.kind is FaultKind.GARBAGE
    assert f"{bounded_answer.MAX_EVENT_LINES} lines" in told.detail


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_lines_come_whole_and_nothing_is_lost(size):
    """However the stream is cut, what follows gets the same bytes, cut behind line ends."""
    stream = b"event: a\ndata: 1\n\nevent: b\r\ndata: 22\r\n\r\ndata: 3\r\rdata: the last"
    pieces = list(bounded_answer.whole_lines(stream[n : n + size] for n in range(0, len(stream), size)))
    assert b"".join(pieces) == stream
    assert all(piece[-1:] in (b"\n", b"\r") for piece in pieces[:-1])
