"""The Python clients: submit tasks, follow them, answer them, from any process that reaches the servers.

from neuraphage.client import Client

with Client() as client:
    task_id = client.submit("make the failing tests pass", working_dir="/path/to/project")
    record = client.wait(task_id)
    print(record.detail)

`AsyncClient` has the same methods, to be awaited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuraphage.client.sync import Client

if TYPE_CHECKING:
    from neuraphage.client.asynchronous import AsyncClient

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    """AsyncClient when it is asked for: a program that waits has no use for asyncio, which takes long to import."""
    if name == "AsyncClient":
        from neuraphage.client.asynchronous import AsyncClient  # noqa: PLC0415 - see above

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
