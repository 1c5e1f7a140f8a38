"""Figures as rows of a Markdown table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from tests.benchmarks.contenders import TOGETHER, Pool
from tests.benchmarks.speed import Figures

HEAD = "| what | measured | goal |\n| --- | --- | --- |"


@dataclass(frozen=True)
class Row:
    """One line: what, figures, goal."""

    what: str
    measured: str
    goal: str = ""

    def __str__(self) -> str:
        return f"| {self.what} | {self.measured} | {self.goal} |"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median, and the range in brackets."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def _ratios(mine: Sequence[float], others: Sequence[float]) -> list[float]:
    """Round by round: both were measured in the same minute. Infinite where the other was too little for the clock."""
    return [one / other if other else inf for one, other in zip(mine, others, strict=True)]


def speed_rows(figures: dict[str, Figures], pool: Pool, tasks: int) -> list[Row]:
    """Figures of every contender with a crowd of so many tasks, then the ratios that the goals are about."""
    rows = []
    idle = median(figures["no durability"].gap_ms)
    for name, found in figures.items():
        overhead = [gap - idle for gap in found.gap_ms]
        text = f"overhead {spread(overhead)} ms, {spread(found.turns_per_s, 0)} turns/s, CPU {spread(found.cpu_ms)} ms"
        rows.append(Row(f"{name} ({pool})", text))
    for name, goals in GOALS.items():
        where = f"{pool}, {tasks} tasks"
        rows += _ratio_rows(name, figures[name], figures["bare chain"], idle, where, goals)
    busy = [level for found in figures.values() for level in found.busy]
    rows.append(Row(f"other load before each run ({pool})", spread(busy)))
    return rows


GOALS = {"neuraphage": ("1.3 at most", "0.8 at least", "1.3 at most"), TOGETHER: ("0.5", "2", "0.6")}
"""Of the chain's: overhead of a turn, turns a second, CPU a turn."""


def _ratio_rows(
    name: str, ours: Figures, chain: Figures, idle_ms: float, where: str, goals: tuple[str, str, str]
) -> list[Row]:
    overheads = _ratios([gap - idle_ms for gap in ours.gap_ms], [gap - idle_ms for gap in chain.gap_ms])
    speeds, cpu = _ratios(ours.turns_per_s, chain.turns_per_s), _ratios(ours.cpu_ms, chain.cpu_ms)
    whose = "of the chain's" if name == "neuraphage" else "of the chain's, turns together"
    return [
        Row(f"overhead of a turn, {whose} ({where})", spread(overheads), goals[0]),
        Row(f"turns/s, {whose} ({where})", spread(speeds), goals[1]),
        Row(f"CPU a turn, {whose} ({where})", spread(cpu), goals[2]),
    ]


def bytes_rows(found: dict[int, float]) -> list[Row]:
    """Bytes a turn, by length of the task."""
    text = ", ".join(f"{value:.0f} at {length}" for length, value in found.items())
    steady = max(found.values()) / min(found.values()) - 1
    return [
        Row("state written a turn, bytes", text, "7,168 at most"),
        Row("its growth with the length", f"{steady:.1%}", "2 % at most"),
    ]


def seconds_rows(what: str, values: Sequence[float], goal: str) -> list[Row]:
    """Times of a recovery."""
    return [Row(f"{what}, s", f"{spread(values)}, {len(values)} times", goal)]


def scale_rows(sweep_ms: float, few_ms: float, many_ms: float, waiting_bytes: float, heartbeat_ms: float) -> list[Row]:
    """What must not grow."""
    return [
        Row("sweep over 100,000 live tasks, ms", f"{sweep_ms:.1f}", "5 at most"),
        Row(
            "recovery of a task when 100 and when 1,000 leases run out, ms",
            f"{few_ms:.2f} and {many_ms:.2f}, ratio {many_ms / few_ms:.2f}",
            "ratio 1.5 at most",
        ),
        Row("memory of a waiting task beside conversation and events, bytes", f"{waiting_bytes:.0f}", "2,048 at most"),
        Row("heartbeat with 100 leases, ms", f"{heartbeat_ms:.2f}"),
    ]


def line_rows(few: tuple[float, float], many: tuple[float, float], alone_ms: float, beside_ms: float) -> list[Row]:
    """With 1,000 and with 100,000 tasks in line; the first turns of ten keys alone, and beside 1,000 of another one."""
    names = ("a submit by the client", "an end, with the admission of the next one")
    return [
        *(
            Row(f"{name}, with 1,000 and 100,000 tasks in line, p50, ms", f"{a:.2f}, {b:.2f}", "5 at most")
            for name, a, b in zip(names, few, many, strict=True)
        ),
        Row(
            "the first turn of the last of ten keys, with 1,000 tasks of another key in line, of without",
            f"{beside_ms / alone_ms:.2f} ({alone_ms:.0f} to {beside_ms:.0f} ms)",
            "2 at most",
        ),
    ]


def view_rows(progress_ms: Sequence[float], waiting_ms: Sequence[float]) -> list[Row]:
    """What a person at a terminal waits for."""
    found = {"progress": progress_ms, "a question": waiting_ms}
    return [
        Row(
            f"from a write to the terminal, {name}, ms",
            f"p50 {median(values):.0f}, max {max(values):.0f}, {len(values)} times",
            "max 200",
        )
        for name, values in found.items()
    ]


def sandbox_rows(found: dict[str, list[float]]) -> list[Row]:
    """A command of each kind, and what it takes over the first."""
    plain = median(next(iter(found.values())))
    goals = ("", "30 over it at most", "")
    return [
        Row(f"`true` {name}, ms", f"{spread(values, 1)}; {median(values) - plain:.1f} over it", goal)
        for (name, values), goal in zip(found.items(), goals, strict=True)
    ]


def assembling_rows(grown_ms: Sequence[float], first_ms: Sequence[float]) -> list[Row]:
    """A request of turn 1,000 is put together."""
    return [
        Row("messages of turn 1,000 where the process had the turn before, ms", f"p50 {median(grown_ms):.3f}", "2"),
        Row("beside it, of turn 2, ms", f"p50 {median(first_ms):.3f}", ""),
    ]


def judging_rows(lines_ms: Sequence[float], read_ms: Sequence[float]) -> list[Row]:
    """What rules cost a command, and a call that reads."""
    return [
        Row(
            "a command line is read and judged by rules, ms",
            f"p50 {median(lines_ms):.1f}, max {max(lines_ms):.0f}",
            "10",
        ),
        Row("a call that reads a file is judged, ms", f"p50 {median(read_ms):.2f}", "0"),
    ]


def relay_rows(
    calls_ms: dict[str, list[float]],
    turns_ms: dict[str, list[float]],
    streams: tuple[float, float, float],
    resumed_s: Sequence[float],
) -> list[Row]:
    """A call and a turn without the relay and with it, and a relay with many streams."""
    (calls_off, calls_on), (turns_off, turns_on) = calls_ms.values(), turns_ms.values()
    megabytes, share, events_per_s = streams
    return [
        Row("a call on loopback without the relay, ms", spread(calls_off)),
        Row("with it, ms", spread(calls_on)),
        Row("a turn that calls a provider on loopback, without the relay, ms", spread(turns_off)),
        Row("with it, of that", spread(_ratios(turns_on, turns_off)), "1.15 at most"),
        Row("memory of a relay with 200 streams, MB", f"{megabytes:.0f}", "120 at most"),
        Row("its CPU, of a core, percent", f"{share:.0%}, {events_per_s:.0f} events/s each", "25 at 50 events/s each"),
        *seconds_rows("kill -9 of a worker to the next piece of its reply for viewers", resumed_s, "p50 0.5"),
    ]


def memory_rows(rss_bytes: int, idle_percent: tuple[float, float]) -> list[Row]:
    """A busy and an idle worker."""
    watching, not_watching = idle_percent
    return [
        Row("memory of a worker with 100 turns in flight, MB", f"{rss_bytes / 1e6:.0f}", "200 at most"),
        Row("CPU of an idle worker, percent", f"{watching:.1f}; {not_watching:.1f} without the watcher's looks"),
    ]


def command_rows(cpu_ms: dict[str, float]) -> list[Row]:
    """CPU time of each command."""
    return [
        Row(f"CPU of neuraphage {call}", f"{value:.0f} ms", "400 ms; list 300 ms") for call, value in cpu_ms.items()
    ]


def start_rows(cpu_s: dict[str, float]) -> list[Row]:
    """CPU time of each start of a worker."""
    return [Row(f"CPU of a worker's start, {options}", f"{value:.2f} s", "1.5 s") for options, value in cpu_s.items()]
