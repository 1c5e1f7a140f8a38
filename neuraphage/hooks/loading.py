"""Hooks of this installation: those of packages (entry points `neuraphage.hooks`) and those of the setting `hooks`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from neuraphage.hooks.declaring import Hook
from neuraphage.proc.foreign_code import ForeignCodeFailed
from neuraphage.proc.named_objects import are_announced, objects, references
from neuraphage.redaction.ends import Redact

GROUP = "neuraphage.hooks"
_MAX_REASON_CHARS = 500


@dataclass(frozen=True, slots=True)
class LoadedHooks:
    """What was found.

    Args:
        hooks: in the order of their registration: those of packages by name, then those that are named.
        problems: why others could not be loaded, each with where it comes from.
    """

    hooks: tuple[Hook, ...] = ()
    problems: tuple[str, ...] = ()


def are_any(named: Iterable[str]) -> bool:
    """Whether there may be hooks, without loading one."""
    return any(True for _ in named) or are_announced(GROUP)


def load_hooks(named: Iterable[str], *, redact: Redact = str) -> LoadedHooks:
    """Load the hooks of this installation.

    Args:
        named: `package.module:object`, from the settings; an object is a hook, or a list or tuple of hooks.
        redact: takes secrets out of what the code of others says.
    """
    hooks: list[Hook] = []
    problems: list[str] = []
    names: set[str] = set()
    for origin, reference in references(GROUP, named):
        try:
            found = objects(reference)
        except ForeignCodeFailed as failed:
            problems.append(f"{origin}: it cannot be imported: {redact(str(failed))[:_MAX_REASON_CHARS]}")
            continue
        for one in found:
            if not isinstance(one, Hook):
                problems.append(f"{origin}: it is a {type(one).__name__}; decorate a function by @guard or @observer")
            elif one.name in names:
                problems.append(f"{origin}: the name {one.name} is taken by another hook; give it one by name=")
            else:
                names.add(one.name)
                hooks.append(replace(one, origin=origin))
    return LoadedHooks(tuple(hooks), tuple(problems))
