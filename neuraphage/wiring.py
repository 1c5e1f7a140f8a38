"""Builds the real parts of worker processes and plugs them together; client_wiring.py has those of clients."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from pathlib import Path

from neuraphage.client_wiring import build_store, price_table, redactor
from neuraphage.data_folder import SANDBOX, SPOOL, WAYS
from neuraphage.decide.server_url import socket_of
from neuraphage.errors import SpoolError
from neuraphage.hook_wiring import build_guards
from neuraphage.llm import ModelTable
from neuraphage.model.sandbox import CommandLimits, SandboxKind
from neuraphage.model_access import require_access
from neuraphage.model_wiring import build_model, build_relay, key_pool
from neuraphage.own_rules import OwnRules, rules_file
from neuraphage.ports import (
    NoNotices,
    NoRelay,
    ProcessRow,
    PromptNotices,
    Sandbox,
    ShellReader,
    Spool,
    ToolBox,
)
from neuraphage.redaction.ends import Redact
from neuraphage.runtime.election import HostElection
from neuraphage.runtime.health import HealthReporter, health_folder
from neuraphage.runtime.host import host_id, this_process
from neuraphage.runtime.notice_desk import NoticeDesk
from neuraphage.runtime.owners import Owners
from neuraphage.runtime.process import WorkerProcess
from neuraphage.runtime.services import Services
from neuraphage.runtime.sweep import Sweep
from neuraphage.runtime.watcher import Watcher
from neuraphage.sandbox.choice import choose_sandbox
from neuraphage.sandbox.confinement import Bubblewrap, Landlock
from neuraphage.sandbox.task_folders import TaskFolders
from neuraphage.sandbox.way_folder import WayFolders
from neuraphage.sandbox.way_out import WayOut
from neuraphage.settings import Settings
from neuraphage.shell import ShfmtReader
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.standby import StandbyProcess
from neuraphage.store.presence import NamedConnection
from neuraphage.store.standby_order import standby_order
from neuraphage.store.tasks import RedisStore
from neuraphage.tools.loading import load_tools
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.turn_files import LocalTurnFiles
from neuraphage.trusted_projects import TrustedRules, trust_file
from neuraphage.waking import build_dispatcher

log = logging.getLogger(__name__)

HEALTH_PERIOD_S = 1.0
"""A frozen worker, or a server that takes no writes, is seen within three of these."""


def command_spool(settings: Settings, redact: Redact | None = None) -> CommandSpool:
    """The spool of this host: one folder a namespace, so that no watcher ends the commands of another."""
    root = Path(settings.data_dir) / SPOOL / settings.namespace
    return CommandSpool(
        root,
        settings.spool_max_bytes,
        quota_bytes=settings.spool_quota_bytes,
        redact=redact,
        expiring=[TaskFolders(_sandbox_folder(settings)).expire, _way_folders(settings).expire],
    )


def _sandbox_folder(settings: Settings) -> Path:
    """Where the commands of each task have their /tmp."""
    return Path(settings.data_dir) / SANDBOX / settings.namespace


def _way_folders(settings: Settings) -> WayFolders:
    """Where the way of each command to the network is."""
    return WayFolders(Path(settings.data_dir) / WAYS / settings.namespace)


def build_sandbox(settings: Settings) -> Sandbox:
    """What commands are confined by; that there is nothing is told once.

    Raises:
        SettingsError: the settings require one, and there is none.
    """
    limits = CommandLimits(
        memory_bytes=settings.command_memory_bytes,
        processes=settings.command_processes,
        file_bytes=settings.command_file_bytes,
    )
    urls = (settings.state_url.get_secret_value(), settings.broker_url.get_secret_value())
    sockets = [path for url in urls if (path := socket_of(url)) is not None]
    private = [str(settings.data_dir), *sockets]
    asks = settings.ask_refused_hosts == "on" or (settings.ask_refused_hosts == "listed" and bool(settings.allow_hosts))
    way_out = WayOut(_way_folders(settings), settings.allow_hosts, settings.blocked_hosts, asks=asks)
    sandbox = choose_sandbox(settings.sandbox, _sandbox_folder(settings), limits, private, way_out)
    if sandbox.kind is SandboxKind.LANDLOCK:
        log.warning("commands are confined by Landlock alone; install bubblewrap to hide more from them")
    if isinstance(sandbox, Bubblewrap | Landlock):
        groups = sandbox.cgroups
        log.info("control groups of commands: %s", groups.base or f"none, limits hold for processes: {groups.why_none}")
    if sandbox.kind is SandboxKind.NONE and settings.sandbox != "off":
        log.warning("commands run without a sandbox, with all rights of this worker: %s", sandbox.why_none)
    return sandbox


def build_spool(settings: Settings, redact: Redact) -> Spool:
    """Commands that outlive the worker."""
    return command_spool(settings, redact)


def spool_identity(settings: Settings) -> str:
    """Name of the spool folder that this process can reach; empty when it cannot be used."""
    try:
        return command_spool(settings).identity
    except SpoolError:
        return ""  # said at the first command, by the tool that needs it


def build_toolbox(settings: Settings, redact: Redact, sandbox: Sandbox | None = None) -> ToolBox:
    """The built-in tools and those of others; what cannot be loaded is logged, and left out."""
    loaded = load_tools(settings.tools, redact=redact)
    for problem in loaded.problems:
        log.error("tool not loaded: %s", problem)
    own, trees = (one.tool for one in loaded.tools), settings.max_task_depth > 0
    return default_toolbox(extra=own, problems=loaded.problems, sandbox=sandbox, subtasks=trees)


def build_shell() -> ShellReader:
    """Reads command lines; without its parser every one of them is asked about, which is told once."""
    reader = ShfmtReader()
    if not reader.is_there:
        log.warning("shfmt is not installed, so every command line is asked about; install shfmt-py again")
    return reader


def build_services(settings: Settings, store: RedisStore) -> Services:
    """Every port of a worker process."""
    redaction, relay, sandbox = redactor(), build_relay(settings), build_sandbox(settings)
    access = require_access(settings)
    services = Services(
        settings=settings,
        clock=store.clock,
        store=store,
        dispatcher=build_dispatcher(settings),
        model=build_model(settings, relay),
        tools=build_toolbox(settings, redaction.text, sandbox),
        spool=build_spool(settings, redaction.text),
        shell=build_shell(),
        files=LocalTurnFiles(),
        redaction=redaction,
        quote=price_table(settings).quote,
        new_claim_id=lambda: secrets.token_hex(8),
        own_rules=OwnRules(rules_file()),
        project_rules=TrustedRules(trust_file()),
        notices=build_notices(settings, store),
        relay=relay or NoRelay(),
        guards=build_guards(settings, redaction.text, lambda: sandbox),
        model_facts=ModelTable.packaged().facts,
        can_call=lambda model: access.problem_of(model) is None,
        key_pool=settings.key_pool or key_pool(settings),
    )
    other = services.named_for_summaries()
    if other is not None and not (other.is_callable and other.is_priced):
        why = "no price is known for it" if other.is_callable else access.problem_of(other.model)
        log.warning("summary_model %s is not asked, but each task's own model: %s", other.model, why)
    return services


def build_notices(settings: Settings, store: RedisStore) -> PromptNotices:
    """What tells people outside of open prompts, if a setting says how."""
    if not settings.prompt_command and settings.prompt_url is None:
        return NoNotices()
    from neuraphage.prompt_notices import LocalNotices, Outside  # noqa: PLC0415 - few workers tell anybody

    outside = Outside(settings.prompt_command, settings.prompt_url)
    return LocalNotices(NoticeDesk(store, outside.tell, settings.prompt_wait_s))


def build_process(
    settings: Settings,
    parent_draining: Callable[[], bool],
    closed: Callable[[], bool] = lambda: True,
) -> WorkerProcess:
    """This process as a worker. Call after a fork."""
    store = build_store(settings)
    me, process_id = this_process(), secrets.token_hex(8)
    url = settings.state_url.get_secret_value()
    presence = NamedConnection(url, settings.namespace, process_id, settings.state_wait_s)
    order = standby_order(store.context)
    return WorkerProcess(
        build_services(settings, store),
        store,
        presence,
        store.clock,
        settings,
        ProcessRow(process_id, host_id(), me.pid, me.start_time, store.clock.wall_ms(), spool_identity(settings)),
        standby=None if order is None else StandbyProcess(order, settings.heartbeat_s / 2),
        parent_draining=parent_draining,
        closed=closed,
    )


def build_sweep(settings: Settings) -> Sweep:
    """The sweep of this namespace."""
    store = build_store(settings)
    return Sweep(store, build_dispatcher(settings), store.clock, settings, Owners(store, host_id()).living)


def build_election(settings: Settings) -> HostElection:
    """One watcher a host and namespace."""
    return HostElection(Path(settings.data_dir) / "watcher" / settings.namespace, host_id())


def build_watcher(settings: Settings) -> Watcher:
    """This process as a candidate for its host's watcher."""
    store = build_store(settings)
    sweep = Sweep(store, build_dispatcher(settings), store.clock, settings, Owners(store, host_id()).living)
    election = build_election(settings)
    notices = build_notices(settings, store)
    return Watcher(store, sweep, store.clock, settings, host_id(), election, command_spool(settings), notices)


def build_health(settings: Settings, name: str, consuming: Callable[[], bool]) -> HealthReporter:
    """The beats of this Celery process, by which `read_health` judges it.

    Args:
        settings: where the files are.
        name: Celery's node name.
        consuming: whether messages are taken in now.
    """
    store = build_store(settings)
    folder = health_folder(Path(settings.data_dir), settings.namespace)
    return HealthReporter(folder, store, store.clock, this_process(), name, HEALTH_PERIOD_S, consuming)
