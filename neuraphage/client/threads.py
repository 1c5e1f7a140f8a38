"""The threads in which a client for asyncio makes its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, Self, TypeVar

from neuraphage.api import Api
from neuraphage.api.approving import ApprovalSteps
from neuraphage.api.task_steps import TaskSteps
from neuraphage.client_wiring import api_ports
from neuraphage.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8
"""Calls of one client that run side by side; each takes a millisecond or so."""


class ClientThreads:
    """What `AsyncClient` stands on: an `Api`, and a few threads in which its methods are called.

    Args:
        settings: see `AsyncClient`.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        ports = api_ports(settings)
        self._api = Api(ports)
        self._steps = TaskSteps(ports)
        self._approvals = ApprovalSteps(ports)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="neuraphage-client")

    @property
    def settings(self) -> Settings:
        """As `Client.settings`."""
        return self._api.settings

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Wait for calls in flight and close all connections; nothing of the client works after it."""
        closing = asyncio.ensure_future(asyncio.to_thread(self._close))
        await asyncio.shield(closing)

    def _close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._api.close()

    async def _call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(method, *args, **kwargs))
