"""Settings of the context window: how long a request may be, and what it is made shorter to."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from neuraphage.setting_values import MAX_AMOUNT

MIN_WINDOW_TOKENS = 4_000
"""Less would hold the tools and a few words."""


class ContextSettings(BaseModel):
    """A part of `Settings`."""

    context_window_tokens: int | None = Field(default=None, ge=MIN_WINDOW_TOKENS, le=MAX_AMOUNT)
    """Context window of every model, for a server of one's own; by default what is known of each."""
    context_threshold_percent: float = Field(default=85.0, ge=10, le=100)
    """A request that would fill more of the window is made shorter first."""
    context_most_tokens: int = Field(default=200_000, ge=MIN_WINDOW_TOKENS, le=MAX_AMOUNT)
    """A larger request is made shorter, however large the window: each turn pays for all of it."""
    context_target_percent: float = Field(default=50.0, ge=5, le=95)
    """What it is made shorter to."""
    context_reply_tokens: int = Field(default=16_384, ge=1, le=MAX_AMOUNT)
    """Tokens of the window kept for the reply, where max_tokens is less; of a small window half at most."""
    context_keep_entries: int = Field(default=20, ge=1, le=10_000)
    """Entries at the end of a conversation that stay whole, as far as they fit."""
    summary_model: str = "cheap"
    """Who is asked for a summary: a tier, whose first model of the task's provider it is, the id of a model, or own."""
    context_summary_tokens: int = Field(default=4_096, ge=100, le=MAX_AMOUNT)
    """Longest summary; an eighth of the window at most."""
    images: Literal["auto", "on", "off"] = "auto"
    """Whether models get images and documents: as far as it is known of each, always, or never."""
    attachment_max_bytes: int = Field(default=3_750_000, ge=0, le=30_000_000)
    """Largest image or document; as base64, as it is sent, it has a third more, and the provider takes 5 MB."""
    attachments_max: int = Field(default=20, ge=0, le=600)
    """Images and documents of a task; of more than 20 in a request the provider takes smaller ones alone."""
    attachments_total_max_bytes: int = Field(default=20_000_000, ge=0, le=24_000_000)
    """All of them together; a request may have 32 MB."""
    git_timeout_s: float = Field(default=2.0, ge=0, le=60)
    """For all that git is asked for branch and state of the working directory; 0 tells the model nothing of git."""
