"""A relay proves its provider by the authorities that it was told of, and says what is wrong where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from answerkit import OWN, WAYS, Outcome, an_order, answering, recorded
from remotekit import Certificates, TlsFront, make_certificates

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
EXPIRED, OTHERS = "expired", "of another host"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Certificates]:
    """A good certificate, one that has expired, and one of another host; each with an authority of its own."""
    folder = tmp_path_factory.mktemp("certificates")
    given = {"": ("IP:127.0.0.1", 2), EXPIRED: ("IP:127.0.0.1", -1), OTHERS: ("DNS:api.example", 2)}
    found = {}
    for name, (names, days) in given.items():
        (folder / f"of{name}").mkdir()
        found[name] = make_certificates(folder / f"of{name}", names, days=days)
    return found


@contextmanager
def provider(certificates: Certificates) -> Iterator[str]:
    with answering([ANSWER]) as url, TlsFront(certificates, int(url.split(":")[2].split("/")[0])) as front:
        yield f"https://127.0.0.1:{front.port}/v1"


def outcome(way: str, certificates: Certificates, folder: Path) -> Outcome:
    with provider(certificates) as url:
        return recorded(way, an_order(url), folder)


@pytest.mark.parametrize("way", WAYS)
def test_an_authority_of_ones_own_is_trusted(
    way: str, made: dict[str, Certificates], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SSL_CERT_FILE."""
    monkeypatch.setenv("SSL_CERT_FILE", str(made[""].authority))
    found = outcome(way, made[""], tmp_path)
    assert (found.status, found.body, found.fault) == (200, b"hi", "")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "words"), [(EXPIRED, "certificate has expired"), (OTHERS, "IP address mismatch")])
def test_what_is_wrong_with_a_certificate_is_told(
    way: str, name: str, words: str, made: dict[str, Certificates], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent to that server."""
    monkeypatch.setenv("SSL_CERT_FILE", str(made[name].authority))
    found = outcome(way, made[name], tmp_path)
    assert (found.status, found.fault) == (0, "ConnectError")
    assert words in found.text
    assert "SSL_CERT_FILE" not in found.text


@pytest.mark.parametrize("way", WAYS)
def test_an_authority_that_only_the_worker_knows(
    way: str, made: dict[str, Certificates], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told that the relay's own environment counts: a person would look at the worker's."""
    for path in (None, str(made[EXPIRED].authority)):
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        if path is not None:
            monkeypatch.setenv("SSL_CERT_FILE", path)
        found = outcome(way, made[""], tmp_path)
        assert (found.status, found.fault) == (0, "ConnectError")
        assert "certificate verify failed" in found.text
        assert "it is the relay that connects" in found.text
        assert found.text.endswith(f"its SSL_CERT_FILE is {path or 'not set'}")


def test_a_file_of_authorities_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named: that no file is there could mean any."""
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file.pem")
    found = recorded(OWN, an_order("https://127.0.0.1:1/v1"), tmp_path)
    assert found.fault == "ConnectError"
    assert "certificates of the authorities cannot be read: No such file" in found.text
    assert found.text.endswith("/no/such/file.pem")
