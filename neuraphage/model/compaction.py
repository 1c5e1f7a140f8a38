"""Compaction: what of a long conversation is sent in a shorter form. What is stored stays whole."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import Frozen


class Shortening(StrEnum):
    """How a conversation was made to fit, the mildest way first."""

    IMAGES = "images"
    """Of old images and documents a line is sent."""
    RESULTS = "results"
    """Likewise, and old results of tools are sent shortened."""
    THOUGHTS = "thoughts"
    """Likewise, and thoughts of old replies are not sent."""
    SUMMARY = "summary"
    """A summary is sent in place of old entries."""


class Compaction(Frozen):
    """The state of a conversation's compaction from one entry on. Each one holds all of it, so the last one counts.

    It is a point that is stored, not a rule that is applied anew: so every turn, worker and recovery behind it makes
    the same bytes of the same entries, and the prompt cache goes on to hold them.

    Args:
        how: the strongest way that it uses.
        first: number of the first entry that the summary stands for; the instructions before it are sent as they are.
        to: number of the first entry behind those; `first` where nothing is summarized.
        results_to: results of entries before this number are sent shortened.
        thoughts_to: thoughts of entries before this number are not sent.
        images_to: images and documents of entries before this number are not sent, those of the instructions apart.
        summary: what is sent in place of these entries; None where there is none yet.
        summary_model: who was asked for it; empty where nobody was, or a release has not noted it.
        why_own: why that was the task's own model and no cheaper one; empty where there is nothing to tell.
        said: words of people in these entries, which are sent as they are, oldest first.
        before_tokens: estimate of the request without this compaction.
        after_tokens: estimate of the request with it.
    """

    how: Shortening
    first: int
    to: int
    results_to: int
    thoughts_to: int
    images_to: int = 0
    summary: str | None = None
    summary_model: str = ""
    why_own: str = ""
    said: tuple[str, ...] = ()
    before_tokens: int = 0
    after_tokens: int = 0
