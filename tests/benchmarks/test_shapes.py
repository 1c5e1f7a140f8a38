"""Every benchmark, small: it still measures what its row says. The figures themselves are nobody's test."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from patience import PATIENCE_S
from sandboxkit import find_bubblewrap
from source_tree import ROOT
from tests.benchmarks import (
    commands,
    confined,
    judging,
    line,
    memory,
    recovery,
    relayed,
    report,
    scale,
    speed,
    start,
    view,
)
from tests.benchmarks.__main__ import PARTS
from tests.benchmarks.contenders import TOGETHER, Pool
from tests.benchmarks.workload import FOLDER_VARIABLE

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
POOLS = [Pool("threads", 4), Pool("prefork", 2)]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path, for sockets' sake."""
    with tempfile.TemporaryDirectory(prefix="npb-", ignore_cleanup_errors=True) as name:
        monkeypatch.setenv(FOLDER_VARIABLE, name)
        yield Path(name)


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_every_contender_does_the_same_work(folder: Path, pool: Pool) -> None:
    """Each step of each turn once, in order (checked while it is measured); a reading of each kind for each."""
    figures = speed.measure_speed(folder, pool, rounds=1, turns=4, tasks=2, task_turns=2, quiet_s=0)
    assert list(figures) == ["no durability", "raw Redis loop", "bare chain", "neuraphage", TOGETHER]
    for found in figures.values():
        assert [len(values) for values in (found.gap_ms, found.turns_per_s, found.cpu_ms, found.busy)] == [1] * 4
        assert min(*found.gap_ms, *found.turns_per_s) > 0
    rows = report.speed_rows(figures, pool, 2)
    assert [row.goal for row in rows[-7:]] == ["1.3 at most", "0.8 at least", "1.3 at most", "0.5", "2", "0.6", ""]


def test_a_turn_writes_its_words_and_little_more(folder: Path) -> None:
    """The 4.2 KB of new conversation are in it; a write that was forgotten or doubled would show."""
    found = speed.measure_bytes(folder, (3, 6))
    assert list(found) == [3, 6]
    assert all(4_000 < value < 12_000 for value in found.values()), found


def test_a_kill_is_seen_by_the_watcher(folder: Path) -> None:
    """One time a kill, and the recovery's evidence is that the process is gone (checked while it is measured)."""
    assert len(recovery.measure_kills(folder, 1)) == 1


def test_a_childs_kill_is_seen_by_its_parent(folder: Path) -> None:
    """As above, for a prefork child."""
    assert len(recovery.measure_child_kills(folder, 1)) == 1


def test_a_hang_ends_with_the_lease(folder: Path) -> None:
    """The lease ran out, and nothing took it before (checked while it is measured)."""
    (found,) = recovery.measure_hangs(folder, 1, lease_s=2.0, heartbeat_s=0.5, sweep_s=0.5)
    assert found > 1.0, "a heartbeat before the stop leaves at least three quarters of the lease"


def test_a_sweep_over_healthy_tasks_looks_at_none(folder: Path) -> None:
    """It runs no script that it would not run without tasks (checked while it is measured)."""
    assert scale.sweep_ms(folder, 400, repeats=2) > 0


def test_the_sweeps_check_notices_entries_that_are_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases further ahead than any is made are taken for those of a clock gone back, and visited each time."""
    fill = scale._fill
    monkeypatch.setattr(scale, "_fill", lambda client, zset, count, score: fill(client, zset, count, score + 3_600_000))
    with pytest.raises(RuntimeError, match="sweeps with nothing due ran"):
        scale.sweep_ms(folder, 40, repeats=1)


def test_the_costs_that_must_not_grow(folder: Path) -> None:
    """Every lease is recovered in the sweep that is timed (checked while it is measured); the others are positive."""
    assert scale.recovery_ms_a_task(folder, 5) > 0
    assert 100 < scale.waiting_bytes(folder, 50) < 8_000
    assert scale.heartbeat_ms(folder, 3) > 0


def test_the_line_is_admitted_from(folder: Path) -> None:
    """A time for a submit and for an end, and each key has its turn (else it would not end)."""
    assert min(line.admission_ms(folder, 5, repeats=3)) > 0
    assert line.first_turns_ms(folder, 20) > 0
    assert len(report.line_rows((1.0, 1.0), (1.0, 1.0), 1.0, 1.0)) == 3


def test_the_view_shows_each_kind_once(folder: Path) -> None:
    """A line and a piece, and a question, each seen on a real terminal."""
    progress, waiting = view.measure_view(folder, 1)
    assert (len(progress), len(waiting)) == (2, 1)


def test_memory_and_idling(folder: Path) -> None:
    """A worker that holds its turns while it is weighed (checked then), and two that idle."""
    assert memory.busy_rss_bytes(folder, 3) > 20_000_000
    assert all(percent >= 0 for percent in memory.idle_cpu_percent(folder, 1.0))


def test_each_command_is_timed(folder: Path) -> None:
    """A time of its own for each, and each does what it is timed for (checked while it is measured)."""
    found = commands.cpu_ms(folder, 1, warm_ups=0)
    assert tuple(found) == commands.CALLS
    assert min(found.values()) > 10
    assert len(report.command_rows(found)) == len(commands.CALLS)


def test_a_command_that_is_refused_is_not_timed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be done too soon."""
    monkeypatch.setattr(commands, "CALLS", ("retry {queued}",))
    with pytest.raises(RuntimeError, match=r"retry.*ended with 2"):
        commands.cpu_ms(folder, 1, warm_ups=0)


def test_each_start_is_timed(folder: Path) -> None:
    """A time of its own for each kind of worker, all of which become ready (checked while it is measured)."""
    found = start.cpu_s(folder, 1)
    assert tuple(found) == tuple(start.WORKERS)
    assert min(found.values()) > 0.1
    assert len(report.start_rows(found)) == len(start.WORKERS)


def test_each_kind_of_confinement_is_timed(folder: Path) -> None:
    """Every command ran to its end (checked while it is measured), those in the sandbox in a real one."""
    find_bubblewrap()
    found = confined.wall_ms(folder, 1)
    assert [len(values) for values in found.values()] == [1] * len(confined.KINDS)
    assert len(report.sandbox_rows(found)) == len(confined.KINDS)


def test_a_relay_is_timed_and_weighed(folder: Path) -> None:
    """Calls and turns of both kinds (that each is whole is checked while it is measured), and streams that come."""
    calls, turns = relayed.calls_ms(folder, 2), relayed.turns_ms(folder, 1, 3)
    assert [len(values) for values in (*calls.values(), *turns.values())] == [2, 2, 1, 1]
    megabytes, share, events_per_s = relayed.streams(folder, 4, 1.0)
    assert megabytes > 5
    assert share >= 0
    assert events_per_s > 1
    resumed = relayed.resumed_s(folder, 1)
    assert len(resumed) == 1
    assert len(report.relay_rows(calls, turns, (megabytes, share, events_per_s), resumed)) == 7


def test_each_line_is_judged() -> None:
    """Every line once, and as many calls that read; that they are judged rightly is checked while it is measured."""
    lines, reads = judging.wall_ms(1)
    assert len(lines) == len(reads) == len(judging.LINES)
    assert len(report.judging_rows(lines, reads)) == 2


def test_the_command_of_the_documents_runs() -> None:
    """With nothing on its path but this folder: it finds what the tests share, too. Its smallest part measures."""
    argv = [sys.executable, "-m", "tests.benchmarks", "assembling", "--rounds", "1"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "turn 1,000" in ran.stdout


def test_every_part_has_a_test_here() -> None:
    """A part that is added is tried small, too."""
    speeds, tried = {"threads", "prefork", "few"}, {"bytes", "kill", "child", "hang", "scale", "view", "commands"}
    assert set(PARTS) == speeds | tried | {"start", "memory", "sandbox", "rules", "relay", "assembling", "line"}
