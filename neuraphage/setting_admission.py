"""The settings about how many tasks are at work. A part of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from neuraphage.decide.admission import read_label_slots
from neuraphage.model.money import LabelName
from neuraphage.setting_values import MAX_AMOUNT, LabelSlots, Seconds


class AdmissionSettings(BaseModel):
    """Who may begin, where not all may. Workers of np.control hand them on to the state server: they hold for all."""

    max_running: Annotated[int, Field(ge=1, le=MAX_AMOUNT)] | Literal["none"] = "none"
    """Most tasks at work at a time; the others stand in line. "none" for no limit; see docs/admission.md."""
    label_max_running: LabelSlots = ()
    """Most tasks of a label at work at a time, each as `repo=web 1`, or `repo=* 1` for each value of it."""
    fair_label: LabelName = "team"
    """Tasks with another value of this label take turns; those without it count as one more value."""
    priority_step_s: Seconds = 600.0
    """What a step of priority is worth: a task that has waited so much longer comes before one of the next priority."""

    @property
    def slot_rules(self) -> dict[str, object] | None:
        """What the scripts are told of it; None where nothing is limited."""
        labels = dict(map(read_label_slots, self.label_max_running))
        if self.max_running == "none" and not labels:
            return None
        rules: dict[str, object] = {"fair": self.fair_label, "step_ms": int(self.priority_step_s * 1000)}
        if self.max_running != "none":
            rules["most"] = self.max_running
        return rules | ({"labels": labels} if labels else {})
