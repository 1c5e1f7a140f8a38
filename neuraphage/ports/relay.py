"""The seam to calls of the model that outlive the process which makes them."""

from __future__ import annotations

from typing import Protocol

from neuraphage.decide.begun_call import Finding


class Relay(Protocol):
    """Holds calls of the model on this host. A call id names one call for good: it is sent once at most."""

    def warm(self) -> None:
        """Have it ready, so that no call waits for that. A failure shows itself at the call."""
        ...

    def settle(self, call_id: str) -> Finding:
        """Find out what became of a call that a former lease had announced; one that nobody has taken never will be.

        Returns:
            RUNNING or ENDED: its answer can be had under this id. UNKNOWN: nobody can tell.
        """
        ...

    def stored(self, call_id: str) -> None:
        """What was made of an answer is stored, so it need not be kept."""
        ...

    def leave(self, call_id: str) -> None:
        """This process reads no more of an answer; the call goes on."""
        ...

    def cancel(self, call_id: str) -> None:
        """End a call."""
        ...


class NoRelay:
    """Every call ends with the process that makes it. Implements Relay."""

    def warm(self) -> None:
        """See Relay."""

    def settle(self, call_id: str) -> Finding:  # noqa: ARG002 - as of Relay
        """See Relay."""
        return Finding.UNKNOWN

    def stored(self, call_id: str) -> None:
        """See Relay."""

    def leave(self, call_id: str) -> None:
        """See Relay."""

    def cancel(self, call_id: str) -> None:
        """See Relay."""
