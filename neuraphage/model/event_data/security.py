"""Data of events about whether something may be done."""

from __future__ import annotations

from neuraphage.model.event_data.base import EventData


class PermissionRequest(EventData):
    """Data of PermissionRequest.

    Args:
        tool: its name; for a host `host: NAME:PORT`.
        id: of the call.
        prompt: id of the prompt that was opened.
        digest: of the call as it is shown: tool, parameters, files and rules; none for a host.
        deadline_ms: until when an answer is waited for; none where that is for ever.
    """

    tool: str
    id: str
    prompt: str
    digest: str | None = None
    deadline_ms: int | None = None


class Decided(EventData):
    """Data of PermissionGranted and PermissionDenied.

    Args:
        tool: its name; for a host `host: NAME:PORT`.
        id: of the call.
        by: user, rule, or timeout for a prompt that nobody answered in time.
        digest: of the call as it was judged: tool, parameters, files and rules; none for a host.
        rule: the rules that decided.
        source: where these stand.
        who: the person's name, as their machine knows it.
        prompt: id of the prompt that was answered.
        answer: perhaps shortened.
        edited: names of the parameters that the person has changed.
    """

    tool: str
    id: str
    by: str
    digest: str | None = None
    rule: str = ""
    source: str = ""
    who: str = ""
    prompt: str = ""
    answer: str = ""
    edited: tuple[str, ...] = ()


class PermissionVoided(EventData):
    """Data of PermissionVoided.

    Args:
        tool: its name.
        id: of the call.
        digest: that was allowed; none where a change of it was not taken.
        why: what differs, or what was wrong with the change.
    """

    tool: str
    id: str
    digest: str | None
    why: str


class HostRefused(EventData):
    """Data of HostRefused.

    Args:
        tool: its name.
        id: of the call.
        host: that was asked for.
        port: of it.
    """

    tool: str
    id: str
    host: str
    port: int


class SecurityPolicyCheck(EventData):
    """Data of SecurityPolicyCheck.

    Args:
        point: where guards were asked: PreToolUse, PreUserPrompt, SecurityPolicyCheck or PermissionRequest.
        tool: name of the tool of the call.
        id: of the call.
        verdict: what they said together: allow, block, change or answer.
        by: names of those that did not merely allow.
        reason: of a block.
    """

    point: str
    tool: str
    id: str
    verdict: str
    by: str = ""
    reason: str = ""


class SecurityViolation(EventData):
    """Data of SecurityViolation.

    Args:
        tool: its name.
        id: of the call.
        by: the guard or the rules that it was against.
        why: in words; empty where the rules say it all.
        source: where these rules stand; empty of a guard.
    """

    tool: str
    id: str
    by: str
    why: str = ""
    source: str = ""
