"""Seams to the world outside the store: time, interrupts, the model, presence and redaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from neuraphage.model.message import ModelReply, ModelRequest

# --- time and identity ---------------------------------------------------------------------------------


class Clock(Protocol):
    """Local time. Server time comes from the store's scripts only."""

    def boottime_s(self) -> float:
        """Seconds that also pass while the machine sleeps (CLOCK_BOOTTIME); never set back."""
        ...

    def wall_ms(self) -> int:
        """Unix milliseconds, for display."""
        ...


class Interrupt(Protocol):
    """Asked by long effects whether they must stop early."""

    def check(self) -> None:
        """Return when the effect may go on.

        Raises:
            CancelRequested: a person cancelled the task.
            LeaseLost: this process no longer holds the task.
        """
        ...

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` (from another thread, at most once) when `check` would raise.

        Returns:
            A function that unsubscribes.
        """
        ...


@runtime_checkable
class DetachableInterrupt(Interrupt, Protocol):
    """One that can be told that the effect in hand goes on without this process: a shutdown need not wait for it."""

    detachable: bool


# --- the model -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply while it streams; for viewers only.

    Args:
        kind: text, thinking or tool (name of a tool call that begins).
        text: the piece.
        call: names the call of the model whose reply it is of; empty where nobody asks.
        end: characters of that reply that are shown with this piece.
    """

    kind: str
    text: str
    call: str = ""
    end: int = 0


class ModelClient(Protocol):
    """Calls the model once. Never retries: the turn's timers do."""

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """Stream one reply to its end.

        Raises:
            ModelFault: the call failed; `kind` says how, `usage` what the reply had told of when it broke off.
            CancelRequested, LeaseLost: the interrupt asked to stop; the connection is closed.
        """
        ...


@runtime_checkable
class CountsTokens(Protocol):
    """A model client that may add this: it asks the provider how long a request is, which is free of charge."""

    def count_tokens(self, request: ModelRequest) -> int:
        """Tokens of the request, without a reply.

        Raises:
            ModelFault: nobody knows.
        """
        ...


class Presence(Protocol):
    """The named connection that shows this process to be alive, and hears nudges."""

    def wait(self, timeout_s: float) -> bool:
        """Keep the connection up; return whether a nudge came within the timeout.

        Raises:
            StoreUnavailable: the server is away; call again.
        """
        ...

    def close(self) -> None:
        """Close it; the process leaves."""
        ...


class Redaction(Protocol):
    """Takes secrets out of what is stored, logged or shown."""

    def text(self, text: str) -> str:
        """The text without secrets."""
        ...

    def json(self, value: Any) -> Any:
        """A plain JSON value without secrets."""
        ...

    def settled_chars(self, text: str) -> int:
        """How many characters of a text that still grows can be redacted apart from what follows them."""
        ...
