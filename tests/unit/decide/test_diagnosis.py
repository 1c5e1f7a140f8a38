"""What doctor finds in what servers and processes tell: well, worth a look, or wrong; and what it says to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neuraphage.decide import host_findings, server_findings
from neuraphage.decide.findings import Finding, Level
from neuraphage.decide.server_findings import ServerInfo

GOOD = ServerInfo(
    version="7.2.4", run_id="a", db=1, appendonly=True, appendfsync="always", maxmemory_policy="noeviction",
    used_bytes=10, limit_bytes=0, ahead_ms=20,
)  # fmt: skip


def worst(findings: list[Finding]) -> tuple[Level, str]:
    """The worst level, and the text of those findings."""
    order = list(Level)
    level = max((f.level for f in findings), key=order.index)
    return level, " ".join(f"{f.check}: {f.found} -> {f.to_do}" for f in findings if f.level is level)


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, "ok", "version 7.2.4"),
        ({"version": "6.2.0"}, "ok", ""),
        ({"version": "6.0.16"}, "problem", "6.2 or newer"),
        ({"version": "unknown"}, "ok", ""),
        ({"maxmemory_policy": "allkeys-lru"}, "problem", "CONFIG SET maxmemory-policy noeviction"),
        ({"maxmemory_policy": None}, "ok", ""),
        ({"limit_bytes": 100, "used_bytes": 74}, "ok", "74%"),
        ({"limit_bytes": 100, "used_bytes": 75}, "warning", "raise maxmemory"),
        ({"limit_bytes": 100, "used_bytes": 95}, "problem", "refuses every write"),
    ],
)
def test_a_server(changes: dict[str, object], level: str, words: str) -> None:
    """Version, memory and what it does when that is full."""
    found = worst(server_findings.server_findings("state", replace(GOOD, **changes)))  # type: ignore[arg-type]  # rows of one table
    assert found[0] == level
    assert words in found[1]


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, "ok", "always"),
        ({"appendonly": False}, "problem", "a restart loses every task"),
        ({"appendfsync": "everysec"}, "warning", "the last second"),
        ({"appendfsync": "no"}, "warning", "CONFIG SET appendfsync always"),
        ({"appendfsync": None}, "warning", "look yourself"),
        ({"appendonly": None}, "warning", "look yourself"),
    ],
)
def test_durability(changes: dict[str, object], level: str, words: str) -> None:
    """What an acknowledged write is worth; what cannot be read is no problem and no comfort."""
    found = worst(server_findings.durability_findings(replace(GOOD, **changes)))  # type: ignore[arg-type]  # rows of one table
    assert found[0] == level
    assert words in found[1]


@pytest.mark.parametrize(
    ("finding", "level", "words"),
    [
        (host_findings.python_finding((3, 11, 7), "linux"), "ok", "Python 3.11.7"),
        (host_findings.python_finding((3, 10, 1), "linux"), "problem", "3.11 or newer"),
        (host_findings.python_finding((3, 12, 1), "win32"), "problem", "WSL"),
        (host_findings.names_finding("utf-8"), "ok", "utf-8"),
        (host_findings.names_finding("iso8859-1"), "warning", "PYTHONUTF8=1"),
        (host_findings.packages_finding([], 14), "ok", "14 libraries"),
        (host_findings.packages_finding(["celery is not installed"], 14), "problem", "celery is not installed"),
        (server_findings.clock_finding(replace(GOOD, ahead_ms=2_000)), "ok", "2.0 s ahead"),
        (server_findings.clock_finding(replace(GOOD, ahead_ms=-2_001)), "problem", "behind"),
        (server_findings.clock_finding(replace(GOOD, ahead_ms=None)), "warning", "TIME"),
        (server_findings.databases_finding(GOOD, replace(GOOD, db=0)), "ok", "apart"),
        (server_findings.databases_finding(GOOD, replace(GOOD, run_id="b")), "ok", "apart"),
        (server_findings.databases_finding(GOOD, GOOD), "problem", "another database number"),
        (server_findings.sweep_finding(0, 1_000_000, 5), "problem", "no sweep has ever run"),
        (server_findings.sweep_finding(990_001, 1_000_000, 5), "ok", "10.0 s ago"),
        (server_findings.sweep_finding(989_000, 1_000_000, 5), "problem", "stand in for beat"),
        (server_findings.sweep_finding(970_000, 1_000_000, 5), "problem", "30.0 s ago"),
        (host_findings.disk_finding("/d", None, 10, 10), "ok", "/d"),
        (host_findings.disk_finding("/d", None, 9, 10), "problem", "min_free_bytes"),
        (host_findings.disk_finding("/d", "Read-only file system", 99, 10), "problem", "another data_dir"),
        (host_findings.quota_finding([], 10), "ok", "within"),
        (host_findings.limits_finding(None), "ok", "with all that it starts"),
        (host_findings.limits_finding("it is not so; do this"), "ok", "for each process of a command, not for all"),
        (host_findings.quota_finding(["the spool is full"], 10), "problem", "the spool is full"),
    ],
)
def test_findings(finding: Finding, level: str, words: str) -> None:
    """Each side of each limit; whoever reads a problem is told what to do."""
    assert finding.level == level
    assert words in f"{finding.found} -> {finding.to_do}"
    assert bool(finding.to_do) is (level != "ok")


def test_workers_of_both_queues() -> None:
    """A queue without a worker is a problem of its own."""
    found = server_findings.workers_findings({"b@h": ["np.run"], "a@h": ["np.run", "other"]}, ("np.run", "np.control"))
    assert [(f.level, f.found) for f in found] == [("ok", "a@h, b@h"), ("problem", "no worker answers")]
    assert "-Q np.control" in found[1].to_do


@pytest.mark.parametrize(
    ("is_set", "workers_here", "plays_script", "level"),
    [(True, 0, False, "ok"), (False, 0, True, "ok"), (False, 2, False, "warning"), (False, 0, False, "warning")],
)
def test_the_api_key(is_set: bool, workers_here: int, plays_script: bool, level: str) -> None:
    """Only whether it is there; workers may have it where this command has not."""
    known = {"is_set": is_set, "workers_here": workers_here, "plays_script": plays_script}
    assert host_findings.key_finding("KEY", server=None, **known).level == level
    found = host_findings.key_finding("KEY", server="http://h/v1", **known)
    assert (found.level, "http://h/v1" in found.found) == ("ok", True)


RELAY = {
    "is_service": True, "pid": 7, "version": "1.0", "calls": 3, "draining": False,
    "kept_bytes": 1_000, "quota_bytes": 2_000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "relays", "level", "words"),
    [
        ("off", [], Level.OK, "ends with its worker"),
        ("on", [], Level.OK, "none runs here"),
        (
            "on",
            [RELAY],
            Level.OK,
            "a service of its own: 3 replies on their way, 1.0 kB of 2.0 kB kept",
        ),
        ("on", [RELAY | {"version": "0.9"}], Level.WARNING, "0.9, process 7"),
        ("on", [RELAY | {"kept_bytes": 3_000}], Level.WARNING, "3.0 kB of 2.0 kB"),
        ("on", [{"is_service": False}], Level.WARNING, "does not answer (started by workers of this host)"),
        ("on", [RELAY, {"is_service": False}], Level.WARNING, "1.0, process 7"),
    ],
)
def test_the_relay(setting: str, relays: list[dict[str, Any]], level: Level, words: str) -> None:
    """Whether one runs, whose and of which version it is, what it holds and what it has room for."""
    found = host_findings.relay_finding(setting, "1.0", relays)
    assert found.level is level
    assert words in found.found
    assert bool(found.to_do) is (level is Level.WARNING)
