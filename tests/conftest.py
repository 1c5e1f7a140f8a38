"""Shared fixtures. Servers are real processes unless a fixture says fakeredis."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

os.environ.pop("NEURAPHAGE_TASK", None)  # the tests may be what a task runs, and order tasks of their own

# how long an example takes is the machine's doing, and proves nothing
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

_ANNOUNCED = pytest.StashKey[list[str]]()
_PROPERTY = "announced"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos-minutes", type=float, default=0.0, help="how long to kill; 0 for the short run")
    parser.addoption("--chaos-seed", type=int, default=None, help="seed of the chaos run; a random one by default")


PROCESS_FOLDERS = frozenset({"cli", "demo", "deploy", "faults", "release", "stack"})
"""Tests that start many real processes and aim at one instant of theirs. A machine that stands still for a second or
two can make such an instant pass unseen; the test then gets one more try, and the summary counts it as a rerun. Chaos,
crash points, contract and protocol get none: their failures are never the machine's."""


LONGEST = (
    "crash_points", "runbook", "purge_after_kill", "dev_side_by_side", "dev", "all_hook_points", "demo",
    "document_commands", "celery_citizen", "public_failures", "chaos", "wheel", "warm_shutdown", "dev_terminal",
    "duplicates_and_zombies", "dev_namespaces", "protocol_property", "flower", "run_stack", "run", "two_machines",
    "broker_hazards", "lifecycle", "fleet_limits", "server_refuses", "cli_process", "ambiguous_writes", "health",
    "server_restarts", "delivery", "compose_stack",
)  # fmt: skip
"""Files that take longer than 20 s, the longest first. They begin first, so that none runs alone at the end; the
others follow by their number of tests, as pytest-xdist itself would order them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    counts = Counter(item.path for item in items)
    rank = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (rank.get(item.path.stem, len(LONGEST)), -counts[item.path], str(item.path)))
    for item in items:
        if item.path.parent.name in PROCESS_FOLDERS:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ANNOUNCED] = []
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's `pytest &`; what tests start would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def announce(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Print a line at the end of the run, also when tests run in several processes."""

    def say(text: str) -> None:
        request.node.user_properties.append((_PROPERTY, text))

    return say


class _Announcements:
    """Collects the lines from the reports, wherever their tests ran."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self._lines += [text for name, text in report.user_properties if name == _PROPERTY]


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.pluginmanager.register(_Announcements(session.config.stash[_ANNOUNCED]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash[_ANNOUNCED]:
        terminalreporter.write_line(line)
