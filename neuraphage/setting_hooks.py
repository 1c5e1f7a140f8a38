"""The settings about hooks. A part of `settings.Settings`; no project's file may set them."""

from __future__ import annotations

from pydantic import BaseModel

from neuraphage.setting_values import ToolReferences


class HookSettings(BaseModel):
    """Code of the person that judges what tasks do."""

    hooks: ToolReferences = ()
    """Hooks of one's own, each as package.module:object; workers import them. Installed packages announce theirs."""
