"""What a reply says of the provider's cache, as it is stored with it."""

from __future__ import annotations

from neuraphage.decide.request_head import head_of, system_head
from neuraphage.model.cache_use import CacheUse
from neuraphage.model.usage import Usage
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


def cache_use(services: Services, work: UnitOfWork, usage: Usage, ttl: str) -> CacheUse:
    """What of a request was read from the cache, and written to it, and when; `ttl` as of the request."""
    return CacheUse(
        read=usage.cache_read_input_tokens,
        written=usage.cache_creation_input_tokens,
        hour=ttl == "1h",  # it may have written nothing
        at_ms=work.now_ms(),
        head=head_of(work.record.choice.model, system_head(work.record.spec).digest, services.tools_hash),
    )
