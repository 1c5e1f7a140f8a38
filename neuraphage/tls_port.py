"""Tells a port that speaks no TLS from one that is slow or away, so that a wrong `rediss://` is refused at once.

A plain server takes the first bytes of TLS for the beginning of a command and waits for its end: nothing comes back,
as from a server that is frozen. So after a short wait the same port is asked in plain words, and only an answer in
plain words proves that it speaks no TLS. Where none comes, TLS is tried again with all the time that it may take.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import redis

Wrap = Callable[[socket.socket], socket.socket]

FIRST_WAIT_S = 1.0
"""A handshake that takes longer is on a slow way, or on none; and how long the plain question may take."""
QUESTION = b"PING\r\n"
_ANSWERS = (b"+", b"-")
_PLAIN_WORDS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"})
"""OpenSSL's names for an answer that is no TLS."""


_ADVICE = "speaks no TLS on this port; write redis:// in place of rediss://, or its TLS port"
_PLAIN: Any = redis.Connection
"""Its inner methods carry no types."""


class PlainPort(OSError):
    """What listens there speaks no TLS."""


class TlsOrRefusal(redis.SSLConnection):
    """A connection by TLS that refuses a port which speaks none."""

    server: ClassVar[str]
    """What the message calls it."""
    refusal: ClassVar[type[redis.exceptions.RedisError]]
    """What is raised."""

    def _wrap_socket_with_ssl(self, sock: Any) -> Any:
        dial = partial(_PLAIN._connect, self)
        try:
            return shake_hands(sock, super()._wrap_socket_with_ssl, dial, (self.host, self.port))
        except PlainPort as error:
            raise self.refusal(f"{self.server} {_ADVICE}") from error


def shake_hands(
    first: socket.socket,
    wrap: Wrap,
    dial: Callable[[], socket.socket],
    address: tuple[str, int],
) -> socket.socket:
    """Wrap a connected socket in TLS.

    Args:
        first: the socket; its timeout is how long a handshake may take.
        wrap: does it, within the timeout of the socket it gets.
        dial: connects once more, with the same timeout.
        address: host and port, for the question in plain.

    Raises:
        PlainPort: it speaks no TLS.
        OSError: as `wrap` and `dial`.
    """
    whole_s = first.gettimeout()
    first_s = FIRST_WAIT_S if whole_s is None else min(whole_s, FIRST_WAIT_S)
    first.settimeout(first_s)
    try:
        shaken = _wrapped(first, wrap)
    except TimeoutError:
        first.close()
        if answers_in_plain(address, first_s):
            raise PlainPort from None
        return _wrapped(dial(), wrap)
    shaken.settimeout(whole_s)
    return shaken


def answers_in_plain(address: tuple[str, int], timeout_s: float) -> bool:
    """Whether a server there answers to plain words of Redis, be it with an error.

    Args:
        address: host and port.
        timeout_s: for the connection, and again for the answer.
    """
    try:
        with socket.create_connection(address, timeout_s) as asked:
            asked.sendall(QUESTION)
            return asked.recv(1) in _ANSWERS
    except OSError:
        return False


def _wrapped(sock: socket.socket, wrap: Wrap) -> socket.socket:
    try:
        return wrap(sock)
    except ssl.SSLError as error:
        if error.reason in _PLAIN_WORDS:
            raise PlainPort from error
        raise
