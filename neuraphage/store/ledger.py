"""The ledger of costs and the pools of money, as people read and set them (money.lua writes them)."""

from __future__ import annotations

from neuraphage.model.money import SPENT_FIELDS, LedgerRow, Pool, PoolState, Spent
from neuraphage.store.client import corrupt, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.places import now_ms

DAY_MS = 86_400_000


def ledger(context: StoreContext) -> list[LedgerRow]:
    """Every row.

    Raises:
        CorruptRecord: one cannot be read.
        StoreUnavailable, StoreError: the server did not answer.
    """
    with translated("read the ledger"):
        stored = context.client.hgetall(context.keys.ledger)
    return [_row(field.decode(errors="replace"), value) for field, value in stored.items()]


def _row(field: str, value: bytes) -> LedgerRow:
    day, _, rest = field.partition(" ")
    kind, _, name = rest.partition(" ")
    try:
        numbers = dict(zip(SPENT_FIELDS, map(int, value.split()), strict=False))
        return LedgerRow(day=int(day), kind=kind, name=name, spent=Spent(**numbers))
    except ValueError as error:
        raise corrupt(f"row {field!r} of the ledger", error) from None


def pools(context: StoreContext) -> list[PoolState]:
    """Pools of which anything is known, by name; that of the day first, and always.

    Raises:
        StoreUnavailable, StoreError: the server did not answer.
    """
    today = now_ms(context) // DAY_MS
    with translated("read the pools"), context.client.pipeline(transaction=True) as pipe:
        pipe.hgetall(context.keys.pools)
        pipe.hget(context.keys.ledger, f"{today} d")
        stored, day = pipe.execute()
    values: dict[str, dict[str, int]] = {}
    for field, value in stored.items():
        what, _, name = field.decode(errors="replace").partition(" ")
        values.setdefault(name, {})[what] = int(value)
    chosen = context.settings.pool_limits
    names = sorted({*values, *chosen} - {Pool.DAY.value})
    used_today = int(day.split()[0]) if day else 0
    found = []
    for name in (Pool.DAY.value, *names):
        known = values.get(name, {})
        found.append(
            PoolState(
                name=name,
                limit_microusd=known.get("limit", chosen.get(name)),
                used_microusd=used_today if name == Pool.DAY else known.get("used", 0),
                reserved_microusd=known.get("reserved", 0),
                is_set="limit" in known,
            )
        )
    return found


def set_pool(context: StoreContext, name: str, limit_microusd: int | None) -> None:
    """Set the limit of a pool for all workers, or go back to that of the settings. A repeat changes nothing.

    Raises:
        StoreUnavailable, StoreError: the server did not do it.
    """
    field = f"limit {name}"
    with translated("set the limit of a pool"):
        if limit_microusd is None:
            context.client.hdel(context.keys.pools, field)
        else:
            context.client.hset(context.keys.pools, field, limit_microusd)
