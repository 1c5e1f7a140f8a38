"""The outcome of a tool's call, noted in one write."""

from __future__ import annotations

from neuraphage.decide.attachments import media_to_store
from neuraphage.decide.conversation import result_block
from neuraphage.decide.hashing import sha256_hex
from neuraphage.model.effect import EffectState, Marker, MarkerName, ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import Entry
from neuraphage.model.sandbox import RefusedHost
from neuraphage.model.tool import ToolResult
from neuraphage.runtime.unit_of_work import UnitOfWork

LONG_MS = 1_000
"""A call that took less is stored without its time."""


def note_result(work: UnitOfWork, tool_use_id: str, tool: str, result: ToolResult, total_ms: int = 0) -> None:
    """Note a tool's result: journal, conversation, marker, counters and event together."""
    before = work.tool_effect(tool_use_id)
    digest = sha256_hex([result.text, *(one.sha256 for one in result.media)] if result.media else result.text)
    entry = (before or ToolEffect(key=tool_use_id, state=EffectState.PLANNED, tool=tool)).model_copy(
        update={
            "state": EffectState.COMPLETED,
            "fence": work.held.lease.fence,
            "result_hash": digest,
            "is_error": result.is_error,
            "refused": tuple(refused.place for refused in result.refused if refused.askable),
            "output_bytes": result.output_bytes,
        }
    )
    work.note(
        entries=[
            Entry.trusted(
                role="user",
                content=[result_block(tool_use_id, result)],
                turn=work.record.counters.iteration,
                stop_reason=None,
                supersedes=None,
                total_ms=total_ms if total_ms >= LONG_MS else 0,
                began=entry.began,
                file=result.file,
                media=media_to_store(result.media, work.entries) or None,
            )
        ],
        journal=[entry],
        marker=Marker(name=MarkerName.TOOL_COMPLETED, tool=tool, tool_use_id=tool_use_id, result_hash=digest),
        add={"tool_runs": 1},
        outcome=True,
        events=[
            Event(
                kind=EventKind.TOOL_COMPLETED,
                data={"tool": tool, "id": tool_use_id, "error": result.is_error, "unknown": result.unknown_outcome},
            ),
            *(_refused(tool, tool_use_id, refused) for refused in result.refused),
        ],
    )


def _refused(tool: str, tool_use_id: str, refused: RefusedHost) -> Event:
    data = {"tool": tool, "id": tool_use_id, "host": refused.host, "port": refused.port}
    return Event(kind=EventKind.HOST_REFUSED, data=data)
