"""`check_tool`, the public function: each fault of a tool shows, no secret does, and nothing that it raises goes on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from neuraphage.errors import CancelRequested, SpoolError
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ProbeVerdict, ToolDeclaration, ToolResult
from neuraphage.ports import SpoolCommand, ToolContext
from neuraphage.redaction.redactor import Redactor
from neuraphage.testing import check_tool
from neuraphage.tools import ToolCallError, ToolTraits, WholeFile, tool
from neuraphage.tools.command_tool import RunCommand
from neuraphage.tools.no_spool import WHY, NoSpool
from patience import PATIENCE_S
from turnkit import FakeTool

SECRET = "sk-" + "ant-api03-" + "Zx9" * 12


class Declared(FakeTool):
    """A tool by the long way that declares what it is told to."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.changes = changes

    @property
    def declaration(self) -> ToolDeclaration:
        return super().declaration.model_copy(update=self.changes)


def found(tool: Any, params: Mapping[str, Any] | None = None) -> dict[str, tuple[bool | None, str]]:
    """What was found, by the check."""
    report = check_tool(tool, params, redact=Redactor().text)
    return {one.check: (one.ok, one.text) for one in report.findings}


def test_a_sound_tool_has_no_problem() -> None:
    """Also one that implements the port itself; without parameters it is not run."""
    tool = FakeTool()
    assert check_tool(tool, {}).problems == []
    assert len(tool.runs) == 2
    assert check_tool(tool).problems == []
    assert len(tool.runs) == 2


@pytest.mark.parametrize(
    ("changes", "check", "words"),
    [
        ({"input_schema": {"type": "objekt"}}, "schema", "it is no JSON schema: $.type: 'objekt'"),
        ({"input_schema": {"type": "object", "properties": {"a": {"type": 7}}}}, "schema", "it is no JSON schema"),
        ({"input_schema": {"type": "string"}}, "schema", "the model's API wants an object, and this is 'string'"),
        ({"traits": ToolTraits(command="line")}, "traits", "they name line, which is none of its parameters"),
        ({"traits": ToolTraits(change=WholeFile())}, "traits", "they name content, path, which is none"),
        ({"name": "no spaces"}, "name", "tool name 'no spaces': 1 to 64 letters"),
        ({"name": "a" * 65}, "name", "1 to 64 letters"),
        ({"description": " "}, "description", "it is empty"),
        ({"timeout_s": 3_601.0}, "time", "workers end an effect at 3600 s"),
        ({"timeout_s": 0.0}, "time", "at most 0 s"),
    ],
)
def test_each_fault_of_a_declaration_is_found(changes: dict[str, Any], check: str, words: str) -> None:
    """Of a tool that no decorator has looked at."""
    ok, text = found(Declared(**changes))[check]
    assert ok is False
    assert words in text


@pytest.mark.parametrize(
    ("verdict", "before", "after"),
    [
        (ProbeVerdict.HAPPENED, False, True),
        (ProbeVerdict.NOT_HAPPENED, True, False),
        (ProbeVerdict.UNKNOWN, False, False),
    ],
)
def test_a_probe_that_always_says_one_thing_is_found(verdict: ProbeVerdict, before: bool, after: bool) -> None:
    """It is wanted to say no before the run, and yes after it."""
    seen = found(FakeTool(effect_class=EffectClass.CHECKABLE, happened=verdict), {})
    assert (seen["probe before"][0], seen["run"][0], seen["probe after"][0]) == (before, True, after)


class OwnEnd(BaseException):
    """As libraries have them."""


def raising(error: BaseException) -> Callable[..., Any]:
    def method(*_: Any) -> Any:
        raise error

    return method


@pytest.mark.parametrize("error", [SystemExit(4), OwnEnd(), GeneratorExit(), asyncio.CancelledError(), StopIteration()])
@pytest.mark.parametrize("method", ["check", "prepare", "probe", "run"])
def test_whatever_a_tool_raises_is_a_finding(method: str, error: BaseException) -> None:
    """In whichever method: the one who asks gets an answer, and what was found before."""
    tool: Any = FakeTool(effect_class=EffectClass.CHECKABLE)
    setattr(tool, method, raising(error))
    seen = found(tool, {})
    assert seen["run"][0] is False
    assert type(error).__name__ in seen["run"][1]
    assert seen["schema"][0] is True


def test_a_result_of_another_kind_is_a_finding() -> None:
    """What a worker would tell the model as a failure."""
    tool: Any = FakeTool(act=lambda *_: "text")
    assert found(tool, {})["run"] == (False, "it raised TypeError: it returned str, not a ToolResult")


def test_who_ends_the_check_is_heard() -> None:
    """Ctrl-C is no finding, and neither is what an interrupt raises."""
    for error in (KeyboardInterrupt(), CancelRequested("task")):
        with pytest.raises(type(error)):
            check_tool(FakeTool(act=raising(error)), {})


@pytest.mark.parametrize("padding", [0, 150, 185, 190])
@pytest.mark.parametrize("how", ["result", "failure", "exception", "exit", "check", "two results"])
def test_no_secret_is_shown(how: str, padding: int) -> None:
    """Wherever the tool says it, and wherever a long text is cut."""
    text = "x" * padding + f" {SECRET} and more"
    numbers = iter(range(9))
    acts: dict[str, Callable[..., Any]] = {
        "result": lambda *_: ToolResult(text=text),
        "failure": lambda *_: ToolResult(text=text, is_error=True),
        "exception": raising(RuntimeError(text)),
        "exit": raising(SystemExit(text)),
        "check": lambda *_: ToolResult(text=""),
        "two results": lambda *_: ToolResult(text=f"{next(numbers)} {text}"),
    }
    tool: Any = FakeTool(effect_class=EffectClass.KEYED, act=acts[how])
    if how == "check":
        tool.check = lambda _: text
    seen = found(tool, {})
    assert "xx" in str(seen) or padding == 0
    assert SECRET[:8] not in str(seen)


@pytest.mark.parametrize("error", [ToolCallError(f"no {SECRET}"), ValueError(f"no {SECRET}")])
def test_no_secret_of_a_function_is_shown(error: Exception) -> None:
    """Of what its author foresaw, and of what not."""

    @tool(effect="opaque")
    def act() -> str:
        """Act."""
        raise error

    ok, text = found(act, {})["run"]
    assert ok is False
    assert "no [" in text
    assert SECRET[:8] not in text


def test_detached_work_is_not_begun(tmp_path: Path) -> None:
    """It would outlive the check; a tool that says nothing of it and begins some is told so in clear words."""
    ran = tmp_path / "ran"
    assert found(RunCommand(), {"command": f"touch {ran}"})["run"] == (None, f"not run; {WHY}")

    def act(_: Any, context: ToolContext) -> ToolResult:
        context.spool.start(SpoolCommand(context.effect_id, ("touch", str(ran)), str(tmp_path), 9.0, {}))
        return ToolResult(text="begun")

    assert found(FakeTool(act=act), {})["run"] == (False, f"it raised SpoolError: {WHY}")
    assert not ran.exists()


def test_the_spool_of_a_check_refuses_everything() -> None:
    """In the same words."""
    spool = NoSpool()
    for ask in (
        lambda: spool.identity,
        lambda: spool.start(None),  # type: ignore[arg-type]  # whatever it is
        lambda: spool.look("e", 1),
        lambda: spool.seal("e"),
        lambda: spool.wait("e", 1, None),  # type: ignore[arg-type]  # as above
        lambda: spool.cancel("e"),
    ):
        with pytest.raises(SpoolError, match="a check begins no detached work"):
            ask()


FOREIGN = '''
from neuraphage.testing import ToolFinding, ToolReport, check_tool
from neuraphage.tools import ToolContext, tool

world = {}

@tool(effect="keyed")
def charge(customer: str, cents: int, context: ToolContext) -> str:
    """Charge a customer."""
    world[context.effect_id] = cents
    return "charged"

@charge.count_with
def charges(context):
    return int(context.effect_id in world)

def test_charge_keeps_its_word() -> None:
    report = check_tool(charge, {"customer": "test", "cents": 1})
    assert isinstance(report, ToolReport)
    assert report.problems == []
    assert report.findings[-1] == ToolFinding(
        "one effect", True, "effects of the key: 0 before, 1 after one run, 1 after two"
    )

def test_a_wrong_one_is_seen() -> None:
    charge.function = lambda **_: 1 / 0
    problems = check_tool(charge, {"customer": "test", "cents": 1}).problems
    assert problems[0].startswith("run: charge failed: ZeroDivisionError")
'''


def test_it_works_in_a_pytest_of_others(tmp_path: Path) -> None:
    """As the document shows it, from a folder that knows nothing of this one."""
    (tmp_path / "test_of_others.py").write_text(FOREIGN, encoding="utf-8")
    env = {name: v for name, v in os.environ.items() if not name.startswith(("NEURAPHAGE_", "PYTEST_"))}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path, env=env, capture_output=True,
        text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
