"""What a .gitignore names: the same as for git itself, over generated patterns and by example."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuraphage.ports import ToolContext
from neuraphage.tools.search_patterns import ignore_rules, is_ignored
from neuraphage.tools.search_tools import Glob, Grep

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

PATHS = [
    "a", "b", "ab", "a b", "a ", "A", "a.b", ".a", "a]", "a-", "[a]", "a*", "a\\", "1", "-", "]", "é", "a\u2028b",
    "d/a", "d/b", "d/e/a", "d/e/ab", "abd/a", "a.d/b", "d/#a", "#a", "!a", "d/a]b", "a\t",
]  # fmt: skip
DIRECTORIES = ["d", "d/e", "ab2", "d/ab2"]
LETTERS = ["a", "b", "d", "e", "/", "*", "?", "[", "]", "!", "^", "-", "\\", " ", "#", ".", "**/", "/**", "1",
           "\t", "é", "[:digit:]", "[:alpha:]", "[[:punct:]]", "[a-d]", "[\\]]", "[!a]", "\\ ", "\r",
           "ab", "\u2028"]  # fmt: skip
ONE = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=7).map("".join)
FILES = st.lists(ONE, min_size=1, max_size=4).map("\n".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one directory for each way to be named."""
    top = tmp_path_factory.mktemp("as-git")
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    for path in PATHS:
        (top / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        if not (top / "w" / path).is_dir():
            (top / "w" / path).write_text("x", encoding="utf-8")
    for path in DIRECTORIES:
        (top / "w" / path).mkdir(parents=True, exist_ok=True)
    return top


def every(top: Path) -> list[tuple[str, bool]]:
    found = []
    for base, directories, names in os.walk(top / "w"):
        for name in directories + names:
            path = Path(base) / name
            if name != ".gitignore":
                found.append((str(path.relative_to(top / "w")), path.is_dir()))
    return sorted(found)


def ignored_by_git(top: Path, paths: list[str]) -> set[str]:
    asked = b"\0".join(os.fsencode(path) for path in paths)
    ran = subprocess.run(
        ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=top / "w", input=asked, capture_output=True, check=False,
    )  # fmt: skip
    assert ran.returncode in {0, 1}, ran.stderr
    return {os.fsdecode(path) for path in ran.stdout.split(b"\0") if path}


def ignored_by_us(top: Path, text: bytes) -> set[str]:
    rules = ignore_rules(text, "")
    found: set[str] = set()
    for path, is_directory in every(top):
        above = Path(path).parent
        if str(above) in found or is_ignored(os.fsencode(path).decode("latin-1"), is_directory, rules):
            found.add(path)
    return found


def undefined(text: str) -> bool:
    """Two stars behind another letter: what git makes of them differs from release to release."""
    return any(text[at - 1] not in "/\n!" for at in range(1, len(text)) if text.startswith("**", at)) or "***" in text


@settings(max_examples=250, suppress_health_check=list(HealthCheck), derandomize=True)
@given(FILES.filter(lambda text: not undefined(text)))
def test_it_is_what_git_ignores(repository: Path, text: str) -> None:
    """Any lines, over the same files."""
    (repository / "w" / ".gitignore").write_bytes(text.encode())
    assert ignored_by_us(repository, text.encode()) == ignored_by_git(
        repository, [path for path, _ in every(repository)]
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("\ufeffa\n", {"a"}),
        ("[[:digit:]]\n", {"1"}),
        ("a[\\]]\n", {"a]"}),
        ("a[]]\n", {"a]"}),
        ("x\u2028a\n", set()),
        ("a\u2028b\n", {"a\u2028b"}),
        ("x\u0085a\n", set()),
        ("x\x0ca\x0bb\n", set()),
        ("a\r\n", {"a"}),
        ("a \n", {"a"}),
        ("a\\ \n", {"a "}),
        ("a\t\n", {"a\t"}),
        ("\\#a\n", {"#a"}),
        ("\\!a\n", {"!a"}),
        ("a\\\n", set()),
        ("[a\n", set()),
        ("[[:nothing:]]\n", set()),
        ("*\n!a\n", None),
        # what pathspec 1.1.1 answers otherwise
        ("d/**\n!d/a\n", set()),
        ("*\n!d/\n!d/e/\n", None),
        ("**\n!*/\n", None),
        ("[!a]\n", None),
    ],
)
def test_by_example(repository: Path, text: str, names: set[str] | None) -> None:
    """The ones that were read wrongly, and their like; git agrees with each."""
    (repository / "w" / ".gitignore").write_bytes(text.encode())
    found = ignored_by_us(repository, text.encode())
    assert found == ignored_by_git(repository, [path for path, _ in every(repository)])
    if names is not None:
        assert {path for path in found if "/" not in path} == names


@pytest.mark.parametrize("pattern", ["*a*" * 40 + "b", "**/a" * 40 + "/b", "[[:alpha:]]*" * 40 + "1"])
def test_many_stars_stay_fast(pattern: str) -> None:
    """A hostile repository holds no search up (the time limit of the test tells)."""
    assert not is_ignored("a/" * 60 + "a" * 200, False, ignore_rules(pattern.encode(), ""))


# --- the tools ---------------------------------------------------------------------------------------------


def glob(context: ToolContext, pattern: str, **more: Any) -> list[str]:
    return Glob().run({"pattern": pattern, **more}, context).text.split("\n")


def test_rules_from_the_top_of_the_repository_hold_below_it(root: Path, context: ToolContext) -> None:
    """The working directory is below it; info/exclude counts, and the nearer rule wins."""
    top = root.parent
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    (top / ".gitignore").write_text("*.log\n/work/build\nkept.tmp\n", encoding="utf-8")
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "exclude").write_text("*.tmp\n*.local\n", encoding="utf-8")
    (root / ".gitignore").write_text("!kept.tmp\n", encoding="utf-8")
    for name in ["a.log", "build/x.py", "b.tmp", "kept.tmp", "c.local", "d.py"]:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("needle", encoding="utf-8")
    assert sorted(glob(context, "**/*")) == [".gitignore", "d.py", "kept.tmp"]
    found = Grep().run({"pattern": "needle"}, context).text.split("\n")
    assert found == ["d.py:1:needle", "kept.tmp:1:needle"]


def test_a_worktree_has_the_excludes_of_its_repository(root: Path, context: ToolContext) -> None:
    """Its `.git` is a file that names another directory."""
    main = root.parent / "main"
    subprocess.run(
        ["sh", "-ec", f"git init -q {main}; cd {main}; git -c user.name=n -c user.email=e commit -q --allow-empty -m m;"
         f"mkdir -p .git/info; echo '*.tmp' > .git/info/exclude; git worktree add -q {root}/tree"],
        check=True,
    )  # fmt: skip
    (root / "tree" / "a.tmp").write_text("x", encoding="utf-8")
    (root / "tree" / "a.py").write_text("x", encoding="utf-8")
    (root / "b.tmp").write_text("x", encoding="utf-8")
    assert sorted(glob(context, "**/*")) == ["b.tmp", "tree/a.py"]
    assert sorted(glob(context, "**/*", path="tree")) == ["tree/a.py"]


def test_rules_end_where_another_repository_begins(root: Path, context: ToolContext) -> None:
    """A repository inside has rules of its own."""
    (root / ".gitignore").write_text("*.log\n", encoding="utf-8")
    for name in ["a.log", "inner/b.log", "inner/c.txt"]:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(root / "inner")], check=True)
    (root / "inner" / ".gitignore").write_text("*.txt\n", encoding="utf-8")
    assert sorted(glob(context, "**/*")) == [".gitignore", "inner/.gitignore", "inner/b.log"]


def test_an_empty_answer_says_what_was_ignored(root: Path, context: ToolContext) -> None:
    """Otherwise the model takes it for proof that there is nothing."""
    (root / ".gitignore").write_text("*.log\nbuild/\n", encoding="utf-8")
    for name in ["a.log", "b.log", "build/x.py", "c.txt"]:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("needle", encoding="utf-8")
    note = "[ignored by rules of git: 2 files, 1 directory; name one of them as path to search it, or use run_command]"
    assert glob(context, "**/x.*") == ["No file matches.", note]
    nothing = "[none of the files that are not ignored fits the glob '*.log', so nothing was searched]"
    assert Grep().run({"pattern": "need", "glob": "*.log"}, context).text == f"No line matches.\n{note}\n{nothing}"
    assert glob(context, "*.txt") == ["c.txt"]
    assert glob(context, "**/*.py", path="build") == ["build/x.py"]
