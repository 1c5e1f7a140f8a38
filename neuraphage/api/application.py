"""The application service as a whole."""

from __future__ import annotations

from neuraphage.api.follow import Follow
from neuraphage.api.people import People
from neuraphage.api.reads import Reads
from neuraphage.api.tasks import Tasks


class Api(Tasks, People, Reads, Follow):
    """All that surfaces ask of the tasks of one namespace. Thread-safe; use it as a context manager.

    Args:
        ports: what it stands on.
    """
