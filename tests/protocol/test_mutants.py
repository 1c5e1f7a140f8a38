"""Every guard of the scripts is needed: without it, a contract test fails."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mutant import Mutant

from neuraphage.ports import RecoverVerdict, SignalKind
from neuraphage.store import scripts
from storekit import new_kit

HERE = Path(__file__).parent


def tables() -> Iterator[Mutant]:
    """Every mutant of every `mutants_*.py` beside this file: none is left out because nobody has named its table."""
    for path in sorted(HERE.glob("mutants_*.py")):
        for value in vars(importlib.import_module(path.stem)).values():
            if isinstance(value, tuple):
                yield from (row for row in value if isinstance(row, Mutant))


MUTANTS = tuple(tables())
CONTRACT = HERE.parent / "contract"
ENUMS: dict[str, type[Enum]] = {"kind": SignalKind, "verdict": RecoverVerdict}
caught: list[str] = []


@cache
def module(name: str) -> ModuleType:
    """A file of the contract suite; they may use each other."""
    if str(CONTRACT) not in sys.path:
        sys.path.append(str(CONTRACT))
    spec = importlib.util.spec_from_file_location(f"mutated_{name}", CONTRACT / f"test_{name}_contract.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def contract_test(mutant: Mutant) -> Callable[[], None]:
    """The contract test of this mutant with the closing checks, on a fake server."""
    file, _, name = mutant.test.partition("::")
    function = getattr(module(file), name)
    wanted = inspect.get_annotations(function)
    given: dict[str, Any] = {
        key: ENUMS[key](value) if key in ENUMS and wanted.get(key) != "str" else value
        for key, value in mutant.given.items()
    }

    def run() -> None:
        kit = new_kit()
        function(kit, **given)
        kit.check()

    return run


@contextmanager
def without(mutant: Mutant) -> Iterator[None]:
    """The scripts, with one guard taken out.

    Raises:
        LookupError: the guard's text is not there once. No AssertionError, which would count as caught.
    """
    read = scripts._read  # the one place where the text of a script is read
    occurs = read(mutant.script).count(mutant.old)
    if occurs != 1:
        raise LookupError(f"{mutant.old!r} occurs {occurs} times in {mutant.script}.lua")

    def changed(name: str) -> str:
        source = read(name)
        return source.replace(mutant.old, mutant.new) if name == mutant.script else source

    scripts.script.cache_clear()
    scripts._read = changed
    try:
        yield
    finally:
        scripts._read = read
        scripts.script.cache_clear()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_missing_guard_is_noticed(mutant: Mutant) -> None:
    """The named test passes with the guard and fails by an assertion without it."""
    run = contract_test(mutant)
    run()
    with without(mutant), pytest.raises(AssertionError):
        run()
    caught.append(mutant.name)


def test_a_mutant_of_text_that_is_gone_is_not_caught() -> None:
    """A guard that was written anew needs its mutant written anew: the old text alone would prove nothing."""
    gone = replace(MUTANTS[0], old="if this_guard_is_gone then")
    with pytest.raises(LookupError, match="occurs 0 times"), without(gone), pytest.raises(AssertionError):
        contract_test(gone)()


def test_all_mutants_are_caught(announce: Callable[[str], None]) -> None:
    """The count, for people; it runs last."""
    announce(f"{len(caught)} of {len(MUTANTS)} mutants caught")
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len(caught) in (0, len(MUTANTS)), "0: only this test was selected"
