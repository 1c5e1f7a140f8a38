"""What a mutant is: one guard of the scripts, taken out by an exact change of text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """One guard taken out.

    Args:
        name: the guard.
        script: file that holds it, without `.lua`.
        old, new: text that occurs exactly once, and what stands there instead.
        test: the contract test that must fail.
        given: the test's parameters.
    """

    name: str
    script: str
    old: str
    new: str
    test: str
    given: dict[str, Any] = field(default_factory=dict)
