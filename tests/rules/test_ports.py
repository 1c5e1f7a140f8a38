"""Every seam has a real part that keeps it, method by method."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any, Protocol

import pytest

from neuraphage import ports
from neuraphage.hooks.guards import LoadedGuards
from neuraphage.hooks.observers import LoadedObservers
from neuraphage.llm import AnthropicClient, BedrockClient, OpenAIClient, RoutedClient, VertexClient
from neuraphage.local_files import LocalFiles
from neuraphage.own_rules import OwnRules
from neuraphage.prompt_notices import LocalNotices
from neuraphage.queue.dispatcher import QueueDispatcher
from neuraphage.redaction.redactor import Redactor
from neuraphage.relay.reply_relay import ReplyRelay
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.held_lease import HeldLease
from neuraphage.sandbox.confinement import Bubblewrap, Landlock, NoSandbox, Seatbelt
from neuraphage.shell import ShfmtReader
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.standby import StandbyProcess
from neuraphage.store.observers import RedisObservers
from neuraphage.store.presence import NamedConnection
from neuraphage.store.reads import RedisReads
from neuraphage.store.requests import RedisRequests
from neuraphage.store.schedules import RedisSchedules
from neuraphage.store.stored_form import RedisStoredForm
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.unspooled_commands import UnspooledCommands
from neuraphage.tools.base import ParsedTool
from neuraphage.tools.command_tool import RunCommand
from neuraphage.tools.registry import StaticToolBox
from neuraphage.tools.turn_files import LocalTurnFiles
from neuraphage.tools.write_tools import Edit, WriteFile
from neuraphage.trusted_projects import TrustedRules
from neuraphage.waking import QueueWaker

PARTS: dict[type, list[type]] = {
    ports.Accompanies: [RunCommand],
    ports.CapacityStore: [RedisStore],
    ports.Clock: [SystemClock],
    ports.Detached: [CommandSpool, UnspooledCommands],
    ports.CountsTokens: [AnthropicClient],
    ports.DetachedTool: [RunCommand],
    ports.Dispatcher: [QueueDispatcher, QueueWaker],
    ports.ForeseesRefusal: [Edit, WriteFile],
    ports.HealthStore: [RedisStore],
    ports.Interrupt: [HeldLease],
    ports.ModelClient: [AnthropicClient, BedrockClient, OpenAIClient, RoutedClient, VertexClient],
    ports.Guards: [LoadedGuards, ports.NoGuards],
    ports.Observers: [LoadedObservers],
    ports.ObserverStore: [RedisObservers],
    ports.ScheduleStore: [RedisSchedules],
    ports.OwnRules: [OwnRules, TrustedRules],
    ports.Presence: [NamedConnection],
    ports.NoticeStore: [RedisStore],
    ports.PromptNotices: [LocalNotices, ports.NoNotices],
    ports.ReadStore: [RedisReads],
    ports.Redaction: [Redactor],
    ports.Relay: [ReplyRelay, ports.NoRelay],
    ports.DetachableInterrupt: [HeldLease],
    ports.Sandbox: [Bubblewrap, Landlock, NoSandbox, Seatbelt],
    ports.ShellReader: [ShfmtReader],
    ports.Spool: [CommandSpool, UnspooledCommands],
    ports.SpoolWatch: [CommandSpool],
    ports.Standby: [StandbyProcess],
    ports.StoredForm: [RedisStoredForm],
    ports.SweepStore: [RedisStore],
    ports.TaskStore: [RedisStore, RedisRequests],
    ports.Tool: [ParsedTool],
    ports.ToolBox: [StaticToolBox],
    ports.TurnDispatcher: [QueueDispatcher],
    ports.TurnFiles: [LocalTurnFiles],
    ports.TurnStore: [RedisStore],
    ports.Waker: [QueueWaker],
    ports.WorkingFiles: [LocalFiles],
}
PAIRS = [(port, part) for port, parts in PARTS.items() for part in parts]


def protocols() -> set[type]:
    """Every Protocol in a file of `ports`, whether the package offers it or not."""
    files = [importlib.import_module(file.name) for file in pkgutil.iter_modules(ports.__path__, "neuraphage.ports.")]
    found = [one for file in files for one in vars(file).values()]
    return {one for one in found if inspect.isclass(one) and getattr(one, "_is_protocol", False)} - {Protocol}


def members(port: type) -> dict[str, Any]:
    return {name: getattr(port, name) for name in dir(port) if not name.startswith("_")}


def test_every_port_has_a_part() -> None:
    """A new seam needs a real part here, and a part that is gone leaves no seam behind."""
    assert protocols() - PARTS.keys() == set()
    assert {port.__name__ for port in PARTS} <= set(ports.__all__)


def _named(method: Any) -> list[str | None]:
    """The names of its parameters; None for one that is given by its place alone."""
    parameters = inspect.signature(method).parameters.values()
    return [None if one.kind is inspect.Parameter.POSITIONAL_ONLY else one.name for one in parameters]


@pytest.mark.parametrize(("port", "part"), PAIRS)
def test_every_method_is_implemented(port: type, part: type) -> None:
    """Each method is there with the parameters of its port; mypy checks the types where the parts are plugged in."""
    for name, wanted in members(port).items():
        found = getattr(part, name, None)
        annotated = name in inspect.get_annotations(part)
        assert found is not None or annotated, f"{part.__name__} has no {name}"
        if not inspect.isfunction(wanted) or found is None:
            continue
        theirs, ours = _named(found), _named(wanted)
        assert [mine in {name, None} for name, mine in zip(theirs, ours, strict=False)] == [True] * len(ours), (
            f"{part.__name__}.{name}{theirs} is not {port.__name__}.{name}{ours}"
        )


@pytest.mark.parametrize("port", sorted(PARTS, key=lambda port: port.__name__))
def test_every_seam_is_described(port: type) -> None:
    """Who plugs a part in reads the promises here and nowhere else."""
    assert port.__doc__
    assert [name for name, found in members(port).items() if not inspect.getdoc(found)] == []
