"""A further key of a task and a ninth status shift nothing: the contract holds as it is, wherever they are put."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest
import test_claim_contract
import test_commit_contract
import test_finish_contract
import test_ids_contract
import test_recover_contract

from neuraphage.store import bindings, keys
from neuraphage.store.keys import Keys
from neuraphage.store.scripts import script, source_of
from storekit import StoreKit, new_kit

MODULES = (
    test_ids_contract,
    test_claim_contract,
    test_commit_contract,
    test_finish_contract,
    test_recover_contract,
)
LONG = {"test_a_write_of_any_number_of_parts_is_whole"}
"""Takes seconds, and is about numbers of arguments."""
CASES: list[Callable[[StoreKit], None]] = [
    case
    for module in MODULES
    for name, case in vars(module).items()
    if name.startswith("test_") and list(inspect.signature(case).parameters) == ["kit"] and name not in LONG
]
"""What takes a kit and nothing else: create, claim, commit, finish and recover, each in many ways."""


@pytest.fixture(params=["first", "last"])
def _shifted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A key `further` of each task and a status `Ninth`, before all others or behind them."""

    def with_one_more(names: tuple[str, ...], one: str) -> tuple[str, ...]:
        return (one, *names) if request.param == "first" else (*names, one)

    of_task, statuses = with_one_more(keys._OF_TASK, "FURTHER"), with_one_more(keys.STATUSES, "Ninth")
    monkeypatch.setattr(Keys, "further", lambda self, task_id: f"{self.task(task_id)}:further", raising=False)
    monkeypatch.setattr(keys, "_OF_TASK", of_task)
    for module in (keys, bindings):
        monkeypatch.setattr(module, "TASK_KEY_NAMES", of_task + keys._OF_NAMESPACE)
        monkeypatch.setattr(module, "STATUSES", statuses)
    script.cache_clear()
    yield
    monkeypatch.undo()
    script.cache_clear()


def test_there_are_cases_of_every_kind() -> None:
    """None of them is left out because its file has come to be called otherwise."""
    assert {case.__module__ for case in CASES} == {module.__name__ for module in MODULES}


@pytest.mark.usefixtures("_shifted")
def test_they_are_there() -> None:
    """One more of each is given to the scripts, under its own name."""
    kit = new_kit()
    given = kit.keys.script_keys("task-1")
    assert len(given) == len(keys.TASK_KEY_NAMES) + len(keys.STATUSES)
    for name, key in (("local FURTHER", "task:task-1:further"), ("Ninth", "status:Ninth")):
        assert f"{name} = KEYS[{given.index(kit.keys.prefix + key) + 1}]" in source_of("create")


@pytest.mark.usefixtures("_shifted")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.__module__}-{case.__name__}")
def test_the_contract_holds_with_them(case: Callable[[StoreKit], None]) -> None:
    """On a fake server: names are bound before any server sees them."""
    kit = new_kit()
    case(kit)
    kit.check()
