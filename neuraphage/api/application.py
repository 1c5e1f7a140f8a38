"""The application service as a whole."""

from __future__ import annotations

from neuraphage.api.admission import Admission
from neuraphage.api.approving import Approving
from neuraphage.api.batch import Batches
from neuraphage.api.follow import Follow
from neuraphage.api.graph import Graph
from neuraphage.api.hooks import Hooks
from neuraphage.api.locks import Locks
from neuraphage.api.money import Money
from neuraphage.api.recovering import Recovering
from neuraphage.api.schedules import Schedules


class Api(Admission, Recovering, Approving, Batches, Follow, Graph, Hooks, Locks, Money, Schedules):
    """All that surfaces ask of the tasks of one namespace. Thread-safe; use it as a context manager.

    Args:
        ports: what it stands on.
    """
