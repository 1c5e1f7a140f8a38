"""cost and pools, labels, and what is said of a model without a price."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from clikit import Bench, CommandLine, run_on_terminal
from neuraphage.client import AsyncClient
from neuraphage.errors import BadInput
from neuraphage.model.cache_use import CacheUse
from neuraphage.model.message import Entry
from neuraphage.model.money import By
from neuraphage.model.task import Status
from neuraphage.ports import Changes, FinishTo, SuspendTo
from neuraphage.setting_money import MoneySettings
from neuraphage.settings import Settings
from source_tree import ROOT
from terminalkit import STYLE

LONG_NAME = "a name that goes on for longer than there is room for on most terminals"
TODAY = datetime.datetime.now(datetime.UTC).date().isoformat


def spend(bench: Bench, cost: int, model: str = "m", *, name: str = "", **labels: str) -> str:
    """A task that has spent something and goes on."""
    task_id = bench.client.submit("Work.", labels=labels, name=name or f"costs {cost}")
    lease = bench.kit.claim(task_id)
    add = {"cost_microusd": cost, "model_calls": 1, "input_tokens": 10, "cache_read_tokens": 30, "output_tokens": 5}
    bench.kit.finish(lease, FinishTo.NEXT, Changes(add=add, spent={model: add}))
    return task_id


def rows(cli: CommandLine, *arguments: str) -> dict[str, list[str]]:
    """The table in a pipe, by its first column, without the head."""
    lines = [line.split("\t") for line in cli(*arguments).out.splitlines()]
    return {line[0]: line[1:] for line in lines[1:]}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("model", {"dear": "$0.0070", "cheap": "$0.0020"}),
        ("label", {"team=web": "$0.0070", "kind=a": "$0.0050", "(no label)": "$0.0020"}),
    ],
)
def test_costs_by_model_and_label(cli: CommandLine, bench: Bench, by: str, expected: dict[str, str]) -> None:
    """The dearest first; the total is what was spent, also where a task counts in several lines."""
    spend(bench, 5_000, "dear", team="web", kind="a")
    spend(bench, 2_000, "dear", team="web")
    spend(bench, 2_000, "cheap")
    found = rows(cli, "cost", "--by", by)
    assert {name: row[0] for name, row in found.items() if name != "total"} == expected
    assert found["total"][:4] == ["$0.0090", "3", "135", "75%"]


def test_costs_by_task_name_what_is_deleted(cli: CommandLine, bench: Bench) -> None:
    """A deleted task's cost stays in the total, in a line of its own."""
    kept, gone = spend(bench, 3_000), spend(bench, 4_000)
    bench.client.cancel(gone)
    assert bench.kit.store.delete(gone, force=True)
    report = cli("cost", "--by", "task", "--json").json
    assert [(line["key"], line["cost_microusd"]) for line in report["lines"]] == [("", 4_000), (kept, 3_000)]
    assert report["total"]["cost_microusd"] == 7_000
    assert rows(cli, "cost", "--by", "task")["(tasks that are deleted)"][0] == "$0.0040"


def test_since_takes_days(cli: CommandLine, bench: Bench) -> None:
    """By the ledger's days, tasks too; older ones are left out."""
    task_id = spend(bench, 3_000)
    today = bench.kit.store.now_ms() // 86_400_000
    bench.kit.client.hset(bench.kit.keys.ledger, mapping={f"{today - 1} d": "100 1", f"{today - 1} m m": "100 1"})
    bench.kit.client.hset(bench.kit.keys.task(task_id), mapping={f"c:{today - 1}": 100, "cost_microusd": 3_100})
    for since, total in (("1d", 3_000), ("2d", 3_100), (TODAY(), 3_000), ("1w", 3_100)):
        assert cli("cost", "--since", since, "--json").json["total"]["cost_microusd"] == total
        lines = cli("cost", "--by", "task", "--since", since, "--json").json["lines"]
        assert [(line["key"], line["cost_microusd"], line["spent"]) for line in lines] == [(task_id, total, None)]
    assert next(iter(rows(cli, "cost"))) == TODAY()


@pytest.mark.parametrize("since", ["yesterday", "0d", "2026-13-01", "1h", ""])
def test_a_day_that_is_none_is_refused(cli: CommandLine, bench: Bench, since: str) -> None:
    """With the forms that are understood."""
    ran = cli("cost", "--since", since)
    assert ran.code == 2
    assert "2026-04-05" in ran.err


def test_a_terminal_gets_a_chart(bench: Bench, cli: CommandLine) -> None:
    """A bar for each line, as long as its share of the dearest one."""
    spend(bench, 4_000, "dear")
    spend(bench, 1_000, "cheap")
    shown = run_on_terminal("cost", "--by", "model", env=os.environ)
    bars = {line.split()[0]: line.count("█") for line in shown.splitlines() if "█" in line}
    assert bars == {"dear": 24, "cheap": 6}
    assert "█" not in cli("cost", "--by", "model").out


def test_the_chart_fits_a_terminal_of_eighty_columns(bench: Bench, cli: CommandLine) -> None:
    """Beside the long id of a model, and beside the names of tasks, which are cut there and whole in a pipe."""
    for model in ("openai:a-model-of-a-maker", "claude-sonnet-5-5"):
        spend(bench, 4_000, model, name=LONG_NAME)
    for by in ("model", "task"):
        shown = STYLE.sub("", run_on_terminal("cost", "--by", by, env=os.environ)).replace("\r", "").splitlines()
        bars = [line.count("█") for line in shown if "$0.0040" in line]
        assert len(bars) == len(set(bars)) + 1 == 2
        assert bars[0] > 1
        assert all(cell_len(line) <= 80 for line in shown)
        assert len([line for line in shown if "what broke" not in line]) == 4  # none is broken
    assert LONG_NAME in cli("cost", "--by", "task").out


def test_what_broke_the_cache_is_told(cli: CommandLine, bench: Bench) -> None:
    """By task, of those that were read poorly; of the others the table says where to look."""
    task_id = spend(bench, 4_000)
    head = {"read": 0, "written": 2_000, "head": "m.s.t"}
    uses = [CacheUse(**head), CacheUse(**{**head, "head": "m.s.u"})]
    said = [{"type": "text", "text": "Well."}]
    entries = [
        Entry(role="assistant", content=said, turn=turn, tokens=2_100, cache=use) for turn, use in enumerate(uses)
    ]
    bench.kit.finish(bench.kit.claim(task_id), FinishTo.NEXT, Changes(entries=entries))
    spend(bench, 2_000)
    assert f"{task_id.rpartition('-')[2]}: not read in turn 2: other tools\n" == cli("cost", "--by", "task").err
    assert "neuraphage cost --by task" in cli("cost").err


def test_nothing_spent_is_said(cli: CommandLine, bench: Bench) -> None:
    """And is no error."""
    ran = cli("cost")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing was spent" in ran.err


def test_both_clients_tell_the_same(bench: Bench) -> None:
    """The plain one and the one for asyncio."""
    spend(bench, 3_000, team="web")

    async def told() -> Any:
        async with AsyncClient(bench.client.settings) as client:
            return await client.cost(by=By.LABEL), await client.pools()

    report, pools = asyncio.run(told())
    assert report == bench.client.cost(by=By.LABEL)
    assert list(pools) == list(bench.client.pools())
    assert [(pool.name, pool.used_microusd) for pool in pools] == [("day", 3_000), ("team=web", 3_000)]


# --- pools ---


def test_a_pool_is_set_and_reset(cli: CommandLine, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's limit goes before that of the settings, until it is taken back."""
    monkeypatch.setenv("NEURAPHAGE_DAY_MAX_COST_MICROUSD", "2000000")
    assert rows(cli, "pools", "day")["day"] == ["$2.0000", "$0.0000", "$0.0000", "$2.0000", "the settings"]
    assert rows(cli, "pools", "day", "--max-cost", "0.5")["day"][0] == "$0.5000"
    assert rows(cli, "pools")["day"][-1] == "a person"
    assert rows(cli, "pools", "day", "--reset")["day"][-1] == "the settings"
    assert rows(cli, "pools", "team=web", "--max-cost", "0")["team=web"][0] == "$0.0000"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-cost", "1"),
        ("--reset",),
        ("day", "--max-cost", "1", "--reset"),
        ("Team", "--max-cost", "1"),
        ("task", "--max-cost", "1"),
        ("day", "--max-cost", "nan"),
        ("day", "--max-cost", "-1"),
        ("day", "--max-cost", "1e30"),
        ("team=nobody",),
    ],
)
def test_a_pool_that_is_none_is_refused(cli: CommandLine, bench: Bench, arguments: tuple[str, ...]) -> None:
    """Nothing is stored then."""
    ran = cli("pools", *arguments)
    assert ran.code == 2
    assert ran.err
    assert bench.kit.client.exists(bench.kit.keys.pools) == 0


def test_what_a_paused_task_says_goes_on_with_it(cli: CommandLine, bench: Bench) -> None:
    """show and why name the pool and what is used of it; the two commands that they name work."""
    task_id = spend(bench, 1_000, team="web")
    bench.client.set_pool("team=web", max_cost_usd=0.001)
    shortage = {"pool": "team=web", "limit_microusd": 1_000, "used_microusd": 1_000, "reserved_microusd": 0}
    lease = bench.kit.claim(task_id)
    bench.kit.suspend(lease, SuspendTo.MONEY, detail=shortage)
    for command in ("show", "why"):
        said = cli(command, task_id).out
        assert "The pool of the label team=web is used up: of $0.001, $0.001 is used and $0 is reserved" in said
        assert "neuraphage pools team=web --max-cost" in said
    assert cli("pools", "team=web", "--max-cost", "1.0").code == 0
    assert cli("resume", task_id).code == 0
    assert bench.client.get(task_id).status is Status.QUEUED


def test_a_warning_is_shown(cli: CommandLine, bench: Bench) -> None:
    """In the history, with the pool."""
    bench.client.set_pool("day", max_cost_usd=0.002)
    task_id = spend(bench, 1_000)
    assert "50% of the pool of the day is used: $0.0010 of $0.0020" in cli("events", task_id).out


# --- labels ---


def test_labels_are_stored_and_shown(cli: CommandLine, bench: Bench) -> None:
    """By name, each with one value."""
    task_id = cli("submit", "x", "--label", "team=web", "--label", "kind=a/b:1").out.strip()
    assert bench.client.get(task_id).spec.labels == {"team": "web", "kind": "a/b:1"}
    assert "labels       kind=a/b:1, team=web" in cli("show", task_id).out


@pytest.mark.parametrize("labels", [["team"], ["Team=web"], ["team="], ["team=a b"], ["a=1", "a=2"], ["team=a\nb=c"]])
def test_a_label_that_is_none_is_refused(cli: CommandLine, bench: Bench, labels: list[str]) -> None:
    """Before anything is stored."""
    ran = cli("submit", "x", *(word for label in labels for word in ("--label", label)))
    assert ran.code == 2
    assert bench.client.list() == []


def test_a_label_holds_no_secret(bench: Bench) -> None:
    """It would stand in every report of costs."""
    with pytest.raises(BadInput, match="secret"):
        bench.client.submit("x", labels={"key": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"})


# --- prices ---


def test_a_model_without_a_price_is_said(cli: CommandLine, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """By submit, why, show and doctor; with a price in the settings by none of them."""
    ran = cli("submit", "x", "--model", "claude-future-9")
    task_id = ran.out.strip()
    assert "no price is known here for --model claude-future-9" in ran.err
    for command in ("why", "show"):
        assert "No price is known here for its model claude-future-9" in cli(command, task_id).out
    monkeypatch.setenv("NEURAPHAGE_DEFAULT_MODEL", "claude-future-9")
    assert "no price is known for default_model, claude-future-9" in cli("doctor").out
    monkeypatch.setenv("NEURAPHAGE_PRICES", "claude-future 1 5")
    assert "claude-future-9" not in cli("submit", "x", "--model", "claude-future-9").err
    assert "No price" not in cli("why", task_id).out
    assert "the price of claude-future-9 is known" in cli("doctor").out


# --- the document ---

PAGE = (ROOT / "docs" / "money.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The blocks of docs/money.md in a language."""
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found


def test_the_commands_of_the_document_work(cli: CommandLine, bench: Bench) -> None:
    """As they stand there, one after the other."""
    lines = [shlex.split(line) for block in blocks("bash") for line in block.splitlines()]
    assert {words[1] for words in lines} == {"submit", "pools", "cost"}
    for words in lines:
        assert cli(*words[1:]).code == 0, words


def test_the_settings_of_the_document_are_read() -> None:
    """Each block is a file of settings, and each setting that is named exists."""
    for block in blocks("toml"):
        assert Settings(**tomllib.loads(block)).prices is not None
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", PAGE)) - {"recovery_cost_microusd"}
    assert len(named) > 5
    assert named - {"max_tokens"} <= set(Settings.model_fields)


@pytest.mark.parametrize("name", sorted(MoneySettings.model_fields))
def test_no_project_sets_what_a_person_pays(cli: CommandLine, tmp_path: Path, name: str) -> None:
    """Neither prices nor pools: a cloned project could raise what is spent, or have a model counted as free."""
    others = {"prices": '["m 0 0"]', "label_max_cost_microusd": '["a=b 1"]', "on_exhausted_pool": '"fail"'}
    value = others.get(name, "1")
    (tmp_path / "neuraphage.toml").write_text(f"{name} = {value}\n", encoding="utf-8")
    with contextlib.chdir(tmp_path):
        ran = cli("config", "show")
    assert ran.code == 2
    assert "a project's file may not set this" in ran.err
