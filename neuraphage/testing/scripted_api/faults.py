"""Faults on order: which request fails, at which attempt, and how."""

from __future__ import annotations

import threading
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_FAULTS = 10_000

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}

StatusKind = Literal["400", "401", "403", "404", "413", "422", "429", "500", "529"]
StreamKind = Literal["drop", "cut", "stall", "garbage", "truncated", "error_event", "slow"]
Kind = StatusKind | StreamKind


class Fault(BaseModel):
    """One fault on order. All conditions that are set must hold.

    Args:
        kind: an HTTP status; or drop (connection closed without an answer), cut (closed in mid-stream), stall
            (silence in mid-stream), garbage (a chunk that is no JSON), truncated (a clean end without
            message_stop), error_event (an `error` event in mid-stream), slow (silence before the first event).
        script: name of the script; None for any.
        turn: number of assistant messages in the request; None for any.
        request_hash: None for any.
        attempts: which times the same request comes, from 1; empty for every time.
        times: how often at most the fault happens; None for no limit.
        after_events: mid-stream faults: events sent before it.
        delay_s: stall and slow: length of the silence.
        retry_after: text of the retry-after header (seconds or a date).
        error_type: error_event: its type; status faults: None for the status's own type.
        message: text of the error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    script: str | None = None
    turn: int | None = None
    request_hash: str | None = None
    attempts: tuple[Annotated[int, Field(ge=1)], ...] = (1,)
    times: int | None = Field(default=None, ge=0)
    after_events: int = Field(default=4, ge=0)
    delay_s: float = Field(default=3600.0, ge=0, le=86_400.0)
    retry_after: str | None = Field(default=None, max_length=200, pattern=r"^[ -~]*$")
    error_type: str | None = None
    message: str = "a fault on order"

    @property
    def status(self) -> int | None:
        """The HTTP status; None for faults of the stream."""
        return int(self.kind) if self.kind.isdigit() else None

    def fits(self, script: str, turn: int, request_hash: str, attempt: int) -> bool:
        """Whether this request is meant."""
        return (
            self.script in (None, script)
            and self.turn in (None, turn)
            and self.request_hash in (None, request_hash)
            and (not self.attempts or attempt in self.attempts)
        )


class FaultPlan:
    """The faults on order, oldest first. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._uses: list[int] = []

    def add(self, fault: Fault) -> None:
        """Order one.

        Raises:
            ValueError: MAX_FAULTS are on order.
        """
        with self._lock:
            if len(self._faults) >= MAX_FAULTS:
                raise ValueError(f"{MAX_FAULTS} faults are on order already: reset the server first")
            self._faults.append(fault)
            self._uses.append(0)

    def take(self, script: str, turn: int, request_hash: str, attempt: int) -> Fault | None:
        """The first fault that fits and is not used up; counts as one use."""
        with self._lock:
            for index, fault in enumerate(self._faults):
                used_up = fault.times is not None and self._uses[index] >= fault.times
                if not used_up and fault.fits(script, turn, request_hash, attempt):
                    self._uses[index] += 1
                    return fault
        return None

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._faults.clear()
            self._uses.clear()
