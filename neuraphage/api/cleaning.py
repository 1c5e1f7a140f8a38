"""What a new task is made of, without secrets."""

from __future__ import annotations

from neuraphage.errors import BadInput
from neuraphage.model.task import NAME_MAX_CHARS, TEXT_MAX_CHARS, TaskSpec
from neuraphage.ports import Redaction


def cleaned(spec: TaskSpec, redaction: Redaction) -> TaskSpec:
    """A spec without secrets, as it may be stored.

    Raises:
        BadInput: a label holds a secret, or the prompt or the system text is too long, perhaps only with what stands in
            place of its secrets.
    """
    clean = spec.model_copy(
        update={
            "prompt": redaction.text(spec.prompt),
            "name": redaction.text(spec.name)[:NAME_MAX_CHARS],
            "system": redaction.text(spec.system),
            "tags": tuple(redaction.text(tag) for tag in spec.tags),
        }
    )
    for name, value in spec.labels.items():
        if redaction.text(f"{name}={value}") != f"{name}={value}":
            raise BadInput(f"the label {name} holds a secret, which is never stored; give it another value")
    for field in ("prompt", "system"):
        length = len(getattr(clean, field))
        if length > TEXT_MAX_CHARS:
            raise BadInput(f"{field}: it has {length} characters, the limit is {TEXT_MAX_CHARS}; shorten it")
    return clean
