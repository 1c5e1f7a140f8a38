"""Heads of requests: where they go, what is sent on, and what is refused since two readers could differ about it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.sandbox.request_head import RefusedRequest, RequestHead, read_head


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def status(*lines: str) -> int:
    with pytest.raises(RefusedRequest) as caught:
        read_head(head(*lines))
    assert "\n" not in caught.value.sentence
    return caught.value.status


def test_a_tunnel() -> None:
    """With the field Host or without, as Python's own client leaves it out."""
    wanted = RequestHead("pypi.org", 443, is_tunnel=True)
    assert read_head(head("CONNECT PyPI.org:443 HTTP/1.1", "Host: pypi.org:443")) == wanted
    assert read_head(head("CONNECT pypi.org:443 HTTP/1.0")) == wanted
    assert read_head(head("CONNECT [::1]:8443 HTTP/1.1", "Host: [0::1]:8443")).host == "::1"


def test_a_plain_request_is_sent_on_to_its_host() -> None:
    """As a server wants it: the path alone, its own Host, nothing that was meant for the proxy, one request."""
    read = read_head(
        head(
            "GET http://A.org:8080/x?y=1 HTTP/1.1",
            "Host: a.org:8080",
            "Proxy-Authorization: Basic eDp5",
            "Proxy-Connection: keep-alive",
            "Connection: keep-alive, X-Hop",
            "X-Hop: 1",
            "Accept: */*",
            "Upgrade: websocket",
        )
    )
    assert (read.host, read.port, read.is_tunnel, read.body_bytes) == ("a.org", 8080, False, 0)
    assert read.sent_on == head("GET /x?y=1 HTTP/1.1", "Host: a.org:8080", "Accept: */*", "Connection: close")


def test_forms_of_a_url() -> None:
    """No path, a query without one, the usual port."""
    for url, first in {
        "http://a.org": "GET / HTTP/1.1",
        "HTTP://a.org?q": "GET /?q HTTP/1.1",
        "http://a.org:80/p": "GET /p HTTP/1.1",
    }.items():
        assert read_head(head(f"GET {url} HTTP/1.1")).sent_on.startswith(f"{first}\r\nHost: a.org\r\n".encode())


def test_bodies() -> None:
    """A length, chunks, or none; a field that calls the length one of this hop does not take it away."""
    assert read_head(head("POST http://a.org/ HTTP/1.1", "Content-Length: 12")).body_bytes == 12
    read = read_head(head("POST http://a.org/ HTTP/1.1", "Transfer-Encoding: Chunked"))
    assert read.body_bytes is None
    assert b"Transfer-Encoding: Chunked\r\n" in read.sent_on
    kept = read_head(head("POST http://a.org/ HTTP/1.1", "Content-Length: 12", "Connection: content-length"))
    assert b"Content-Length: 12\r\n" in kept.sent_on


@pytest.mark.parametrize(
    "fields",
    [
        ("Content-Length: 1", "Content-Length: 2"),
        ("Content-Length: 1", "Content-Length: 1"),
        ("Content-Length: 1", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ("Content-Length: +1",),
        ("Content-Length: 1, 1",),
        ("Content-Length: ",),
        ("Content-Length: 0x10",),
        ("Host: a.org", "Host: b.org"),
        ("Host: a.org", "Host: a.org"),
        ("Host: b.org",),
        ("Host: a.org:81",),
        ("Host: a.org@b.org",),
        ("Host: ",),
        ("Host : a.org",),
        (" Host: b.org",),
        ("X: 1", " folded"),
        ("X: \x00",),
        ("X: 1\nHost: b.org",),
        ("X: 1\rHost: b.org",),
        ("no colon",),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(fields: tuple[str, ...]) -> None:
    """Two hosts, two lengths, folded lines, lone line ends."""
    assert status("POST http://a.org/ HTTP/1.1", *fields) == 400


@pytest.mark.parametrize(
    "first",
    [
        "", "GET / HTTP/1.1", "GET a.org HTTP/1.1", "GET http:/a.org HTTP/1.1", "GET http://u@a.org/ HTTP/1.1",
        "GET http://u:p@a.org/ HTTP/1.1", "GET http://a.org\\@b.org/ HTTP/1.1", "GET http:///x HTTP/1.1",
        "GET https://a.org/ HTTP/1.1", "GET ftp://a.org/ HTTP/1.1", "GET http://a.org/ HTTP/2.0", "GET http://a.org/",
        "GET  http://a.org/ HTTP/1.1", "GET http://a.org/ x HTTP/1.1", "GET http://127.1/ HTTP/1.1",
        "GET http://a%2eorg/ HTTP/1.1", "CONNECT a.org HTTP/1.1", "CONNECT a.org:0 HTTP/1.1", "CONNECT /x HTTP/1.1",
        "CONNECT http://a.org:443 HTTP/1.1", "CONNECT u@a.org:443 HTTP/1.1", "GET http://a.org/\x7f HTTP/1.1",
        "GET http://a.org/#f HTTP/1.1",
    ],
)  # fmt: skip
def test_what_is_no_request_to_a_proxy_is_refused(first: str) -> None:
    """Other schemes, users' names, targets of other forms."""
    assert status(first) == 400


def test_a_tunnel_to_another_host_than_its_field_says_is_refused() -> None:
    """The field's port is that of https where it names none."""
    assert status("CONNECT a.org:443 HTTP/1.1", "Host: b.org:443") == 400
    assert status("CONNECT a.org:22 HTTP/1.1", "Host: a.org") == 400


def test_a_body_in_chunks_is_none_of_version_1_0() -> None:
    """A server of that version takes the chunks for the body."""
    assert status("POST http://a.org/ HTTP/1.0", "Transfer-Encoding: chunked") == 400


def test_too_many_fields_are_refused() -> None:
    """A limit of their number beside that of their bytes."""
    assert status("GET http://a.org/ HTTP/1.1", *["X: 1"] * 201) == 400


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(data: bytes) -> None:
    """Nothing else is raised."""
    for prefix in (b"", b"GET http://", b"CONNECT a.org:443 HTTP/1.1\r\n", b"GET http://a.org/ HTTP/1.1\r\nHost:"):
        try:
            read = read_head(prefix + data + b"\r\n\r\n")
        except RefusedRequest:
            continue
        assert read.sent_on.count(b"\r\n\r\n") <= 1
