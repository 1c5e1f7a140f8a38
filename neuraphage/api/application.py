"""The application service as a whole."""

from __future__ import annotations

from neuraphage.api.follow import Follow
from neuraphage.api.inbox import InboxReads
from neuraphage.api.people import People
from neuraphage.api.recovering import Recovering


class Api(Recovering, People, InboxReads, Follow):
    """All that surfaces ask of the tasks of one namespace. Thread-safe; use it as a context manager.

    Args:
        ports: what it stands on.
    """
