"""`@tool`: a tool of one's own, made from a typed function.

@tool(effect="keyed", timeout_s=30)
def charge(customer: str, cents: int, context: ToolContext) -> str:
    \"\"\"Charge a customer.\"\"\"
    return bank.charge(customer, cents, idempotency_key=context.effect_id)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from neuraphage.errors import BadInput
from neuraphage.model.effect import TOOL_CLASSES, EffectClass
from neuraphage.model.tool import ToolDeclaration
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.tools.call_meaning import fingerprint
from neuraphage.tools.function_params import signature_of
from neuraphage.tools.function_tool import FunctionTool

TIMEOUT_S = 60.0


def tool(
    function: Callable[..., Any] | None = None,
    *,
    effect: EffectClass | str,
    timeout_s: float = TIMEOUT_S,
    name: str | None = None,
    description: str | None = None,
    asks: bool | None = None,
    version: str | None = None,
    output_limit_chars: int = 30_000,
    traits: ToolTraits | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool of a typed function.

    Args:
        function: not given: this is called as a decorator with arguments.
        effect: what a repeat of a call does: "pure" changes nothing; "keyed" has the effect once for each
            `context.effect_id`; "checkable" has a probe that tells whether it happened; "opaque" none of these.
        timeout_s: longest run that it promises, in seconds. A coroutine function is ended by it; any other one must
            keep to it by itself.
        name: as the model calls it; the function's own when not given.
        description: as the model reads it; the docstring when not given.
        asks: whether a person is asked before each call unless the task allows it; when not given, unless it is pure.
        version: of what a call means. A call that was begun under another version is not begun again. When not given,
            it changes with the effect and the parameters.
        output_limit_chars: longest text that the model is shown; head and tail are kept.
        traits: what parameters mean to policy and to surfaces: which is a command line, which are paths.

    Returns:
        A decorator; its result is the tool, and can still be called like the function.

    Raises:
        BadInput: the effect is none of these, or the function cannot be a tool.
    """
    if function is not None:
        raise BadInput('write @tool(effect="pure") or another effect: what a repeat of a call does cannot be guessed')
    effect_class = _effect_class(effect)
    frame = inspect.currentframe()
    around = dict(frame.f_back.f_locals) if frame is not None and frame.f_back is not None else {}
    means = traits or ToolTraits()

    def made(function: Callable[..., Any]) -> FunctionTool:
        signature = signature_of(function, around)
        called = name or function.__name__
        if strange := means.parameters() - set(signature.fields.values()):
            raise BadInput(f"{called}: its traits name {', '.join(sorted(strange))}, which is none of its parameters")
        declaration = ToolDeclaration(
            name=called,
            description=_words(called, description or function.__doc__),
            input_schema=signature.schema,
            effect_class=effect_class,
            side_effecting=(effect_class is not EffectClass.PURE) if asks is None else asks,
            timeout_s=timeout_s,
            output_limit_chars=output_limit_chars,
            version=version or fingerprint(effect_class, signature.schema),
            traits=means,
        )
        return FunctionTool(function, signature, declaration)

    return made


def _effect_class(effect: EffectClass | str) -> EffectClass:
    if effect not in TOOL_CLASSES:
        known = ", ".join(one.value for one in TOOL_CLASSES)
        raise BadInput(f"{effect!r} is no effect of a tool; it is one of: {known}")
    return EffectClass(effect)


def _words(name: str, description: str | None) -> str:
    said = inspect.cleandoc(description or "")
    if not said:
        raise BadInput(f"{name}: it has no docstring, and the model reads that to know what the tool is for")
    return said
