"""What a command does not import: that decides how soon it answers. Times themselves are measured by the benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from clikit import Bench
from neuraphage.cli.command_table import TABLE, CommandTable, commands_of
from neuraphage.cli.main import app

PROGRAM = """
import json, sys
from neuraphage.cli.entry import main
try:
    main()
finally:
    sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""
CELERY = {"celery", "kombu", "billiard"}
TURNS_ONLY = {"anthropic", "openai", "uvicorn", "starlette", "neuraphage.tools.registry"}
WORKERS_ONLY = TURNS_ONLY | CELERY
"""What only those need who take turns or send a wake-up."""
SERVERS = {"redis", "asyncio", "neuraphage.store"}
TURNS = "neuraphage.store.claim"
"""What a turn writes."""
EVERYWHERE = {
    "neuraphage.client.asynchronous",
    "opentelemetry.metrics._internal",
    "pydantic_settings",
    "redis.asyncio.client",
    "rich.markdown",
}
PLUGIN = "[pydantic]\nwatching = watching_plugin:plugin\n"
"""What a package says of itself that brings a plugin for pydantic."""
WATCHING = """
class plugin:
    new_schema_validator = staticmethod(lambda *_: (None, None, None))
"""
READS = WORKERS_ONLY | EVERYWHERE | {"psutil", "neuraphage.redaction.redactor", "neuraphage.api.service", TURNS}
"""What a command that changes nothing has no use for."""
CHANGES = (
    WORKERS_ONLY
    | EVERYWHERE
    | {"psutil", "neuraphage.cli.follow", "neuraphage.cli.ask", "neuraphage.decide.why", TURNS}
)
"""What a command has no use for that changes a task and wakes no worker."""
VIEWS = {"neuraphage.api.transcript", "neuraphage.cli.viewer", "neuraphage.decide.known_files"}
WAKES = CHANGES - CELERY | VIEWS
"""As above, of one that wakes a worker: Celery sends that."""
CALLS = {
    "--help": WORKERS_ONLY | SERVERS | EVERYWHERE | {"psutil", "pydantic"},
    "version": WORKERS_ONLY | SERVERS | EVERYWHERE | {"psutil"},
    "config show": WORKERS_ONLY | SERVERS | EVERYWHERE | {"psutil"},
    "config keys": WORKERS_ONLY | SERVERS | EVERYWHERE | {"psutil"},
    "env": WORKERS_ONLY | SERVERS | EVERYWHERE | {"psutil"},
    "where": WORKERS_ONLY | SERVERS | EVERYWHERE | {"psutil"},
    "health": WORKERS_ONLY | SERVERS | EVERYWHERE,
    "list": READS
    | {
        "neuraphage.cli.viewer",
        "neuraphage.decide.why",
        "neuraphage.ports",
        "neuraphage.model.message",
        "watching_plugin",
    },
    "show abc": READS,
    "events abc": READS | {"neuraphage.decide.why"},
    "why abc": READS | {"neuraphage.cli.viewer"},
    "checkpoint abc": READS,
    "recover": READS,
    "capacity": READS | {"neuraphage.cli.viewer", "neuraphage.decide.why"},
    "repair": READS,
    "limit abc --max-turns 7": CHANGES | {"neuraphage.cli.viewer"},
    "pause abc": CHANGES | {"neuraphage.cli.viewer"},
    "cancel abc": CHANGES | {"neuraphage.cli.viewer"},
    "resume abc": CHANGES | {"neuraphage.cli.viewer"},
    "retry abc": CHANGES | {"neuraphage.cli.viewer"},
    "answer abc yes": CHANGES,
    "submit x": WAKES,
    "send abc hello": WAKES,
    "tools list": WORKERS_ONLY - {"neuraphage.tools.registry"}
    | SERVERS
    | EVERYWHERE
    | {"psutil", "neuraphage.redaction.redactor", "neuraphage.testing", "jsonschema", "watching_plugin"},
    "doctor": TURNS_ONLY | EVERYWHERE | VIEWS | {"neuraphage.redaction.redactor", "neuraphage.testing", TURNS},
}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_command_does_not_import(call: str, bench: Bench, tmp_path: Path) -> None:
    """The modules that take long and that this command has no use for; with a server, as it is used."""
    (tmp_path / "watching-1.0.dist-info").mkdir()
    (tmp_path / "watching-1.0.dist-info" / "entry_points.txt").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "watching_plugin.py").write_text(WATCHING, encoding="utf-8")
    task_id = bench.kit.create()
    words = [task_id if word == "abc" else word for word in call.split()]
    assert imported(*words, path=str(tmp_path)) & CALLS[call] == set()


def imported(*words: str, path: str = "") -> set[str]:
    """Every module that a command has imported at its end."""
    found = os.pathsep.join(filter(None, (path, os.environ.get("PYTHONPATH"))))
    ran = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, *words],
        env=os.environ | {"PYTHONPATH": found},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in ran.stderr
    modules = set(json.loads(ran.stderr.rpartition("\n")[2]))
    assert "neuraphage.cli.main" in modules
    return modules


def test_doctor_without_servers_needs_no_celery() -> None:
    """It asks the broker and the workers through it, where one is named."""
    assert imported("doctor") & CELERY == set()


def test_the_table_says_what_the_commands_say() -> None:
    """The help of all commands is written from the table; each command is where the table says, with the same words."""
    group = get_command(app)
    assert isinstance(group, CommandTable)
    for name, place in TABLE.items():
        command = group.commands[name]
        assert command.name == name
        assert (command.help or "").partition("\n")[0] == place.text
    modules = {place.module for place in TABLE.values()}
    assert {name for module in modules for name in commands_of(module)} == set(TABLE)
