"""What the documents say is what the code does: the matrix, the tests they name, and the commands."""

from __future__ import annotations

import re

import pytest

from neuraphage.decide.anomaly_text import anomalies_markdown
from neuraphage.decide.matrix import matrix_markdown
from neuraphage.decide.replies import replies_markdown
from source_tree import ROOT, ids_of_tests, section

GUARANTEES = (ROOT / "GUARANTEES.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
TEST_ID = re.compile(r"tests/[\w/]+\.py::[\w:]+")


def test_the_printed_matrix_is_the_one_that_runs() -> None:
    """GUARANTEES shows the tables of decide.matrix and decide.replies, word for word."""
    assert section(GUARANTEES, "matrix") == matrix_markdown()
    assert section(GUARANTEES, "replies") == replies_markdown()


def test_the_printed_anomalies_are_those_that_are_looked_for() -> None:
    """docs/anomalies.md shows the kinds with their defaults, word for word."""
    document = (ROOT / "docs" / "anomalies.md").read_text(encoding="utf-8")
    assert section(document, "anomalies") == anomalies_markdown()


def test_no_document_has_an_open_place() -> None:
    """No marker of something still to be filled in, and none of a merge that was left half done."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@@|^(<<<<<<<|>>>>>>>) ", text, re.MULTILINE), path.name


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_every_test_that_a_document_names_exists(path: object) -> None:
    """A guarantee whose test is gone is no guarantee."""
    named = set(TEST_ID.findall(path.read_text(encoding="utf-8")))  # type: ignore[attr-defined]
    assert named - ids_of_tests() == set()


def rows() -> list[list[str]]:
    """The table of guarantees, as cells."""
    table = GUARANTEES.partition("| guarantee | test |\n| --- | --- |\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_every_guarantee_names_a_test() -> None:
    """Twenty to a hundred and seventy promises, each with the test that shows it, none promised twice."""
    table = rows()
    assert 20 <= len(table) <= 170
    assert [cells for cells in table if len(cells) != 2 or not TEST_ID.search(cells[1])] == []
    assert len({cells[0] for cells in table}) == len(table)


def commands(document: str) -> dict[str, str]:
    """The commands between `<!-- command: name -->` and `<!-- end -->`."""
    found = re.findall(r"<!-- command: (\w+) -->\n```sh\n(.*?)\n```\n<!-- end -->", document, re.DOTALL)
    return dict(found)


def test_ci_runs_what_the_readme_says() -> None:
    """CI reads its commands from the README: every marked command is run, and every run one is marked."""
    loop = re.search(r"^for name in ([\w ]+); do$", CI, re.MULTILINE)
    assert loop is not None
    assert loop[1].split() == list(commands(README))
    assert "README.md" in CI
    assert 'bash -euo pipefail -c "$command"' in CI


RUNNERS = {
    "README.md": "tests/release/test_document_commands.py",
    "RUNBOOK.md": "tests/deploy/test_runbook.py",
}
"""Who runs the blocks of a document that are marked `<!-- run: name -->`."""
ROWS_OF_CONTRIBUTING = {
    "install": "test",
    "all tests": "test",
    "one room": "tests/contract",
    "a longer chaos run": "--chaos-minutes",
    "trees of 200 tasks with slots, locks and money, a worker killed each second, five minutes": "--chaos-minutes",
    "a longer search by the property tests": "tests/protocol/test_protocol_property.py",
    "benchmarks": "tests/benchmarks/__main__.py",
    "lint, format, types": ".ci/run",
    "floors": "tests/rules/test_source_rules.py",
    "what CI does": ".ci/run",
    "the fast tests 400 days from now, and in another time zone and locale": ".ci/other-days",
    "all tests on half a processor core, as root, more than an hour": ".ci/half-core",
    "a small real model does a task": ".ci/real-model",
    "other interpreters": ".ci/other-pythons",
    "stored states of a release": "tests/release/record_states.py",
    "the page of the events, from their types": "docs/make_events.py",
    "the tables of the hooks, from their types": "docs/make_hooks.py",
    "the picture of the README": "docs/record_demo.py",
}
"""What stands behind each row of the table of commands: a block of the README, a path, or an option of the tests."""


@pytest.mark.parametrize("name", RUNNERS)
def test_every_block_of_a_document_is_marked_and_run(name: str) -> None:
    """No block for a shell or for Python stands in a document without a test that runs it, or CI."""
    document = (ROOT / name).read_text(encoding="utf-8")
    marked = set(re.findall(r"<!-- run: ([\w-]+) -->\n```(?:sh|python)\n", document))
    blocks = re.findall(r"^```(?:sh|python)$", document, re.MULTILINE)
    assert len(blocks) == len(marked) + len(commands(document))
    runner = (ROOT / RUNNERS[name]).read_text(encoding="utf-8")
    assert {block for block in marked if f'"{block}"' not in runner} == set()


def test_no_other_document_has_commands_in_blocks() -> None:
    """What nobody runs is not shown as something to type."""
    for path in sorted(ROOT.glob("*.md")):
        if path.name not in RUNNERS:
            assert not re.search(r"^```(sh|bash|python)$", path.read_text(encoding="utf-8"), re.MULTILINE), path.name


def test_the_table_of_commands_is_true() -> None:
    """Each row of CONTRIBUTING is run by CI, or names what is there."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\w ,]+) \| `([^|]+)` \|$", contributing, re.MULTILINE))
    assert set(rows) == set(ROWS_OF_CONTRIBUTING)
    for purpose, command in rows.items():
        behind = ROWS_OF_CONTRIBUTING[purpose]
        if behind == "test":
            assert command.rpartition(" && ")[2] in commands(README)["test"].replace("install -q", "install")
        elif behind == ".ci/run" and purpose != "what CI does":
            assert [part for part in command.split(" && ") if part not in CI] == []
        elif behind.startswith("--"):
            assert behind in command
            assert f'"{behind}"' in (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
        else:
            assert (ROOT / behind).exists()
            assert behind in command or behind.startswith("tests/")


def test_the_readme_is_short() -> None:
    """Somebody reads it to the end."""
    assert len(README.splitlines()) <= 120


def test_the_readme_marks_every_command_that_installs() -> None:
    """No install line of the README escapes CI."""
    marked = "\n".join(commands(README).values())
    installs = [line for line in README.splitlines() if "pip install" in line and not line.startswith("#")]
    assert installs
    assert [line for line in installs if line not in marked] == []


def test_every_linked_file_exists() -> None:
    """A link of a document to a file of the repository leads somewhere."""
    for path in sorted(ROOT.glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{path.name}: {target}"
