"""`doctor`: looks at what goes wrong at three in the morning, and says what to do."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import typer

from neuraphage import __version__
from neuraphage.celery_app import PACKAGE, find_workers
from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import load_settings, server_settings
from neuraphage.cli.console import harmless, out, print_json, print_wrapped
from neuraphage.cli.hints import typed_here
from neuraphage.cli.own_findings import own_findings
from neuraphage.client_wiring import API_KEY_VARIABLE, price_table, stored_form
from neuraphage.data_folder import data_bytes, folder_problem, free_bytes, quota_warnings
from neuraphage.decide import host_findings, server_findings
from neuraphage.decide.findings import Finding, Level
from neuraphage.decide.tiers import resolved
from neuraphage.errors import BadInput, NeuraphageError, StoreError
from neuraphage.host_health import host_health
from neuraphage.model.repairing import RepairMode
from neuraphage.model.sandbox import SandboxKind
from neuraphage.model_access import model_access
from neuraphage.ports import StoredForm
from neuraphage.relay_wiring import relays
from neuraphage.settings import Settings
from neuraphage.stack_note import script_of_running_stack
from neuraphage.tool_wiring import found_cgroups, found_sandbox, installed_tools

_MARKS = {Level.OK: ("ok", "green"), Level.WARNING: ("warning", "yellow"), Level.PROBLEM: ("PROBLEM", "bold red")}

_INDENT = " " * 11


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage doctor --json")(doctor)


def doctor(as_json: AsJson = False) -> None:
    """Look at all that tasks need, and say what is wrong.

    Exit status 0 when nothing is wrong (warnings may stand), 1 when something is.
    """
    settings = load_settings()
    findings = []
    for finding in _findings(settings):
        findings.append(finding)
        if not as_json:
            _show(finding)
    is_well = all(finding.level is not Level.PROBLEM for finding in findings)
    if as_json:
        print_json({"ok": is_well, "findings": [asdict(finding) for finding in findings]})
    else:
        out.print(_summary(findings))
    raise typer.Exit(0 if is_well else 1)


def _price(settings: Settings) -> Finding:
    try:
        called = resolved(settings.default_model, settings.tiers).model
    except BadInput as error:
        return Finding("price", Level.PROBLEM, f"default_model {error}", "set it to the id of a model, or to a tier")
    return host_findings.price_finding(called, is_known=price_table(settings).quote(called).known)


def _findings(settings: Settings) -> Iterator[Finding]:
    yield host_findings.python_finding(tuple(sys.version_info[:3]), sys.platform)
    yield host_findings.names_finding(sys.getfilesystemencoding())
    yield _packages()
    yield from _workers_package()
    yield _disk(settings)
    yield from own_findings()
    yield host_findings.quota_finding(quota_warnings(settings), data_bytes(settings.data_dir))
    access = model_access(settings)
    yield host_findings.key_finding(
        API_KEY_VARIABLE,
        is_set=access.anthropic_key is not None,
        server=None if access.openai is None else access.openai.base_url,
        workers_here=len(host_health(settings)),
        plays_script=script_of_running_stack(settings.data_dir) is not None,
    )
    yield host_findings.relay_finding(settings.relay, __version__, relays(settings))
    yield _price(settings)
    yield _tools(settings)
    kind, why_none = found_sandbox(settings)
    yield host_findings.sandbox_finding(settings.sandbox, kind, why_none)
    if kind in (SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK):
        yield host_findings.limits_finding(found_cgroups())
    try:
        settings = server_settings()
    except NeuraphageError as error:
        yield Finding(
            "state server",
            Level.PROBLEM,
            str(error),
            "name the servers or start a stack; nothing that needs a server was looked at",
        )
        return
    yield from _servers(settings)


def _servers(settings: Settings) -> Iterator[Finding]:
    from neuraphage import server_checks  # noqa: PLC0415 - it brings Celery, which takes as long as all the rest

    state = broker = None
    try:
        state = server_checks.read_state_server(settings)
        yield from server_findings.server_findings("state", state)
        yield from server_findings.durability_findings(state)
        yield server_findings.clock_finding(state)
    except NeuraphageError as error:
        yield Finding("state server", Level.PROBLEM, str(error), "start it, or correct state_url")
    try:
        broker = server_checks.read_broker(settings)
        yield from server_findings.server_findings("broker", broker)
        yield from server_findings.workers_findings(
            server_checks.queues_of_workers(settings), server_checks.WORKED_QUEUES
        )
    except NeuraphageError as error:
        yield Finding("broker server", Level.PROBLEM, str(error), "start it, or correct broker_url")
    if state is not None and broker is not None:
        yield server_findings.databases_finding(state, broker)
    if state is not None:
        stored = stored_form(settings)
        yield _access(stored)
        yield _records(stored, settings.audit_doctor_s)
        yield server_findings.sweep_finding(stored.last_sweep_ms(), stored.now_ms(), settings.sweep_s)


def _access(stored: StoredForm) -> Finding:
    try:
        return server_findings.access_finding(None, is_told=stored.check_access())
    except StoreError as error:
        return server_findings.access_finding(str(error), is_told=True)


def _records(stored: StoredForm, limit_s: float) -> Finding:
    names: set[str] = set()
    wrong: list[str] = []
    until_s = time.monotonic() + limit_s
    try:
        for rows in stored.survey(RepairMode.LOOK, 1_000):
            names.update(row.name for row in rows)
            wrong += [f"{row.name}: {', '.join(row.findings)}" for row in rows if row.findings]
            if time.monotonic() > until_s:
                return server_findings.records_finding(len(names), wrong, whole=False)
    except StoreError as error:
        return Finding("records", Level.PROBLEM, str(error), "see above")
    return server_findings.records_finding(len(names), wrong, whole=True)


def _packages() -> Finding:
    from packaging.requirements import Requirement  # noqa: PLC0415 - it would slow the start of every command

    wanted = [Requirement(text) for text in importlib.metadata.requires("neuraphage") or ()]
    ours = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    wrong = []
    for requirement in ours:
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is not installed")
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version} is installed, and {requirement.specifier} is wanted")
    return host_findings.packages_finding(wrong, len(ours))


def _workers_package() -> Iterator[Finding]:
    check = "workers package"
    try:
        ours = find_workers()
    except NeuraphageError as error:
        yield Finding(check, Level.PROBLEM, str(error), "see above")
        return
    spec = importlib.machinery.PathFinder.find_spec(PACKAGE, [str(Path.cwd()), *sys.path])
    found = None if spec is None or spec.origin is None else Path(spec.origin)
    if found is not None and not found.samefile(ours):
        to_do = "here, write celery -A neuraphage.celery_app in place of celery -A workers.app"
        yield Finding(check, Level.WARNING, f"{found} hides neuraphage's own in this folder", to_do)
        return
    yield Finding(check, Level.OK, str(ours))


def _tools(settings: Settings) -> Finding:
    """The tools that are not our own: one that cannot be loaded here is missing in a worker of this host, too."""
    loaded = installed_tools(settings)
    return host_findings.tools_finding(
        [one.tool.declaration.name for one in loaded.tools], [str(problem) for problem in loaded.problems]
    )


def _disk(settings: Settings) -> Finding:
    folder, free = settings.data_dir, 0
    problem = folder_problem(folder)
    try:
        free = free_bytes(folder)
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
        with tempfile.NamedTemporaryFile(dir=nearest, prefix=".neuraphage-doctor-") as file:
            file.write(b"\0")
            file.flush()
    except OSError as error:
        problem = error.strerror or str(error)
    return host_findings.disk_finding(str(folder), problem, free, settings.min_free_bytes)


def _show(finding: Finding) -> None:
    word, style = _MARKS[finding.level]
    found = typed_here(f" {finding.check}: {finding.found}")
    text = harmless(f"{word:<8}", style) + harmless(found, indent=_INDENT)
    print_wrapped(text, _INDENT)
    if finding.to_do:
        print_wrapped(harmless(typed_here(f"{_INDENT}do: {finding.to_do}"), indent=_INDENT), _INDENT)


def _summary(findings: list[Finding]) -> str:
    counts = {level: sum(finding.level is level for finding in findings) for level in Level}
    if counts[Level.PROBLEM]:
        return f"{counts[Level.PROBLEM]} of {len(findings)} checks found a problem"
    warnings = counts[Level.WARNING]
    return "all well" if not warnings else f"nothing is wrong; {warnings} of {len(findings)} checks have a warning"
