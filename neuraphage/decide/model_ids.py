"""Ids of models: which provider's API one is called by, and what it is called there. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from neuraphage.errors import BadInput

MAX_CHARS = 200


class Provider(StrEnum):
    """Whose API takes the call. The value is the prefix of an id."""

    ANTHROPIC = "anthropic"
    """The Messages API; an id without a prefix means it, too."""
    OPENAI = "openai"
    """Chat Completions, which OpenAI and nearly every local server speaks."""
    BEDROCK = "bedrock"
    """Models of Anthropic on Amazon Bedrock, by their ids there."""
    VERTEX = "vertex"
    """Models of Anthropic on Google Cloud's Vertex, by their ids there."""


@dataclass(frozen=True, slots=True)
class ModelId:
    """An id in its parts.

    Args:
        provider: whose API.
        name: what the model is called there.
    """

    provider: Provider
    name: str

    def __str__(self) -> str:
        return self.name if self.provider is Provider.ANTHROPIC else f"{self.provider}:{self.name}"


def split_model(model: str) -> ModelId:
    """The parts of an id. A colon behind anything but a provider's prefix is part of the name.

    Args:
        model: as `claude-sonnet-5-5`, `anthropic:claude-sonnet-5-5` or `openai:llama3:8b`.
    """
    prefix, colon, name = model.partition(":")
    if colon and prefix in list(Provider):
        return ModelId(Provider(prefix), name)
    return ModelId(Provider.ANTHROPIC, model)


def check_model(model: str) -> ModelId:
    """The parts of an id that a person gave.

    Raises:
        BadInput: it names no model; the message begins with the id.
    """
    if model != "".join(model.split()) or not model.isprintable() or len(model) > MAX_CHARS:
        raise BadInput(f"{model!r} is no id of a model; one has no blanks and at most {MAX_CHARS} characters")
    parts = split_model(model)
    if not parts.name:
        raise BadInput(f"{model!r} names no model; write one, as in {parts.provider}:NAME")
    return parts
