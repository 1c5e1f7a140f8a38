"""What an operator sees in Flower, in a real browser: turns that read well, and nothing cut that matters."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from browserkit import WINDOW, open_page
from neuraphage.model.task import Status
from stackkit import HELD, Stack, command, task_prompt, turn, wait_for
from stackkit.flower import USER, Flower, running_flower

pytestmark = pytest.mark.real_workers
CONTENT = "words-that-only-the-task-knows"
NAME = "a task by its name"
PASSWORD = "a-login-of-the-tests"
STALE = "'stale: nothing done'"
NOTHING_DONE = ": nothing done'"
"""How the outcome of a message ends that found its step done, or in another worker's hands."""
Shown = dict[str, list[tuple[str, str, str]]]
AGAIN = "no claim in time"
TURNS = {"finished": 3, "asking": 1, "failing": 1, "killed": 3}
"""How many each kind of task has."""


@pytest.fixture
def flower(stack: Stack, tmp_path: Path) -> Iterator[Flower]:
    """Flower over the stack with one prefork worker, which tells of all its turns."""
    stack.start_worker(name="seen", pool="prefork", concurrency=2, events=True)
    with running_flower(stack.environment(), tmp_path, PASSWORD) as made:
        wait_for(lambda: any(made.online().values()), "Flower to hear from the worker")
        yield made


@pytest.fixture
def page() -> Iterator[Page]:
    """A browser that knows the login."""
    with open_page(USER, PASSWORD) as page:
        yield page


def test_turns_read_well(stack: Stack, flower: Flower, page: Page, tmp_path: Path) -> None:
    """A turn of each kind: finished, waiting, stale, failed, and killed with -9 and recovered. Each says in Flower what
    it follows and how it ended; a turn that is sent again hides no other; nothing of their content is shown."""
    tasks = turns_of_each_kind(stack)
    wait_for(
        lambda: all_over(as_shown(flower, tasks)), "all turns to be in Flower", every_s=0.5
    )  # Flower needs time too
    shown = as_shown(flower, tasks)
    assert shown["finished"] == [
        ("turn 1 after task_created", "SUCCESS", f"'finished: tool_completed ({NAME})'"),
        ("turn 2 after tool_completed", "SUCCESS", f"'task completed: response_received ({NAME})'"),
        ("turn 1 after no claim in time", "SUCCESS", STALE),
    ]
    assert shown["asking"] == [("turn 1 after task_created", "SUCCESS", f"'waiting for user ({NAME})'")]
    ((what, state, why),) = shown["failing"]
    assert (what, state) == ("turn 1 after task_created", "FAILURE")
    assert why.startswith("TaskFailed('task failed: request_sent: The model call failed for good after 1 call")
    assert [row[:2] for row in shown["killed"]] == [
        ("turn 1 after task_created", "FAILURE"),
        ("turn 1 after tool_started, recovered", "SUCCESS"),
        ("turn 2 after tool_completed", "SUCCESS"),
    ]
    page.goto(f"{flower.url}/tasks?name=neuraphage.run_turn")
    row = page.locator("#tasks-table tbody tr", has_text="tool_started, recovered")
    row.wait_for()
    page.screenshot(path=tmp_path / "tasks.png")
    assert unread(page, tasks, shown) == []
    assert page.locator("#tasks-table tbody tr").count() == len(flower.turns())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
        "the page must not scroll sideways"
    )
    failed = page.locator("#tasks-table tbody tr", has_text="FAILURE").filter(has_text=tasks["failing"][-12:])
    assert "failed: The model call failed for good" in failed.inner_text(), "the list itself tells why"
    outcome = row.get_by_text("finished: tool_completed (a task by its name)").bounding_box()
    assert outcome is not None
    assert outcome["x"] + outcome["width"] <= WINDOW["width"], "the outcome must be seen without scrolling sideways"
    assert is_whole(row.get_by_text("finished: tool_completed (a task by its name)"))
    row.locator("a").click()
    page.get_by_text("finished: tool_completed (a task by its name)").wait_for()
    page.screenshot(path=tmp_path / "task.png")
    assert "turn 1 after tool_started, recovered" in page.inner_text("body")
    assert tasks["killed"] in page.inner_text("body")
    page.goto(f"{flower.url}/workers")
    page.get_by_text("seen-default").wait_for()
    page.screenshot(path=tmp_path / "workers.png")
    assert CONTENT not in flower.get("/api/tasks") + page.content()


def unread(page: Page, tasks: dict[str, str], shown: dict[str, list[tuple[str, str, str]]]) -> list[tuple[str, ...]]:
    """Turns that no row of the page tells a person of: what it follows, its task, its state, and a good outcome."""
    rows = page.locator("#tasks-table tbody tr").all_inner_texts()
    wanted = [
        (follows, tasks[kind], state, outcome.strip("'") if state == "SUCCESS" else "")
        for kind, turns in shown.items()
        for follows, state, outcome in turns
    ]
    return [texts for texts in wanted if not any(all(text in row for text in texts) for row in rows)]


def is_whole(cell: Locator) -> bool:
    """Whether no text of a cell is cut off."""
    return bool(cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth"))


def turns_of_each_kind(stack: Stack) -> dict[str, str]:
    """Run tasks to their ends; ids by kind."""
    said = turn(CONTENT, command(f"echo {CONTENT} >> log.txt"))
    finished = stack.submit(task_prompt(said, turn("done")), name=NAME)
    stack.finished(finished)
    stack.dispatcher.publish_turn(finished, 0, 1, "no claim in time")
    asking = stack.submit(task_prompt(said, turn("done")), allow=(), name=NAME)
    wait_for(lambda: stack.record(asking).status is Status.WAITING_FOR_USER, "a question")
    stack.control_model("faults", {"kind": "400", "turn": 0, "times": 1})
    failing = stack.submit(task_prompt(said, turn("done"), note="failing"), name=NAME)
    wait_for(lambda: stack.record(failing).status is Status.FAILED, "the failure")
    killed = stack.submit(task_prompt(turn("", HELD), turn("done")), name=NAME)
    stack.held(killed)
    os.kill(stack.pid_of_owner(killed), signal.SIGKILL)
    wait_for(lambda: stack.events(killed, "ToolAttached"), "the recovery")
    stack.let_go(killed)
    return {"finished": finished, "asking": asking, "failing": failing, "killed": killed}


def as_shown(flower: Flower, tasks: dict[str, str]) -> Shown:
    """What Flower shows of each task's turns: what they follow, state, and outcome.

    A message that no worker has claimed in time is sent again, and on a busy machine that happens to any of them. Of
    those that then find nothing to do, only the one is kept that the test itself has sent; where the first one found
    nothing to do, the second is shown in its place.
    """
    turns = sorted(flower.turns().values(), key=lambda seen: seen["received"] or 0)
    shown: Shown = {kind: [] for kind in tasks}
    for kind, task in tasks.items():
        for seen in turns:
            if not str(seen["args"]).endswith(task):
                continue
            outcome = str(seen["result"] or seen["exception"])
            said = str(seen["args"]).removesuffix(f", {task}")
            if not outcome.endswith(NOTHING_DONE):
                said = said_first(said, (str(other["args"]) for other in turns), task)
            row = (said, seen["state"], outcome)
            is_stale = kind == "finished" and row[0].startswith("turn 1 ") and outcome == STALE
            is_ours = is_stale and row not in shown[kind]  # one that was sent again may have found it leased
            if not outcome.endswith(NOTHING_DONE) or is_ours:
                shown[kind].append(row)
    return shown


def said_first(said: str, all_said: Iterable[str], task: str) -> str:
    """What the first message of a turn said, where this one was sent again."""
    number, _, after = said.partition(" after ")
    of_turn = (other.removesuffix(f", {task}") for other in all_said if other.endswith(f", {task}"))
    firsts = (other for other in of_turn if other.startswith(f"{number} after ") and not other.endswith(AGAIN))
    return next(firsts, said) if after == AGAIN else said


def all_over(shown: Shown) -> bool:
    """Whether every turn of each kind is there and has ended; the others are said, for a failure's words."""
    missing = {
        kind: shown[kind]
        for kind, count in TURNS.items()
        if len(shown[kind]) != count or any(row[1] not in ("SUCCESS", "FAILURE") for row in shown[kind])
    }
    if missing:
        print("not over in Flower:", missing)
    return not missing
