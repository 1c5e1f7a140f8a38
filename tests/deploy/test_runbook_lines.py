"""What RUNBOOK.md says that logs and health tell is what they tell: an operator looks for these very words."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable

import pytest
import redis

from neuraphage.decide.health import assess
from neuraphage.dev import exit_cause
from neuraphage.model.health import HealthRecord
from neuraphage.model.recovery import RecoveryReport
from neuraphage.runtime.sweep import summary
from neuraphage.store.refusals import store_error
from source_tree import ROOT, source_files

RUNBOOK = (ROOT / "RUNBOOK.md").read_text(encoding="utf-8")
ILL = HealthRecord("here", 1, 1.0, "worker@here", 1.0, 100.0, 0.0, consuming=False)


def templates() -> str:
    """The texts of every log call of the product."""
    found = []
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_call and node.func.attr in {"info", "warning", "error", "exception"} and node.args:
                found += [n.value for n in ast.walk(node.args[0]) if isinstance(n, ast.Constant)]
    return "\n".join(str(text) for text in found)


def refused(error: redis.exceptions.RedisError) -> Callable[[], str]:
    return lambda: str(store_error("commit", error))


TOLD: dict[str, Callable[[], str]] = {
    "nothing due": lambda: summary(RecoveryReport(swept_at_ms=1)),
    "the state server takes no writes of it": lambda: " ".join(assess(ILL, 100.0).problems),
    "it takes in no messages from the broker": lambda: " ".join(assess(ILL, 100.0).problems),
    "OOM command not allowed": refused(
        redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'.")
    ),
    "MISCONF": refused(redis.exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left")),
    "left to a newer worker": templates,
}
OF_THE_SERVER = ("Bad file format", "RDB format version", "Internal error in RDB reading", "Short read")
OF_OTHERS = ("Killed process", "left-over process")
"""Of the kernel and of systemd."""


@pytest.mark.parametrize("words", TOLD)
def test_the_words_are_told(words: str) -> None:
    """By the code itself, from what makes it say so."""
    assert f"`{words}`" in RUNBOOK
    assert words in TOLD[words]()


@pytest.mark.parametrize("words", OF_THE_SERVER)
def test_the_words_of_the_server_are_known(words: str) -> None:
    """`dev` looks for them when a server ends."""
    assert f"`{words}`" in RUNBOOK
    assert words in inspect.getsource(exit_cause).replace("\\", "")


def test_every_line_that_is_quoted_is_known_here() -> None:
    """A new one needs its line above: what is quoted where the text speaks of logs, lines and reasons."""
    quoted = re.findall(
        r"(?:logs? (?:says? )?|line there: |names the reason: |systemd says |log \()(`[^`]+`(?:(?:,| or)\s+`[^`]+`)*)",
        RUNBOOK.replace("\n", " "),
    )
    words = {word for group in quoted for word in re.findall(r"`([^`]+)`", group)}
    words = {word for word in words if not word.startswith(("docker", "neuraphage", "journalctl"))}
    assert len(words) >= 5
    assert words <= TOLD.keys() | set(OF_THE_SERVER) | set(OF_OTHERS)
