"""The Python clients: submit tasks, follow them, answer them, from any process that reaches the servers.

from neuraphage.client import Client

with Client() as client:
    task_id = client.submit("make the failing tests pass", working_dir="/path/to/project")
    record = client.wait(task_id)
    print(record.detail)

`AsyncClient` has the same methods, to be awaited.
"""

from neuraphage.client.asynchronous import AsyncClient
from neuraphage.client.sync import Client

__all__ = ["AsyncClient", "Client"]
