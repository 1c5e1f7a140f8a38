"""How far the notice of a prompt has come: in keys of its own, which expire. A task's record knows nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.model.task import Status
from neuraphage.ports import NoticeMark
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext


def waiting_tasks(context: StoreContext, limit: int) -> list[tuple[str, int]]:
    """See ports.NoticeStore."""
    waiting = context.keys.status(Status.WAITING_FOR_USER)
    with translated("read waiting tasks"):
        rows = context.client.zrevrange(waiting, 0, limit - 1, withscores=True, score_cast_func=float)
    return [(member.decode(), int(since)) for member, since in rows]


def notice_marks(context: StoreContext, task_id: str, wanted: Sequence[tuple[str, str]]) -> list[NoticeMark]:
    """See ports.NoticeStore."""
    with translated("read notices"), context.client.pipeline(transaction=False) as pipe:
        for prompt_id, event in wanted:
            pipe.get(context.keys.notice(task_id, prompt_id, event))
        found = pipe.execute() if wanted else []
    return [_mark(raw) for raw in found]


def begin_notice(context: StoreContext, task_id: str, prompt_id: str, event: str, hold_ms: int) -> NoticeMark:
    """See ports.NoticeStore."""
    key = context.keys.notice(task_id, prompt_id, event)
    with translated("begin notice"):
        if context.client.set(key, NoticeMark.TELLING.value, nx=True, px=hold_ms):
            return NoticeMark.NONE
        # one that expires in between is told by the next look
        return _mark(context.client.get(key)) or NoticeMark.TELLING


def end_notice(context: StoreContext, task_id: str, prompt_id: str, event: str, keep_ms: int) -> None:
    """See ports.NoticeStore."""
    with translated("end notice"):
        context.client.set(context.keys.notice(task_id, prompt_id, event), NoticeMark.TOLD.value, px=keep_ms)


def _mark(raw: bytes | None) -> NoticeMark:
    return NoticeMark.NONE if raw is None else NoticeMark.TOLD if raw == b"told" else NoticeMark.TELLING
