"""What surrounds one call of any provider: the interrupt, the deadline, and faults without secrets. Imports no SDK."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from pydantic import SecretStr

from neuraphage.errors import CancelRequested, FaultKind, ModelFault, RelayError
from neuraphage.llm.hangup import Cause, Hangup
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.usage import Usage
from neuraphage.ports import Delta, DetachableInterrupt, Interrupt

MIN_SECRET_CHARS = 8
"""Shorter keys are placeholders for local servers, not secrets."""

_log = logging.getLogger(__name__)


class Collecting(Protocol):
    """A reply that is being folded from a provider's events."""

    @property
    def started(self) -> bool:
        """Whether the reply had begun."""

    @property
    def usage(self) -> Usage:
        """Tokens as last told."""

    @property
    def model(self) -> str:
        """Who writes it, as far as that was said."""


CollectorT = TypeVar("CollectorT", bound=Collecting)
MapFault = Callable[..., ModelFault]
"""Called as (error, streaming=whether the reply had begun, now_s=wall clock)."""


class GuardedCall:
    """One call, from its first look at the interrupt to a reply or a fault.

    Args:
        key: the credential, to keep it out of what is told of a fault; None where there is none.
        timeout_s: longest whole call.
        fault_of: maps what the provider's SDK lets out.
    """

    def __init__(self, key: SecretStr | None, timeout_s: float, fault_of: MapFault) -> None:
        self._key = key
        self._timeout_s = timeout_s
        self._fault_of = fault_of

    def run(
        self,
        stream: Callable[[CollectorT], ModelReply],
        collector: CollectorT,
        interrupt: Interrupt,
        hangup: Hangup,
    ) -> ModelReply:
        """Make it; see `ports.ModelClient.call` for what it raises.

        Args:
            stream: connects, and folds what comes into the collector.
            collector: of the reply.
            interrupt: asked before; its wake-up hangs up.
            hangup: the switch of the call.
        """
        unsubscribe = interrupt.subscribe(lambda: hangup.hang_up(Cause.INTERRUPT))
        try:
            interrupt.check()
            with hangup.watching(self._timeout_s):
                return stream(collector)
        except Exception as error:  # noqa: BLE001 - SDKs let out classes of three libraries; all are mapped
            if hangup.cause is Cause.INTERRUPT:
                _stop(interrupt, collector)
            # Without a cause: a foreign exception's text may hold the key, and a traceback prints it.
            raise self._fault(error, collector, hangup) from None
        finally:
            unsubscribe()

    def _fault(self, error: Exception, collector: Collecting, hangup: Hangup) -> ModelFault:
        if hangup.cause is Cause.DEADLINE:
            fault = ModelFault(FaultKind.TIMEOUT, f"the call was not over after {self._timeout_s:g} s")
        else:
            fault = self._fault_of(error, streaming=collector.started, now_s=time.time())
        clean = without_key(fault.detail, self._key)
        usage, model = _told(collector), collector.model
        return ModelFault(fault.kind, clean, fault.retry_after_s, usage=usage, model=model, told=fault.told)


def _told(collector: Collecting) -> dict[str, int] | None:
    """Tokens that a reply has told of; None when none had begun."""
    return collector.usage.model_dump() if collector.started else None


def _stop(interrupt: Interrupt, collector: Collecting) -> None:
    """Raise what the interrupt does; a cancel is told what the reply that it breaks off had cost by then."""
    try:
        interrupt.check()
    except CancelRequested as cancelled:
        cancelled.usage, cancelled.model = _told(collector), collector.model
        raise


def hangup_for(request: ModelRequest, timeout_s: float, interrupt: Interrupt) -> Hangup:
    """The switch of a call that a relay may hold.

    Args:
        request: what is sent.
        timeout_s: longest whole call.
        interrupt: told when the call outlives this process: then a shutdown need not wait for it.
    """

    def outlives() -> None:
        if isinstance(interrupt, DetachableInterrupt):
            interrupt.detachable = True

    return Hangup(request.call_id, request.task_id, timeout_s, interrupt.check, outlives)


def is_left_to_us(error: BaseException) -> bool:
    """Whether this is a relay's word that it has not taken a call, and never will: this process makes it."""
    return isinstance(error.__cause__, RelayError)


def without_key(text: str, key: SecretStr | None) -> str:
    """A text without the credential. A placeholder as short as "k" would blank half of every message."""
    secret = "" if key is None else key.get_secret_value()
    return text.replace(secret, "[api key]") if len(secret) >= MIN_SECRET_CHARS else text


def fail_open(on_delta: Callable[[Delta], None]) -> Callable[[Delta], None]:
    """Viewers must not fail a paid call: the first Exception is logged and ends the pieces."""
    failed = False

    def guarded(delta: Delta) -> None:
        nonlocal failed
        if failed:
            return
        try:
            on_delta(delta)
        except Exception:  # noqa: BLE001 - observers fail open, whatever they raise
            failed = True
            _log.warning("showing the reply as it streams failed; the call goes on without", exc_info=True)

    return guarded
