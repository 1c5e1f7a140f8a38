"""Values that are made without pydantic's checks are those that it makes itself."""

from __future__ import annotations

import pytest
from pydantic import Field

from neuraphage.model.base import Frozen
from neuraphage.model.effect import EffectState, ModelEffect, ToolEffect
from neuraphage.model.message import Entry, ModelRequest
from neuraphage.model.task import TaskSpec


class Sample(Frozen):
    """One of each kind of default."""

    name: str
    count: int = 3
    parts: list[str] = []  # noqa: RUF012 - what pydantic copies for each value
    rows: dict[str, int] = Field(default_factory=dict)


def test_it_is_what_checked_values_are() -> None:
    """Equal in fields, in what was set, in what is written, and as keys of a dictionary."""
    for kind, values in (
        (Sample, {"name": "a"}),
        (Sample, {"name": "a", "rows": {"b": 1}}),
        (ToolEffect, {"key": "t1", "state": EffectState.STARTED, "refused": ("a:1",)}),
        (ModelEffect, {"state": EffectState.PLANNED}),
        (Entry, {"role": "user", "content": [{"type": "text", "text": "x"}], "turn": 2}),
    ):
        trusted, checked = kind.trusted(**values), kind(**values)
        assert trusted == checked
        assert trusted.model_fields_set == checked.model_fields_set
        assert trusted.model_dump_json(by_alias=True) == checked.model_dump_json(by_alias=True)
        assert repr(trusted) == repr(checked)
        assert kind.model_validate_json(trusted.model_dump_json(by_alias=True)) == checked


def test_defaults_are_not_shared() -> None:
    """What one value's list holds, no other's does."""
    first, second = Sample.trusted(name="a"), Sample.trusted(name="b")
    first.parts.append("x")
    first.rows["y"] = 1
    assert (second.parts, second.rows, Sample(name="c").parts) == ([], {}, [])


@pytest.mark.parametrize("values", [{}, {"name": "a", "nmae": "b"}, {"nmae": "b"}, {"nmae": "b", "count": 1}])
def test_a_missing_or_misspelt_field_is_refused(values: dict[str, object]) -> None:
    """Checks are left out, names are not."""
    with pytest.raises(TypeError, match="Sample is made of name, count, parts, rows"):
        Sample.trusted(**values)


def test_a_copy_is_as_pydantics() -> None:
    """With and without changes, deep or not; the first value stays as it was."""
    spec = TaskSpec(task_id="task-00000000-0000-4000-8000-000000000000", name="n", prompt="p", model="m", tags=("a",))
    for update in (None, {}, {"name": "other"}, {"tags": ()}):
        copied = spec.model_copy(update=update)
        expected = super(Frozen, spec).model_copy(update=update)
        assert copied == expected
        assert copied.model_fields_set == expected.model_fields_set
        assert copied.model_dump() == expected.model_dump()
    assert spec.name == "n"
    deep = Sample(name="a", parts=["x"]).model_copy(deep=True, update={"count": 4})
    assert (deep.parts, deep.count) == (["x"], 4)


def test_values_stay_frozen() -> None:
    """Neither is changed in place."""
    for value in (Sample.trusted(name="a"), Sample(name="a").model_copy()):
        with pytest.raises(ValueError, match="frozen"):
            value.name = "b"  # type: ignore[misc]


def test_no_model_has_what_these_leave_out() -> None:
    """Private attributes, a hook after making and extra fields would be lost."""

    def all_of(kind: type[Frozen]) -> list[type[Frozen]]:
        return [kind, *(deeper for below in kind.__subclasses__() for deeper in all_of(below))]

    assert ModelRequest in all_of(Frozen)
    for kind in all_of(Frozen):
        assert not kind.__private_attributes__, kind
        assert kind.model_post_init is Frozen.model_post_init, kind
        assert kind.model_config.get("extra") == "forbid", kind
