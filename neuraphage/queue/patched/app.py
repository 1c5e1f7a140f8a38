"""A Celery app that no variable of the environment and no file of the current folder can change.

Changes: the loader imports nothing from the current folder; the broker of a connection is that of the configuration,
before Celery's own variables; no fix-up of Django's; connections and results as ours.
Why: a `redis.py` of the current folder would run with every password of the process. CELERY_BROKER_URL (which
`celery -b` sets too) and CELERY_RESULT_BACKEND come before the configuration, and another project of the same shell
may have set them: our messages would go to a stranger's broker.
Read against: Celery 5.7.0.
"""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.loaders.app import AppLoader

from neuraphage.queue.patched.connections import BrokerAmqp


class Loader(AppLoader):  # type: ignore[misc]  # Celery carries no types
    """Imports what the app names from where it is installed."""

    def import_from_cwd(self, module: str, imp: Any = None, package: str | None = None) -> Any:
        """See Celery; the current folder is not looked into."""
        return (imp or self.import_module)(module, package=package)


class App(Celery):  # type: ignore[misc]  # Celery carries no types
    """Celery's app, which neither the environment nor the current folder can change."""

    backend_cls = "disabled"
    loader_cls = Loader
    builtin_fixups: frozenset[str] = frozenset()  # Django's would put the current folder first, if a variable names it
    amqp_cls = BrokerAmqp

    def connection(self, hostname: str | None = None, *args: Any, **options: Any) -> Any:
        """See Celery."""
        return super().connection(hostname or self.conf["broker_url"], *args, **options)

    def connection_for_read(self, url: str | None = None, **options: Any) -> Any:
        """See Celery."""
        return super().connection_for_read(url or self.conf["broker_url"], **options)

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:
        """See Celery."""
        return super().connection_for_write(url or self.conf["broker_url"], **options)
