"""What a tool may tell of a call before anybody is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from neuraphage.ports.effects import ToolContext


@runtime_checkable
class ForeseesRefusal(Protocol):
    """A tool that may add this: it tells before a person is asked that a call can only fail as things stand."""

    def refusal(self, params: Mapping[str, Any], context: ToolContext) -> str | None:
        """Look, and change nothing.

        Returns:
            What the call's result would say, or None when it may succeed.
        """
        ...
