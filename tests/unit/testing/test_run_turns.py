"""`run_turns` as a tool's author uses it: a real server, a scripted model, workers that die where the test wants it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from neuraphage.errors import BadInput
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import OnUnknownOutcome, Status
from neuraphage.testing import RunTurns
from neuraphage.testing.scripted_api import reply
from neuraphage.tools import FunctionTool, ToolContext, tool

pytestmark = pytest.mark.real_redis
REPLIES = [reply("I charge.", tools=[("charge", {"customer": "ada", "cents": 300})]), "Done."]


class Bank:
    """The world outside: each customer's charges by key, and how often it was called."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._do("create table charges (key text primary key, cents integer)")
        self._do("create table calls (key text)")

    def charge(self, key: str, cents: int) -> None:
        self._do("insert into calls values (?)", key)
        self._do("insert or ignore into charges values (?, ?)", key, cents)

    def has(self, key: str) -> bool:
        return bool(self._do("select 1 from charges where key = ?", key))

    def charges(self) -> int:
        return int(self._do("select count(*) from charges")[0][0])

    def calls(self) -> int:
        return int(self._do("select count(*) from calls")[0][0])

    def _do(self, words: str, *values: Any) -> list[Any]:
        with sqlite3.connect(self._file) as file:
            return file.execute(words, values).fetchall()


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank(tmp_path / "bank.db")


def charging(bank: Bank, effect: str = "keyed") -> FunctionTool:
    @tool(effect=effect)
    def charge(customer: str, cents: int, context: ToolContext) -> str:
        """Charge a customer."""
        bank.charge(context.effect_id, cents)
        return f"charged {customer}"

    if effect == "checkable":

        @charge.probe_with
        def charged(context: ToolContext) -> bool:
            return bank.has(context.effect_id)

    return charge


def test_a_task_runs_to_its_end(run_turns: RunTurns, bank: Bank) -> None:
    """Without a kill, the calls are what the model asked for, and the results what it was told."""
    ran = run_turns([charging(bank)], REPLIES)
    assert ran.status is Status.COMPLETED
    assert [(call.tool, call.params, call.text) for call in ran.calls] == [
        ("charge", {"customer": "ada", "cents": 300}, "charged ada")
    ]
    assert (bank.charges(), bank.calls()) == (1, 1)


@pytest.mark.parametrize("turns_per_message", [1, "auto"])
@pytest.mark.parametrize("effect", ["keyed", "checkable"])
def test_an_effect_happens_once_whenever_a_worker_is_killed(
    run_turns: RunTurns, bank: Bank, effect: str, turns_per_message: object
) -> None:
    """At both sides of every marker that a run stores; also where the next turn follows in the same message."""
    charge, how = charging(bank, effect), {"turns_per_message": turns_per_message}
    kills = run_turns.every_kill([charge], REPLIES, **how)
    assert {str(kill) for kill in kills} >= {"request_sent.after", "tool_started.before", "tool_completed.before"}
    for number, kill in enumerate(kills, start=bank.charges() + 1):
        ran = run_turns([charge], REPLIES, kills=[kill], **how)
        assert ran.status is Status.COMPLETED
        assert bank.charges() == number, f"killed at {kill}"
        assert ran.record.counters.model_calls == len(REPLIES), "no committed reply is asked for again"


@pytest.mark.parametrize("turns_per_message", [1, "auto"])
def test_an_effect_happens_once_where_a_person_is_asked_before_it(
    run_turns: RunTurns, bank: Bank, turns_per_message: object
) -> None:
    """A worker is killed before and after the prompt is stored, too; the answer counts once."""
    charge = charging(bank)
    how: dict[str, Any] = {"allow": (), "answer": lambda _: "yes", "turns_per_message": turns_per_message}
    kills = run_turns.every_kill([charge], REPLIES, **how)
    assert {str(kill) for kill in kills} >= {"waiting_for_user.before", "waiting_for_user.after", "tool_started.before"}
    for number, kill in enumerate(kills, start=bank.charges() + 1):
        ran = run_turns([charge], REPLIES, kills=[kill], **how)
        assert ran.status is Status.COMPLETED
        assert bank.charges() == number, f"killed at {kill}"
        assert len(ran.calls) == 1
        assert ran.record.counters.model_calls == len(REPLIES)


def test_two_kills_one_charge(run_turns: RunTurns, bank: Bank) -> None:
    """The effect has happened, nobody has noted it, and the next process dies in the same place."""
    ran = run_turns([charging(bank)], REPLIES, kills=["tool_completed.before", "tool_completed.before"])
    assert ran.status is Status.COMPLETED
    assert (bank.charges(), bank.calls()) == (1, 3)
    assert ran.record.counters.recoveries_total == 2


def test_an_opaque_call_is_not_made_again(run_turns: RunTurns, bank: Bank) -> None:
    """The model is told that nobody knows; or a person is asked."""
    charge = charging(bank, "opaque")
    ran = run_turns([charge], REPLIES, kills=["tool_completed.before"])
    assert (bank.charges(), bank.calls()) == (1, 1)
    assert "outcome is unknown" in ran.calls[0].text
    asked = run_turns([charge], REPLIES, kills=["tool_completed.before"], on_unknown_outcome=OnUnknownOutcome.ASK_USER)
    assert (asked.status, bank.calls()) == (Status.WAITING_FOR_USER, 2)
    assert [prompt.kind for prompt in asked.record.prompts] == [PromptKind.QUESTION]


def test_people_are_asked_where_nothing_is_allowed(run_turns: RunTurns, bank: Bank) -> None:
    """A no is told to the model, and nothing is charged; without a person the run ends at the prompt."""
    charge = charging(bank)
    assert run_turns([charge], REPLIES, allow=()).status is Status.WAITING_FOR_USER
    ran = run_turns([charge], REPLIES, allow=(), answer=lambda prompt: "no" if prompt.tool == "charge" else "")
    assert (ran.status, bank.calls()) == (Status.COMPLETED, 0)
    assert run_turns([charge], REPLIES, allow=(), answer=lambda _: "yes").calls[0].text == "charged ada"


def test_a_script_may_answer(run_turns: RunTurns, bank: Bank) -> None:
    """As the scripted API's do, from the request alone."""

    def script(request: Any) -> Any:
        return "I saw it." if request.tool_results else REPLIES[0]

    assert run_turns([charging(bank)], script).last_text == "I saw it."


def test_what_goes_wrong_in_a_worker_is_told(run_turns: RunTurns, bank: Bank) -> None:
    """A model that is asked for more than it was given, and a kill that is never reached."""
    with pytest.raises(AssertionError, match="asked for reply 2, and 1 were given"):
        run_turns([charging(bank)], REPLIES[:1])
    with pytest.raises(AssertionError, match=r"tool_started#2.after was never reached; the process had: request_sent"):
        run_turns([charging(bank)], REPLIES, kills=["tool_started#2.after"])
    for wrong in ("task_created.after", "tool_started", "tool_started.during"):
        with pytest.raises(BadInput, match="is no moment of a turn"):
            run_turns([charging(bank)], REPLIES, kills=[wrong])
