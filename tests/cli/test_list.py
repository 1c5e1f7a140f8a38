"""`list`: by creation, filtered, sorted, paged; and any unique part of an id finds its task."""

from __future__ import annotations

import pytest

from clikit import Bench, CommandLine
from neuraphage.errors import BadInput, TaskNotFound
from neuraphage.model.task import Status

FIRST = "task-01a2b3c4-0000-7000-8000-a00000000001"
SECOND = "task-01a2b3c5-0000-7000-8001-b00000000002"


@pytest.mark.parametrize(
    "part",
    [
        FIRST,
        FIRST.upper(),
        f"  {FIRST}\n",
        "01a2b3c4",
        "task-01a2b3c4",
        "a00000000001",
        "b3c4-0000",
        "8000-a0",
        "\N{HORIZONTAL ELLIPSIS}a00000000001",
        "...0001",
        "task-01a2b3c4...",
        "01A2B3C4\N{HORIZONTAL ELLIPSIS}",
    ],
)
def test_any_unique_part_of_an_id(bench: Bench, part: str) -> None:
    """Beginning, middle or end, in capitals, with blanks or an ellipsis around it."""
    bench.kit.create(task_id=FIRST)
    bench.kit.create(task_id=SECOND)
    assert bench.client.find(part) == FIRST
    assert bench.client.get(part).task_id == FIRST


def test_a_part_of_several_ids_or_of_none(bench: Bench) -> None:
    """Several: their ids are named. None: that is said. An ellipsis alone fits nothing."""
    bench.kit.create(task_id=FIRST)
    bench.kit.create(task_id=SECOND)
    with pytest.raises(BadInput, match=f"2 tasks fit '7000'.*{SECOND}, {FIRST}"):
        bench.client.find("7000")
    with pytest.raises(TaskNotFound, match="'9999'"):
        bench.client.find("9999")
    with pytest.raises(BadInput, match="empty"):
        bench.client.find("...")


def test_an_end_comes_before_a_middle(bench: Bench) -> None:
    """The short form is the end of an id: that another id holds the same in its midst does not make it two."""
    end, middle = (f"task-01a2b3c4-0000-7000-{part}" for part in ("8000-aaaaabbbbccc", "bccc-aaaaaaaaaaaa"))
    bench.kit.create(task_id=end)
    bench.kit.create(task_id=middle)
    assert bench.client.find("bccc") == end


def test_a_task_that_no_index_holds_is_listed(bench: Bench) -> None:
    """As a release without the index has stored it: it is found by its status until the sweep has added it."""
    old, new = bench.kit.create(task_id=FIRST), bench.kit.create(task_id=SECOND)
    keys = bench.kit.store.context.keys
    score = bench.kit.client.zscore(keys.ids, old)
    bench.kit.client.zrem(keys.ids, old)
    assert [record.task_id for record in bench.client.list()] == [new, old]
    assert bench.client.find("01a2b3c4") == old
    bench.kit.client.zadd(keys.ids, {old: score})


def names(cli: CommandLine, *options: str) -> list[str]:
    """The names of the tasks that are listed."""
    return [record["spec"]["name"] for record in cli("list", "--json", *options).json]


@pytest.fixture
def three(bench: Bench) -> Bench:
    """Three tasks: alpha and beta with tags, and one that waits."""
    bench.client.submit("mend the roof", name="Alpha", tags=["red", "new"], priority=4)
    bench.client.submit("paint the wall", name="beta", tags=["red"], priority=0)
    bench.kit.put(Status.WAITING_FOR_USER)
    return bench


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("", ["A task", "beta", "Alpha"]),
        ("--reverse", ["Alpha", "beta", "A task"]),
        ("--tag red", ["beta", "Alpha"]),
        ("--tag red --tag new", ["Alpha"]),
        ("--name ALPH", ["Alpha"]),
        ("--text wall", ["beta"]),
        ("--text WALL --tag new", []),
        ("--status queued --sort name", ["Alpha", "beta"]),
        ("--status queued --sort name --reverse", ["beta", "Alpha"]),
        ("--sort priority", ["beta", "A task", "Alpha"]),
        ("--newer 1h", ["A task", "beta", "Alpha"]),
        ("--older 1h", []),
        ("--limit 2", ["A task", "beta"]),
        ("--limit 2 --page 2", ["Alpha"]),
        ("--limit 2 --page 3", []),
        ("--sort cost --limit 1 --page 3", ["Alpha"]),
    ],
)
def test_filters_order_and_pages(cli: CommandLine, three: Bench, options: str, found: list[str]) -> None:
    """Filters hold together; equal ones are newest first; a page counts what passed the filters."""
    assert names(cli, *options.split()) == found


@pytest.mark.parametrize("option", ["--newer", "--older"])
@pytest.mark.parametrize("age", ["soon", "-1h", "5", "1.5h", "", "1y"])
def test_what_is_no_age(cli: CommandLine, option: str, age: str) -> None:
    """It says how one is written, before any server is asked."""
    ran = cli("list", f"{option}={age}")
    assert ran.code == 2
    assert "15m" in ran.err


def test_nothing_fits(cli: CommandLine, three: Bench) -> None:
    """The words tell a filter that hides all from a server without tasks."""
    assert "fit" in cli("list", "--tag", "nosuch").err
    assert "page 9" in cli("list", "--page", "9").err


def test_a_pipe_gets_tabs_and_no_padding(cli: CommandLine, three: Bench) -> None:
    """So that cut and awk need no care; a name with a tab breaks no column, and no line is anything but a row."""
    three.client.submit("x", name="a\tb")
    rows = [line.split("\t") for line in cli("list").out.splitlines()]
    assert {len(row) for row in rows} == {6}
    assert all(cell == cell.strip() for row in rows for cell in row)
    assert len(rows) == 1 + 4


def test_in_a_pipe_hints_are_no_rows(cli: CommandLine, three: Bench) -> None:
    """What is asked, that there is more, and that there is nothing: on standard error, beside the head of the table."""
    ran = cli("list", "--limit", "2")
    assert "neuraphage answer" in ran.err
    assert "there are more: --page 2" in ran.err
    assert len(ran.out.splitlines()) == 1 + 2
    nothing = cli("list", "--tag", "nosuch")
    assert nothing.out.split("\t")[:2] == ["task", "status"]
    assert nothing.out.count("\n") == 1
    assert "no tasks fit" in nothing.err
