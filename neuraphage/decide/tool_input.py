"""The input of a tool call as the model wrote it: parsed, or a sentence about what is wrong with it. Pure."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import Any

MAX_NESTING = 200
"""Objects and lists inside each other; the store takes 254 levels, and an entry needs some of its own."""
_INTEGERS = range(-(2**63), 2**64)


class InputFault(StrEnum):
    """Why an input cannot be used; each value ends the sentence "The input of this call ..."."""

    CUT = "was not a JSON object: it ends in the middle"
    NOT_JSON = "was not a JSON object: it is no valid JSON"
    NOT_OBJECT = "was not a JSON object: parameters are given by name, as {...}"
    SURROGATE = "holds half of a character (a lone surrogate such as \\ud83d): write whole characters"
    NUMBER = (
        "holds a number that cannot be kept: NaN, Infinity, one too large for a double (such as 1e400) or an integer of"
        " more than 64 bits. Write it as text or leave it out"
    )
    NESTING = f"is nested too deeply: at most {MAX_NESTING} levels of objects and lists"


def parse_input(raw: str) -> dict[str, Any] | InputFault:
    """Parse a tool's input.

    Args:
        raw: what the model wrote.

    Returns:
        An object that can be stored and sent back, or why there is none.
    """
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(raw.rstrip()) or error.msg.startswith("Unterminated string")
        return InputFault.CUT if cut else InputFault.NOT_JSON
    except RecursionError:
        return InputFault.NESTING
    except ValueError:  # a constant, or an integer of more digits than Python reads
        return InputFault.NUMBER
    return check_input(value)


def why_unusable(name: str, raw: str) -> str:
    """What the model is told of a call whose input cannot be used.

    Args:
        name: of the tool.
        raw: what the model wrote as input.
    """
    fault = parse_input(raw)
    found = fault.value if isinstance(fault, InputFault) else InputFault.NOT_JSON.value
    return f"The input of this {name} call {found}. It was not run: send it again, corrected."


def check_input(value: Any) -> dict[str, Any] | InputFault:
    """Check an input that came parsed.

    Returns:
        It, or why it cannot be stored and sent back.
    """
    if not isinstance(value, dict):
        return InputFault.NOT_OBJECT
    level: list[Any] = [value]
    for _ in range(MAX_NESTING):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.keys()
                inner += item.values()
            elif isinstance(item, list):
                inner += item
            elif (fault := _fault_of_leaf(item)) is not None:
                return fault
        if not inner:
            return value
        level = inner
    return InputFault.NESTING


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _fault_of_leaf(item: Any) -> InputFault | None:
    if isinstance(item, str):
        try:
            item.encode()
        except UnicodeEncodeError:
            return InputFault.SURROGATE
    elif (isinstance(item, float) and not math.isfinite(item)) or (isinstance(item, int) and item not in _INTEGERS):
        return InputFault.NUMBER
    return None
