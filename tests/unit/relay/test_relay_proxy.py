"""A relay reaches its provider by the proxy that the environment names, and tells what that one refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkit import CHOSEN, an_order, answering, recorded
from remotekit import TlsFront, make_certificates
from tunnelkit import proxy

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
END = b"0\r\n\r\n"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """None but the one that a test names."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_a_plain_server_by_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not one that NO_PROXY names."""
    with answering([ANSWER + END]) as url, proxy() as between:
        monkeypatch.setenv("http_proxy", between.url)
        found = recorded(CHOSEN, an_order(url), tmp_path)
        assert (found.status, found.body, found.fault) == (200, b"hi", "")
        assert between.asked == [f"POST {url} HTTP/1.1".encode()]
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert recorded(CHOSEN, an_order(url), tmp_path).body == b"hi"
        assert len(between.asked) == 1


def test_a_tunnel_through_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is the provider's own; a proxy that dies in the midst of the answer breaks it off."""
    certificates = make_certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    steps = [ANSWER, b"", *[b"2\r\nho\r\n" * 5_000] * 4, END]
    with answering(steps) as url, TlsFront(certificates, int(url.split(":")[2].split("/")[0])) as front:
        for most_bytes, faults in ((None, {""}), (30_000, {"RemoteProtocolError", "ReadError"})):
            with proxy(most_bytes=most_bytes) as between:
                monkeypatch.setenv("https_proxy", between.url)
                found = recorded(CHOSEN, an_order(f"https://127.0.0.1:{front.port}/v1"), tmp_path)
                assert between.asked == [f"CONNECT 127.0.0.1:{front.port} HTTP/1.1".encode()]
            assert (found.status, found.body[:2]) == (200, b"hi")
            assert found.fault in faults


@pytest.mark.parametrize(
    ("status", "words"), [(b"407 Proxy Authentication Required", "407"), (b"502 Bad Gateway", "502")]
)
def test_a_refused_tunnel_is_told(status: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the proxy's own words, once: nothing is tried again in the relay."""
    with proxy(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n") as between:
        monkeypatch.setenv("https_proxy", between.url)
        found = recorded(CHOSEN, an_order("https://api.example/v1"), tmp_path)
        assert (found.status, found.fault) == (0, "ProxyError")
        assert words in found.text
        assert between.asked == [b"CONNECT api.example:443 HTTP/1.1"]


def test_a_proxy_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a provider that is not there."""
    with proxy() as between:
        pass
    monkeypatch.setenv("https_proxy", between.url)
    assert recorded(CHOSEN, an_order("https://api.example/v1"), tmp_path).fault == "ConnectError"
