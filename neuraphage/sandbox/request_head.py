"""The head of a request to the proxy: where it goes, and what is sent on. Pure.

Whatever two readers could read in two ways is refused: the host that is checked must be the one that is reached, and a
request must end where the server takes its end to be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from neuraphage.decide.allowed_hosts import read_authority

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - the word of RFC 9110, no secret
_FIRST = re.compile(rf"({_TOKEN}) ([!-~]+) HTTP/1\.([01])")
_FIELD = re.compile(rf"({_TOKEN}):[ \t]*([\t -~\x80-\xff]*)")
_PLAIN = re.compile(r"http://([^/?#]*)([^#]*)", re.IGNORECASE)
_LENGTH = re.compile(r"\d{1,18}")
_MOST_FIELDS = 200
_OF_ONE_HOP = frozenset(
    {"connection", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade"}
)
_OF_THE_BODY = frozenset({"content-length", "transfer-encoding"})

HTTP_PORT, HTTPS_PORT = 80, 443
Fields = Sequence[tuple[str, str]]


class RefusedRequest(Exception):
    """The proxy does not do this.

    Args:
        status: of the answer.
        sentence: why, of ASCII letters, on one line.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Where a request goes.

    Args:
        host: as decide.allowed_hosts.read_host gives it.
        port: of the host.
        is_tunnel: whether a tunnel is asked for (CONNECT).
        sent_on: the head that the server gets; empty for a tunnel.
        body_bytes: length of the body; None for one in chunks.
    """

    host: str
    port: int
    is_tunnel: bool
    sent_on: bytes = b""
    body_bytes: int | None = 0


def read_head(head: bytes) -> RequestHead:
    """Read a head, up to its empty line.

    Raises:
        RefusedRequest: it is none, can be read in two ways, or asks for what the proxy does not do.
    """
    first, *lines = head.removesuffix(b"\r\n\r\n").decode("latin-1").split("\r\n")
    request = _FIRST.fullmatch(first)
    fields = [_FIELD.fullmatch(line) for line in lines]
    if request is None or None in fields or len(fields) > _MOST_FIELDS:
        raise RefusedRequest(400, "neuraphage: this is no request to an HTTP proxy")
    named = [(field[1], field[2].rstrip(" \t")) for field in fields if field]
    method, target, minor = request.groups()
    if method == "CONNECT":
        place = read_authority(target, None)
        if place is None or place[1] is None:
            raise RefusedRequest(400, "neuraphage: CONNECT wants a host and a port")
        _check_host(named, place[0], place[1], HTTPS_PORT)
        return RequestHead(place[0], place[1], is_tunnel=True)
    return _plain(method, target, minor, named)


def _plain(method: str, target: str, minor: str, fields: Fields) -> RequestHead:
    url = _PLAIN.fullmatch(target)
    place = read_authority(url[1], HTTP_PORT) if url else None
    if url is None or place is None or place[1] is None:
        raise RefusedRequest(400, "neuraphage: the proxy takes CONNECT and http:// URLs without a user's name")
    host, port = place[0], place[1]
    _check_host(fields, host, port, HTTP_PORT)
    body_bytes = _body(fields, minor)
    path = url[2] if url[2].startswith("/") else f"/{url[2]}"
    bare = f"[{host}]" if ":" in host else host
    named = {
        word.strip().lower() for name, value in fields if name.lower() == "connection" for word in value.split(",")
    }
    left_out = _OF_ONE_HOP | (named - _OF_THE_BODY)
    lines = [
        f"{method} {path} HTTP/1.{minor}",
        f"Host: {bare}" if port == HTTP_PORT else f"Host: {bare}:{port}",
        *(f"{name}: {value}" for name, value in fields if name.lower() not in left_out),
        "Connection: close",  # so that one request is all that goes to a host which was checked once
    ]
    return RequestHead(host, port, False, "\r\n".join([*lines, "", ""]).encode("latin-1"), body_bytes)


def _check_host(fields: Fields, host: str, port: int, usual_port: int) -> None:
    """One server may have many hosts: the one that it goes by must be the one that was asked for."""
    for value in _values(fields, "host", most=1):
        if read_authority(value, usual_port) != (host, port):
            raise RefusedRequest(400, "neuraphage: the field Host and the URL of the request name two hosts")


def _body(fields: Fields, minor: str) -> int | None:
    """Length of the body in bytes, or None for chunks."""
    codings, lengths = _values(fields, "transfer-encoding", most=1), _values(fields, "content-length", most=1)
    if codings and (lengths or minor == "0" or codings[0].lower() != "chunked"):
        raise RefusedRequest(400, "neuraphage: the proxy takes a body with a length, or one in chunks")
    if lengths and not _LENGTH.fullmatch(lengths[0]):
        raise RefusedRequest(400, "neuraphage: the length of the body is no number")
    return None if codings else int(lengths[0]) if lengths else 0


def _values(fields: Fields, name: str, most: int) -> list[str]:
    values = [value for field, value in fields if field.lower() == name]
    if len(values) > most:
        raise RefusedRequest(400, f"neuraphage: the request has two fields {name}")
    return values
