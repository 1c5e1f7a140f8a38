"""Our Celery app in a process that kills itself around the write that stores what a guard has said (all_hooks)."""

from __future__ import annotations

from neuraphage.store.tasks import RedisStore
from stackkit.all_hooks import mortal

for _name in ("commit", "suspend", "finish", "go_on"):
    setattr(RedisStore, _name, mortal(getattr(RedisStore, _name)))

from workers.app import app  # noqa: E402 - after the store is mortal

__all__ = ["app"]
