"""Finds the tools of this installation for commands, which reach no server for it and are to begin at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuraphage.decide.policy import Ruled
    from neuraphage.hooks.declaring import Hook
    from neuraphage.hooks.loading import LoadedHooks
    from neuraphage.model.hook import Judgement
    from neuraphage.model.hook_payload import Payload
    from neuraphage.model.sandbox import SandboxKind
    from neuraphage.model.tool import ToolDeclaration
    from neuraphage.model.tool_traits import ToolTraits
    from neuraphage.ports import LoadedTools, Tool
    from neuraphage.settings import Settings
    from neuraphage.tools.tool_check import ToolReport


def built_in_tools() -> list[Tool]:
    """The tools that every worker has."""
    from neuraphage.tools.registry import default_toolbox  # noqa: PLC0415 - few calls need the tools

    box = default_toolbox()
    return [tool for declared in box.declarations() if (tool := box.get(declared.name)) is not None]


def installed_tools(settings: Settings) -> LoadedTools:
    """The other tools of a worker with these settings: of this installation's packages, and those that are named."""
    from neuraphage.tools.loading import load_tools  # noqa: PLC0415 - as above

    return load_tools(settings.tools, redact=_redacted)


def installed_hooks(settings: Settings) -> LoadedHooks:
    """The hooks of a worker with these settings, in the order of their registration."""
    if settings.shell_hooks:
        from neuraphage.hook_wiring import all_hooks  # noqa: PLC0415 - programs run in the sandbox of a worker
        from neuraphage.wiring import build_sandbox  # noqa: PLC0415 - as above

        return all_hooks(settings, _redacted, lambda: build_sandbox(settings))
    from neuraphage.hooks.loading import load_hooks  # noqa: PLC0415 - as above

    return load_hooks(settings.hooks, redact=_redacted)


def tried_hook(hook: Hook, payload: Payload) -> Judgement | str:
    """What a guard says of a payload, or what went wrong with an observer; empty where nothing did."""
    from neuraphage.hooks.guards import LoadedGuards  # noqa: PLC0415 - as above
    from neuraphage.hooks.observers import LoadedObservers  # noqa: PLC0415 - as above
    from neuraphage.model.hook_payload import Observed  # noqa: PLC0415 - as above

    if isinstance(payload, Observed):
        return LoadedObservers([hook], _redacted).tell(hook.name, payload)
    return LoadedGuards([hook]).judge(payload, None)


def checked_tool(
    tool: Tool, params: Mapping[str, Any] | None, settings: Settings, working_dir: Path | None
) -> ToolReport:
    """Hold a tool against what it declares; nothing of what it says shows a secret.

    Args:
        tool: the tool.
        params: of a call that may really be carried out; None to run nothing.
        settings: of its workers.
        working_dir: where it runs; None for a folder that is removed again.
    """
    from neuraphage.tools.tool_check import check_tool  # noqa: PLC0415 - as above

    return check_tool(tool, params, working_dir=working_dir, effect_limit_s=settings.effect_max_s, redact=_redacted)


def judged_call(
    tool: ToolDeclaration, params: Mapping[str, Any], settings: Settings, allow: tuple[str, ...], working_dir: str
) -> Ruled:
    """What would come of a call under these settings, and under the rules of the person and of the project.

    Args:
        tool: what is called.
        params: its parameters.
        settings: with the rules.
        allow: what the task was submitted with.
        working_dir: of the task.

    Raises:
        BadInput: something of `allow` is no rule. SettingsError: the person's own rules cannot be read.
    """
    from neuraphage.decide.host_requests import reach_by, with_reach  # noqa: PLC0415 - as above
    from neuraphage.decide.policy import ruled  # noqa: PLC0415 - as above
    from neuraphage.decide.rules.judging import CalledTool  # noqa: PLC0415 - as above
    from neuraphage.decide.rules.reading import read_allowed, rules_in  # noqa: PLC0415 - as above
    from neuraphage.model.sandbox import SandboxKind  # noqa: PLC0415 - as above
    from neuraphage.own_rules import OwnRules, rules_file  # noqa: PLC0415 - as above
    from neuraphage.shell import ShfmtReader  # noqa: PLC0415 - as above
    from neuraphage.trusted_projects import TrustedRules, trust_file  # noqa: PLC0415 - as above

    command = tool.command_of(params)
    line = None if command is None else ShfmtReader().read(command)
    writers = frozenset(one.declaration.name for one in built_in_tools() if one.declaration.traits.writes)
    sandboxed = settings.auto_allow_sandboxed
    rules = [
        *rules_in(settings.rules, allow_sandboxed=sandboxed, blocked_hosts=settings.blocked_hosts),
        *OwnRules(rules_file()).of(working_dir),
        *TrustedRules(trust_file()).of(working_dir),
        *map(read_allowed, allow),
    ]
    is_ours = any(one.declaration == tool for one in built_in_tools())
    if is_ours and tool.detached and not settings.allow_hosts:
        kind = found_sandbox(settings)[0]
        found = {"confined": kind is not SandboxKind.NONE, "has_way_out": kind is SandboxKind.BUBBLEWRAP}
        tool = with_reach(tool.model_copy(update=found), reach_by(rules, {}))
    return ruled(CalledTool(tool, params, line, working_dir, writers), rules, {}, None)


def found_sandbox(settings: Settings) -> tuple[SandboxKind, str]:
    """What a worker of this host would confine commands by; of NONE also why, and what to do."""
    from neuraphage.sandbox.choice import find_sandbox  # noqa: PLC0415 - as above

    return find_sandbox(settings.sandbox)


def found_cgroups() -> str | None:
    """Why commands of a worker started as this process was have no control groups of their own; None: they do."""
    from neuraphage.sandbox.cgroups import cgroup_plan  # noqa: PLC0415 - as above

    return cgroup_plan().why_not or None


def proposed_rules(
    tool: str, traits: ToolTraits, params: Mapping[str, Any], working_dir: str | None
) -> tuple[str, ...]:
    """Rules that a person may want to make of a call, as `TOOL: PATTERN`; none for most.

    Args:
        tool: its name.
        traits: what its parameters mean.
        params: of the call.
        working_dir: of the task.
    """
    if traits.command is None and not (traits.writes or traits.reads):
        return ()
    from neuraphage.decide.rules.judging import CalledTool  # noqa: PLC0415 - as above
    from neuraphage.decide.rules.proposing import proposals  # noqa: PLC0415 - as above
    from neuraphage.model.effect import EffectClass  # noqa: PLC0415 - as above
    from neuraphage.model.tool import ToolDeclaration  # noqa: PLC0415 - as above
    from neuraphage.shell import ShfmtReader  # noqa: PLC0415 - as above

    declared = ToolDeclaration(
        name=tool, description="", input_schema={}, effect_class=EffectClass.OPAQUE, side_effecting=True, timeout_s=0,
        traits=traits,
    )  # fmt: skip
    command = declared.command_of(params)
    line = None if command is None else ShfmtReader().read(command)
    return proposals(CalledTool(declared, params, line, working_dir))


def built_in_traits() -> Mapping[str, ToolTraits]:
    """What the parameters and results of built-in tools mean, by name; no tool is loaded for it."""
    from neuraphage.tools.builtin_traits import BUILTIN_TRAITS  # noqa: PLC0415 - as above

    return BUILTIN_TRAITS


def _redacted(text: str) -> str:
    from neuraphage.client_wiring import redacted  # noqa: PLC0415 - only what the code of others says needs it

    return redacted(text)
