"""The gates of all models that one turn calls: of its own, and of those that it asks for summaries."""

from __future__ import annotations

from neuraphage.decide.context_actions import Compact
from neuraphage.decide.summary_model import Gate
from neuraphage.runtime.capacity_step import CapacityStep
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


class Gates:
    """One gate for replies, and one for summaries of each model.

    Args:
        services: the ports.
        work: the working copy.
    """

    def __init__(self, services: Services, work: UnitOfWork) -> None:
        self._services = services
        self._work = work
        self._of_summaries: dict[str, CapacityStep] = {}
        self.of_reply = CapacityStep(services, work)
        """Of the task's own model, for the turn's reply."""

    def of_summary(self, model: str) -> CapacityStep:
        """Of a model that is asked for a summary."""
        if model not in self._of_summaries:
            self._of_summaries[model] = CapacityStep(self._services, self._work, model)
        return self._of_summaries[model]

    def of(self, summary: Compact | None) -> CapacityStep:
        """Of a call: for this summary, or for the reply."""
        return self.of_reply if summary is None else self.of_summary(summary.model)

    def known(self, *models: str) -> dict[str, Gate]:
        """What is known of calls for a summary by these models."""
        steps = {model: self.of_summary(model) for model in dict.fromkeys(models) if model}
        return {model: Gate(step.is_asked, step.found) for model, step in steps.items()}
