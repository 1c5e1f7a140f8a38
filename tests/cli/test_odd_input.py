"""Whatever a parameter of a command is given, the command ends in words: no traceback, no control characters shown.

The parameters are read from the commands themselves, so that a new one is tried too.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from clikit import Bench, CommandLine
from neuraphage.cli.command_table import TABLE
from neuraphage.cli.main import app
from neuraphage.model.task import Status
from neuraphage.ports import FinishTo

LONG = "x" * 150_000
ODD = {
    "empty": "",
    "blank": " \t ",
    "long": LONG,
    "long number": "9" * 5_000,
    "more than 64 bits": str(2**64),
    "below zero": "-1",
    "not a number": "nan",
    "endless": "inf",
    "more than a float": "1e400",
    "underscores": "1_000",
    "other digits": "٣",
    "a line break": "a\nb",
    "a screen's control": "a\x1b[2J\x1b]0;title\x07b\x00c\x9bd",
    "text that runs backwards": "a\u202eb\u2066c",
    "an option": "--help-me",
    "two dashes": "--",
    "a dash": "-",
    "a folder": "/",
    "no folder": "/dev/null",
    "endless input": "/dev/zero",
    "a folder above": "../../../../../..",
    "home of nobody": "~nobody-at-all/x",
    "a pattern": "*",
    "a format": "{0.__class__} %s %(x)s ${HOME}",
    "markup": "[bold red]x[/] [/nosuch] [link=file:///etc/passwd]y[/link]",
    "emoji": "👩‍👩‍👧‍👦" * 30,
    "half a pair": "a\ud83d",
    "bytes": "caf\udce9",
}
"""What a shell, a script or a person can give by mistake."""
STARTS_PROCESSES = {
    "dev": ("--script", "nocolon"),
    "demo": ("--live",),
    "run": ("--resume", "nosuch", "x"),
    "purge": ("--data-dir", "/nowhere/at/all"),
    "relay": ("--check",),
}
"""A wrong call of those, so that none goes on for long: all else is looked at before."""
EMPTY = ("NEURAPHAGE_NAMESPACE", "empty")
"""Here no odd part of an id is that of a task, which `run` would follow."""
NOT_FOR_PEOPLE = {"env"}
"""What a shell evaluates has to be as it was given."""
LONGEST_COMPLAINT = 1_500
TASK = "task_id"


def calls_of(name: str, task_id: str) -> list[tuple[str, tuple[str, ...]]]:
    """Every parameter of a command with every odd value, the others being well."""
    command: Any = get_command(app)
    parameters = command.commands[name].params
    base = STARTS_PROCESSES.get(name, ())
    named = [task_id] if any(one.name == TASK for one in parameters) else []
    found: list[tuple[str, tuple[str, ...]]] = []
    for one in parameters:
        if getattr(one, "is_flag", False) or getattr(one, "count", False):
            continue
        for kind, odd in ODD.items():
            if one.param_type_name == "option":
                found.append((f"{one.name}, {kind}", (name, *named, *base, one.opts[0], odd)))
            elif one.name == TASK:
                found.append((f"{one.name}, {kind}", (name, odd)))
            else:
                found.append((f"{one.name}, {kind}", (name, *named, *base, odd)))
    return found


def shown_raw(text: str) -> set[str]:
    """The control and direction characters of an output."""
    return {one for one in text if (not one.isprintable() and one not in "\n\t\u200d") or "\ud800" <= one <= "\udfff"}


@pytest.mark.real_redis
@pytest.mark.parametrize("name", TABLE)
def test_odd_values(cli: CommandLine, bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """Each is taken or refused, in words that are not longer than a screen and change nothing on it."""
    monkeypatch.chdir(tmp_path)
    if name == "run":
        monkeypatch.setenv(*EMPTY)
    if name == "doctor":  # it would wait for the answers of workers
        monkeypatch.delenv("NEURAPHAGE_STATE_URL")
        monkeypatch.delenv("NEURAPHAGE_BROKER_URL")
    task_id = bench.kit.create()
    bench.kit.finish(bench.kit.claim(task_id), FinishTo.COMPLETED, summary="Done.")
    faults = []
    for told, call in calls_of(name, task_id):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\x00\x1b[2J\xff\n"), encoding="utf-8"))
        try:
            ran = cli(*call)
        except Exception as error:
            faults.append(f"{told}: {type(error).__name__}: {str(error)[:200]}")
            continue
        if ran.code not in {0, 1, 2, 3}:
            faults.append(f"{told}: exit code {ran.code}")
        if ran.code in {1, 2} and not ran.err.startswith("neuraphage: ") and not ran.out:
            faults.append(f"{told}: said {ran.err[:200]!r}")
        if len(ran.err) > LONGEST_COMPLAINT:
            faults.append(f"{told}: {len(ran.err)} characters: {ran.err[:100]!r}")
        if raw := shown_raw(ran.err if name in NOT_FOR_PEOPLE else ran.out + ran.err):
            faults.append(f"{told}: shows {raw} in {(ran.out + ran.err)[:200]!r}")
    assert not faults, "\n".join(faults)
    assert bench.client.get(task_id).status in {Status.COMPLETED, Status.QUEUED}  # a message makes it go on
