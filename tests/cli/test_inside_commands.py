"""What a task runs gives no orders to tasks: commands and clients refuse, and say who can do it."""

from __future__ import annotations

import os

import pytest

from apikit import ApiBench
from clikit import run_process
from neuraphage.api import Api
from neuraphage.cli.command_table import TABLE
from neuraphage.client_wiring import api_ports
from neuraphage.errors import BadInput
from neuraphage.inside_command import MARK
from neuraphage.settings import Settings
from neuraphage.tools.environment import clean_environment, marked

TASK = "task-0190f3c1-7b3a-7c11-8a55-1234567890ab"
ARGUMENTS = {
    **dict.fromkeys(("run", "submit", "pause", "resume", "cancel", "retry", "limit"), ("x",)),
    "answer": ("x", "yes"),
    "send": ("x", "words"),
    "model": ("x", "expert"),
    "deps": ("add", "x", "y"),
    "dev": ("--script", "a:b"),
    "purge": ("--yes",),
}
"""Of a call that is right, where there must be some."""
ORDERS = [name for name, entry in TABLE.items() if entry.orders]


def environ() -> dict[str, str]:
    """Of what a command of a task starts. No server answers, and no key is there."""
    servers = {f"NEURAPHAGE_{kind}_URL": f"redis://127.0.0.1:1/{n}" for n, kind in enumerate(("BROKER", "STATE"))}
    return marked(clean_environment(os.environ), TASK) | servers


@pytest.mark.parametrize("name", ORDERS)
def test_a_command_refuses_orders_from_inside(name: str) -> None:
    """A wrong call, before anything is looked for: the task is named, and that a person can do it."""
    ran = run_process(name, *ARGUMENTS.get(name, ()), env=environ())
    assert ran.code == 2, ran.err
    assert f"`neuraphage {name}` was refused" in ran.err
    assert TASK in ran.err
    assert "A person can do it" in ran.err


@pytest.mark.parametrize("arguments", [("submit", "--help"), ("version",), ("rules", "list"), ("config", "show")])
def test_what_only_looks_is_not_refused(arguments: tuple[str, ...]) -> None:
    """Help, and what changes no task."""
    ran = run_process(*arguments, env=environ())
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("name", ["add", "remove"])
def test_rules_are_not_changed_from_inside(name: str) -> None:
    """A task's own command may not allow itself what nobody has."""
    ran = run_process("rules", name, "allow run_command", env=environ())
    assert ran.code == 2, ran.err
    assert f"`neuraphage rules {name}` was refused" in ran.err


@pytest.mark.parametrize("words", [(), ("--remove",)])
def test_no_project_is_trusted_from_inside(words: tuple[str, ...]) -> None:
    """Nor is a trusted one let go: its rules hold for the very task."""
    ran = run_process("trust", *words, env=environ())
    assert ran.code == 2, ran.err
    assert "`neuraphage trust` was refused" in ran.err


def test_every_order_is_known() -> None:
    """All that people tell tasks, and what tasks stand on."""
    told = {"run", "submit", "answer", "send", "pause", "resume", "cancel", "retry", "limit", "model"}
    assert set(ORDERS) == told | {"deps", "dev", "demo", "purge", "repair", "relay"}


REQUESTS = {
    "submit": lambda api: api.submit("x", model="m"),
    "send": lambda api: api.send(TASK, "x"),
    "answer": lambda api: api.answer(TASK, "yes", prompt_id="p"),
    "pause": lambda api: api.pause(TASK),
    "resume": lambda api: api.resume(TASK),
    "cancel": lambda api: api.cancel(TASK),
    "retry": lambda api: api.retry(TASK),
    "reset": lambda api: api.reset(TASK),
    "add_dependency": lambda api: api.add_dependency(TASK, TASK),
    "remove_dependency": lambda api: api.remove_dependency(TASK, TASK),
    "limit": lambda api: api.limit(TASK, max_turns=3),
    "model": lambda api: api.set_model(TASK, "expert"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_client_refuses_orders_from_inside(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service does, so every client and surface does; without the mark the store is asked, which is not there."""
    settings = Settings(state_url="redis://127.0.0.1:1/1", broker_url="redis://127.0.0.1:1/0")
    monkeypatch.setenv(MARK, TASK)
    refusal = pytest.raises(BadInput, match=f"refused: this is part of a command of '{TASK}'")
    with Api(api_ports(settings)) as api, refusal:
        REQUESTS[name](api)


def test_reads_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command may look at tasks, as far as it reaches the server."""
    monkeypatch.setenv(MARK, TASK)
    bench = ApiBench()
    with Api(bench.ports) as api:
        assert [*api.list()] == []
