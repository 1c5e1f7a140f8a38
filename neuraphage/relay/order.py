"""A request that a relay is to send."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """A request to be sent.

    Args:
        call_id: names it; it is sent once.
        task_id: whose it is.
        method, url, headers, body: of HTTP. Headers hold the key: they are kept in memory alone.
        connect_s: longest wait for a connection.
        read_s: longest silence of the server.
        total_s: longest call.
    """

    call_id: str
    task_id: str
    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connect_s: float
    read_s: float
    total_s: float
