"""The application service as a whole."""

from __future__ import annotations

from neuraphage.api.asked_files import AskedFiles
from neuraphage.api.follow import Follow
from neuraphage.api.people import People
from neuraphage.api.recovering import Recovering


class Api(Recovering, People, AskedFiles, Follow):
    """All that surfaces ask of the tasks of one namespace. Thread-safe; use it as a context manager.

    Args:
        ports: what it stands on.
    """
