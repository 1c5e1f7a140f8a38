"""A sandboxed command that is met again: its way to the network is of the process that waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.model.task import Status
from neuraphage.sandbox.choice import filter_in
from neuraphage.sandbox.confinement import Bubblewrap
from neuraphage.sandbox.way_folder import WayFolders
from neuraphage.sandbox.way_out import WayOut
from neuraphage.tools.command_tool import RunCommand
from proxykit import ask
from sandboxkit import LIMITS, SandboxedHost, find_bubblewrap
from turnkit import Killed, Rig, calls, says

LINE = "until [ -e go ]; do sleep 0.02; done"


def confine(rig: Rig, host: SandboxedHost, ways: WayFolders) -> None:
    """Commands of this process have a way out."""
    parts = (find_bubblewrap(), host.folders, LIMITS, [], filter_in(host.folders.root), WayOut(ways, ["a.org"]))
    rig.services.tools._tools["run_command"] = RunCommand(sandbox=Bubblewrap(*parts))


def test_who_attaches_to_a_command_gives_it_its_way_back(
    make_rig: Callable[..., Rig], host: SandboxedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens after the death of its worker; while the next one waits for it, its connections are taken."""
    ways = WayFolders(host.data / "ways")
    rig = make_rig(calls(("t1", "run_command", {"command": LINE})), says("Done."), ask_refused_hosts="off")
    confine(rig, host, ways)

    def killed(*_: Any) -> None:
        raise Killed

    monkeypatch.setattr(rig.services.spool, "wait", killed)
    task_id = rig.submit(working_dir=str(host.work))
    rig.dies()
    (way,) = map(ways.of_command, (path.name for path in ways.root.iterdir()))
    with pytest.raises(ConnectionRefusedError):
        ask(way.socket, "CONNECT b.org:443 HTTP/1.1\n\n")
    rig = rig.recover(task_id)
    confine(rig, host, ways)
    told, wait = [], rig.services.spool.wait

    def waiting(*arguments: Any) -> Any:
        told.append(ask(way.socket, "CONNECT b.org:443 HTTP/1.1\n\n")[:13])
        (host.work / "go").touch()
        return wait(*arguments)

    monkeypatch.setattr(rig.services.spool, "wait", waiting)
    rig.drain()
    assert told == ["HTTP/1.1 403 "]
    assert rig.get(task_id).status is Status.COMPLETED
