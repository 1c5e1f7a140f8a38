"""The stack of docker-compose.yml as local processes, one for all tests here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deployment import Deployment

from neuraphage.testing.scripted_api import ScriptedServer
from stackkit.scripts import plan


@pytest.fixture(scope="session")
def stack() -> Iterator[Deployment]:
    """A project folder with everything up, and the model that the tasks' own plans play."""
    with (
        tempfile.TemporaryDirectory(prefix="np-deploy-", ignore_cleanup_errors=True) as folder,
        ScriptedServer({"plan": plan}, default="echo") as model,
        Deployment(Path(folder), model.url) as running,
    ):
        yield running


@pytest.fixture
def brought_up(stack: Deployment) -> Callable[[], Deployment]:
    """Starts what does not run: also where a test before, or the try before of this one, has left it down."""

    def bring() -> Deployment:
        stack.compose.up([])
        return stack

    return bring


@pytest.fixture
def deployment(brought_up: Callable[[], Deployment]) -> Deployment:
    """The project, with everything up."""
    return brought_up()
