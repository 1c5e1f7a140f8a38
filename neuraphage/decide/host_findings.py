"""From readings of this host, of its interpreter, packages, tools, disk and key, to findings of `doctor`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.filesize import decimal

from neuraphage.decide.findings import Finding, Level
from neuraphage.model.sandbox import SandboxKind

OLDEST_PYTHON = (3, 11)


def python_finding(version: tuple[int, ...], platform: str) -> Finding:
    """The interpreter and the system."""
    found = f"Python {'.'.join(map(str, version[:3]))} on {platform}"
    if version[:2] < OLDEST_PYTHON:
        return Finding("python", Level.PROBLEM, found, "use Python 3.11 or newer")
    if platform not in ("linux", "darwin"):
        return Finding("python", Level.PROBLEM, found, "use Linux or macOS; on Windows use WSL")
    return Finding("python", Level.OK, found)


def names_finding(encoding: str) -> Finding:
    """Whether tools can name every file. Of a worker only its own environment tells; this is the one of this command.

    Args:
        encoding: in which this locale writes names of files and words of commands.
    """
    found = f"names of files are written in {encoding}"
    if encoding.lower().replace("-", "") != "utf8":
        to_do = (
            "start workers with PYTHONUTF8=1, or in a locale such as C.UTF-8: else tools fail where a name has others"
        )
        return Finding("file names", Level.WARNING, f"{found}, which has few characters", to_do)
    return Finding("file names", Level.OK, found)


def packages_finding(wrong: Sequence[str], count: int) -> Finding:
    """The libraries.

    Args:
        wrong: each one that is missing or of a version that was not asked for, as a sentence.
        count: how many were looked at.
    """
    if wrong:
        return Finding("packages", Level.PROBLEM, "; ".join(wrong), "install neuraphage again with pip")
    return Finding("packages", Level.OK, f"{count} libraries are of versions that fit")


def sandbox_finding(setting: str, kind: SandboxKind, why_none: str) -> Finding:
    """What commands of tasks reach.

    Args:
        setting: the setting `sandbox`.
        kind: what confines them.
        why_none: why nothing does, and what to do.
    """
    if kind is SandboxKind.LANDLOCK:
        to_do = "install the package bubblewrap, which hides more and lets hosts be allowed"
        return Finding("sandbox", Level.WARNING, "commands are confined by Landlock alone", to_do)
    if kind is not SandboxKind.NONE:
        return Finding("sandbox", Level.OK, f"commands run in a sandbox ({kind.value})")
    problem, _, to_do = why_none.partition("; ")
    if setting == "off":
        return Finding("sandbox", Level.OK, f"commands run with all rights of their worker: {problem}")
    level = Level.PROBLEM if setting == "require" else Level.WARNING
    return Finding("sandbox", level, f"commands run with all rights of their worker: {problem}", to_do)


def limits_finding(why_no_groups: str | None) -> Finding:
    """What the limits of memory and processes of a command hold for. That they hold for less is no fault.

    Args:
        why_no_groups: why commands have no control groups of their own; None when they have.
    """
    if why_no_groups is None:
        found = "memory and processes of a command are limited with all that it starts (control groups)"
        return Finding("command limits", Level.OK, found)
    reason = why_no_groups.partition("; ")[0]
    found = f"memory is limited for each process of a command, not for all together: {reason} (seen from here)"
    return Finding("command limits", Level.OK, found)


def tools_finding(names: Sequence[str], problems: Sequence[str]) -> Finding:
    """Tools of others.

    Args:
        names: of those that were loaded.
        problems: of the others, each in a sentence.
    """
    if problems:
        to_do = "see `neuraphage tools list`; until then a model that calls one is told that it is missing"
        return Finding("tools", Level.PROBLEM, f"not loaded: {'; '.join(problems)}", to_do)
    return Finding("tools", Level.OK, f"built-in ones and {', '.join(names)}" if names else "built-in ones")


def disk_finding(path: str, problem: str | None, free_bytes: int, min_free_bytes: int) -> Finding:
    """Whether the data folder can be written to, and has room.

    Args:
        path: the folder.
        problem: why it cannot be written to, or None.
        free_bytes: free space.
        min_free_bytes: the setting.
    """
    if problem is not None:
        to_do = "give this user the folder, or set another data_dir"
        return Finding("data folder", Level.PROBLEM, f"{path} cannot be written to: {problem}", to_do)
    found = f"{path} can be written to; {decimal(free_bytes)} are free"
    if free_bytes < min_free_bytes:
        to_do = f"free some space: less than min_free_bytes ({decimal(min_free_bytes)}) is left"
        return Finding("data folder", Level.PROBLEM, found, to_do)
    return Finding("data folder", Level.OK, found)


def quota_finding(warnings: Sequence[str], held_bytes: int) -> Finding:
    """Whether the spool and the data folder are within their quotas."""
    if warnings:
        to_do = "see `neuraphage where`; raise the quota, or let ended tasks go sooner (exec_retention_s)"
        return Finding("quotas", Level.PROBLEM, "; ".join(warnings), to_do)
    return Finding("quotas", Level.OK, f"the data folder holds {decimal(held_bytes)}, within its quotas")


def relay_finding(setting: str, version: str, relays: Sequence[Mapping[str, Any]]) -> Finding:
    """What holds the connections to the model's provider.

    Args:
        setting: the setting `relay`.
        version: of this command.
        relays: what those that take calls here say of themselves; see relay_wiring.relays.
    """
    if setting == "off":
        return Finding("relay", Level.OK, "off by the settings: a reply ends with its worker")
    if not relays:
        return Finding("relay", Level.OK, "none runs here; a worker starts one with its first call of the model")
    found, to_do = [], []
    for relay in relays:
        whose = "a service of its own" if relay["is_service"] else "started by workers of this host"
        if "pid" not in relay:
            found.append(f"one does not answer ({whose})")
            to_do.append("see what its process does, or end it: workers go on without it")
            continue
        kept, quota = int(relay["kept_bytes"]), int(relay["quota_bytes"])
        found.append(
            f"{relay['version']}, process {relay['pid']}, {whose}: {relay['calls']} replies on their way,"
            f" {decimal(kept)} of {decimal(quota)} kept"
        )
        if relay["version"] != version:
            to_do.append(f"restart it: this is {version}")
        if kept > quota:
            to_do.append("raise relay_quota_bytes, or wait: until replies under way are over it takes no more of them")
    return Finding("relay", Level.WARNING if to_do else Level.OK, "; ".join(found), "; ".join(dict.fromkeys(to_do)))


def key_finding(name: str, *, is_set: bool, server: str | None, workers_here: int, plays_script: bool) -> Finding:
    """Whether workers of this host can call the model. The key's value is never looked at.

    Args:
        name: of the variable.
        is_set: whether this process has it.
        server: where models of the form openai:NAME are, for this process; None where it can call none.
        workers_here: worker processes on this host, which have environments of their own.
        plays_script: whether the running stack calls no model.
    """
    if is_set or server is not None:
        ways = [f"{name} is set"] if is_set else []
        ways += [f"models of the form openai:NAME are at {server}"] if server is not None else []
        return Finding("API key", Level.OK, "; ".join(ways))
    if plays_script:
        return Finding("API key", Level.OK, "the running stack plays a script and needs none")
    if workers_here:
        found = f"{name} is not set here; the {workers_here} worker processes of this host have their own environment"
        return Finding("API key", Level.WARNING, found, "see to it that it is set in theirs")
    return Finding("API key", Level.WARNING, f"{name} is not set", "set it for every worker that runs turns")


def price_finding(model: str, *, is_known: bool) -> Finding:
    """Whether the model of tasks that name none can be asked under a limit of money.

    Args:
        model: of the settings.
        is_known: whether a price of it is known.
    """
    if is_known:
        return Finding("price", Level.OK, f"the price of {model} is known")
    to_do = f'set prices = ["{model} 0.5 1.5"] (docs/money.md) where workers run: until then they do not ask it'
    return Finding("price", Level.PROBLEM, f"no price is known for default_model, {model}", to_do)
