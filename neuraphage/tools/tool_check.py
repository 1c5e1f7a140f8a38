"""Holds a tool against what it declares: for `neuraphage tools check`, and, from `neuraphage.testing`, for tests.

    from neuraphage.testing import check_tool

    def test_charge_keeps_its_word() -> None:
        assert check_tool(charge, {"customer": "test", "cents": 1}).problems == []

With parameters the tool is really run: give such that may be carried out.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import Probe, ProbeVerdict, ToolResult
from neuraphage.ports import Tool, ToolContext
from neuraphage.proc.foreign_code import ForeignCodeFailed, foreign_code, of_kind
from neuraphage.redaction.ends import Redact
from neuraphage.tools.function_tool import FunctionTool
from neuraphage.tools.no_spool import WHY, NoSpool
from neuraphage.tools.tool_names import name_problem

EFFECT_LIMIT_S = 3_600.0
"""The usual `effect_max_s`: a worker ends itself over a longer effect."""
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """One thing that was looked at.

    Args:
        check: what: schema, description, time, repeat, probe and so on.
        ok: whether it is as declared; None when it was not to be seen.
        text: what was found.
    """

    check: str
    ok: bool | None
    text: str


@dataclass
class ToolReport:
    """All findings of one tool."""

    name: str
    findings: list[ToolFinding] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """What is not as declared, in words; empty when nothing is wrong."""
        return [f"{one.check}: {one.text}" for one in self.findings if one.ok is False]


class _Never:
    """Implements ports.Interrupt for a run that nobody ends."""

    def check(self) -> None:
        pass

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002 - the port's shape
        return lambda: None


def check_tool(
    tool: Tool,
    params: Mapping[str, Any] | None = None,
    *,
    working_dir: Path | None = None,
    effect_limit_s: float = EFFECT_LIMIT_S,
    redact: Redact = str,
) -> ToolReport:
    """Hold a tool against its declaration.

    Args:
        tool: the tool.
        params: of a call that may really be carried out: a pure or keyed tool is run twice, any other one once. None to
            run nothing.
        working_dir: where it runs; a folder that is removed again when not given.
        effect_limit_s: longest effect of the workers, in seconds.
        redact: takes secrets out of what the tool says.

    Returns:
        What was found; nothing is raised for a tool that fails.
    """
    report = ToolReport(tool.declaration.name)
    report.findings += _declared(tool, effect_limit_s)
    if params is None:
        report.findings.append(ToolFinding("run", None, "not run; give parameters of a call that may be carried out"))
        return report
    if tool.declaration.detached:
        report.findings.append(ToolFinding("run", None, f"not run; {WHY}"))
        return report
    with tempfile.TemporaryDirectory(prefix="neuraphage-check-") as own:
        folder = str(working_dir or Path(own).resolve())
        context = ToolContext("task-check", secrets.token_hex(16), folder, NoSpool(), _Never(), redact=redact)
        report.findings += _carried_out(tool, params, context)
    return report


def _declared(tool: Tool, effect_limit_s: float) -> Iterator[ToolFinding]:
    declaration = tool.declaration
    wrong = name_problem(declaration.name)
    yield ToolFinding("name", wrong is None, wrong or declaration.name)
    yield _schema(declaration.input_schema)
    named = declaration.traits.parameters() - set(declaration.input_schema.get("properties", {}))
    if named:
        yield ToolFinding("traits", False, f"they name {', '.join(sorted(named))}, which is none of its parameters")
    said = declaration.description.strip()
    yield ToolFinding("description", bool(said), said.partition("\n")[0] or "it is empty; the model reads nothing else")
    fits = 0 < declaration.timeout_s <= effect_limit_s
    limit = "" if fits else f", and workers end an effect at {effect_limit_s:g} s (effect_max_s)"
    yield ToolFinding("time", fits, f"at most {declaration.timeout_s:g} s{limit}")
    if declaration.effect_class is EffectClass.PURE and declaration.side_effecting:
        yield ToolFinding("effect", None, "pure, and people are asked all the same")
    elif declaration.effect_class is not EffectClass.PURE and not declaration.side_effecting:
        yield ToolFinding("effect", None, f"{declaration.effect_class.value}, and nobody is asked before it runs")
    else:
        yield ToolFinding("effect", True, declaration.effect_class.value)


def _schema(schema: Mapping[str, Any]) -> ToolFinding:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - this check alone needs it

    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        return ToolFinding("schema", False, f"it is no JSON schema: {error.json_path}: {error.message}")
    if schema.get("type") != "object":
        return ToolFinding("schema", False, f"the model's API wants an object, and this is {schema.get('type')!r}")
    return ToolFinding("schema", True, f"{len(schema.get('properties', {}))} parameters")


def _carried_out(tool: Tool, params: Mapping[str, Any], context: ToolContext) -> Iterator[ToolFinding]:
    """What came of its methods, up to the first one that raises."""
    looked_at = _looked_at(tool, params, context)
    while True:
        try:
            with foreign_code():
                found = next(looked_at, None)
        except ForeignCodeFailed as failed:
            yield ToolFinding("run", False, f"it raised {_short(str(failed), context)}")
            return
        if found is None:
            return
        yield found


def _looked_at(tool: Tool, params: Mapping[str, Any], context: ToolContext) -> Iterator[ToolFinding]:
    problem = tool.check(params)
    if problem is not None:
        yield ToolFinding("parameters", False, _short(problem, context))
        return
    match tool.declaration.effect_class:
        case EffectClass.KEYED:
            yield from _keyed(tool, params, context)
        case EffectClass.CHECKABLE:
            yield from _checkable(tool, params, context)
        case EffectClass.PURE:
            yield _ran("run", _run(tool, params, context), context)
            yield _ran("repeat", _run(tool, params, context), context)
        case _:
            yield _ran("run", _run(tool, params, context), context)


def _keyed(tool: Tool, params: Mapping[str, Any], context: ToolContext) -> Iterator[ToolFinding]:
    before = _count(tool, params, context)
    first = _run(tool, params, context)
    yield _ran("run", first, context)
    once = _count(tool, params, context)
    second = _run(tool, params, context)
    yield _ran("repeat", second, context)
    twice = _count(tool, params, context)
    if first.text != second.text:
        said, then = _short(first.text, context), _short(second.text, context)
        yield ToolFinding("repeat", False, f"under one key it said {said} and then {then}")
    if before is None or once is None or twice is None:
        text = "nothing counts effects here; add a function by @count_with, or look yourself"
        yield ToolFinding("one effect", None, text)
        return
    yield ToolFinding(
        "one effect",
        (once - before, twice - before) == (1, 1),
        f"effects of the key: {before} before, {once} after one run, {twice} after two",
    )


def _checkable(tool: Tool, params: Mapping[str, Any], context: ToolContext) -> Iterator[ToolFinding]:
    evidence = of_kind(tool.prepare(params, context), dict)
    before = of_kind(tool.probe(params, evidence, context), Probe).verdict
    yield ToolFinding("probe before", before is ProbeVerdict.NOT_HAPPENED, f"{before.value}, not_happened is wanted")
    yield _ran("run", _run(tool, params, context), context)
    after = of_kind(tool.probe(params, evidence, context), Probe).verdict
    yield ToolFinding("probe after", after is ProbeVerdict.HAPPENED, f"{after.value}, happened is wanted")


def _run(tool: Tool, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return of_kind(tool.run(params, context), ToolResult)


def _count(tool: Tool, params: Mapping[str, Any], context: ToolContext) -> int | None:
    return tool.count_effects(params, context) if isinstance(tool, FunctionTool) else None


def _ran(check: str, result: ToolResult, context: ToolContext) -> ToolFinding:
    return ToolFinding(check, not result.is_error, _short(result.text, context))


def _short(text: str, context: ToolContext) -> str:
    """A line of what a tool said. It is redacted first: nothing recognizes a secret that was cut or folded."""
    line = " ".join(context.redact(text).split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 4]} ..."
