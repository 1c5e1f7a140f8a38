"""What the stand-in knows of its containers holds beside whatever else happens on the machine."""

from __future__ import annotations

import localcompose
import psutil
import pytest
from deployment import Deployment
from localcompose import LocalCompose

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]


def test_a_clock_that_is_set_ends_no_container(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of the runbook is a process of its own, which reads anew when the containers began."""
    before = deployment.compose.running()
    assert ("worker", 1) in before
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: 1.0)
    assert LocalCompose(deployment.project).running() == before


def test_a_machine_without_room_changes_no_container(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they have process ids of their own was decided with the project."""
    before = deployment.compose.pid("worker")
    monkeypatch.setattr(localcompose, "namespaces", lambda: False)
    assert LocalCompose(deployment.project).pid("worker") == before


def test_what_a_failed_test_left_down_comes_back(deployment: Deployment, request: pytest.FixtureRequest) -> None:
    """A test that is run again finds everything up, and folders of its own."""
    deployment.compose.kill("flower")
    assert ("flower", 1) not in deployment.compose.running()
    again = request.getfixturevalue("brought_up")()
    assert ("flower", 1) in again.compose.running()
    assert again.folder("one") != again.folder("one")
