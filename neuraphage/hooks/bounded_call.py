"""One call of a person's function within its time: in a thread of its own, since no function can be ended."""

from __future__ import annotations

import threading
import time
from typing import Any

from neuraphage.hooks.declaring import Hook
from neuraphage.hooks.shell_hook import ProgramFailed
from neuraphage.model.hook_payload import Payload
from neuraphage.ports import Interrupt

POLL_S = 0.2
"""How soon a pause or a lost lease is seen while a hook runs."""
MOST_HANGING = 8
"""Calls of one hook that have not come back; more are not begun, or a worker would run out of threads."""


class HookFailed(Exception):
    """A hook has not done what it should; the text says what it did instead."""


class BoundedCalls:
    """Calls hooks, and knows those that have not come back."""

    def __init__(self) -> None:
        self._hanging: dict[str, int] = {}
        self._lock = threading.Lock()

    def call(self, hook: Hook, payload: Payload, interrupt: Interrupt | None) -> Any:
        """What the function returns.

        Raises:
            HookFailed: it raised something, did not come back in time, or too many calls of it hang already.
            CancelRequested, LeaseLost: from the interrupt.
        """
        with self._lock:
            hanging = self._hanging.get(hook.name, 0)
            if hanging >= MOST_HANGING:
                raise HookFailed(f"{hanging} calls of it have not come back, so it was not asked again")
            self._hanging[hook.name] = hanging + 1  # here, since its thread may begin late
        returned: list[Any] = []
        raised: list[BaseException] = []

        def run() -> None:
            try:
                returned.append(hook.call(payload))
            except BaseException as error:  # noqa: BLE001 - code of others may raise anything, and ends no thread of ours
                raised.append(error)
            finally:
                with self._lock:
                    self._hanging[hook.name] -= 1

        thread = threading.Thread(target=run, name=f"hook {hook.name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no thread is to be had
            with self._lock:
                self._hanging[hook.name] -= 1
            raise HookFailed(f"it was not asked: {error}") from error
        deadline_s = time.monotonic() + hook.timeout_s
        while thread.is_alive() and (left_s := deadline_s - time.monotonic()) > 0:
            thread.join(min(POLL_S, left_s))
            if interrupt is not None:
                interrupt.check()
        if raised and isinstance(raised[0], ProgramFailed):
            raise HookFailed(str(raised[0]))
        if raised:
            raise HookFailed(f"it failed with {type(raised[0]).__name__}: {raised[0]}".rstrip(": ")) from raised[0]
        if not returned:
            raise HookFailed(f"it did not answer within {hook.timeout_s:g} s")
        return returned[0]
