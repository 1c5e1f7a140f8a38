"""Many tasks at once: submit --from and Client.map, broken off and gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clikit import Bench, CommandLine
from neuraphage.errors import BadInput, CircularDependency, StoreUnavailable
from neuraphage.model.dependency import OnFailure
from neuraphage.model.task import Status


def file_of(tmp_path: Path, *rows: dict[str, Any] | str) -> str:
    """A file with these lines."""
    path = tmp_path / "tasks.jsonl"
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_a_file_is_submitted_once(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """A second time it finds all; a line more is one task more. Options hold where a line says nothing."""
    rows: list[dict[str, Any]] = [{"prompt": f"do {n}"} for n in range(3)]
    rows[1] |= {"priority": 0, "labels": {"team": "web"}, "tags": ["own"]}
    words = ("submit", "--from", file_of(tmp_path, *rows), "--priority", "4", "--tag", "night")
    assert cli(*words).out == "3 made, 0 were there, 0 refused\n"
    assert cli(*words).out == "0 made, 3 were there, 0 refused\n"
    specs = {record.spec.prompt: record.spec for record in bench.client.list()}
    assert [specs[f"do {n}"].priority for n in range(3)] == [4, 0, 4]
    assert (specs["do 0"].tags, specs["do 1"].tags, specs["do 1"].labels) == (("night",), ("own",), {"team": "web"})
    file_of(tmp_path, *rows, "", {"prompt": "one more"})
    report = cli(*words, "--json").json
    assert (report["created"], report["found"], sorted(report["task_ids"])) == (1, 3, ["1", "2", "3", "5"])


def test_rows_wait_for_rows(bench: Bench) -> None:
    """In whatever order they stand, by any rule, and for tasks outside; a circle is refused before any is made."""
    outside = bench.client.submit("outside")
    rows = [
        {"key": "last", "prompt": "3", "after": ["middle=skip", outside]},
        {"key": "middle", "prompt": "2", "after": ["first"]},
        {"key": "first", "prompt": "1"},
    ]
    ids = bench.client.map(rows, batch="b").task_ids
    assert list(ids) == ["last", "middle", "first"]
    last = bench.client.get(ids["last"])
    assert [(edge.task_id, edge.on_failure) for edge in last.spec.blocked_by] == [
        (ids["middle"], OnFailure.SKIP),
        (outside, OnFailure.BLOCK),
    ]
    assert bench.client.get(ids["first"]).status is Status.QUEUED
    rows[2]["after"] = ["last"]
    with pytest.raises(CircularDependency, match="first waits for last"):
        bench.client.map(rows, batch="c")
    assert len(bench.client.list()) == 4


def test_a_batch_that_breaks_off_goes_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """At whatever row the server went away, also right behind a write: the repeat makes the others, and none twice."""
    service, made = type(bench.client._service), []
    create = service.create

    def breaking(self: Any, *given: Any) -> Any:
        made.append(answer := create(self, *given))
        if len(made) == 4:
            raise StoreUnavailable("away")
        return answer

    monkeypatch.setattr(service, "create", breaking)
    rows = [f"do {n}" for n in range(9)]
    with pytest.raises(StoreUnavailable):
        bench.client.map(rows, batch="b")
    seen: list[tuple[int, int]] = []
    report = bench.client.map(rows, batch="b", progress=lambda done, every: seen.append((done, every)))
    assert (report.created, report.found, report.refused) == (5, 4, ())
    assert seen == [(n, 9) for n in range(1, 10)]
    assert sorted(record.spec.prompt for record in bench.client.list()) == rows


def test_what_is_refused_is_told_and_the_others_are_made(cli: CommandLine, bench: Bench, tmp_path: Path) -> None:
    """Who waits for a refused row is refused, too."""
    rows = [{"prompt": "  "}, {"prompt": "waits", "after": ["1"]}, {"prompt": "fine"}]
    ran = cli("submit", "--from", file_of(tmp_path, *rows))
    assert (ran.code, ran.out) == (1, "1 made, 0 were there, 2 refused\n")
    assert "row 1: the prompt is empty" in ran.err
    assert "row 2: it waits for row '1', which was refused" in ran.err
    assert [record.spec.prompt for record in bench.client.list()] == ["fine"]


@pytest.mark.parametrize(
    ("lines", "words", "said"),
    [
        (["{"], (), "line 1: it is no JSON"),
        (["[]"], (), "line 1: it is no object"),
        (['{"prompt": "a"}', "{}"], (), "row 2: prompt: Field required"),
        (['{"prompt": "a", "colour": 1}'], (), "row 1: colour"),
        (['{"prompt": "a", "key": "k"}', '{"prompt": "b", "key": "k"}'], (), "row 2: an earlier row has the key 'k'"),
        (['{"prompt": "a", "key": "k=v"}'], (), "holds a `=`"),
        (['{"prompt": "a"}'], ("--follow",), "--from takes no follow_it"),
        (['{"prompt": "a"}'], ("--name", "n", "--after", "x"), "--from takes no after and no name"),
    ],
)
def test_bad_files_make_nothing(
    cli: CommandLine, bench: Bench, tmp_path: Path, lines: list[str], words: tuple[str, ...], said: str
) -> None:
    """Exit 2, with the line, before the first task is made."""
    ran = cli("submit", "--from", file_of(tmp_path, *lines), *words)
    assert (ran.code, said in " ".join(ran.err.split()), bench.client.list()) == (2, True, [])


def test_a_missing_file(cli: CommandLine, bench: Bench) -> None:
    """It is told by its name."""
    ran = cli("submit", "--from", "none.jsonl")
    assert (ran.code, "cannot be read from none.jsonl" in ran.err, bench.client.list()) == (2, True, [])
    with pytest.raises(BadInput, match="batch is empty"):
        bench.client.map(["a"], batch=" ")
