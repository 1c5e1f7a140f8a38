"""The task hash as a TaskRecord, checked on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from neuraphage.decide.resume import phase_of, resume_point_of
from neuraphage.errors import CorruptRecord, SchemaTooNew
from neuraphage.model.anomaly import Anomaly
from neuraphage.model.base import SCHEMA_VERSION
from neuraphage.model.effect import Marker
from neuraphage.model.limits import Limits
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.money import Shortage
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import (
    BlockedDetail,
    CancelledDetail,
    CompletedDetail,
    Detail,
    FailedDetail,
    PausedDetail,
    QueuedDetail,
    RunningDetail,
    StartedReason,
    Status,
    TaskRecord,
    TaskSpec,
    WaitingForUserDetail,
)
from neuraphage.model.usage import Counters
from neuraphage.store.child_text import children_of, outcome_of
from neuraphage.store.client import corrupt
from neuraphage.store.edge_text import awaited_of
from neuraphage.store.encode import loads, plain_text
from neuraphage.store.lock_text import locks_of

SPECS_KEPT = 512
SHORT_SPEC_BYTES = 16_384
COUNTER_FIELDS = tuple(Counters.model_fields)


def _int(values: Mapping[str, bytes], name: str, default: int = 0) -> int:
    raw = values.get(name)
    return default if raw is None else int(raw)


def _prefixed(values: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """The fields of which there may be many, by the letter before their colon; see changes.lua."""
    found: dict[str, dict[str, bytes]] = {kind: {} for kind in "pgrc"}
    for name, raw in values.items():
        if name[1:2] == ":" and name[0] in found:
            found[name[0]][name[2:]] = raw
    return found


def _detail(
    values: Mapping[str, bytes],
    status: Status,
    marker: Marker,
    prompts: tuple[Prompt, ...],
    place: str | None,
    between_turns: bool,
) -> Detail:
    since = _int(values, "since")
    stored: dict[str, Any] = loads(values["detail"], "detail") if "detail" in values else {}
    match status:
        case Status.QUEUED:
            return QueuedDetail(queued_at_ms=since, reason=StartedReason(plain_text(values, "reason", "user_request")))
        case Status.RUNNING:
            return RunningDetail.trusted(
                phase=phase_of(marker, place, between_turns=between_turns),
                started_at_ms=_int(values, "started_at", since),
                iteration=_int(values, "iteration"),
            )
        case Status.WAITING_FOR_USER:
            return WaitingForUserDetail(prompts=prompts, waiting_since_ms=since)
        case Status.BLOCKED:
            return BlockedDetail(
                resource=stored.get("resource", ""),
                waiting_since_ms=since,
                holder_task=stored.get("holder_task"),
            )
        case Status.PAUSED:
            point = resume_point_of(marker, between_turns=between_turns)
            shortage, anomaly = stored.get("shortage"), stored.get("anomaly")
            return PausedDetail(
                paused_at_ms=since,
                resume_point=point,
                reason=stored.get("reason", "user"),
                shortage=None if shortage is None else Shortage(**shortage),
                anomaly=None if anomaly is None else Anomaly(**anomaly),
            )
        case Status.COMPLETED:
            return CompletedDetail(
                summary=stored.get("summary", ""),
                completed_at_ms=since,
                iterations=_int(values, "iteration"),
                total_cost_microusd=_int(values, "cost_microusd"),
            )
        case Status.FAILED:
            return FailedDetail(
                error=stored.get("error", ""),
                recoverable=bool(stored.get("recoverable", False)),
                failed_at_ms=since,
                retry_count=_int(values, "retry_count"),
            )
        case Status.CANCELLED:
            return CancelledDetail(cancelled_at_ms=since, reason=stored.get("reason") or None)


def check_schema(values: Mapping[str, bytes], what: str) -> None:
    """See that this release can read a task; its record tells for all that belongs to it.

    Raises:
        SchemaTooNew: a newer release has written to it.
    """
    schema = _int(values, "schema", 1)
    if schema > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"{what} has schema {schema}, this release reads up to {SCHEMA_VERSION}; upgrade this process"
        )


def check_consistency(values: Mapping[str, bytes], what: str) -> None:
    """Rules between the fields of one record (iteration 50 with no tokens is a broken record).

    Raises:
        SchemaTooNew: a newer release wrote it.
        CorruptRecord: it breaks a rule.
    """
    check_schema(values, what)
    for field in ("seq", "fence", "iteration", *COUNTER_FIELDS):
        if _int(values, field) < 0:
            raise corrupt(what, f"{field} is negative")
    if _int(values, "iteration") > 0 and _int(values, "model_calls") == 0:
        raise corrupt(what, f"iteration is {_int(values, 'iteration')} but no model reply was ever committed")


@lru_cache(maxsize=SPECS_KEPT)
def _short_spec(raw: bytes) -> TaskSpec:
    return TaskSpec.model_validate_json(raw)


def _spec(raw: bytes) -> TaskSpec:
    """The parsed spec; it never changes, so equal bytes are parsed once."""
    return _short_spec(raw) if len(raw) <= SHORT_SPEC_BYTES else TaskSpec.model_validate_json(raw)


def _limits(values: Mapping[str, bytes], first: Limits) -> Limits:
    """Those of the record's own fields; what an earlier release stored may have `first` alone, those of its spec."""
    return Limits(
        max_turns=_int(values, "max_turns", first.max_turns),
        max_cost_microusd=_int(values, "max_cost_microusd", first.max_cost_microusd),
        max_tree_turns=int(values["max_tree_turns"]) if values.get("max_tree_turns") else first.max_tree_turns,
        max_running_ms=int(values["max_running_ms"]) if values.get("max_running_ms") else first.max_running_ms,
    )


def _tree_turns(values: Mapping[str, bytes]) -> int:
    """See tree_turns.lua."""
    own, _, _ = values.get("tree", values.get("iteration", b"0")).partition(b" ")
    return int(own) + _int(values, "turns_below")


def task_record(
    values: Mapping[str, bytes], *, place: str | None, lease_until_ms: int | None, between_turns: bool
) -> TaskRecord:
    """Build the record.

    Args:
        values: the task hash.
        place: outbox, leases, timers, waits or None.
        lease_until_ms: lease expiry.
        between_turns: whether the journal is empty.

    Raises:
        SchemaTooNew, CorruptRecord: see check_consistency.
    """
    what = "task record"
    try:
        check_consistency(values, what)
        status = Status(plain_text(values, "status"))
        marker = Marker.model_validate_json(values["marker"])
        many = _prefixed(values)
        prompts = tuple(
            sorted(
                (Prompt.model_validate_json(raw) for raw in many["p"].values()),
                key=lambda prompt: (prompt.call_index, prompt.opened_at_ms, prompt.prompt_id),
            )
        )
        spec = _spec(values["spec"])
        return TaskRecord(
            spec=spec,
            status=status,
            detail=_detail(values, status, marker, prompts, place, between_turns),
            marker=marker,
            counters=Counters.trusted(**{name: _int(values, name) for name in COUNTER_FIELDS}),
            seq=_int(values, "seq"),
            fence=_int(values, "fence"),
            claim_id=plain_text(values, "claim") or None,
            owner=plain_text(values, "owner") or None,
            lease_until_ms=lease_until_ms,
            place=place,
            pause_requested="pause" in values,
            cancel_requested="cancel" in values,
            prompts=prompts,
            grants={name: raw.decode() for name, raw in many["g"].items()},
            started_reason=StartedReason(plain_text(values, "reason", plain_text(values, "started", "user_request"))),
            unsafe_until_ms=_int(values, "unsafe_until"),
            saved_at_ms=_int(values, "saved_at"),
            created_at_ms=_int(values, "created_at"),
            limits=_limits(values, spec.limits),
            turns_from=_int(values, "turns_from"),
            reserved_microusd=_int(values, "reserved"),
            shortage=Shortage(**loads(values["short"], "shortage")) if "short" in values else None,
            dependencies=awaited_of(values.get("after", b"")),
            locks=locks_of(values),
            below_microusd=_int(values, "below"),
            tree_turns=_tree_turns(values),
            children=children_of(values.get("children", b"")),
            outcomes={name: outcome_of(raw) for name, raw in many["r"].items()},
            resets=_int(values, "resets"),
            starts_at_ms=_int(values, "starts_at") or None,
            model=ModelChoice.model_validate_json(values["model"]) if values.get("model") else None,
            cost_by_day={int(day): int(cost) for day, cost in many["c"].items()},
        )
    except CorruptRecord:
        raise
    except (KeyError, ValueError, ValidationError) as error:
        raise corrupt(what, error) from None
