"""What a person gives a task by options, checked before anything is stored; each complaint names the option."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Sequence
from pathlib import Path

import neuraphage
from neuraphage.api import Api
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import complain
from neuraphage.decide.model_ids import Provider, split_model
from neuraphage.decide.own_prices import read_price
from neuraphage.decide.tiers import resolved
from neuraphage.errors import BadInput
from neuraphage.model.limits import MOST_TURNS
from neuraphage.stack_note import script_of_running_stack

MOST_DOLLARS = 1_000_000_000
NEWER = "claude-"
"""So do the ids of models begin that the provider may have added since this release."""
_PRICES = Path(neuraphage.__file__).parent / "llm" / "prices.json"
"""Read as a file: the package beside it takes longer to import than a command may take."""


def check_new_task(
    prompt: str,
    *,
    model: str | None,
    max_turns: int | None,
    max_cost: float | None,
    name: str | None = None,
    script: str | None = None,
) -> None:
    """Refuse what no task can be made of.

    Args:
        prompt: what to do.
        model: of --model.
        max_turns: of --max-turns.
        max_cost: of --max-cost, dollars.
        name: of --name.
        script: of --script, which takes any model.

    Raises:
        BadInput: one of them is of no use; the message says what to give.
    """
    if not prompt.strip():
        raise BadInput("the prompt is empty; write what the task should do")
    check_limits(max_turns, max_cost)
    if name is not None and not name.strip():
        raise BadInput("--name is empty; write a few words, or leave it out and the prompt's first words are taken")
    if model is not None:
        _check_model(model, script)


def tell_first(api: Api, model: str | None, attach: Sequence[Path] | None) -> None:
    """Warn of attachments that the model will not see, and of a model that is not asked as nobody knows its price.

    Of an id of Anthropic's `check_new_task` has told that.

    Args:
        api: knows the models.
        model: of the task; None for that of the settings.
        attach: what it is given.
    """
    if attach and not api.sees(model):
        called = model or api.settings.default_model
        complain(
            f"warning: {called} is not known to take images and documents: it is told of each in words, and does not"
            ' see it; if it takes them, set images = "on"'
        )
    choice = resolved(model or api.settings.default_model, api.settings.tiers)
    is_told = model is not None and choice.tier is None and split_model(model).provider is Provider.ANTHROPIC
    if not is_told and not api.is_priced(choice.model):
        complain(
            f"warning: no price is known here for {choice.model}, and a worker without one does not ask it: set"
            f' prices = ["{choice.model} 0.5 1.5"] where workers run, with 0 0 if it costs nothing (docs/money.md)'
        )


def check_limits(max_turns: int | None, max_cost: float | None) -> None:
    """Refuse limits with which a task could neither begin nor go on.

    Args:
        max_turns: of --max-turns.
        max_cost: of --max-cost, dollars.

    Raises:
        BadInput: see `check_new_task`.
    """
    if max_turns is not None and max_turns < 1:
        raise BadInput(f"--max-turns {max_turns}: such a task could not begin; give 1 or more")
    if max_turns is not None and max_turns > MOST_TURNS:
        raise BadInput(f"--max-turns {max_turns} is above {MOST_TURNS:,}; give less")
    if max_cost is not None:
        _check_money(max_cost)


def _check_money(dollars: float) -> None:
    if not math.isfinite(dollars):
        raise BadInput(f"--max-cost {dollars} is no amount; give a number of dollars")
    if round(dollars * 1_000_000) <= 0:
        raise BadInput(f"--max-cost {dollars:g}: such a task could not begin; give more than a millionth of a dollar")
    if dollars > MOST_DOLLARS:
        raise BadInput(f"--max-cost {dollars:g} is above {MOST_DOLLARS:,} dollars; give less")


def _check_model(model: str, script: str | None) -> None:
    if not model.strip():
        raise BadInput("--model is empty; give a model's id, or leave it out for that of the settings")
    settings = load_settings()
    try:
        choice = resolved(model, settings.tiers)
    except BadInput as error:
        raise BadInput(f"--model {error}") from None
    parts = split_model(choice.model)
    if choice.tier is not None or parts.provider is not Provider.ANTHROPIC:
        return  # the settings name them; and nobody knows which models a server has
    model = parts.name
    known = known_models()
    if script or any(model.startswith(row) for row in known) or script_of_running_stack(settings.data_dir):
        return
    near = difflib.get_close_matches(model, known, n=1)
    meant = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    may_know = model.startswith(NEWER) or settings.anthropic_base_url or settings.names_servers
    if not may_know:
        raise BadInput(f"--model {model}: there is no such model at the provider's own address; {meant}")
    complain(
        f"warning: no price is known here for --model {model}, and a worker without one does not ask it: set `prices`"
        f" where workers run (docs/money.md); {meant}"
    )


def known_models() -> list[str]:
    """The ids in the price table of this release, and those of the settings."""
    own = [read_price(text)[0] for text in load_settings().prices]
    return [*json.loads(_PRICES.read_text(encoding="utf-8"))["models"], *own]
