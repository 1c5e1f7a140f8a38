"""What a provider answers is read the same in whatever pieces it comes, and nothing torn is taken for whole."""

from __future__ import annotations

import pytest

from neuraphage.relay.http1 import MAX_HEAD_BYTES, AnswerParser, BadAnswer

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SIZED = b"HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhello"
WHOLE = {
    "chunks": (CHUNKED + b"3\r\nabc\r\n1;name=x\r\n\r\r\nA\r\n0123\r\n0\r\n8\r\n0\r\n\r\n", b"abc\r0123\r\n0\r\n8"),
    "trailers": (CHUNKED + b"2\r\nhi\r\n0\r\nx: y\r\n\r\n", b"hi"),
    "no chunk": (CHUNKED + b"0\r\n\r\n", b""),
    "length": (SIZED, b"hello"),
    "no length": (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "after a hint": (b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + SIZED, b"hello"),
    "lines without CR": (CHUNKED.replace(b"\r\n", b"\n") + b"2\r\nhi\r\n0\r\nx: y\n\n", b"hi"),
    "what follows": (SIZED + b"HTTP/1.1 200 OK\r\n\r\n", b"hello"),
}


def read(data: bytes, size: int) -> tuple[AnswerParser, bytes]:
    """An answer that comes in pieces of this size."""
    parser, body = AnswerParser("POST"), b""
    for at in range(0, len(data), size):
        if parser.is_over:
            break
        body += parser.feed(data[at : at + size])
        parser.check()
    return parser, body


@pytest.mark.parametrize("name", WHOLE)
def test_pieces_change_nothing(name: str) -> None:
    """One byte at a time or all at once; and it is known to be over without the end of the connection."""
    data, wanted = WHOLE[name]
    for size in range(1, len(data) + 1):
        parser, body = read(data, size)
        assert (body, parser.is_over) == (wanted, True), size
        parser.end()


@pytest.mark.parametrize("name", ["chunks", "trailers", "no chunk", "length", "after a hint", "lines without CR"])
def test_each_cut_is_told(name: str) -> None:
    """A connection that ends before the last byte has given no whole answer."""
    data, _ = WHOLE[name]
    for end in range(len(data)):
        parser, _ = read(data[:end], 7)
        with pytest.raises(BadAnswer):
            parser.end()


def test_an_answer_may_end_with_its_connection() -> None:
    """Where it says neither its length nor its chunks."""
    parser, body = read(b"HTTP/1.0 200 OK\r\n\r\nsome", 3)
    assert (body, parser.is_over) == (b"some", False)
    parser.end()
    assert parser.is_over


def test_headers_come_as_they_were_sent_but_secrets() -> None:
    """In order, repeated ones too, one that goes on in the next line as well; cookies are not kept."""
    sent = b"Retry-After: 3\r\nX-One: a\r\n b\r\nSet-Cookie: secret\r\nx-one:\tc \r\nWWW-Authenticate: n\r\n"
    parser, _ = read(b"HTTP/1.1 429 Too Many\r\n" + sent + b"content-length:0\r\n\r\n", 1_000)
    assert parser.head is not None
    assert parser.head.status == 429
    assert parser.head.headers == (("retry-after", "3"), ("x-one", "a b"), ("x-one", "c"), ("content-length", "0"))


NO_HEAD = (
    b"SSH-2.0-OpenSSH\r\n\r\n",
    b"\x15\x03\x01\x00\x02\x02\x50",
    b"HTTP/2 200\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nb(a)d: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nbad: x\x00y\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nbad: x\ry\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: " + b"9" * 5_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nx: " + b"y" * MAX_HEAD_BYTES,
)
NO_CHUNKS = (
    b"x\r\n",
    b"-1\r\n",
    b"\r\n",
    b"1_0\r\n",
    b"0x5\r\n",
    b"0" * 20_000,
    b"5\nhello\n0\n\n" + b"x" * 20_000,
    b"5\r\nhelloworld\r\n0\r\n\r\n",
    b"5\r\nhello\n0\r\n\r\n",
    b"5\r\nhelloXX0\r\n\r\n",
    b"0\r\nno colon\r\n\r\n",
    b"0\r\n" + b"x: y\r\n" * MAX_HEAD_BYTES,
)


@pytest.mark.parametrize("data", [*NO_HEAD, *(CHUNKED + chunks for chunks in NO_CHUNKS)])
@pytest.mark.parametrize("size", [97, 1_000_000])
def test_what_is_no_answer_is_told(data: bytes, size: int) -> None:
    """A server that speaks something else, or says of its answer what cannot be; in whatever pieces it comes."""
    with pytest.raises(BadAnswer):
        read(data, size)[0].end()


@pytest.mark.parametrize("chunks", NO_CHUNKS)
def test_what_came_before_is_kept(chunks: bytes) -> None:
    """Also where it came at once with what cannot be: a reply may be whole by then, and paid it is."""
    parser = AnswerParser("POST")
    body = parser.feed(CHUNKED + b"4\r\nwell\r\n" + chunks)
    assert parser.head is not None
    assert body.startswith(b"well")
    with pytest.raises(BadAnswer):
        (parser.check(), parser.end())


def test_what_follows_the_last_chunk_has_a_limit() -> None:
    """A server may send lines without end."""
    parser = AnswerParser("POST")
    parser.feed(CHUNKED + b"0\r\n" + b"x: y\r\n" * MAX_HEAD_BYTES)
    with pytest.raises(BadAnswer, match="longer than"):
        parser.check()
