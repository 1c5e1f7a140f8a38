"""The guards of this process: asked in order, each within its time. What fails has blocked."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from neuraphage.decide.guarding import judged, why_unfit
from neuraphage.hooks.bounded_call import BoundedCalls, HookFailed
from neuraphage.hooks.declaring import Hook
from neuraphage.model.hook import GUARD_POINTS, MAX_REASON_CHARS, HookKind, HookPoint, Judgement, Verdict, VerdictKind
from neuraphage.model.hook_payload import Payload
from neuraphage.ports import Interrupt

log = logging.getLogger(__name__)


class LoadedGuards:
    """Implements ports.Guards.

    Args:
        hooks: all of this process, in order; observers among them are passed over.
        problems: why hooks could not be loaded. Any of them may have been a guard, so there everything is blocked.
    """

    def __init__(self, hooks: Sequence[Hook], problems: Sequence[str] = ()) -> None:
        self._hooks = [hook for hook in hooks if hook.kind is HookKind.GUARD]
        self._problems = tuple(problems)
        self._calls = BoundedCalls()
        asked = {HookPoint(point) for hook in self._hooks for point in hook.points}
        self._points = frozenset(GUARD_POINTS if self._problems else asked)

    @property
    def points(self) -> frozenset[HookPoint]:
        """See ports.Guards."""
        return self._points

    def judge(self, payload: Payload, interrupt: Interrupt | None) -> Judgement:
        """See ports.Guards."""
        if self._problems:
            reason = f"A hook of this worker could not be loaded: {'; '.join(self._problems)}"[:MAX_REASON_CHARS]
            return Judgement(verdict=VerdictKind.BLOCK, by="hooks", reason=reason)
        point = payload.point
        asked = [hook for hook in self._hooks if point.value in hook.points]
        return judged(payload, ((hook.name, partial(self._ask, hook, interrupt)) for hook in asked))

    def _ask(self, hook: Hook, interrupt: Interrupt | None, payload: Payload) -> Verdict:
        try:
            return _verdict(payload, self._calls.call(hook, payload, interrupt))
        except HookFailed as failed:
            log.exception("guard %s at %s", hook.name, payload.point.value)
            reason = f"The guard could not judge: {failed}. What no guard has allowed does not happen."
            return Verdict(verdict=VerdictKind.BLOCK, reason=reason[:MAX_REASON_CHARS])


def _verdict(payload: Payload, said: object) -> Verdict:
    """What a guard has returned, if its point knows that.

    Raises:
        HookFailed: it does not.
    """
    verdict = Verdict(verdict=VerdictKind.ALLOW) if said is None else said
    if not isinstance(verdict, Verdict):
        raise HookFailed(f"it returned a {type(said).__name__}, not a Verdict")
    wrong = why_unfit(payload.point, verdict)
    if wrong is not None:
        raise HookFailed(wrong)
    return verdict
