"""Commands about money: cost, pools."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.text import Text

from neuraphage.api import Api
from neuraphage.cli.arguments import AsJson
from neuraphage.cli.cache_lines import cache_break_lines
from neuraphage.cli.connection import connect, connect_to_read
from neuraphage.cli.console import dollars, hint, one_line, out, plain_table, print_json, print_table, short_id
from neuraphage.cli.hints import command_line
from neuraphage.errors import BadInput
from neuraphage.model.money import By, CostLine, CostReport, PoolState, Spent

BAR_CHARS = 24
"""Of the longest bar of the chart, where a terminal has room for it."""
BESIDE_NAMES = 8
"""Of the longest bar beside the names of tasks."""
GOOD_PERCENT = 90
"""Of the input, read from the cache: with less it is said what broke it."""
LOOKED_AT = 20
"""Tasks whose conversations are read for that, the dearest ones."""
LINES = 50
"""Shown unless more are asked for."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: neuraphage cost --by model --since 7d")(cost)
    app.command(epilog="Example: neuraphage pools team=web --max-cost 20")(pools)


def cost(
    by: Annotated[By, typer.Option(help="What it is told by.", case_sensitive=False)] = By.DAY,
    since: Annotated[
        str | None, typer.Option(help="The first day: 2026-04-05 (UTC), or 1d for today, 7d, 2w.", metavar="<day>")
    ] = None,
    limit: Annotated[int, typer.Option(help="At most so many lines.", min=1, max=100_000)] = LINES,
    as_json: AsJson = False,
) -> None:
    """Show what was spent, tasks that are deleted included.

    By day, model, label or task; a task with several labels counts in each. Recovery is what calls may have cost that
    were lost with their workers and sent again; no provider tells, so it is no part of the cost.
    """
    with connect_to_read() as api:
        report = api.cost(by=by, since=since)
        broken = [] if as_json else _what_broke_the_cache(api, report, limit)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    if not report.lines:
        hint("nothing was spent" + (f" since {report.since_day}" if report.since_day else ""))
        return
    _show(report, limit)
    for text in broken:
        hint(text, "dim")


def _what_broke_the_cache(api: Api, report: CostReport, limit: int) -> list[str]:
    """What of late kept requests from being read from the prompt cache, by task; elsewhere where to look for it."""
    if report.by is not By.TASK:
        told = f"what broke the cache, by task: {command_line('cost', '--by', 'task')}"
        return [told] if _is_poorly_cached(report.total) else []
    read = [line.key for line in report.lines[:limit] if line.key and _is_poorly_cached(line.spent)]
    found = {key: cache_break_lines(api, key) for key in read[:LOOKED_AT]}
    return [f"{short_id(key)}: {text}" for key, lines in found.items() for _, text in lines]


def _is_poorly_cached(spent: Spent | None) -> bool:
    """Whether it is worth a look: something was read in vain, and that is not the one write of what came anew."""
    if spent is None:
        return False
    asked = spent.input_tokens + spent.cache_write_tokens + spent.cache_read_tokens
    return asked > 0 and spent.cache_read_tokens * 100 < asked * GOOD_PERCENT


def _show(report: CostReport, limit: int) -> None:
    lines, most = report.lines[:limit], max(line.cost_microusd for line in report.lines)
    is_by_task, total = report.by is By.TASK, report.total
    heads = [report.by.value, "cost", "calls", "tokens", "cached", "recovery"]
    rows: list[list[Text | str]] = [
        [
            one_line(short_id(line.key) if is_by_task and line.key else line.text),
            dollars(line.cost_microusd),
            *_counts(line.spent),
        ]
        for line in lines
    ]
    rows.append(["total", dollars(total.cost_microusd), *_counts(total)])
    longest = _longest_bar(heads, rows, is_by_task=is_by_task)
    table = plain_table(*heads, "name" if is_by_task else "")
    for number in range(1, 6):
        table.columns[number].justify = "right"
    for cells, line in zip(rows, [*lines, None], strict=True):
        table.add_row(*cells, "" if line is None else _last(line, most, longest, is_by_task=is_by_task))
    print_table(table)
    if len(report.lines) > limit:
        hint(
            f"there are more: {command_line('cost', '--by', report.by.value, '--limit', str(len(report.lines)))}", "dim"
        )


def _counts(spent: Spent | None) -> tuple[str, str, str, str]:
    """Calls, tokens, the share of the input that came from the cache, and the cost of recovery; `-` where unknown."""
    if spent is None:
        return ("-", "-", "-", "-")
    read, asked = spent.cache_read_tokens, spent.input_tokens + spent.cache_write_tokens + spent.cache_read_tokens
    share = f"{100 * read // asked}%" if asked else "-"
    recovery = dollars(spent.recovery_cost_microusd) if spent.recovery_cost_microusd else "-"
    return (str(spent.model_calls), str(asked + spent.output_tokens), share, recovery)


def _longest_bar(heads: list[str], rows: list[list[Text | str]], *, is_by_task: bool) -> int:
    """How long the bar of the dearest line may be, so that it fits beside the other columns."""
    if is_by_task:
        return BESIDE_NAMES
    widths = [max(cell_len(str(cell)) for cell in column) for column in zip(heads, *rows, strict=True)]
    return max(1, min(BAR_CHARS, out.width - sum(widths) - 2 * len(widths)))


def _last(line: CostLine, most: int, longest: int, *, is_by_task: bool) -> Text:
    """On a terminal a bar of the chart, then the name of a task; a pipe gets the name alone."""
    name = line.text if is_by_task and line.key else ""
    if not out.is_terminal:
        return one_line(name)
    mark = "█" if out.encoding.lower().startswith("utf") else "#"
    bar = mark * (-(-line.cost_microusd * longest // most) if most else 0)
    shown = one_line(name)
    return Text(f"{bar:<{longest}} " if name else bar, no_wrap=True, overflow="ellipsis").append_text(shown)


def pools(
    name: Annotated[str | None, typer.Argument(help="day, or a label: team=web. Without it all are shown.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(help="Set its limit, dollars; 0 to stop all calls under it.", min=0)
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Go back to the limit of the workers' settings.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show pools of money, or set the limit of one.

    What all tasks of a day (UTC), or of a label, may spend together. A limit that is set here goes before that of the
    settings, and holds at once. Tasks that were paused for it go on with `neuraphage resume`.
    """
    if (max_cost is not None or reset) and name is None:
        raise BadInput("say which pool: day, or a label as team=web")
    if max_cost is not None and reset:
        raise BadInput("give only one of --max-cost and --reset")
    if max_cost is None and not reset:
        with connect_to_read() as api:
            found = [one for one in api.pools() if name in (None, one.name)]
    else:
        with connect() as api:
            api.set_pool(name or "", max_cost_usd=max_cost)
            found = [one for one in api.pools() if one.name == name]
    if as_json:
        print_json([_plain(one) for one in found])
        return
    if not found:
        raise BadInput(f"nothing is known of a pool {name}; `neuraphage pools` shows all")
    table = plain_table("pool", "limit", "used", "reserved", "left", "limit by")
    for number in range(1, 5):
        table.columns[number].justify = "right"
    for one in found:
        table.add_row(one.name, *_amounts(one))
    print_table(table)


def _plain(one: PoolState) -> dict[str, Any]:
    return one.model_dump(mode="json")


def _amounts(one: PoolState) -> tuple[str, str, str, str, str]:
    used, reserved = dollars(one.used_microusd), dollars(one.reserved_microusd)
    if one.limit_microusd is None:
        return ("-", used, reserved, "-", "nobody")
    left = max(0, one.limit_microusd - one.used_microusd - one.reserved_microusd)
    return (dollars(one.limit_microusd), used, reserved, dollars(left), "a person" if one.is_set else "the settings")
