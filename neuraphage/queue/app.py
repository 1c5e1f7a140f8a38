"""The Celery app of neuraphage."""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.loaders.app import AppLoader

from neuraphage.queue.broker_tls import BrokerAmqp
from neuraphage.queue.celery_config import celery_settings
from neuraphage.settings import Settings


class Loader(AppLoader):  # type: ignore[misc]  # Celery carries no types
    """Imports what the app names from where it is installed.

    Celery's own looks into the current folder first, for a worker's modules too: a `redis.py` that lies there would
    run, with every password of the process.
    """

    def import_from_cwd(self, module: str, imp: Any = None, package: str | None = None) -> Any:
        """See Celery; the current folder is not looked into."""
        return (imp or self.import_module)(module, package=package)


class _App(Celery):  # type: ignore[misc]  # Celery carries no types
    """Our app, whatever the CELERY_* variables say: another project of the same shell or process may have set them.

    Celery puts CELERY_BROKER_URL (which `celery -b` sets too) and CELERY_RESULT_BACKEND before the configuration: our
    messages would go to a stranger's broker.
    """

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


def make_app(settings: Settings) -> Celery:
    """The Celery app of these settings; makes no connection."""
    app = _App("neuraphage")
    app.conf.update(celery_settings(settings))
    return app
