"""create and signal: what people send."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.decide.answers import plain_word
from neuraphage.decide.attachments import media_to_store, reference
from neuraphage.decide.start_times import past_start
from neuraphage.errors import BadInput
from neuraphage.model.attachment import Attachment
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.message import Entry
from neuraphage.model.money import label_texts
from neuraphage.model.prompt import InboxItem
from neuraphage.model.task import StartedReason, Status, TaskSpec
from neuraphage.ports import Created, NextTurn, Signal, SignalKind, Signalled, SignalVerdict
from neuraphage.store.context import SIGNAL_KEYS_MAX, WHY_MAX, StoreContext
from neuraphage.store.edge_text import after_text
from neuraphage.store.edges import depend_given, refused_dependency, refused_parent, woken_of
from neuraphage.store.encode import choice_bytes, entry_bytes, inbox_bytes, model_event, spec_bytes
from neuraphage.store.memory import refuse_when_full
from neuraphage.store.scripts import script

CREATE_KEY_TTL_MS = 24 * 3_600 * 1_000
"""How long a repeat of create with the same key finds the first task."""


def create(context: StoreContext, spec: TaskSpec, key: str, attachments: Sequence[Attachment] = ()) -> Created:
    """Store a new task with its prompt as the first message: in the outbox, or where it waits.

    Args:
        context: the store.
        spec: what to do.
        key: idempotency key; a repeat finds the first task.
        attachments: stand before the prompt, and stay with it when the task is reset.

    Returns:
        Whether it was made now, its id, and the message to send.

    Raises:
        BadInput: the prompt is over `max_entry_bytes`, one of those it waits for has too many that wait, its parent
            has too many children, or its time is past.
        TaskNotFound: one of those it waits for, or its parent, is not stored.
        IllegalMove: its parent is over.
        CircularDependency: one of those it waits for waits for its parent.
        StoreUnavailable, StoreError: nothing was stored.
    """
    content = [*map(reference, attachments), {"type": "text", "text": spec.prompt}]
    entry = entry_bytes(Entry(role="user", content=content, media=media_to_store(attachments, ()) or None))
    size = len(spec.prompt.encode())
    if size > context.settings.max_entry_bytes:
        raise BadInput(
            f"the prompt is {size} bytes, the limit max_entry_bytes is {context.settings.max_entry_bytes}; "
            "put long material into a file of the working directory and name it"
        )
    try:
        whole = spec_bytes(spec)
    except TypeError as error:  # orjson's word for half a character
        raise BadInput(f"a field of the task cannot be stored: {error}") from None
    refuse_when_full(context, key)
    given = {
        "spec": whole,
        "entry": entry,
        "name": spec.name,
        "labels": "\n".join(label_texts(spec.labels)),
        "priority": spec.priority,
        **as_given(spec.limits),
        "reason": StartedReason.USER_REQUEST.value,
        "after": after_text(spec.blocked_by),
        "dependants_max": context.settings.dependants_max,
        "walk_max": context.settings.graph_walk_max,
        "parent": spec.parent_id or "",
        "on_parent_end": spec.on_parent_end or "",
        "max_children": context.settings.max_children,
        "starts_at": "" if spec.starts_at_ms is None else spec.starts_at_ms,
        **context.limits,
        "key_ttl_ms": CREATE_KEY_TTL_MS,
        **context.all_events_max,
    }
    keys = (context.keys.create(key), context.keys.tombstones)
    reply = script("create").run(context, given, task_id=spec.task_id, keys=keys)
    if reply[0] in (b"NO_SUCH_TASK", b"PARENT_OVER", b"NO_ROOM") and reply[1].decode() == spec.parent_id:
        raise refused_parent(reply[0].decode(), reply[1].decode(), context.settings)
    if reply[0] in (b"NO_SUCH_TASK", b"TOO_MANY", b"CYCLE"):
        raise refused_dependency(reply[0].decode(), reply[1].decode(), context.settings)
    if reply[0] == b"PAST":
        raise past_start(spec.starts_at_ms or 0, int(reply[2]))
    task_id = reply[1].decode()
    turn = NextTurn(task_id, int(reply[2]), int(reply[3])) if all(reply[2:]) and len(reply) > 2 else None
    return Created(reply[0] == b"CREATED", task_id, turn)


def signal(context: StoreContext, task_id: str, sent: Signal, at_ms: int = 0) -> Signalled:
    """Send one signal; a repeat of the same key changes nothing.

    Args:
        context: the store.
        task_id: the task.
        sent: the signal.
        at_ms: when it was sent, for display.

    Raises:
        BadInput: the text is too long.
        StoreUnavailable, StoreError: nothing was stored.
    """
    try:
        value: bytes = sent.text.encode()
    except UnicodeEncodeError:
        raise BadInput("the text is not UTF-8 (it holds half a character); correct it") from None
    if sent.kind in (SignalKind.INPUT, SignalKind.ANSWER):
        kind = "answer" if sent.kind is SignalKind.ANSWER else "input"
        value = inbox_bytes(
            InboxItem(
                kind=kind,
                key=sent.key,
                text=sent.text,
                prompt_id=sent.prompt_id,
                at_ms=at_ms,
                by=sent.by,
                who=sent.who or None,
                attachments=tuple(one.model_dump() for one in sent.attachments),
            )
        )
    if len(value) - sum(len(one.data) for one in sent.attachments) > context.settings.max_entry_bytes:
        raise BadInput(
            f"the text is {len(value)} bytes, the limit max_entry_bytes is {context.settings.max_entry_bytes}"
        )
    name, further = _script_for(context, task_id, sent, value)
    given = {"key": sent.key, "by": sent.by, "signals_max": SIGNAL_KEYS_MAX, **context.limits, **context.all_events_max}
    given |= further
    reply = script(name).run(context, given, task_id=task_id)
    verdict = SignalVerdict(reply[0].decode())
    if len(reply) == 1:
        return Signalled(verdict)
    status, place, seq, iteration, has_conversation, *rest = reply[1:]
    is_cycle = verdict is SignalVerdict.CYCLE
    return Signalled(
        verdict, Status(status.decode()), place.decode(), int(seq), int(iteration), bool(has_conversation),
        cycle=tuple(rest[0].decode().split()) if is_cycle else (), woken=() if is_cycle else woken_of(rest),
    )  # fmt: skip


def as_given(limits: Limits | LimitChange) -> dict[str, object]:
    """Limits as scripts are given them: what is not set is empty."""
    return {name: "" if limit is None else limit for name, limit in limits.model_dump().items()}


def _script_for(context: StoreContext, task_id: str, sent: Signal, value: bytes) -> tuple[str, dict[str, object]]:
    """The script of a kind of signal, and what it is given beyond the others."""
    raised = as_given(sent.limits)
    match sent.kind:
        case SignalKind.INPUT | SignalKind.ANSWER:
            limits = {"inbox_max": context.settings.max_inbox_items, "why_max": WHY_MAX}
            said = plain_word(sent.text) if sent.kind is SignalKind.ANSWER else ""
            given = {"kind": sent.kind.value, "value": value, "prompt": sent.prompt_id or ""}
            return "deliver", {**given, "said": said, "who": sent.who, **limits}
        case SignalKind.PAUSE | SignalKind.CANCEL:
            return "stop", {"kind": sent.kind.value, "reason": value}
        case SignalKind.RESUME:
            return "resume", {}
        case SignalKind.RETRY | SignalKind.RESET:
            del raised["max_tree_turns"]  # which only LIMIT raises
            return "revive", {"kind": sent.kind.value, "archive": context.keys.archive(task_id, ""), **raised}
        case SignalKind.RETRY_REPLY:
            first = None if sent.entry is None else sent.entry.supersedes
            value = b"" if sent.entry is None else entry_bytes(sent.entry)
            return "supersede", {"seq": sent.seq, "entry": value, "first": first or 0, "who": sent.who}
        case SignalKind.DEPEND | SignalKind.UNDEPEND:
            return "depend", depend_given(context, sent)
        case SignalKind.UNLOCK:
            return "unlock", {"resource": sent.text, "who": sent.who}
        case SignalKind.LIMIT:
            return "limit", raised
        case SignalKind.MODEL:
            told = {"by": sent.by, "who": sent.who, "reason": sent.text}
            event = b"" if sent.choice is None else model_event(sent.choice, told)
            return "model", {"model": choice_bytes(sent.choice), "told": event}
