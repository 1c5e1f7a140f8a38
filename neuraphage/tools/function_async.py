"""Runs a tool's coroutine in the thread of its turn, within its time, until the task must stop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from neuraphage.ports import Interrupt


def run_coroutine(coroutine: Coroutine[Any, Any, Any], interrupt: Interrupt, timeout_s: float) -> Any:
    """Run a coroutine to its end, on an event loop of its own.

    Args:
        coroutine: of the tool.
        interrupt: cancels it when the task must stop.
        timeout_s: cancels it after this time, in seconds.

    Returns:
        What it returned.

    Raises:
        CancelRequested, LeaseLost: from the interrupt, once the coroutine has ended.
        TimeoutError: its time was over.
        RuntimeError: it was cancelled by its own code.
    """

    async def bounded() -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def wake() -> None:
            if task is not None:
                with suppress(RuntimeError):  # the loop is closed: it has ended by itself just now
                    loop.call_soon_threadsafe(task.cancel)

        forget = interrupt.subscribe(wake)
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await coroutine
        except TimeoutError:
            if limit.expired():
                raise TimeoutError(f"it was ended after {timeout_s:g} s, the longest that this tool may run") from None
            raise
        finally:
            forget()

    try:
        return asyncio.run(bounded())
    except asyncio.CancelledError:
        interrupt.check()
        raise RuntimeError("it was cancelled by its own code") from None
