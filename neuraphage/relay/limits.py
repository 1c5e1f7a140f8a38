"""What a relay takes and keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelayLimits:
    """Limits of one relay.

    Args:
        calls: under way at one time; further ones are refused, and their worker sends them itself.
        connections: of workers at one time.
        answer_bytes: of one answer.
        quota_bytes: of all answers that are kept; the oldest that are over go first.
        retention_s: an answer that is over is kept for so long.
        idle_s: a relay that was started by a worker ends when nobody has used it for so long.
        order_s: until an order is there whole.
    """

    calls: int = 1_024
    connections: int = 4_096
    answer_bytes: int = 65 * 1024 * 1024
    quota_bytes: int = 1024**3
    retention_s: float = 3_600.0
    idle_s: float = 2.0
    order_s: float = 30.0
