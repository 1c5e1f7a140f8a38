"""Which model a task calls, and what is sent beside: resolved and checked when a task is made or changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from neuraphage.api.base import ApiBase
from neuraphage.decide.attachments import takes_images
from neuraphage.decide.request_extra import check_extra
from neuraphage.decide.tiers import resolved
from neuraphage.errors import BadInput
from neuraphage.settings import Settings

if TYPE_CHECKING:
    from neuraphage.ports import Redaction, Signalled


class Models(ApiBase):
    """What changes the model of a task."""

    def set_model(self, task_id: str, model: str, *, reason: str = "", key: str | None = None) -> Signalled:
        """Set which model a task calls, from its next request on. One that has failed still needs `retry`.

        Args:
            model: an id, or the name of a tier, which is resolved now.
            reason: for the history.

        Raises:
            IllegalMove: the task was cancelled.
            BadInput: there is no such tier, or the id is none. Else see the class.
        """
        service = self._service  # first of all: inside a command of a task there is none
        choice, full_id = resolved(model, self.settings.tiers), self.find(task_id)
        turn = self._ports.reads.get(full_id).counters.iteration
        return service.set_model(full_id, choice.model_copy(update={"since_turn": turn}), reason, key)

    def sees(self, model: str | None = None) -> bool:
        """Whether a model is sent images and documents; else a line of text stands for each.

        Args:
            model: an id, or the name of a tier; None for that of the settings.
        """
        called = resolved(model or self.settings.default_model, self.settings.tiers).model
        return takes_images(self.settings.images, called, self._ports.model_facts(called))


def asked_models(
    settings: Settings, redaction: Callable[[], Redaction], model: str | None, extra: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Fields of a new task's spec.

    Args:
        settings: tiers, and what holds where nothing is given.
        redaction: gives what knows secrets, which may not be stored.
        model: an id, or the name of a tier.
        extra: further fields of each request, beside those of the settings.

    Raises:
        BadInput: one of them is of no use.
    """
    choice = resolved(model or settings.default_model, settings.tiers)
    try:
        further = check_extra({**settings.request_extra, **(extra or {})})
    except BadInput as error:
        raise BadInput(f"extra: {error}") from None
    if further and redaction().json(further) != further:
        raise BadInput("extra holds a secret, which would be stored; leave it out")
    return {**choice.model_dump(exclude={"since_turn"}), "extra": further}
