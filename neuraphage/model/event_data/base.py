"""What the data of all events have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class EventData(BaseModel):
    """What one event carries. Its fields say what they mean, and docs/events.md is made of that.

    A newer release may have added fields: they are left out. Money is whole micro-dollars, times are milliseconds of
    the state server's clock. What is longer stands in the conversation, and is only named here.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class NoData(EventData):
    """The event says all by itself."""
