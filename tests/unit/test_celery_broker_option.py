"""`celery -b`: it would count for one process, and the others would wait for its messages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from neuraphage.celery_command import broker_complaint

OURS, LONG = ("-A", "workers.app"), ("-A", "neuraphage.celery_app")
BROKER = ("-b", "redis://h/0")


@pytest.mark.parametrize("app", [OURS, LONG, ("-Aworkers.app",), ("--app=neuraphage.celery_app",)])
@pytest.mark.parametrize("broker", [BROKER, ("-bredis://h/0",), ("--broker", "redis://h/0"), ("--broker=redis://h/0",)])
def test_a_broker_of_our_app_is_refused(tmp_path: Path, app: tuple[str, ...], broker: tuple[str, ...]) -> None:
    """In every form that Celery takes; it says what names the broker."""
    said = broker_complaint(["celery", *app, *broker, "worker"], sys.path, tmp_path)
    assert said is not None
    assert "NEURAPHAGE_BROKER_URL" in said


def test_everything_else_is_left_alone(tmp_path: Path) -> None:
    """Calls without one, of another app, and of a foreign `workers` package."""
    assert broker_complaint(["celery", *OURS, "worker", "-B", "--beat"], sys.path, tmp_path) is None
    assert broker_complaint(["celery", "-A", "theirs", *BROKER, "worker"], sys.path, tmp_path) is None
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "__init__.py").touch()
    assert broker_complaint(["celery", *OURS, *BROKER, "worker"], sys.path, tmp_path) is None
    assert broker_complaint(["celery", *LONG, *BROKER, "worker"], sys.path, tmp_path) is not None
