"""What the documents say is what the code does: the matrix, the tests they name, and the commands."""

from __future__ import annotations

import re

import pytest

from neuraphage.decide.machine import matrix_markdown
from source_tree import ROOT, ids_of_tests, section

GUARANTEES = (ROOT / "GUARANTEES.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
TEST_ID = re.compile(r"tests/[\w/]+\.py::[\w:]+")


def test_the_printed_matrix_is_the_one_that_runs() -> None:
    """GUARANTEES shows the table of decide.machine, word for word."""
    assert section(GUARANTEES, "matrix") == matrix_markdown()


def test_no_document_has_an_open_place() -> None:
    """No marker of something still to be filled in."""
    for path in sorted(ROOT.glob("*.md")):
        assert "@@" not in path.read_text(encoding="utf-8"), path.name


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
    """Twenty to forty promises, each with the test that shows it, none promised twice."""
    table = rows()
    assert 20 <= len(table) <= 40
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
