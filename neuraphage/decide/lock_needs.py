"""What a call of a tool must hold so that no other task meets its effect. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from neuraphage.model.lock import LockClass, LockMode, LockNeed, LockState, TaskLocks
from neuraphage.model.tool import ToolDeclaration, ToolResult


@dataclass(frozen=True, slots=True)
class CallPlaces:
    """Where a task works.

    Args:
        workspace: its working directory, resolved.
        around: directories around that one, as far as the top of its git repository: a command there reaches it, too.
        repository: the repository's own folder, which all its worktrees share; None outside of one.
        resolved: the absolute path of one that a call names, through links.
    """

    workspace: str
    around: tuple[str, ...]
    repository: str | None
    resolved: Callable[[str], str]


def lock_needs(tool: ToolDeclaration, params: Mapping[str, Any], places: CallPlaces) -> tuple[LockNeed, ...]:
    """The locks of one call, by the names of their resources: in this order all calls ask for theirs.

    A command may change whatever is below its directory, so it has that alone, unless its tool declares that it changes
    nothing. A file that is written is one's own, and no command may be at work around it meanwhile.
    """
    traits = tool.traits
    needs: dict[str, LockMode] = {}

    def add(kind: LockClass, names: Iterable[str], mode: LockMode) -> None:
        for name in names:
            key = f"{kind.value}:{name}"
            needs[key] = LockMode.EXCLUSIVE if LockMode.EXCLUSIVE in (mode, needs.get(key)) else mode

    written, read = _texts(params, traits.writes), _texts(params, traits.read_files)
    add(LockClass.FILE, map(places.resolved, read), LockMode.SHARED)
    add(LockClass.FILE, map(places.resolved, written), LockMode.EXCLUSIVE)
    is_command = tool.command_of(params) is not None
    if is_command or written:
        is_alone = is_command and tool.side_effecting
        add(LockClass.WORKSPACE, [places.workspace], LockMode.EXCLUSIVE if is_alone else LockMode.SHARED)
        add(LockClass.WORKSPACE, places.around, LockMode.SHARED)
    if traits.changes_repository and places.repository is not None:
        add(LockClass.REPOSITORY, [places.repository], LockMode.EXCLUSIVE)
    add(LockClass.HOST, filter(None, map(_host, _texts(params, traits.hosts))), LockMode.EXCLUSIVE)
    return tuple(LockNeed(resource=name, mode=mode) for name, mode in sorted(needs.items()))


def waited_too_long(locks: TaskLocks | None, tool_use_id: str) -> ToolResult | None:
    """The result of a call that has waited for its locks as long as a call does; None for any other."""
    if locks is None or locks.state is not LockState.LATE or locks.call != tool_use_id:
        return None
    waited_s = max(1, round((locks.due_ms - locks.since_ms) / 1000))
    return ToolResult(
        text=(
            f"This was not done: {locks.resource} is locked by another task, {locks.holder_task}, and did not come free"
            f" within {waited_s} s. Do something else first and try again later, or say what you are waiting for."
        ),
        is_error=True,
    )


def _texts(params: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [text for name in names if isinstance(text := params.get(name), str)]


def _host(text: str) -> str:
    """The host of a URL, or of a bare name."""
    try:
        return urlsplit(text if "//" in text else f"//{text}").hostname or ""
    except ValueError:
        return ""
