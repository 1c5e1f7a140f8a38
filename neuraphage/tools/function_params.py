"""From a typed function to the parameters of a tool: names, types and defaults become a pydantic model and its schema.

Fields of the model have names of our own and the parameters' names as aliases, so a parameter may be called `json` or
`model_config` like any other.
"""

from __future__ import annotations

import inspect
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, create_model
from pydantic.errors import PydanticUserError

from neuraphage.errors import BadInput
from neuraphage.ports import ToolContext
from neuraphage.tools.base import Params, plain_schema

_CONTEXT = "context"
_EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes.

    Args:
        model: of its parameters; by alias they have the names that the function gives them.
        fields: name of the parameter by the name of the model's field.
        context: parameter that takes the ToolContext; None when there is none.
        schema: JSON schema of the parameters.
    """

    model: type[Params]
    fields: Mapping[str, str]
    context: str | None
    schema: dict[str, Any]

    def arguments(self, params: Params, context: ToolContext) -> dict[str, Any]:
        """Keyword arguments of one call."""
        found = {name: getattr(params, field) for field, name in self.fields.items()}
        return found if self.context is None else {**found, self.context: context}


def signature_of(function: Callable[..., Any], names_around: Mapping[str, Any] | None = None) -> Signature:
    """Read the signature of a tool's function.

    Args:
        function: of the tool.
        names_around: names that its types may use besides those of its module: those of the function it is defined in.

    Raises:
        BadInput: a parameter has no type, cannot be given by its name, or has a type that no JSON schema describes.
    """
    name = getattr(function, "__name__", "function")
    hints = _hints(function, name, names_around)
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    context = None
    for parameter in inspect.signature(function).parameters.values():
        if _takes_context(parameter, hints):
            context = parameter.name
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BadInput(f"{name}: {parameter} cannot be given by its name; name every parameter of a tool")
        if parameter.name not in hints:
            raise BadInput(
                f"{name}: the parameter {parameter.name} has no type; write one, such as {parameter.name}: str"
            )
        field = f"p{len(names)}"
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[field] = (typing.Annotated[hints[parameter.name], Field(alias=parameter.name)], default)
        names[field] = parameter.name
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a default that no schema can show
            model = create_model(f"{name}_params", __base__=Params, **fields)
            schema = plain_schema(model.model_json_schema())
    except (PydanticUserError, Warning, NameError, TypeError) as error:
        first = str(error).partition("\n")[0]
        raise BadInput(f"{name}: no JSON schema can be made of its parameters: {first}") from error
    return Signature(model, names, context, {"type": "object", "properties": {}, **schema})


def accepted(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Of what could be given to a function, what it names; all of it where it takes any name."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return dict(given)
    return {name: value for name, value in given.items() if name in parameters}


def check_names(function: Callable[..., Any], known: Signature, role: str) -> None:
    """Check a function beside a tool's own: it may name the tool's parameters, the context and the evidence.

    Args:
        function: that prepares, probes or counts.
        known: signature of the tool's own function.
        role: of the function, for the error.

    Raises:
        BadInput: it needs something else, which nobody would give it.
    """
    allowed = {*known.fields.values(), known.context or _CONTEXT, _EVIDENCE}
    for one in inspect.signature(function).parameters.values():
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) or one.name in allowed:
            continue
        if one.default is one.empty:
            raise BadInput(
                f"{function.__name__}: {role} is given {', '.join(sorted(allowed))}, and wants {one.name!r} besides"
            )


def _hints(function: Callable[..., Any], name: str, names_around: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, localns=dict(names_around or {}), include_extras=True)
    except (NameError, TypeError) as error:
        raise BadInput(
            f"{name}: a type of its signature is not known: {error}; define or import it at the top of the module"
        ) from error


def _takes_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    hint = hints.get(parameter.name)
    return hint is ToolContext or (parameter.name == _CONTEXT and hint is None)
