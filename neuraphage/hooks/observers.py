"""The observers of this process: told within their time. What fails is told of, and hurts no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuraphage.hooks.bounded_call import BoundedCalls, HookFailed
from neuraphage.hooks.declaring import Hook
from neuraphage.model.hook import HookKind
from neuraphage.model.hook_payload import Observed
from neuraphage.redaction.ends import Redact


class LoadedObservers:
    """Implements ports.Observers.

    Args:
        hooks: all of this process; guards among them are passed over.
        redact: takes secrets out of what the code of others says.
    """

    def __init__(self, hooks: Sequence[Hook], redact: Redact = str) -> None:
        self._hooks = {hook.name: hook for hook in hooks if hook.kind is HookKind.OBSERVER}
        self._redact = redact
        self._calls = BoundedCalls()

    @property
    def observers(self) -> Mapping[str, frozenset[str]]:
        """See ports.Observers."""
        return {name: frozenset(hook.points) for name, hook in self._hooks.items()}

    @property
    def longest_s(self) -> float:
        """See ports.Observers."""
        return max((hook.timeout_s for hook in self._hooks.values()), default=0.0)

    def tell(self, name: str, told: Observed) -> str:
        """See ports.Observers."""
        try:
            self._calls.call(self._hooks[name], told, None)
        except HookFailed as failed:
            return self._redact(str(failed))
        return ""
