"""What every stored noun shares: frozen, strict about unknown fields, and readable as plain JSON.

`trusted` and `model_copy` make values as pydantic's own do, at a tenth of the cost; a turn makes some fifty of them.
Relies on: the four slots of a pydantic model. See tests/unit/model/test_trusted_values.py. Read against: pydantic 2.14.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

SCHEMA_VERSION = 2
"""Version of every stored shape. Raised when a stored shape changes; older ones stay readable for ever."""
_set = object.__setattr__
_MUTABLE = (list, dict, set)
T = TypeVar("T", bound="Frozen")


class Frozen(BaseModel):
    """An immutable value. Unknown fields are refused, so a misspelt or foreign record is seen at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def trusted(cls, **values: Any) -> Self:
        """A value of fields that are known to be right, by the names of their attributes: nothing is checked.

        Raises:
            TypeError: a field is missing, or is none of the model's.
        """
        form, required, made = _form(cls)
        fields = {**form, **values}
        if not required <= values.keys() or len(fields) != len(form):
            raise TypeError(f"{cls.__name__} is made of {', '.join(form)}; given: {', '.join(values)}")
        for name, field in made.items():
            if name not in values:
                fields[name] = field.get_default(call_default_factory=True, validated_data=fields)
        return _made(cls, fields, set(values))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's: the same with other values of some fields, which are not checked."""
        if deep:
            return super().model_copy(update=update, deep=True)
        fields_set = self.__pydantic_fields_set__
        changed = dict(update or {})
        return _made(type(self), {**self.__dict__, **changed}, fields_set | changed.keys())


def _made(kind: type[T], fields: dict[str, Any], fields_set: set[str]) -> T:
    value = kind.__new__(kind)
    _set(value, "__dict__", fields)
    _set(value, "__pydantic_fields_set__", fields_set)
    _set(value, "__pydantic_extra__", None)
    _set(value, "__pydantic_private__", None)
    return value


@cache
def _form(kind: type[Frozen]) -> tuple[dict[str, Any], frozenset[str], dict[str, FieldInfo]]:
    """All fields of a model in their order, with the plain defaults; those that have none; those whose default is made
    anew for each value."""
    every = kind.model_fields
    made = {
        name: field
        for name, field in every.items()
        if not field.is_required() and (field.default_factory is not None or isinstance(field.default, _MUTABLE))
    }
    required = frozenset(name for name, field in every.items() if field.is_required())
    return {name: field.default for name, field in every.items()}, required, made
