"""Tiers of models: names that are resolved to ids when a task is made or changed; and what comes behind a refused one.

Pure. A tier is data of the settings. What is stored is ids, so that nothing that is stored changes with the settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuraphage.decide.model_ids import check_model
from neuraphage.errors import BadInput, FaultKind
from neuraphage.model.model_choice import ModelChoice

PREFIX = "tier:"
OWN = "own"
"""The setting of a summary's model that has the task's own one asked."""
FALLS_BACK = frozenset({FaultKind.NOT_FOUND, FaultKind.PERMISSION, FaultKind.AUTHENTICATION, FaultKind.OVERLOADED})
"""Faults about the model or the provider, which another model may not have. Others are about the request."""


def resolved(given: str, tiers: Mapping[str, Sequence[str]]) -> ModelChoice:
    """The models that a person means.

    Args:
        given: an id, the name of a tier, or `tier:NAME`.
        tiers: name -> ids, of which the first one is called, and the others are fall-backs.

    Raises:
        BadInput: there is no such tier, or the id is none.
    """
    name = given.removeprefix(PREFIX)
    if given.startswith(PREFIX) and name not in tiers:
        known = ", ".join(tiers) or "none"
        raise BadInput(f"{given!r}: there is no such tier; there are: {known} (the setting tiers)")
    if name in tiers:
        first, *others = tiers[name]
        return ModelChoice(model=first, fallbacks=tuple(others), tier=name)
    check_model(given)
    return ModelChoice(model=given)


def fallen_back(choice: ModelChoice, kind: FaultKind, *, is_over: bool) -> ModelChoice | None:
    """What is called in place of a model whose call failed; None where nothing is.

    Args:
        choice: with the model that was called.
        kind: how the call failed.
        is_over: whether no retry of the same model is left.
    """
    if not is_over or kind not in FALLS_BACK or not choice.fallbacks:
        return None
    following, *others = choice.fallbacks
    return choice.model_copy(update={"model": following, "fallbacks": tuple(others)})
