"""The settings about hooks. A part of `settings.Settings`; no project's file may set them."""

from __future__ import annotations

from pydantic import BaseModel, Field

from neuraphage.setting_values import Seconds, ShellHookLines, ToolReferences


class HookSettings(BaseModel):
    """Code of the person that judges what tasks do."""

    hooks: ToolReferences = ()
    """Hooks of one's own, each as package.module:object; workers import them. Installed packages announce theirs."""
    shell_hooks: ShellHookLines = ()
    """Programs that are hooks, each as `guard PreToolUse 5s: /home/me/check.py`; JSON on standard input and output."""
    observe_s: Seconds = 1.0
    """How often observers are told of new events, where there are any."""
    observer_attempts: int = Field(default=5, ge=1, le=100)
    """Tries of an observer that fails on an event; then the event stays in `neuraphage hooks failed`."""
    observer_retry_s: Seconds = 10.0
    """Wait before the second try; each further one is twice as long."""
