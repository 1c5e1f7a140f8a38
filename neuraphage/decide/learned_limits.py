"""Limits that a provider tells of in its headers: when workers begin to keep them, and what they take from them. Pure.

Nobody asks before a call while enough is left, since asking costs each turn two round trips. Providers whose limits are
buckets fill them all the time, and each 60 s of theirs allow at least what an exact window of a minute allows: keeping
to windows is the careful reading of both.
"""

from __future__ import annotations

import math

from neuraphage.decide.model_limits import MOST_PER_MINUTE, NO_LIMIT, in_window
from neuraphage.model.capacity import HeardLimits, ModelLimits, ToldLimits

NEAR = 0.5
"""Of a limit: with no more than this share left workers begin to keep it. What they have under way then, unasked, is
meant to fit into the rest."""
LONGEST_RESET_S = 90.0
"""A limit that takes longer to be whole again is none of a minute, but of an hour or a day."""
SHORTEST_RESET = 0.5
"""One that is whole again within less than this share of the time that a limit of a minute would take is one of
seconds, or its minute is nearly over. Taken for one of a minute, a call a second would become one a minute."""
MINUTE_S = 60.0
KINDS = tuple(ModelLimits.model_fields)


def exhausted_s(told: ToldLimits | None, kept: ModelLimits | None = None) -> float | None:
    """For how many seconds nothing is left, from when it was told; None where something is, or no time was told.

    Args:
        told: by an answer.
        kept: limits that workers keep by themselves; these do not count.
    """
    if told is None:
        return None
    own = set() if kept is None else set(kept.model_dump(exclude_none=True))
    ends = [told.reset_s[kind] for kind, left in told.left.items() if not left and kind in told.reset_s.keys() - own]
    return max(ends, default=None)


def heard(
    told: ToldLimits, configured: ModelLimits | None, window_s: float, answered_s: float, *, is_refused: bool
) -> HeardLimits | None:
    """What an answer says of limits that are to be kept; None for nothing.

    A limit counts where it is one of a minute, and the answer says what was left of it and when all is there again.

    Args:
        told: by its headers.
        configured: what `model_limits` sets; it goes before what is told.
        window_s: length of our windows, as set.
        answered_s: how long ago the answer had begun.
        is_refused: the call was refused for too many; something is used up then, whatever the numbers say.
    """
    set_ourselves = {} if configured is None else configured.model_dump(exclude_none=True)
    found = {
        kind: most
        for kind, most in told.limits.model_dump(exclude_none=True).items()
        if kind in KINDS and kind not in set_ourselves and most <= MOST_PER_MINUTE
        if kind in told.left and told.reset_s.get(kind, math.inf) <= LONGEST_RESET_S
    }
    if not found:
        return None
    length_s = window_s_of(ModelLimits(**found), window_s)
    used_up = {kind: 1 - told.left[kind] / most for kind, most in found.items()}
    taken = [kind for kind, share in used_up.items() if told.reset_s[kind] >= SHORTEST_RESET * share * length_s]
    near = [kind for kind in taken if used_up[kind] >= 1 - NEAR]
    if is_refused and not near:
        near = [kind for kind in taken if used_up[kind] > 0]
    return HeardLimits(
        limits=found,
        near=tuple(near),
        used={kind: math.ceil((most - told.left[kind]) * length_s / MINUTE_S - 1e-9) for kind, most in found.items()},
        till_ms={kind: int((min(told.reset_s[kind], length_s) - answered_s) * 1000) for kind in found},
    )


def limits_in_force(configured: ModelLimits | None, learned: ModelLimits | None) -> ModelLimits | None:
    """The limits that a call keeps: of each kind what is set, else what was learned; None for none.

    Args:
        configured: what `model_limits` sets.
        learned: what workers keep of what they have heard.
    """
    if learned is None:
        return configured
    both = learned.model_dump() | ({} if configured is None else configured.model_dump(exclude_none=True))
    return ModelLimits(**both)


def window_s_of(limits: ModelLimits, window_s: float) -> float:
    """The length of window that limits are kept in: as set, or a minute where that would allow less than one.

    Args:
        limits: within a minute.
        window_s: as set.
    """
    allowed = [in_window(most, window_s) for most in limits.model_dump().values()]
    return MINUTE_S if 0 in (most for most in allowed if most != NO_LIMIT) else window_s
