"""The source tree as the rules see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("neuraphage", "workers")


def source_files() -> list[Path]:
    """Every Python file of the product; the demo's broken project is data."""
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in found if "demo_project" not in path.parts]


def files_of_tests() -> list[Path]:
    """Every file with tests."""
    return sorted((ROOT / "tests").rglob("test_*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a file, also nested ones."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@cache
def ids_of_tests() -> frozenset[str]:
    """`path::name` of every test function, without parameters; a class's tests as `path::Class::name`."""
    found = set()
    for path in files_of_tests():
        name = path.relative_to(ROOT).as_posix()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.add(f"{name}::{node.name}")
            elif isinstance(node, ast.ClassDef):
                found |= {f"{name}::{node.name}::{sub.name}" for sub in node.body if isinstance(sub, ast.FunctionDef)}
    return frozenset(found)


def section(document: str, name: str) -> str:
    """The text between `<!-- name -->` and `<!-- /name -->`."""
    return document.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0].strip()
