"""The table of models. The sizes are data (`models.json`), not code."""

from __future__ import annotations

from typing import Any, Self

from neuraphage.errors import SettingsError
from neuraphage.llm.packaged_table import packaged_text, rows_of
from neuraphage.model.model_facts import SMALLEST, ModelFacts


class ModelTable:
    """Sizes by model id.

    Args:
        rows: model id -> sizes.
    """

    def __init__(self, rows: dict[str, ModelFacts]) -> None:
        self._rows = dict(rows)

    @classmethod
    def packaged(cls) -> Self:
        """The table that comes with this release."""
        return cls.parse(packaged_text("models.json"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a table from JSON of the shape of `models.json`.

        Raises:
            SettingsError: the text is no such table; the message names the row.
        """
        return cls({model: _facts(model, row) for model, row in rows_of(text, "the table of models").items()})

    def facts(self, model: str) -> ModelFacts:
        """The sizes of the longest row that the id begins with (dated ids name their model first)."""
        row = max((row for row in self._rows if model.startswith(row)), key=len, default=None)
        return SMALLEST if row is None else self._rows[row]


def _facts(model: str, row: Any) -> ModelFacts:
    try:
        window, output, cacheable = sizes = [row[name] for name in ("window", "output", "cacheable")]
    except (KeyError, TypeError) as error:
        raise SettingsError(f"sizes of {model!r}: window, output and cacheable are wanted: {error!r}") from error
    if any(type(size) is not int or size <= 0 for size in sizes):
        raise SettingsError(f"sizes of {model!r} are to be whole numbers above zero: {row!r}")
    vision = row.get("vision", False)
    if type(vision) is not bool:
        raise SettingsError(f"vision of {model!r} is to be true or false: {row!r}")
    return ModelFacts(window, output, cacheable, vision=vision)
