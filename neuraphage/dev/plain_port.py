"""Tells a port that speaks no TLS from one that is slow or away, for `doctor`: a `rediss://` that means `redis://`.

A plain server takes the first bytes of TLS for the beginning of a command and waits for its end: nothing comes back, as
from a server that is frozen. So the port is asked in plain words, and only an answer in plain words proves anything.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from neuraphage.errors import StackError

TIMEOUT_S = 1.0
"""For the connection, and again for the answer."""
QUESTION = b"PING\r\n"
_ANSWERS = (b"+", b"-")
_USUAL_PORT = 6379


def refuse_plain_port(url: str, server: str) -> None:
    """See that the port of a `rediss://` does not answer to plain words; any other URL is left alone.

    Args:
        url: of the server.
        server: what the message calls it.

    Raises:
        StackError: it answers, so it speaks no TLS.
    """
    parts = urlsplit(url)
    if parts.scheme != "rediss" or not parts.hostname:
        return
    if answers_in_plain((parts.hostname, parts.port or _USUAL_PORT), TIMEOUT_S):
        raise StackError(
            f"{server} speaks no TLS on this port; write redis:// in place of rediss://, or name its TLS port"
        )


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
