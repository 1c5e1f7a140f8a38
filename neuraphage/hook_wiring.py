"""Builds the hooks of a process: for its turns, for what tells events, and for commands that show them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from neuraphage.client_wiring import build_store, redactor
from neuraphage.decide.shell_hooks import read_shell_hook
from neuraphage.hooks.guards import LoadedGuards
from neuraphage.hooks.loading import LoadedHooks, load_hooks
from neuraphage.hooks.observers import LoadedObservers
from neuraphage.hooks.shell_hook import numbered
from neuraphage.ports import Guards, NoGuards, Sandbox, SpoolCommand
from neuraphage.redaction.ends import Redact
from neuraphage.runtime.observing import Observing
from neuraphage.sandbox.limits import let_begin
from neuraphage.settings import Settings
from neuraphage.store.observers import RedisObservers

log = logging.getLogger(__name__)


def all_hooks(settings: Settings, redact: Redact, sandbox: Callable[[], Sandbox]) -> LoadedHooks:
    """The hooks of this process: those of packages, those of the setting `hooks`, and programs.

    Args:
        settings: name them.
        redact: takes secrets out of what the code of others says.
        sandbox: gives that programs run in; asked where there are any.
    """
    loaded = load_hooks(settings.hooks, redact=redact)
    for problem in loaded.problems:
        log.error("hook not loaded: %s", problem)
    if not settings.shell_hooks:
        return loaded
    found = sandbox()

    def confined(command: SpoolCommand) -> SpoolCommand:
        inside = found.confined(command)
        return replace(inside, argv=let_begin(inside.argv)) if inside.gate else inside

    lines = {line: read_shell_hook(line) for line in settings.shell_hooks}
    programs = numbered(lines, confined, frozenset(hook.name for hook in loaded.hooks))
    return replace(loaded, hooks=(*loaded.hooks, *programs))


def build_guards(settings: Settings, redact: Redact, sandbox: Callable[[], Sandbox]) -> Guards:
    """The guards of this process. Where a hook cannot be loaded all is blocked, since it may be one that forbids."""
    loaded = all_hooks(settings, redact, sandbox)
    if not loaded.hooks and not loaded.problems:
        return NoGuards()
    return LoadedGuards(loaded.hooks, loaded.problems)


def build_observing(settings: Settings, sandbox: Callable[[], Sandbox]) -> Observing:
    """What tells the observers of this process of events."""
    loaded = all_hooks(settings, redactor().text, sandbox)
    store = build_store(settings)
    return Observing(
        RedisObservers(store.context),
        LoadedObservers(loaded.hooks, redactor().text),
        store.clock,
        settings.observer_attempts,
        int(settings.observer_retry_s * 1000),
    )
