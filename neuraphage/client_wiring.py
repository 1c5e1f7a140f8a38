"""Builds what clients and commands need. It imports neither Celery nor tools: a command is to begin at once."""

from __future__ import annotations

import logging
import os
import pwd
import secrets
import uuid
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from neuraphage import own_secrets, stack_note
from neuraphage.api import ApiPorts
from neuraphage.configuration import load
from neuraphage.inside_command import calling_task
from neuraphage.local_files import LocalFiles
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store.context import open_context
from neuraphage.store.reads import RedisReads
from neuraphage.store.requests import RedisRequests
from neuraphage.waking import QueueWaker

if TYPE_CHECKING:
    from neuraphage.llm.pricing import PriceTable
    from neuraphage.model.model_facts import ModelFacts
    from neuraphage.model.rule import Rule
    from neuraphage.model.tool_traits import ToolTraits
    from neuraphage.ports import ObserverStore, ScheduleStore, StoredForm
    from neuraphage.redaction.redactor import Redactor
    from neuraphage.store.context import StoreContext
    from neuraphage.store.tasks import RedisStore

_log = logging.getLogger(__name__)
API_KEY_VARIABLE = "ANTHROPIC_API_KEY"


def redactor() -> Redactor:
    """Takes out known token shapes and the secrets of this process's own environment."""
    from neuraphage.redaction.environment import secrets_in  # noqa: PLC0415 - as above
    from neuraphage.redaction.redactor import Redactor  # noqa: PLC0415 - a read needs none, and its patterns take as long as its answer

    return Redactor(secrets=secrets_in(own_secrets.variables()))


def price_table(settings: Settings) -> PriceTable:
    """The prices that come with this release, and those of the settings."""
    from neuraphage.decide.own_prices import read_price  # noqa: PLC0415 - few commands ask for a price
    from neuraphage.llm.pricing import PriceTable  # noqa: PLC0415 - as above

    return PriceTable.packaged().with_own(dict(map(read_price, settings.prices)))


def redacted(text: str) -> str:
    """A text without secrets; for what is shown seldom, since the patterns are made at the call."""
    return redactor().text(text)


def settings_here() -> Settings:
    """Settings of the environment and the files; where they name no server, those of the local stack if one runs.

    Raises:
        SettingsError: a setting is wrong.
        StackError: the note of the local stack cannot be read.
    """
    settings = load()
    if settings.names_servers or not stack_note.exists(settings.data_dir):
        return settings
    return stack_note.settings_of_running_stack(settings)


def api_ports(settings: Settings | None = None, find: Callable[[], Settings] = settings_here) -> ApiPorts:
    """The application service's seams on real servers. No connection is made yet.

    Args:
        settings: where the servers are.
        find: finds settings that reach them, when none are given.

    Raises:
        SettingsError: a setting is wrong, or a server's URL cannot be read.
    """
    known = settings or find()
    context, clock = open_context(known), SystemClock()
    return ApiPorts(
        settings=known,
        tasks=RedisRequests(context, clock),
        reads=RedisReads(context),
        waker=QueueWaker(known),
        redaction=cache(redactor),
        files=LocalFiles(),
        add_rule=_add_rule,
        traits=partial(tool_traits, known.tools),
        clock=clock,
        new_task_id=new_task_id,
        new_key=lambda: secrets.token_hex(8),
        who=_login_name(),
        close=context.client.close,
        calling_task=calling_task(),
        model_facts=_model_facts,
        tool_definitions=partial(_tool_definitions, known.tools),
        quote=lambda model: price_table(known).quote(model),
        observers=partial(_observers, context),
        schedules=partial(_schedules, context),
    )


def _schedules(context: StoreContext) -> ScheduleStore:
    from neuraphage.store.schedules import RedisSchedules  # noqa: PLC0415 - one command asks for them

    return RedisSchedules(context)


def _observers(context: StoreContext) -> ObserverStore:
    from neuraphage.store.observers import RedisObservers  # noqa: PLC0415 - one command asks for it

    return RedisObservers(context)


def _model_facts(model: str) -> ModelFacts:
    from neuraphage.llm.model_table import ModelTable  # noqa: PLC0415 - few reads ask for the sizes of a model

    return ModelTable.packaged().facts(model)


def _tool_definitions(named: tuple[str, ...]) -> list[dict[str, Any]]:
    """The built-in tools and those of one's own, as a request has them."""
    from neuraphage.decide.request_head import tool_definitions  # noqa: PLC0415 - as above
    from neuraphage.tools.loading import load_tools  # noqa: PLC0415 - as above
    from neuraphage.tools.registry import default_toolbox  # noqa: PLC0415 - as above

    loaded = load_tools(named, redact=redacted)
    return tool_definitions(default_toolbox(extra=(one.tool for one in loaded.tools)).declarations())


def _add_rule(rule: Rule, directory: str | None) -> bool:
    from neuraphage.own_rule_changes import add_rule  # noqa: PLC0415 - few answers make a rule
    from neuraphage.own_rules import rules_file  # noqa: PLC0415 - as above

    return add_rule(rules_file(), rule, directory)


def tool_traits(named: tuple[str, ...], tool: str) -> ToolTraits:
    """The traits of a tool; of an unknown one, that it has none.

    Args:
        named: tools of one's own, as the settings name them. They and those of installed packages are loaded, once a
            process, where the tool is none of the built-in ones: the task may come from a worker that has others.
        tool: its name.
    """
    from neuraphage.model.tool_traits import ToolTraits  # noqa: PLC0415 - not every read shows a call
    from neuraphage.tools.builtin_traits import BUILTIN_TRAITS  # noqa: PLC0415 - as above

    return BUILTIN_TRAITS.get(tool) or _traits_of_others(named).get(tool) or ToolTraits()


@cache
def _traits_of_others(named: tuple[str, ...]) -> dict[str, ToolTraits]:
    from neuraphage.tools.loading import load_tools  # noqa: PLC0415 - most calls shown are of built-in tools

    loaded = load_tools(named, redact=redacted)
    for problem in loaded.problems:
        _log.debug("tool not loaded: %s", problem)
    return {one.tool.declaration.name: one.tool.declaration.traits for one in loaded.tools}


def _login_name() -> str:
    """Of the user who runs this process; empty where nobody has a name, as in some containers."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def build_store(settings: Settings) -> RedisStore:
    """The store of these settings; connects when first used."""
    from neuraphage.store.tasks import RedisStore  # noqa: PLC0415 - workers write what no command needs

    return RedisStore(settings, SystemClock())


def stored_form(settings: Settings) -> StoredForm:
    """What is stored at the state server of these settings; connects when first used.

    Raises:
        SettingsError: the server's URL cannot be read.
    """
    from neuraphage.store.stored_form import RedisStoredForm  # noqa: PLC0415 - only who examines it needs it

    return RedisStoredForm(open_context(settings))


def new_task_id() -> str:
    """A time-ordered id: `task-` and a UUID v7."""
    stamp = SystemClock().wall_ms()
    value = (stamp << 80) | secrets.randbits(80)
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return f"task-{uuid.UUID(int=value)}"
