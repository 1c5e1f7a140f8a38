"""What a person may answer to a permission, and what it means."""

from __future__ import annotations

import pytest

from neuraphage.decide.answers import (
    MOST_REMEMBERED,
    PermissionAnswer,
    Scope,
    allows,
    read_answer,
    refuse_too_many,
    taken_answer,
)
from neuraphage.decide.asking import meant
from neuraphage.errors import BadInput
from neuraphage.model.effect import Permission
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind

EDIT = 'edit: {"a":null,"b":[1]}'
YES, NO = Permission.GRANTED, Permission.DENIED
ASK = Prompt(prompt_id="p", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS, tool="run_command")


@pytest.mark.parametrize(
    ("text", "answer", "sent"),
    [
        ("yes", PermissionAnswer(YES), "yes"),
        (" Y ", PermissionAnswer(YES), "yes"),
        ("n", PermissionAnswer(NO), "no"),
        ("ALWAYS", PermissionAnswer(YES, Scope.TASK), "always"),
        ("never", PermissionAnswer(NO, Scope.TASK), "never"),
        ("no: use tabs: always", PermissionAnswer(NO, words="use tabs: always"), "no: use tabs: always"),
        ("N:yes", PermissionAnswer(NO, words="yes"), "no: yes"),
        ("never: it costs money", PermissionAnswer(NO, Scope.TASK, words="it costs money"), "never: it costs money"),
        ("always: pytest *", PermissionAnswer(YES, Scope.TASK, "pytest *"), "always: pytest *"),
        ("always run_command: pytest *", PermissionAnswer(YES, Scope.TASK, "pytest *"), "always: pytest *"),
        ("a: run_command: pytest *", PermissionAnswer(YES, Scope.TASK, "pytest *"), "always: pytest *"),
        ("always here: pytest *", PermissionAnswer(YES, Scope.HERE, "pytest *"), "always here: pytest *"),
        ("Always Me:run_command: ls", PermissionAnswer(YES, Scope.ME, "ls"), "always me: ls"),
        ("always  me", PermissionAnswer(YES, Scope.ME), "always me"),
        (
            'edit: {"b": [1], "a": null}',
            PermissionAnswer(YES, changes={"a": None, "b": [1]}),
            'edit: {"a":null,"b":[1]}',
        ),
        ("always: echo a: b", PermissionAnswer(YES, Scope.TASK, "echo a: b"), "always: echo a: b"),
    ],
)
def test_answers_are_read(text: str, answer: PermissionAnswer, sent: str) -> None:
    """What is sent is read as the same one again."""
    assert read_answer(text, "run_command") == answer == read_answer(sent, "run_command")
    assert meant(ASK, text) == sent


@pytest.mark.parametrize(
    "text",
    ["", "maybe", "yes please", "yes: pytest *", "y: x", "no:", "always:", "always edit: a.py", "always pytest *",
     "no edit: x", "always: run_command:", "always: " + "x" * 1_001, "edit:", "edit: {}", "edit: []", "edit: {1",
     'edit: {"a": NaN}', 'edit x: {"a": 1}'],
)  # fmt: skip
def test_what_is_no_answer_is_refused_and_taken_for_a_no(text: str) -> None:
    """Here, with the forms that there are; and where it arrived all the same, since no surface had looked."""
    with pytest.raises(BadInput):
        meant(ASK, text)
    assert taken_answer(text, "run_command") == PermissionAnswer(NO)
    assert not allows(ASK, text)


def test_which_answers_let_a_call_run() -> None:
    """Those by which a call must have been seen in full; a question's yes lets nothing run."""
    assert [allows(ASK, text) for text in ("yes", "always", "always: x *", "no", "never", "no: yes")] == [
        *[True] * 3,
        *[False] * 3,
    ]
    assert not allows(ASK.model_copy(update={"kind": PromptKind.QUESTION}), "yes")


def test_a_task_remembers_so_many_answers() -> None:
    """What it remembers already may be said again."""
    full = {f"run_command: x{n}": "granted" for n in range(MOST_REMEMBERED)}
    for text in ("yes", "no: x", "always: x7"):
        refuse_too_many(text, "run_command", full)
    with pytest.raises(BadInput, match="remembers 100 answers"):
        refuse_too_many("always: y", "run_command", full)
