"""Tools made of functions: the schema of a signature, what a call gives and gets, and what comes of failures."""

from __future__ import annotations

import asyncio
import datetime
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from tools_fakes import FakeInterrupt

from neuraphage.errors import BadInput, CancelRequested
from neuraphage.model.effect import EffectClass
from neuraphage.ports import ToolContext
from neuraphage.tools import Probe, ProbeVerdict, ToolCallError, ToolResult, ToolTraits, tool
from neuraphage.tools.function_tool import FunctionTool


class Color(StrEnum):
    RED = "red"


class Line(BaseModel):
    sku: str
    count: int = 1


@dataclass
class Receipt:
    number: int
    paid: bool


@tool(effect="keyed", timeout_s=30)
def charge(
    customer: str,
    cents: Annotated[int, Field(ge=1, description="How much.")],
    note: str | None = None,
    *,
    context: ToolContext,
) -> str:
    """Charge a customer.

    The customer is charged once.
    """
    return f"{customer} {cents} {note} {context.effect_id}"


def test_a_signature_is_the_schema_and_the_docstring_the_description() -> None:
    """What the model is told of a tool is what its author wrote for people."""
    declaration = charge.declaration
    assert declaration.name == "charge"
    assert declaration.description == "Charge a customer.\n\nThe customer is charged once."
    assert declaration.input_schema == {
        "type": "object",
        "properties": {
            "customer": {"type": "string"},
            "cents": {"type": "integer", "minimum": 1, "description": "How much."},
            "note": {"type": "string"},
        },
        "required": ["customer", "cents"],
        "additionalProperties": False,
    }
    assert (declaration.effect_class, declaration.side_effecting, declaration.timeout_s) == (
        EffectClass.KEYED,
        True,
        30,
    )


def test_a_call_brings_the_parameters_and_the_context(context: ToolContext) -> None:
    """By name, parsed, with the effect id as the key."""
    assert charge.check({"customer": "c", "cents": 3}) is None
    assert charge.run({"customer": "c", "cents": 3}, context).text == "c 3 None effect-1"
    assert "cents" in (charge.check({"customer": "c", "cents": 0}) or "")
    assert charge("c", 3, context=context) == "c 3 None effect-1"  # as its own tests call it


def test_the_context_may_be_left_out_or_called_otherwise(context: ToolContext) -> None:
    """It is known by its type, or by its name where it has none."""

    @tool(effect="pure")
    def plain() -> str:
        """Nothing."""
        return "plain"

    @tool(effect="pure")
    def other(call: ToolContext) -> str:
        """Nothing."""
        return call.task_id

    @tool(effect="pure")
    def bare(context) -> str:  # type: ignore[no-untyped-def]  # a person's own style
        """Nothing."""
        return context.task_id  # type: ignore[no-any-return]

    assert [one.run({}, context).text for one in (plain, other, bare)] == ["plain", "task-1", "task-1"]
    assert plain.declaration.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_parameters_may_have_any_name(context: ToolContext) -> None:
    """Names that a pydantic model has for itself are as good as others."""

    @tool(effect="pure")
    def odd(json: int, model_config: str, copy: bool = True, schema: str = "s", self_: int = 0) -> list[Any]:
        """Odd names."""
        return [json, model_config, copy, schema, self_]

    assert odd.run({"json": 1, "model_config": "m", "copy": False}, context).text == '[1,"m",false,"s",0]'
    assert "p0" not in json.dumps(odd.declaration.input_schema)
    assert "json" in (odd.check({"model_config": "m"}) or "")


def test_types_are_parsed_as_json_spells_them(context: ToolContext) -> None:
    """A date comes as text, an enum as its value, a list as a list."""

    @tool(effect="pure")
    def typed(
        when: datetime.date, color: Color, lines: list[Line], kind: Literal["a", "b"] = "a", tags: tuple[str, ...] = ()
    ) -> str:
        """Types."""
        return f"{when!r} {color!r} {lines[0].count} {kind} {tags}"

    params = {"when": "2026-01-02", "color": "red", "lines": [{"sku": "x"}], "tags": ["t"]}
    assert typed.run(params, context).text == "datetime.date(2026, 1, 2) <Color.RED: 'red'> 1 a ('t',)"
    assert "when" in (typed.check({**params, "when": "soon"}) or "")


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ("text", "text"),
        (None, "Done."),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (Receipt(7, True), '{"number":7,"paid":true}'),
        (Line(sku="x"), '{"sku":"x","count":1}'),
        (ToolResult(text="own", is_error=True), "own"),
        (0, "0"),
    ],
)
def test_what_is_returned_is_text_or_json(context: ToolContext, returned: Any, text: str) -> None:
    """Text goes to the model as it is."""

    @tool(effect="pure")
    def giving() -> Any:
        """Give."""
        return returned

    assert giving.run({}, context).text == text


def failing(error: BaseException, effect: str = "pure") -> FunctionTool:
    @tool(effect=effect)
    def fails() -> str:
        """Fail."""
        raise error

    return fails


def test_what_is_raised_is_a_result(context: ToolContext) -> None:
    """One that the tool has put into words is told as it is; any other one tells that the effect may have come."""
    foreseen = failing(ToolCallError("The card is blocked."), "keyed").run({}, context)
    assert (foreseen.text, foreseen.is_error) == ("The card is blocked.", True)
    pure = failing(ZeroDivisionError("by zero")).run({}, context)
    assert (pure.text, pure.is_error) == ("fails failed: ZeroDivisionError: by zero", True)
    keyed = failing(TimeoutError("no answer"), "keyed").run({}, context)
    assert keyed.text.startswith("fails failed: TimeoutError: no answer\nWhether it took effect is not known.")
    assert (
        failing(OSError(5, "gone"), "opaque").run({}, context).text.startswith("fails failed: OSError: [Errno 5] gone")
    )
    unfit = failing(RuntimeError("x")).run({"unknown": 1}, context)
    assert unfit.is_error
    assert "unknown" in unfit.text


def test_what_is_no_json_is_a_failure(context: ToolContext) -> None:
    """The model is told, and the effect may well have come."""

    @tool(effect="opaque")
    def giving() -> object:
        """Give."""
        return object()

    result = giving.run({}, context)
    assert result.is_error
    assert "returned object, which is no text and no JSON" in result.text


# --- coroutines ---


def test_a_coroutine_function_is_run(context: ToolContext) -> None:
    """In the thread of its turn."""

    @tool(effect="pure")
    async def waits(word: str) -> str:
        """Wait."""
        await asyncio.sleep(0)
        return word

    assert waits.run({"word": "w"}, context).text == "w"


def test_a_function_that_gives_a_coroutine_is_run_to_its_end(context: ToolContext) -> None:
    """As a decorator of its author may make one of it."""

    async def slow(word: str) -> str:
        return word

    @tool(effect="pure")
    def wrapped(word: str) -> Any:
        """Wrap."""
        return slow(word)

    assert wrapped.run({"word": "w"}, context).text == "w"


def test_a_coroutine_is_ended_by_its_time(context: ToolContext) -> None:
    """A thread cannot be ended so, a coroutine can."""
    ended = threading.Event()

    @tool(effect="keyed", timeout_s=0.01)
    async def waits() -> str:
        """Wait."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    result = waits.run({}, context)
    assert ended.is_set()
    assert result.is_error
    assert "it was ended after 0.01 s" in result.text
    assert "Whether it took effect is not known" in result.text


def test_a_timeout_of_its_own_is_told_as_its_own(context: ToolContext) -> None:
    """It is not taken for the end of its time."""

    @tool(effect="pure", timeout_s=600)
    async def asks() -> str:
        """Ask."""
        raise TimeoutError("the other side is silent")

    assert asks.run({}, context).text == "asks failed: TimeoutError: the other side is silent"


def test_a_coroutine_is_cancelled_with_its_task(context: ToolContext, interrupt: FakeInterrupt) -> None:
    """It may clean up, and the turn hears of the cancel."""
    cleaned = []

    @tool(effect="pure", timeout_s=600)
    async def waits() -> None:
        """Wait."""
        threading.Timer(0.01, interrupt.fire).start()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(CancelRequested):
        waits.run({}, context)
    assert cleaned == [True]


def test_a_coroutine_that_cancels_itself_has_failed(context: ToolContext) -> None:
    """Nobody else has asked it to end."""

    @tool(effect="pure")
    async def gives_up() -> None:
        """Give up."""
        raise asyncio.CancelledError

    assert "it was cancelled by its own code" in gives_up.run({}, context).text


# --- beside the function ---


def checkable() -> tuple[FunctionTool, dict[str, str]]:
    world: dict[str, str] = {}

    @tool(effect="checkable")
    def post(issue: int, text: str) -> str:
        """Post."""
        world[str(issue)] = text
        return "posted"

    return post, world


def test_a_probe_gets_what_it_names(context: ToolContext) -> None:
    """Parameters, context and evidence, whichever it wants."""
    post, world = checkable()

    @post.prepare_with
    def before(issue: int) -> dict[str, Any]:
        return {"was": world.get(str(issue))}

    @post.probe_with
    def happened(issue: int, text: str, evidence: dict[str, Any]) -> bool | None:
        now = world.get(str(issue))
        return True if now == text else False if now == evidence["was"] else None

    params = {"issue": 1, "text": "new"}
    evidence = post.prepare(params, context)
    assert evidence == {"was": None}
    assert post.probe(params, evidence, context).verdict is ProbeVerdict.NOT_HAPPENED
    post.run(params, context)
    assert post.probe(params, evidence, context).verdict is ProbeVerdict.HAPPENED
    world["1"] = "another's"
    assert post.probe(params, evidence, context).verdict is ProbeVerdict.UNKNOWN


def test_a_probe_may_tell_the_result_and_may_be_a_coroutine(context: ToolContext) -> None:
    """A result that the world still has is better than none."""
    post, _ = checkable()

    @post.probe_with
    async def happened(context: ToolContext) -> Probe:
        return Probe(verdict=ProbeVerdict.HAPPENED, result=ToolResult(text=context.effect_id))

    probe = post.probe({"issue": 1, "text": "t"}, {}, context)
    assert probe == Probe(verdict=ProbeVerdict.HAPPENED, result=ToolResult(text="effect-1"))


def test_a_probe_that_says_something_else_is_an_error(context: ToolContext) -> None:
    """The turn takes that as unknown; a truth that is none must not be read as a yes."""
    post, _ = checkable()

    @post.probe_with
    def happened() -> Any:
        return "yes"

    with pytest.raises(TypeError, match="True, False, None or a Probe"):
        post.probe({"issue": 1, "text": "t"}, {}, context)


def test_what_nobody_would_give_is_refused_at_once() -> None:
    """Not when a crash asks for the probe for the first time."""
    post, _ = checkable()
    with pytest.raises(BadInput, match="wants 'world' besides"):

        @post.probe_with
        def happened(world: dict[str, str]) -> bool:
            return bool(world)


# --- what can be no tool ---


def untyped(word) -> str:  # type: ignore[no-untyped-def]
    """Say."""
    return word  # type: ignore[no-any-return]


def silent(word: str) -> str:
    return word


def many(*words: str) -> str:
    """Say."""
    return " ".join(words)


def strange(call: Callable[[], int]) -> int:
    """Call."""
    return call()


def unknown(word: Missing) -> str:  # type: ignore[name-defined]  # noqa: F821 - the fault
    """Say."""
    return str(word)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (untyped, "the parameter word has no type"),
        (silent, "it has no docstring"),
        (many, "cannot be given by its name"),
        (strange, "no JSON schema can be made"),
        (unknown, "a type of its signature is not known"),
    ],
)
def test_a_function_that_can_be_no_tool_says_why(function: Callable[..., Any], why: str) -> None:
    """At its definition, in words that lead to the cure."""
    with pytest.raises(BadInput, match=why):
        tool(effect="pure")(function)


def test_the_effect_must_be_told() -> None:
    """There is no default: a wrong guess would be a doubled effect."""
    with pytest.raises(BadInput, match="one of: pure, keyed, checkable, opaque"):
        tool(effect="safe")
    with pytest.raises(BadInput, match='write @tool\\(effect="pure"\\)'):
        tool(untyped, effect="pure")
    with pytest.raises(BadInput, match="traits name line, which is none"):
        tool(effect="pure", traits=ToolTraits(command="line"))(charge.function)


def test_the_version_follows_effect_and_parameters_and_no_words() -> None:
    """Words for the model change often, and change nothing about a call."""

    def make(effect: str = "keyed", **words: Any) -> str:
        def act(a: Annotated[int, Field(**words)], description: str = "") -> None:
            """Act."""

        return tool(effect=effect)(act).declaration.version

    assert make() == make(description="Other words.", title="T")
    assert make() != make(effect="opaque")
    assert make() != make(ge=1)
    assert tool(effect="pure", version="7")(charge.function).declaration.version == "7"


def test_a_result_is_redacted_and_cut(context: ToolContext) -> None:
    """What every built-in tool does with its text is done with this one's too."""

    @tool(effect="pure", output_limit_chars=100)
    def long() -> str:
        """Say much."""
        return "secret " * 1_000

    text = long.run({}, replace(context, redact=lambda text: text.replace("secret", "[redacted]"))).text
    assert "secret" not in text
    assert len(text) <= 100
