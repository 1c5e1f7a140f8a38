"""A plugin of pytest that puts one bug back into the product for one run: `PUT_BACK=B1 pytest -p put_back ...`.

A module is compiled from its changed text, and a script of the store is read changed. No file is touched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from bugs import BUGS, SAID, Bug
from every_guard import GUARDS

ROOT = Path(__file__).resolve().parents[2]


def changed(bug: Bug, text: str) -> str:
    """The text with the bug in it.

    Raises:
        LookupError: what the bug takes the place of is not there once.
    """
    occurs = text.count(bug.old)
    if occurs != 1:
        raise LookupError(f"{bug.row}: {bug.old!r} occurs {occurs} times in {bug.file}")
    return text.replace(bug.old, bug.new)


class _Loader(SourceFileLoader):
    """Compiles a module from its changed text; what Python has compiled before is not looked at."""

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.get_filename(fullname))
        return compile(changed(PUT_BACK, path.read_text(encoding="utf-8")), str(path), "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the changed module; None for every other."""
        name = PUT_BACK.file.removesuffix(".py").replace("/", ".")
        # the program beside a worker is run by path, and imports its neighbours by their own names
        own = name.rpartition(".")[2] if name.startswith("neuraphage.standby.") else name
        if fullname not in {name, own}:
            return None
        place = str(ROOT / PUT_BACK.file)
        return spec_from_file_location(fullname, place, loader=_Loader(fullname, place))


def pytest_configure(config: pytest.Config) -> None:
    """Change a script of the store, or another text that a test reads."""
    if PUT_BACK.file.endswith(".lua"):
        from neuraphage.store import scripts

        read, name = scripts._read, Path(PUT_BACK.file).stem
        scripts._read = lambda wanted: changed(PUT_BACK, read(wanted)) if wanted == name else read(wanted)
    elif PUT_BACK.file.startswith("tests/"):
        read_text = Path.read_text

        def reading(path: Path, *args: str, **more: str) -> str:
            text = read_text(path, *args, **more)
            return changed(PUT_BACK, text) if path == ROOT / PUT_BACK.file else text

        Path.read_text = reading  # type: ignore[assignment, method-assign]


def pytest_report_header() -> str:
    """Tell that it was done."""
    return SAID + PUT_BACK.row


PUT_BACK = next(bug for bug in (*BUGS, *GUARDS) if bug.row == os.environ["PUT_BACK"])
sys.meta_path.insert(0, _Finder())
