"""What is known of a model beside its price."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Sizes of one model, in tokens.

    Args:
        window_tokens: its context window: the request and the reply together.
        output_tokens: longest reply.
        cacheable_tokens: shortest prefix that the provider caches.
        known: False when no row of the table fits; the sizes are then the smallest ones, so that limits err on the
            safe side.
        vision: whether it takes images and documents.
    """

    window_tokens: int
    output_tokens: int
    cacheable_tokens: int
    known: bool = True
    vision: bool = False


SMALLEST = ModelFacts(window_tokens=200_000, output_tokens=8_192, cacheable_tokens=4_096, known=False)
"""Of a model that nobody has told about."""
