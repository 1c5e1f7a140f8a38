"""A Celery app on the same broker that knows none of our tasks, as a worker of another release would."""

from __future__ import annotations

from neuraphage.queue.app import make_app
from neuraphage.settings import Settings

app = make_app(Settings())
