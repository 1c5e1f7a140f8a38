"""The Spool of a check: it begins nothing, since what it began would outlive the check."""

from __future__ import annotations

from typing import NoReturn

from neuraphage.errors import SpoolError
from neuraphage.ports import Interrupt, SpoolCommand

WHY = "a check begins no detached work, which only a worker looks after; try the tool under `run_turns`"


class NoSpool:
    """Implements ports.Spool by refusing: every method raises SpoolError."""

    @property
    def identity(self) -> str:
        """None that a record has."""
        raise SpoolError(WHY)

    def start(self, work: SpoolCommand, /) -> NoReturn:  # noqa: ARG002 - the port's shape
        """See ports.Detached."""
        raise SpoolError(WHY)

    def look(self, effect_id: str, output_limit_chars: int) -> NoReturn:  # noqa: ARG002 - as above
        """See ports.Detached."""
        raise SpoolError(WHY)

    def seal(self, effect_id: str) -> NoReturn:  # noqa: ARG002 - as above
        """See ports.Detached."""
        raise SpoolError(WHY)

    def wait(self, effect_id: str, output_limit_chars: int, interrupt: Interrupt) -> NoReturn:  # noqa: ARG002 - as above
        """See ports.Detached."""
        raise SpoolError(WHY)

    def cancel(self, effect_id: str) -> NoReturn:  # noqa: ARG002 - as above
        """See ports.Detached."""
        raise SpoolError(WHY)
