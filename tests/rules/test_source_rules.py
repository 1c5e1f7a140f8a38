"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from neuraphage import errors
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS
from patience import PATIENCE_S
from source_tree import ROOT, files_of_tests, functions, source_files

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_imports_point_down_only() -> None:
    """The contracts of pyproject.toml hold: floors, what surfaces know, who may import redis, anthropic and clocks."""
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9 kept" in done.stdout


def test_each_exception_from_a_contract_says_why() -> None:
    """On its own line; and surfaces know no room at all, so that contract has no exception."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith('"neuraphage.') and " -> " in line]
    assert lines
    assert [line for line in lines if len(line.partition("#")[2].strip()) < 10] == []
    surfaces = text.partition('name = "Surfaces are made')[2].partition("[[")[0]
    assert surfaces
    assert "ignore_imports" not in surfaces


def test_files_are_no_longer_than_one_idea() -> None:
    """A source file that outgrows 300 lines is two ideas."""
    lengths = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert len(lengths) > 100
    assert {name: length for name, length in lengths.items() if length > MAX_FILE_LINES} == {}


def test_no_two_test_files_have_one_name() -> None:
    """They are imported by their names alone: asked for together, the second one could not be collected."""
    names = [path.name for path in files_of_tests() if path.name.startswith("test_")]
    assert len(names) > 100
    assert sorted(names) == sorted(set(names))


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring, which may be as long as its promises need."""
    first = node.body[0]
    is_docstring = ast.get_docstring(node) is not None
    described = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
    return (node.end_lineno or 0) - node.lineno + 1 - described


def test_functions_fit_on_a_screen() -> None:
    """No function has more than 60 lines of code."""
    lengths = {f"{named(path)}:{node.name}": code_lines(node) for path in source_files() for node in functions(path)}
    assert len(lengths) > 500
    assert {name: length for name, length in lengths.items() if length > MAX_FUNCTION_LINES} == {}


def test_every_file_says_what_it_is() -> None:
    """Every module of the product begins with a docstring, and a docstring is a sentence."""
    bare = [named(p) for p in source_files() if not ast.get_docstring(ast.parse(p.read_text(encoding="utf-8")))]
    assert [name for name in bare if (ROOT / name).read_text(encoding="utf-8").strip()] == []


def test_every_test_says_what_it_is_for() -> None:
    """A test without a docstring cannot be judged when it fails."""
    bare = [
        f"{named(path)}::{node.name}"
        for path in files_of_tests()
        for node in functions(path)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert bare == []


def test_nothing_is_skipped_without_a_reason() -> None:
    """Every skip, skipif and xfail says why."""
    silent = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name.rpartition(".")[2] not in {"skip", "skipif", "xfail"} or not name.startswith("pytest."):
                continue
            reasons = [keyword for keyword in node.keywords if keyword.arg == "reason"]
            if not reasons and not (name == "pytest.skip" and node.args):
                silent.append(f"{named(path)}:{node.lineno}")
    marks = [named(p) for p in files_of_tests() if "@pytest.mark.skip\n" in p.read_text(encoding="utf-8")]
    assert silent + marks == []


def test_no_fixture_of_the_session_patches_anything() -> None:
    """What it patches would hold for every later test of the process; a file's own fixtures undo it at its end."""
    patching = [
        f"{named(path)}:{node.name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in functions(path)
        if "scope='session'" in "".join(map(ast.unparse, node.decorator_list)) and "MonkeyPatch" in ast.unparse(node)
    ]
    assert patching == []


def test_exceptions_from_the_linters_are_justified() -> None:
    """Every noqa and type-ignore names its rule and says why, on its own line."""
    bare = []
    for path in source_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for mark in ("# noqa", "# type: ignore"):
                _, found, rest = line.partition(mark)
                if not found:
                    continue
                rule, _, reason = rest.lstrip(":").strip().partition(" ")
                if not rule.strip("[]") or len(reason.strip(" -#")) < 5:
                    bare.append(f"{named(path)}:{number}: {line.strip()}")
    assert bare == []


@pytest.mark.parametrize("words", ["utils", "helpers", "helper", "manager", "misc", "common"])
def test_files_have_names_that_say_something(words: str) -> None:
    """A file is named by what it holds."""
    assert [named(path) for path in source_files() if words in path.stem.split("_")] == []


def drawn_tree() -> dict[str, str]:
    """Class to parent, read from the drawing in errors.py."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if line.startswith("NeuraphageError"):
            path = ["NeuraphageError"]
        elif "── " in line and path:
            before, _, rest = line.partition("── ")
            depth = (len(before) - 1) // 4 + 1
            name = rest.split()[0]
            parents[name] = path[depth - 1]
            path[depth:] = [name]
    return parents


def test_the_drawing_of_errors_equals_the_classes() -> None:
    """Who catches by the drawing catches the right classes."""
    classes = {
        cls.__name__: cls.__bases__[0].__name__
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, errors.NeuraphageError) and cls is not errors.NeuraphageError
    }
    assert drawn_tree() == classes
    outside = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if cls.__base__ is BaseException]
    assert all(f"{cls.__name__} (" in (errors.__doc__ or "") for cls in outside)


PATCHED = "neuraphage/queue/patched"
NOT_PRIVATE = frozenset({"os._exit", "_replace"})
"""Names that begin with an underscore for other reasons: a system call, and what a NamedTuple may not clash with."""


def names_given(tree: ast.AST) -> set[str]:
    """Names that a file gives: functions, classes, variables, attributes."""
    given = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            given.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            given.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.add(node.id)
    return given


def private_of_others(tree: ast.AST, everywhere: set[str]) -> list[str]:
    """Private attributes that a file uses of what is not its own.

    Args:
        tree: of the file.
        everywhere: names that any file gives; of `self` it may use those, which a base class may have.
    """
    own = names_given(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            text = ast.unparse(node)
            known = everywhere if text in {f"self.{node.attr}", f"cls.{node.attr}"} else own
            if node.attr not in known and not NOT_PRIVATE & {node.attr, text}:
                found.append(text)
        elif isinstance(node, ast.ImportFrom):
            found += [one.name for one in node.names if one.name.startswith("_") and not one.name.startswith("__")]
    return found


def test_nothing_private_is_used_from_outside() -> None:
    """Neither of another module of ours, which may change it at any time, nor of a library outside `patched`."""
    trees = {
        named(path): ast.parse(path.read_text(encoding="utf-8"))
        for path in source_files()
        if PATCHED not in named(path)
    }
    everywhere = set().union(*map(names_given, trees.values()))
    assert {name: found for name, tree in trees.items() if (found := private_of_others(tree, everywhere))} == {}


def test_the_rule_about_private_names_sees_them() -> None:
    """Another's attribute, an inherited one that no file of ours gives, an import; its own ones are fine."""
    program = """
from redis import _parsers
class One(Base):
    def _mine(self): return self._mine() + self._theirs + self._base
def two(one): return one._mine() + one._theirs + one._base
"""
    found = private_of_others(ast.parse(program), {"_mine", "_base"})
    assert sorted(found) == ["_parsers", "one._base", "one._theirs", "self._theirs"]


NAMES_TOOLS = {
    "neuraphage/testing/demo_script.py": "plays the model, which calls tools by their names",
    "neuraphage/model/tool.py": "its kinds of control are values, of which the control tools take their names",
    "neuraphage/model/task.py": "what a task does at an unknown outcome has the same word",
    "neuraphage/decide/compacted.py": "the note in a shortened result tells the model which tool reads all of it",
    "neuraphage/decide/answers.py": "an answer that changes a call begins with the same word",
    "neuraphage/decide/rules/named_hosts.py": "the program grep is called as a tool is",
    "neuraphage/cli/command_table.py": "the module of the command `run` is called as a tool is",
}
"""Files outside `tools` that spell the name of a tool, and why."""


def tools_named(tree: ast.AST) -> set[str]:
    """Names of built-in tools that a file spells as they are: to compare with one, it has to."""
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts & set(BUILTIN_TRAITS)


def test_nothing_outside_tools_knows_one_by_its_name() -> None:
    """What a call means to policy and to surfaces is in the traits of its tool, whoever has written the tool."""
    others = [path for path in source_files() if not named(path).startswith("neuraphage/tools/")]
    found = {named(path): tools_named(ast.parse(path.read_text(encoding="utf-8"))) for path in others}
    assert {name for name, names in found.items() if names} == set(NAMES_TOOLS)


def test_the_rule_about_names_of_tools_sees_them() -> None:
    """In a comparison, a set, a pattern; a text about a tool is none."""
    for line in ('x == "edit"', 'y = {"edit"}', 'd.get("edit")', "match x:\n case 'edit' | 'glob':\n  ..."):
        assert "edit" in tools_named(ast.parse(line))
    assert tools_named(ast.parse('x = "use edit"; edit = glob')) == set()


def test_no_python_of_ours_imports_from_the_current_folder() -> None:
    """Whoever starts an interpreter says -P or -I first; `-m pytest` on a project is that project's own code."""
    bare = []
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            words = [ast.unparse(word) for word in node.elts] if isinstance(node, ast.List | ast.Tuple) else []
            starts = [n for n, word in enumerate(words) if word in {"sys.executable", "plan.python", "self._python"}]
            if any(words[n + 1 : n + 2] not in (["'-P'"], ["'-I'"]) and "'pytest'" not in words for n in starts):
                bare.append(f"{named(path)}:{node.lineno}")
    assert bare == []
